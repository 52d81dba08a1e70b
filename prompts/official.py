"""Official prompts of other authors, downloaded from their repositories.

Their Python source is parsed without running it, and accepted if the prompt has the known sha256.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from judge.files import replacing
from judge.jsonio import read_yaml
from judge.prompts.prompt import Prompt, check
from judge.types import JudgeError

FOLDER = Path(__file__).parent
ENDING = "-official"
"""What the names of official prompts end with."""
HOST = "https://raw.githubusercontent.com"
_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How an official prompt is made from its authors' files.

    In `wording` `$NAME` is the text assigned to that name, `$TEXT_1`, ... are the f-strings and
    `messages` of `function`; `variables` maps the authors' names of reports to ours; `models` is a
    pattern of models trained on this wording only.
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
        """Return the prompt from the authors' files by path; raises `JudgeError` for another."""
        prompt = self.build(sources)
        if prompt.sha256 != self.sha256:
            raise JudgeError(
                f"the text differs from that of {self.name}, {' and '.join(self.files)} of commit "
                f"{self.commit} of {self.repository}: run `judge prompts fetch {self.name}`"
            )
        return prompt

    def build(self, sources: Mapping[str, str]) -> Prompt:
        """Return the prompt from the files, whatever its text, without running them."""
        trees = [_parsed(path, source) for path, source in sources.items()]
        texts: dict[str, object] = {}
        for tree in trees:
            texts |= _assigned(tree)
        parts: list[str] = []
        for tree in trees:
            parts += _texts_of(tree, self.function, texts)
        for number, text in enumerate(parts, 1):
            texts[f"TEXT_{number}"] = text
        keys = {}
        for key, value in self.wording.items():
            keys[key] = self._fill(key, value, texts)
        return check(keys, f"prompt {self.name} of {', '.join(sources)}")

    def _fill(self, key: str, value: Any, texts: Mapping[str, object]) -> Any:  # noqa: ANN401
        if isinstance(value, list):
            return [self._fill(key, item, texts) for item in value]
        if isinstance(value, dict):
            filled_items = {}
            for name, item in value.items():
                filled_items[name] = self._fill(name, item, texts)
            return filled_items
        if not isinstance(value, str):
            return value
        if key not in ("user", "user_in_context"):
            return Template(value).safe_substitute(texts)
        # The result is a template itself.
        escaped: dict[str, str] = {}
        for name, text in texts.items():
            escaped[name] = str(text).replace("$", "$$")
        filled = Template(value).safe_substitute(escaped)
        for theirs, ours in self.variables.items():
            filled = filled.replace(f"{{{theirs}}}", f"${{{ours}}}")
        return filled


def _parsed(path: str, source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise JudgeError(f"{path} is not Python source: {error}") from error


def _assigned(tree: ast.Module) -> dict[str, object]:
    """Return the literals that a module assigns, by name."""
    literals = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                with suppress(ValueError):
                    literals[name] = ast.literal_eval(value)
    return literals


def _texts_of(
    tree: ast.Module, function: str, texts: Mapping[str, object]
) -> Iterator[str]:
    """Yield the f-strings and messages in the function of this name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            for part in _parts(node):
                yield _text(part, texts)


def _parts(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        match node:
            case ast.Assign(value=ast.JoinedStr() as text) | ast.Return(
                ast.JoinedStr() as text
            ):
                yield text
            case ast.keyword(arg="messages", value=ast.List(elts=turns)):
                for turn in turns:
                    if isinstance(turn, ast.Dict):
                        yield turn.values[-1]


def _text(node: ast.expr, texts: Mapping[str, object]) -> str:
    """Return the text of an expression, `{name}` for a variable; empty for other expressions."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value, texts) for value in values)
        case ast.FormattedValue(
            value=ast.Name(id=name), conversion=-1, format_spec=None
        ):
            return f"{{{name}}}"
        case ast.Name(id=name):
            return str(texts.get(name, ""))
        case ast.Call(
            ast.Attribute(ast.Name("json"), "dumps"), [ast.Name(id=name)], []
        ):
            return json.dumps(texts.get(name))
    return ""


@cache
def recipes() -> dict[str, Recipe]:
    """Return the recipes by prompt name."""
    found = {}
    for path in sorted(FOLDER.glob(f"*{ENDING}.yaml")):
        wording: Any = read_yaml(path)[0]
        found[path.stem] = Recipe(**wording.pop("source"), wording=wording)
    return found


def for_model(rubric: str, model: str) -> str | None:
    """Return the name of the only prompt that a local model was trained on, None for others."""
    for name, recipe in recipes().items():
        if recipe.rubric != rubric or recipe.models is None:
            continue
        if re.search(recipe.models, model, re.IGNORECASE):
            return name
    return None


def folder_of(name: str, environ: Mapping[str, str]) -> Path:
    """Return the folder with the files of a prompt, below `JUDGE_CONFIG` if it is set."""
    from platformdirs import user_config_path

    base = environ.get("JUDGE_CONFIG") or user_config_path("judge", appauthor=False)
    return Path(base).expanduser() / "prompts" / name


def load(name: str, environ: Mapping[str, str]) -> Prompt:
    """Return an official prompt from the files that were downloaded."""
    recipe = recipes()[name]
    folder = folder_of(name, environ)
    if not folder.is_dir():
        raise JudgeError(
            f"the prompt {name} is not downloaded: run `judge prompts fetch {name}`"
        )
    return recipe.extract(read_copy(recipe, folder))


def download(recipe: Recipe) -> dict[str, str]:
    """Return the authors' files of a prompt, by path, from GitHub."""
    import httpx2  # a dependency of openai

    sources = {}
    for path in recipe.files:
        url = f"{HOST}/{recipe.repository}/{recipe.commit}/{path}"
        try:
            response = httpx2.get(url, timeout=_TIMEOUT)
            sources[path] = response.raise_for_status().text
        except httpx2.HTTPError as error:
            remedy = "try again, or give a copy with --from FILE"
            raise JudgeError(f"cannot fetch {url} ({error}): {remedy}") from error
    return sources


def read_copy(recipe: Recipe, copy: Path) -> dict[str, str]:
    """Return the authors' files by path, from a copy: a file, or a folder with the files."""
    sources = {}
    for name in recipe.files:
        places = (copy / name, copy / Path(name).name)
        place = next(filter(Path.is_file, places), copy)
        try:
            sources[name] = place.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise JudgeError(f"cannot read {place} as text: {error}") from error
    return sources


def fetch(
    name: str, copy: Path | None, environ: Mapping[str, str]
) -> tuple[Prompt, Path]:
    """Keep an official prompt, from GitHub or a copy of its files; return it and its folder."""
    recipe = recipes().get(name)
    if recipe is None:
        raise JudgeError(
            f"no official prompt {name!r}; there are: {', '.join(recipes())}"
        )
    if copy:
        sources = read_copy(recipe, copy)
    else:
        sources = download(recipe)
    prompt = recipe.extract(sources)
    folder = folder_of(name, environ)
    for path, source in sources.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with replacing(folder / Path(path).name) as staged:
                staged.write_text(source, "utf-8", newline="")
        except OSError as error:
            raise JudgeError(
                f"{error}; set JUDGE_CONFIG to a folder you can write to"
            ) from error
    return prompt, folder
