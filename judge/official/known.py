"""Which official prompts there are, where they come from and how each is known again."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from judge.prompts import CHAT, GREEN, Prompt
from judge.types import JudgeError, Message

Turns = list[tuple[str, str]]
"""The turns of a prompt, each a role and a content; `{name}` stands for a report."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the authors' repository: its path there and its sha256."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Official:
    """One official prompt.

    The Python function `function`, in the last of the sources, puts it together: in an f-string
    or in the `messages` of a call, from what the sources hold as literals. `reports` gives
    for the function's name of each report that of `judge.prompts`; `words` and `layout` are
    the prompt's. `sha256` is of the turns as JSON (see `digest`). `installed` is the file of
    an installed package that holds the function too, as the package and the path in it.
    """

    name: str
    rubric: str
    repository: str
    commit: str
    sources: tuple[Source, ...]
    function: str
    reports: Mapping[str, str]
    sha256: str
    words: int | None = None
    layout: str = CHAT
    installed: tuple[str, str] | None = None

    def read(self, sources: Mapping[str, str]) -> Prompt:
        """Return the prompt that stands in `sources`, given by path; nothing of them is run.

        Raises `JudgeError` for sources that hold another text or hold it in another form.
        """
        turns = self.turns(sources)
        if digest(turns) != self.sha256:
            raise JudgeError(f"{', '.join(sources)} holds another prompt than {self.name}")
        return self.build(turns)

    def turns(self, sources: Mapping[str, str]) -> Turns:
        """Return the turns in `sources`, whatever their text; raises as `read` does."""
        trees = [_parsed(source, path) for path, source in sources.items()]
        found = [
            _value(node, _literals(trees), self.reports)
            for function in ast.walk(trees[-1])
            if isinstance(function, ast.FunctionDef) and function.name == self.function
            for node in _prompts(function)
        ]
        match found:
            case [str(text)]:
                return [("user", text)]
            case [list(turns)]:
                return turns
        raise JudgeError(
            f"{', '.join(sources)} does not hold {self.name} in the form that its authors "
            f"published: one prompt in one function {self.function}"
        )

    def build(self, turns: Turns) -> Prompt:
        """Return the prompt of turns: the first of several is the system, the last the question."""
        *before, (_, question) = turns
        system = before.pop(0)[1] if before else ""
        user = question.replace("$", "$$")
        for theirs, ours in self.reports.items():
            user = user.replace(f"{{{theirs}}}", f"${{{ours}}}")
        return Prompt(
            self.name,
            1,
            self.rubric,
            user,
            system,
            turns=tuple(Message(role, content) for role, content in before),
            words=self.words,
            layout=self.layout,
        )

    def is_genuine(self, prompt: Prompt) -> bool:
        """Return whether `prompt` is the official one, nothing changed in it or around it."""
        user = prompt.user
        for theirs, ours in self.reports.items():
            user = user.replace(f"${{{ours}}}", f"{{{theirs}}}")
        turns = [("system", prompt.system)] if prompt.system else []
        turns += [(turn.role, turn.content) for turn in prompt.turns]
        turns.append(("user", user.replace("$$", "$")))
        return digest(turns) == self.sha256 and self.build(turns) == prompt


def digest(turns: Turns) -> str:
    """Return the sha256 of the turns as JSON: a list of pairs, in ASCII, without blanks."""
    return hashlib.sha256(json.dumps(turns, separators=(",", ":")).encode()).hexdigest()


def _parsed(source: str, path: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise JudgeError(f"{path} is no Python source: {error}") from error


def _literals(trees: Collection[ast.Module]) -> dict[str, object]:
    """Return the values that the modules give to names, where they are plain literals."""
    found: dict[str, object] = {}
    for node in (node for tree in trees for node in tree.body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    found[name] = ast.literal_eval(value)
                except ValueError:
                    continue
    return found


def _prompts(function: ast.FunctionDef) -> list[ast.expr | None]:
    """Return what in a function can be its prompt."""
    return [
        node.value
        for node in ast.walk(function)
        if (isinstance(node, ast.Assign | ast.Return) and isinstance(node.value, ast.JoinedStr))
        or (isinstance(node, ast.keyword) and node.arg == "messages")
    ]


def _value(
    node: ast.expr | None, literals: Mapping[str, object], reports: Collection[str]
) -> str | Turns | None:
    """Return a text or a list of turns as the source would make it, None for any other form."""
    match node:
        case ast.List():
            turns = [_turn(element, literals, reports) for element in node.elts]
            return [turn for turn in turns if turn] if all(turns) else None
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            parts = [_value(part, literals, reports) for part in values]
            texts = [part for part in parts if isinstance(part, str)]
            return "".join(texts) if len(texts) == len(parts) else None
        case ast.FormattedValue(value=ast.Name(id=name), conversion=-1, format_spec=None):
            return f"{{{name}}}" if name in reports else None
        case ast.Name(id=name) if isinstance(literals.get(name), str):
            return str(literals[name])
        case ast.Call(ast.Attribute(ast.Name("json"), "dumps"), [ast.Name(id=name)], []):
            return json.dumps(literals[name]) if name in literals else None
    return None


def _turn(
    node: ast.expr, literals: Mapping[str, object], reports: Collection[str]
) -> tuple[str, str] | None:
    match node:
        case ast.Dict([ast.Constant("role"), ast.Constant("content")], [ast.Constant(role), text]):
            content = _value(text, literals, reports)
            return (str(role), content) if isinstance(content, str) else None
    return None


_GREEN = Official(
    name="green-official",
    rubric="green",
    repository="Stanford-AIMI/GREEN",
    commit="d72c1951e69683b93405968901fd4f14cc6c27b0",
    sources=(
        Source(
            "green_score/utils.py",
            "285e076c8707dc5d506497b922d44e73458e0a88de69bfc73ee07a37e9fd1062",
        ),
    ),
    function="make_prompt",
    reports={"text1": "reference", "text2": "candidate"},
    sha256="97d25a7b93a0a27f0f34f043588a31a4f69802b6556461065f4078babd3681b8",
    # What the published pipeline shows of a report (`max_len` of `make_prompt`).
    words=300,
    layout=GREEN,
    installed=("radeval", "metrics/green_score/utils.py"),
)

_FINERADSCORE = Official(
    name="fineradscore-official",
    rubric="fineradscore",
    repository="rajpurkarlab/FineRadScore",
    commit="3f5e1dc708d953a92aca536492d78f4e248c44f6",
    sources=(
        # The instruction and the worked corrections, then the call that puts them together.
        Source(
            "few_shot_prompt.py",
            "450e499499423de76a1e98a70042c42a024ae19754bf7f03365e99eb036eb711",
        ),
        Source(
            "gpt4_generations.py",
            "3ec94336153d0118bb8ea03aa3c1d07264cd10d50829959b97051f386ed2d2bb",
        ),
    ),
    function="generate_gpt4_response",
    # The candidate comes with its lines numbered.
    reports={"pred_target": "row", "gt_target": "reference"},
    sha256="7cc147d8582647d05498a3829828bbc51d746e97912cdb1bb337b6f1300d2801",
)

KNOWN: Mapping[str, Official] = {one.name: one for one in (_GREEN, _FINERADSCORE)}
