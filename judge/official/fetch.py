"""Getting an official prompt: from its repository, a copy, or an installed package."""

from __future__ import annotations

import hashlib
from importlib.machinery import PathFinder
from pathlib import Path, PurePosixPath

import yaml

from judge.distribution import install
from judge.official.known import Official, Source
from judge.prompts import Prompt
from judge.types import JudgeError

HOST = "https://raw.githubusercontent.com"
"""Where the files of a public repository are had one by one."""

_TIMEOUT = 30.0
_MOST = 1_000_000


def download(official: Official, base_url: str) -> dict[str, str]:
    """Return the sources of a prompt, by path, each checked against its sha256.

    Raises `JudgeError` where the server cannot be reached, does not have a file, breaks off,
    or gives another file than the known one.
    """
    folder = f"{base_url.rstrip('/')}/{official.repository}/{official.commit}"
    return {source.path: _download(folder, source) for source in official.sources}


def _download(folder: str, source: Source) -> str:
    data = _get(f"{folder}/{source.path}")
    found = hashlib.sha256(data).hexdigest()
    if found != source.sha256:
        raise JudgeError(
            f"{source.path} as it was downloaded is not the known file (sha256 {found[:12]}..., "
            f"expected {source.sha256[:12]}...): nothing was kept; a proxy or mirror may have "
            "changed it"
        )
    return data.decode()


def _get(url: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    if not url.startswith(("https://", "http://")):
        raise JudgeError(f"{url} is no address that a prompt can be fetched from")
    try:
        with urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310 - http and https alone
            data: bytes = answer.read(_MOST + 1)
            stated = answer.headers.get("Content-Length")
    except HTTPError as error:
        error.close()
        raise JudgeError(f"{url} is not to be had: the server says {error.code}") from error
    except URLError as error:
        raise JudgeError(
            f"cannot reach {url} ({error.reason}): without a network, fetch the file elsewhere and "
            "name it with --from FILE"
        ) from error
    except (HTTPException, OSError) as error:
        raise JudgeError(f"the download of {url} broke off ({error}): try again") from error
    if len(data) > _MOST:
        raise JudgeError(f"{url} is larger than any prompt: nothing was kept")
    if stated is not None and len(data) != int(stated):
        raise JudgeError(f"the download of {url} broke off after {len(data)} bytes: try again")
    return data


def read_copy(official: Official, path: Path) -> dict[str, str]:
    """Return the sources from a copy: a file, or a folder that has them.

    Raises `JudgeError` where a file is missing or cannot be read. What decides is the text
    in them, so they may come from another commit.
    """
    if path.is_dir():
        return {source.path: _read(_within(path, source.path)) for source in official.sources}
    if len(official.sources) > 1:
        names = " and ".join(PurePosixPath(source.path).name for source in official.sources)
        raise JudgeError(f"{official.name} comes from {names}: name the folder that holds them")
    return {official.sources[0].path: _read(path)}


def read_installed(official: Official) -> dict[str, str]:
    """Return the sources from an installed package, which is found and read but not imported.

    Raises `JudgeError` where no package has them or it is not installed.
    """
    if official.installed is None:
        raise JudgeError(f"no package that can be installed holds {official.name}")
    package, path = official.installed
    # On the path, whatever a module of that name in this process may be.
    spec = PathFinder.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise JudgeError(f"the package {package} is not installed; {install(package)}")
    return {official.sources[0].path: _read(Path(spec.submodule_search_locations[0]) / path)}


def as_yaml(prompt: Prompt, official: Official) -> str:
    """Return the file of a prompt, as `judge.prompts.load` reads it."""
    turns = [{"role": turn.role, "content": turn.content} for turn in prompt.turns]
    fields: dict[str, object] = {
        "name": prompt.name,
        "version": prompt.version,
        "rubric": prompt.rubric,
        "layout": prompt.layout,
        "user": prompt.user,
        **({"system": prompt.system} if prompt.system else {}),
        **({"words": prompt.words} if prompt.words else {}),
        **({"turns": turns} if turns else {}),
    }
    head = (
        f"# The text of {official.repository}, commit {official.commit}.\n"
        "# Fetched by `judge prompts fetch`, which knows it by its sha256: not to be edited.\n"
    )
    # Quoted, every character of a text comes back as it was.
    return head + yaml.safe_dump(fields, default_style='"', sort_keys=False, width=1_000_000)


def _within(folder: Path, path: str) -> Path:
    full = folder / path
    return full if full.is_file() else folder / PurePosixPath(path).name


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise JudgeError(f"{path} is no text in UTF-8: {error}") from error
