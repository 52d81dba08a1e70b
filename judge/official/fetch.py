"""Getting an official prompt: from its repository, a copy, or an installed package."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path, PurePosixPath

import yaml

from judge.official.known import Official
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
    return {
        source.path: _text(
            _checked(
                _get(
                    f"{base_url.rstrip('/')}/{official.repository}/{official.commit}", source.path
                ),
                source.sha256,
                source.path,
            ),
            source.path,
        )
        for source in official.sources
    }


def _checked(data: bytes, sha256: str, path: str) -> bytes:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise JudgeError(
            f"{path} as it was downloaded is not the known file (sha256 {found[:12]}..., expected "
            f"{sha256[:12]}...): nothing was kept; a proxy or mirror may have changed it"
        )
    return data


def _get(folder: str, path: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    url = f"{folder}/{path}"
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
        raise JudgeError(f"the package {package} is not installed; pip install {package}")
    return {official.sources[0].path: _read(Path(spec.submodule_search_locations[0]) / path)}


def keep(official: Official, sources: Mapping[str, str], path: Path) -> Prompt:
    """Read the prompt out of its sources and write it to `path`, whole or not at all.

    Raises `JudgeError` for sources that hold another text, and a folder that cannot be
    written to.
    """
    text = official.read(sources)
    if not official.accepts(text):
        raise JudgeError(
            f"{', '.join(sources)} holds another prompt than {official.name} "
            f"({len(text)} characters, expected {official.characters}): nothing was kept"
        )
    prompt = official.build(text)
    content = _yaml(prompt, official)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content)
    except OSError as error:
        raise JudgeError(
            f"cannot write {path}: {error.strerror or error}; set JUDGE_CONFIG to a folder that "
            "can be written to"
        ) from error
    return prompt


def _yaml(prompt: Prompt, official: Official) -> str:
    fields: dict[str, object] = {
        "name": prompt.name,
        "version": prompt.version,
        "rubric": prompt.rubric,
        "layout": prompt.layout,
        "user": prompt.user,
    }
    if prompt.system:
        fields["system"] = prompt.system
    if prompt.words is not None:
        fields["words"] = prompt.words
    if prompt.turns:
        fields["turns"] = [{"role": turn.role, "content": turn.content} for turn in prompt.turns]
    head = (
        f"# The text of {official.repository}, commit {official.commit}.\n"
        "# Fetched by `judge prompts fetch`, which knows it by its sha256: not to be edited.\n"
    )
    # Quoted, every character of a text comes back as it was.
    return head + yaml.safe_dump(fields, default_style='"', sort_keys=False, width=1_000_000)


def _replace(path: Path, content: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _within(folder: Path, path: str) -> Path:
    full = folder / path
    return full if full.is_file() else folder / PurePosixPath(path).name


def _read(path: Path) -> str:
    try:
        return _text(path.read_bytes(), str(path))
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror or error}") from error


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JudgeError(f"{where} is no text in UTF-8: {error}") from error
