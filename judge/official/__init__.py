"""Prompts of other authors: their text is not ours, so it is fetched from them, like weights.

`prompts/NAME-official.yaml` is a prompt with `$NAME` where a text of the authors belongs, and
`source`, which says where that text is published. It is read from their Python source without
running it, accepted only if the prompt has the known sha256, and kept in the user's configuration
folder.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import yaml

from judge import prompts
from judge.jsonio import read_yaml
from judge.prompts import Prompt
from judge.types import JudgeError

HOST = "https://raw.githubusercontent.com"
_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an official prompt is made of its authors' files.

    `wording` has the keys of the prompt. `$NAME` in it is the text that the files assign to that
    name, `$TEXT_1`, `$TEXT_2`, ... are those that `function` puts together, in an f-string or in
    the `messages` of a call. `variables` gives our name for each report in these. `sha256` is that
    of the prompt. `models` is a pattern of the names of models that know this wording alone.
    """

    wording: Mapping[str, Any]
    repository: str
    commit: str
    files: Sequence[str]
    sha256: str
    function: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    models: str | None = None

    @property
    def name(self) -> str:
        """The prompt's name."""
        return str(self.wording["name"])

    @property
    def rubric(self) -> str:
        """The rubric that the prompt is for."""
        return str(self.wording["rubric"])

    def extract(self, sources: Mapping[str, str]) -> Prompt:
        """Return the prompt in the authors' files, given by path; nothing of them is run.

        Raises `JudgeError` as `build` does, and for any other text than the known one.
        """
        prompt = self.build(sources)
        if not self.is_genuine(prompt):
            raise self._other_text()
        return prompt

    def build(self, sources: Mapping[str, str]) -> Prompt:
        """Return what `extract` does, whatever its text.

        Raises `JudgeError` for a file that is no Python source or lacks a text.
        """
        texts: dict[str, object] = {}
        functions = []
        for path, source in sources.items():
            try:
                tree = ast.parse(source)
            except (SyntaxError, ValueError, RecursionError) as error:
                raise JudgeError(f"{path} is no Python source: {error}") from error
            functions += [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            for node in tree.body:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value):
                        with suppress(ValueError):
                            texts[name] = ast.literal_eval(value)
        parts = [
            _text(part, texts)
            for function in functions
            if function.name == self.function
            for part in _parts(function)
        ]
        texts |= {f"TEXT_{number}": text for number, text in enumerate(parts, 1)}
        keys = {key: self._fill(key, value, texts) for key, value in self.wording.items()}
        return prompts.check(keys, f"prompt {self.name} of {', '.join(sources)}")

    def is_genuine(self, prompt: Prompt) -> bool:
        """Return whether `prompt` is this one, with no character changed."""
        known = self.name, self.wording["version"], self.sha256
        return (prompt.name, prompt.version, prompt.sha256) == known

    def _other_text(self) -> JudgeError:
        return JudgeError(
            f"the text is not that of {self.name}: take {' and '.join(self.files)} of commit "
            f"{self.commit} of {self.repository}"
        )

    def _fill(self, key: str, value: Any, texts: Mapping[str, object]) -> Any:  # noqa: ANN401
        if isinstance(value, list):
            return [self._fill(key, item, texts) for item in value]
        if isinstance(value, dict):
            return {name: self._fill(name, item, texts) for name, item in value.items()}
        if not isinstance(value, str):
            return value
        names = Template(value).get_identifiers()
        if any(name.isupper() and name not in texts for name in names):
            raise self._other_text()
        if key not in ("user", "user_in_context"):
            return Template(value).safe_substitute(texts)
        # What is made is a template itself.
        escaped = {name: str(text).replace("$", "$$") for name, text in texts.items()}
        filled = Template(value).safe_substitute(escaped)
        for theirs, ours in self.variables.items():
            filled = filled.replace(f"{{{theirs}}}", f"${{{ours}}}")
        return filled


def _parts(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        match node:
            case (
                ast.Assign(value=ast.JoinedStr() as text)
                | ast.Return(value=ast.JoinedStr() as text)
            ):
                yield text
            case ast.keyword(arg="messages", value=ast.List(elts=turns)):
                yield from (turn.values[-1] for turn in turns if isinstance(turn, ast.Dict))


def _text(node: ast.expr, texts: Mapping[str, object]) -> str:
    """Return a text as the source would make it, `{name}` for a variable; other forms are empty."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value, texts) for value in values)
        case ast.FormattedValue(value=ast.Name(id=name), conversion=-1, format_spec=None):
            return f"{{{name}}}"
        case ast.Name(id=name):
            return str(texts.get(name, ""))
        case ast.Call(ast.Attribute(ast.Name("json"), "dumps"), [ast.Name(id=name)], []):
            return json.dumps(texts.get(name))
    return ""


@cache
def recipes() -> dict[str, Recipe]:
    """Return the official prompts that can be had, by their names."""
    known = {}
    for path in sorted(prompts.FOLDER.glob("*-official.yaml")):
        wording: Any = read_yaml(path)[0]
        known[path.stem] = Recipe(**wording.pop("source"), wording=wording)
    return known


def for_model(rubric: str, model: str) -> str | None:
    """Return the name of the official prompt that a model on one's own machine knows alone."""
    for name, recipe in recipes().items():
        pattern = recipe.models if recipe.rubric == rubric else None
        if pattern is not None and re.search(pattern, model, re.IGNORECASE):
            return name
    return None


def path_of(name: str, environ: Mapping[str, str]) -> Path:
    """Return the file that the prompt `name` is kept in: under `JUDGE_CONFIG`, if that is set."""
    from platformdirs import user_config_path

    folder = environ.get("JUDGE_CONFIG")
    base = Path(folder).expanduser() if folder else user_config_path("judge", appauthor=False)
    return base / "prompts" / f"{name}.yaml"


def load(name: str, environ: Mapping[str, str]) -> Prompt:
    """Return an official prompt by its name, any other as `judge.prompts.load` does.

    Raises `JudgeError` for an official one that was not fetched, or was changed since.
    """
    recipe = recipes().get(name)
    if recipe is None:
        return prompts.load(name)
    path = path_of(name, environ)
    if not path.is_file():
        raise JudgeError(
            f"the prompt {name} is not on this machine yet: run `judge prompts fetch {name}`, or "
            f"ask with another, such as --prompt {recipe.rubric}"
        )
    prompt = prompts.load(str(path))
    if not recipe.is_genuine(prompt):
        raise JudgeError(
            f"{path} is not the prompt {name} as published: run `judge prompts fetch {name}`"
        )
    return prompt


def download(recipe: Recipe, base_url: str) -> dict[str, str]:
    """Return the authors' files of a prompt, by path."""
    base = f"{base_url.rstrip('/')}/{recipe.repository}/{recipe.commit}"
    return {path: _get(f"{base}/{path}") for path in recipe.files}


def _get(url: str) -> str:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    if not url.startswith(("https://", "http://")):
        raise JudgeError(f"{url} is no address that a prompt can be fetched from")
    try:
        with urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310 - http and https alone
            content: bytes = answer.read()
            return content.decode()
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise JudgeError(
            f"cannot fetch {url} ({error}): try again, or get it elsewhere and name it with "
            "--from FILE"
        ) from error


def read_copy(recipe: Recipe, path: Path) -> dict[str, str]:
    """Return the authors' files from a copy: the file, or a folder that has them."""
    if path.is_dir():
        places = {name: path / name for name in recipe.files}
        places = {
            name: place if place.is_file() else path / place.name for name, place in places.items()
        }
    elif len(recipe.files) == 1:
        places = {recipe.files[0]: path}
    else:
        raise JudgeError(
            f"{recipe.name} is in {' and '.join(recipe.files)}: name the folder that has them"
        )
    return {name: _read(place) for name, place in places.items()}


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise JudgeError(f"cannot read {path} as text: {error}") from error


def as_yaml(prompt: Prompt, recipe: Recipe) -> str:
    """Return the file of a prompt, as `judge.prompts.load` reads it."""
    head = (
        f"# The text of {recipe.repository}, commit {recipe.commit}.\n"
        "# Fetched by `judge prompts fetch`, which knows it by its sha256: not to be edited.\n"
    )
    keys = {name: value for name, value in asdict(prompt).items() if value}
    # Quoted, every character of a text comes back as it was.
    return head + yaml.safe_dump(keys, default_style='"', sort_keys=False, width=1_000_000)
