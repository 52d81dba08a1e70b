"""`judge doctor`: what is installed and set here, and what ends soon."""

from __future__ import annotations

import datetime as dt
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from judge.cli.options import (
    GroupedCommand,
    base_url_option,
    cache_option,
    judge_option,
    output_options,
)
from judge.cli.output import print_document
from judge.plugins import NAME, install
from judge.tables.document import Column, Document, Table, table_of
from judge.types import JudgeError

_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "VLLM_API_KEY",
)
# For those who work on judge itself.
_EXTRAS_OF_DEVELOPERS = {"browser", "dev", "test"}
# Who answers there serves the public: nothing is asked of them, not even whether they are there.
_HOSTED = (
    "openai.com",
    "anthropic.com",
    "googleapis.com",
    "azure.com",
    "openrouter.ai",
    "mistral.ai",
    "deepseek.com",
    "groq.com",
    "together.xyz",
    "together.ai",
    "fireworks.ai",
    "x.ai",
    "cohere.com",
    "amazonaws.com",
    "huggingface.co",
    "bigmodel.cn",
    "z.ai",
)
_SECONDS = 3.0
_AT_FAULT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that the user configured, and whether it answers; None where it was not asked."""

    url: str
    is_reachable: bool | None
    says: str


@click.command(
    "doctor",
    cls=GroupedCommand,
    examples=["judge doctor", "judge doctor --format json"],
    page="docs/install.md",
)
@judge_option("Also say whether this judge can be asked: its name, its key, its end.")
@base_url_option(
    "A server to look for, beside the one of OPENAI_BASE_URL (repeatable)."
)
@cache_option()
@output_options(["extras", "keys", "servers", "endings"])
def doctor(
    *,
    judge: str | None,
    base_url: tuple[str, ...],
    cache: Path | None,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Show what is installed here, which keys are set, and which judges end soon.

    Of keys it says whether they are set; it sends them nowhere and asks no hosted provider
    anything. Servers of your own are asked for their list of models, without a key.

    Exit codes: 0; 1 if a judge, a server or a cache that you named cannot be used.
    """
    urls = [*base_url]
    configured = os.environ.get("OPENAI_BASE_URL", "").strip()
    if configured and configured not in urls:
        urls.append(configured)
    servers = [_server(url) for url in urls]
    named = None
    is_usable = True
    if judge is not None:
        named, is_usable = _judge(judge)
    kept = _cache(cache)
    data = {
        "version": metadata.version(NAME),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "extras": _extras(),
        "keys": {name: _key_state(os.environ, name) for name in _KEYS},
        "cache": kept,
        "gpus": _gpus(),
        "servers": [asdict(server) for server in servers],
        "judge": named,
        **_endings(dt.datetime.now(dt.UTC).date()),
    }
    print_document(_document(data), form, data, table)
    asked = [server for server in servers if server.url in base_url]
    is_lost = any(server.is_reachable is False for server in asked)
    is_damaged = cache is not None and kept["why_not"] is not None
    if is_lost or is_damaged or not is_usable:
        click.get_current_context().exit(_AT_FAULT)


def _judge(name: str) -> tuple[str, bool]:
    """Return what is to be said of a judge, and whether it can be asked."""
    from judge.cli.judging import judge_called
    from judge.cli.progress import described_judge, missing_key

    try:
        judge = judge_called(name)
    except JudgeError as error:
        return f"{name}: {error}", False
    return described_judge(judge), not missing_key(judge)


def _extras() -> list[dict[str, Any]]:
    """Return each extra, what of it is missing, and the command that installs that."""
    from packaging.requirements import Requirement

    declared = [Requirement(line) for line in metadata.requires(NAME) or ()]
    found = []
    for extra in metadata.metadata(NAME).get_all("Provides-Extra") or ():
        if extra in _EXTRAS_OF_DEVELOPERS:
            continue
        missing = sorted(_missing_of(extra, declared))
        command = ""
        if missing:
            # By the packages: they can be had from anywhere, judge's own folder need not be here.
            command = install(*missing).partition(" (the extra ")[0]
        found.append(
            {
                "extra": extra,
                "installed": not missing,
                "missing": missing,
                "install": command,
            }
        )
    return sorted(found, key=lambda entry: str(entry["extra"]))


def _missing_of(extra: str, declared: Iterable[Any]) -> set[str]:
    """Return the packages of an extra that are not installed, with those of extras in it."""
    declared = list(declared)
    missing: set[str] = set()
    for requirement in declared:
        marker = requirement.marker
        if marker is None or not marker.evaluate({"extra": extra}):
            continue
        if marker.evaluate({"extra": ""}):
            continue
        if requirement.name == NAME:
            for inner in requirement.extras:
                missing |= _missing_of(inner, declared)
        elif not _is_installed(requirement):
            missing.add(requirement.name)
    return missing


def _is_installed(requirement: Any) -> bool:  # noqa: ANN401 - loaded in the functions alone
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return False
    return bool(requirement.specifier.contains(version, prereleases=True))


def _key_state(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        return "not set"
    if not (value.isascii() and value.isprintable()):
        return "set, but not in printable ASCII"
    return "set"


def _cache(option: Path | None) -> dict[str, Any]:
    """Return where the cache is, its size and the number of its answers."""
    from judge.cache import place
    from judge.cache.store import CompletionCache, holds_answers, size_of

    folder = place(option, os.environ)
    kept: dict[str, Any] = {
        "place": str(folder),
        "bytes": 0,
        "answers": 0,
        "why_not": None,
    }
    try:
        if holds_answers(folder):
            kept["bytes"] = size_of(folder)
            with CompletionCache(folder, must_exist=True) as opened:
                kept["answers"] = len(opened)
        elif option is not None and folder.exists() and not folder.is_dir():
            kept["why_not"] = f"{folder} is no folder"
    except JudgeError as error:
        kept["why_not"] = str(error)
    return kept


def _gpus() -> list[str]:
    """Return the GPUs by the driver's own tool, else by torch; empty where there are none."""
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
        try:
            done = subprocess.run(  # noqa: S603 - no word of it comes from the user
                query, capture_output=True, text=True, timeout=10, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        if done.returncode == 0:
            return [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if find_spec("torch") is None:
        return []
    import torch

    count = torch.cuda.device_count()
    return [torch.cuda.get_device_name(index) for index in range(count)]


def _server(url: str) -> Server:
    """Ask a server of the user's own for its models, without a key; a provider is not asked."""
    from judge.backends.connection import Connection

    connection = Connection(url)
    host = connection.host
    if any(host == name or host.endswith(f".{name}") for name in _HOSTED):
        return Server(url=url, is_reachable=None, says="a hosted provider: not asked")
    import httpx2  # comes with openai

    address = f"{url.rstrip('/')}/models"
    # As a judge is asked: without what the user's .netrc would send along.
    proxy = connection.proxy
    try:
        with httpx2.Client(timeout=_SECONDS, proxy=proxy, trust_env=False) as client:
            answer = client.get(address)
    except httpx2.HTTPError as error:
        why = str(error) or type(error).__name__
        return Server(url=url, is_reachable=False, says=f"does not answer: {why}")
    names = []
    if answer.is_success:
        names = _models_in(answer.text)
    says = f"answers with status {answer.status_code}"
    if names:
        says = f"serves {', '.join(names)}"
    return Server(url=url, is_reachable=True, says=says)


def _models_in(text: str) -> list[str]:
    """Return the names of the models in a list as OpenAI's protocol has it, none in other texts."""
    from judge import jsonio

    try:
        listed = jsonio.read(text.encode())
    except jsonio.JsonError:
        return []
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return []
    return [str(entry["id"]) for entry in entries if _has_id(entry)]


def _has_id(entry: object) -> bool:
    return isinstance(entry, dict) and "id" in entry


def _endings(today: dt.date) -> dict[str, Any]:
    """Return the judges whose provider ends them soon or has ended them, with the source."""
    from judge.backends.models import SOON, table

    facts = table()
    ending = []
    for model in facts.models:
        if model.ends is None or model.ends - today > SOON:
            continue
        azure = model.ends_on_azure
        ending.append(
            {
                "judge": model.name,
                "provider": model.provider,
                "ends": model.ends.isoformat(),
                "ends_on_azure": azure.isoformat() if azure else None,
                "successor": model.successor,
                "source": "; ".join(_sources_of_end(model.sources, facts.sources)),
            }
        )
    ending.sort(key=lambda entry: (str(entry["ends"]), str(entry["judge"])))
    return {"endings_as_of": facts.as_of.isoformat(), "endings": ending}


def _sources_of_end(keys: Iterable[str], sources: Mapping[str, str]) -> list[str]:
    """Return the sources that say when a model ends; where none does by its key, all of them."""
    keys = list(keys)
    of_end = [key for key in keys if key.endswith("-deprecations")]
    return [sources[key] for key in of_end or keys]


def _document(data: Mapping[str, Any]) -> Document:
    kept = data["cache"]
    size = f"{kept['answers']:,} answers, {kept['bytes'] / 2**20:,.1f} MiB"
    facts = [
        ("judge", data["version"]),
        ("Python", f"{data['python']} on {data['platform']}"),
        ("cache", f"{kept['place']}: {kept['why_not'] or size}"),
        ("GPU", "; ".join(data["gpus"]) or "none"),
    ]
    if data["judge"] is not None:
        facts.append(("asked for", data["judge"]))
    extras = []
    for entry in data["extras"]:
        state = "installed"
        if entry["missing"]:
            state = entry["install"]
        extras.append((entry["extra"], state))
    tables = [
        Table("extras", "Extras", [Column("extra"), Column("state")], extras),
        Table(
            "keys", "Keys", [Column("key"), Column("state")], [*data["keys"].items()]
        ),
    ]
    if data["servers"]:
        rows = [(server["url"], server["says"]) for server in data["servers"]]
        head = [Column("server"), Column("says", "what it says")]
        tables.append(Table("servers", "Servers", head, rows))
    head = [
        Column("judge"),
        Column("ends", "ends on"),
        Column("ends_on_azure", "on Azure"),
        Column("successor", "successor named"),
        Column("source"),
    ]
    title = f"Judges that end soon or have ended, as of {data['endings_as_of']}"
    tables.append(table_of("endings", title, head, data["endings"]))
    return Document(facts=facts, tables=tables)
