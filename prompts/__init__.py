"""Prompts: one YAML file a wording of a rubric's question.

A file holds `name`, `version`, `rubric`, `system`, `user` and optionally `shots`, worked
examples that go before the question. `user` is a template: `$reference`, `$candidate`,
`$lines` (the candidate's numbered lines), `$row` (the same in one row, as FineRadScore's
authors write it: `[0] first [1] second`), `$mark`, and nothing else; `$$` stands for a
dollar sign. Reports are text from outside: `$mark` is a word that occurs in neither
report, so that no report can close the delimiters it stands between.

Three more keys are for models that know one exact wording. `turns` are few-shot turns as
they are sent, each a `role` and a `content`; `words` cuts each report to so many words,
separated by single spaces; `layout: green` lays the turns out as GREEN models were
trained on them, rather than as the model's own chat template does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

import yaml

from judge.sentences import lines
from judge.types import JudgeError, Message

_ROOT = Path(__file__).parent
_VARIABLES = frozenset({"reference", "candidate", "lines", "row", "mark"})
# Of each of these, a question must show one.
_REQUIRED = (frozenset({"reference"}), frozenset({"candidate", "lines", "row"}))
_NO_LINES = "(no lines: the report is empty)"
_NEEDED = frozenset({"name", "version", "rubric", "user"})
_KEYS = _NEEDED | {"system", "shots", "turns", "words", "layout"}
_SHOT_KEYS = frozenset({"reference", "candidate", "reply"})
_TURN_KEYS = frozenset({"role", "content"})
CHAT, GREEN = "chat", "green"
"""The layouts: a model's own chat template, or the one that GREEN models were trained on."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A worked example: a pair of reports and the reply that is wanted for it."""

    reference: str
    candidate: str
    reply: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One wording of a rubric's question.

    `turns` go before the question as they are; `words` is how many words of each report
    are shown, None for all; `layout` is `CHAT` or `GREEN`.
    """

    name: str
    version: int
    rubric: str
    system: str
    user: str
    shots: tuple[Shot, ...] = ()
    turns: tuple[Message, ...] = ()
    words: int | None = None
    layout: str = CHAT

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that change with any character of the prompt."""
        parts = [self.rubric, self.system, self.user]
        parts += [
            text for shot in self.shots for text in (shot.reference, shot.candidate, shot.reply)
        ]
        parts += [text for turn in self.turns for text in (turn.role, turn.content)]
        parts += [f"words={self.words}"] if self.words is not None else []
        parts += [f"layout={self.layout}"] if self.layout != CHAT else []
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]

    def messages(self, reference: str, candidate: str) -> tuple[Message, ...]:
        """Return the turns to send for a pair of reports; the fixed part comes first."""
        turns = [Message("system", self.system)] if self.system else []
        for shot in self.shots:
            turns.append(Message("user", self._question(shot.reference, shot.candidate)))
            turns.append(Message("assistant", shot.reply))
        turns += self.turns
        turns.append(Message("user", self._question(reference, candidate)))
        return tuple(turns)

    def cuts(self, reference: str, candidate: str) -> bool:
        """Return whether a report of the pair has more words than are shown."""
        return self.words is not None and any(
            len(report.split()) > self.words for report in (reference, candidate)
        )

    def _question(self, reference: str, candidate: str) -> str:
        if self.words is not None:
            reference, candidate = (
                " ".join(report.split()[: self.words]) for report in (reference, candidate)
            )
        numbered = list(enumerate(lines(candidate)))
        mark = _mark(reference, candidate)
        return Template(self.user).substitute(
            reference=reference,
            candidate=candidate,
            lines="\n".join(f"{at}: {line}" for at, line in numbered) or _NO_LINES,
            row=" ".join(f"[{at}] {line}" for at, line in numbered),
            mark=mark,
        )


def names() -> list[str]:
    """Return the names of the prompts that come with the program, sorted."""
    return sorted(path.stem for path in _ROOT.glob("*.yaml"))


def load(name: str) -> Prompt:
    """Return the prompt called `name`, or the one in the file of that path.

    Raises `JudgeError` for a name or file that does not exist or does not hold a prompt.
    """
    path = _ROOT / f"{name}.yaml" if name in names() else Path(name)
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        raise JudgeError(
            f"unknown prompt {name!r}: no file of that name, and the built-in prompts are: "
            f"{', '.join(names())}"
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise JudgeError(f"cannot read prompt {name!r}: {error}") from error
    return _checked(data, name)


def _checked(data: object, where: str) -> Prompt:
    if not isinstance(data, Mapping):
        raise JudgeError(f"prompt {where}: expected a mapping with {', '.join(sorted(_KEYS))}")
    _check_keys(data, _KEYS, _NEEDED, f"prompt {where}")
    if not isinstance(data["version"], int):
        raise JudgeError(f"prompt {where}: version is a whole number")
    user = _text(data, "user", where)
    template = Template(user)
    used = set(template.get_identifiers())
    if not template.is_valid():
        raise JudgeError(f"prompt {where}: a lone $ in user; write $$ for a dollar sign")
    if unknown := used - _VARIABLES:
        raise JudgeError(
            f"prompt {where}: unknown variable {_listed(unknown, '$')}; "
            f"there are: {_listed(_VARIABLES, '$')}"
        )
    if missing := [shown for shown in _REQUIRED if not shown & used]:
        lacking = ", ".join(" or ".join(f"${name}" for name in sorted(shown)) for shown in missing)
        raise JudgeError(f"prompt {where}: user lacks {lacking}")
    shots = _mappings(data, "shots", _SHOT_KEYS, where)
    turns = _mappings(data, "turns", _TURN_KEYS, where)
    words, layout = data.get("words"), data.get("layout", CHAT)
    if words is not None and (type(words) is not int or words < 1):
        raise JudgeError(f"prompt {where}: words is a whole number from 1")
    if layout not in (CHAT, GREEN):
        raise JudgeError(f"prompt {where}: layout is {CHAT} or {GREEN}")
    return Prompt(
        name=_text(data, "name", where),
        version=data["version"],
        rubric=_text(data, "rubric", where),
        system=_text(data, "system", where) if data.get("system") else "",
        user=user,
        shots=tuple(
            Shot(*(_text(shot, key, where) for key in ("reference", "candidate", "reply")))
            for shot in shots
        ),
        turns=tuple(
            Message(*(_text(turn, key, where) for key in ("role", "content"))) for turn in turns
        ),
        words=words,
        layout=layout,
    )


def _mappings(
    data: Mapping[str, object], key: str, keys: frozenset[str], where: str
) -> list[Mapping[str, object]]:
    """Return the list of mappings at `key`, each with exactly `keys`; empty where there is none."""
    found = data.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise JudgeError(f"prompt {where}: {key} is a list of mappings")
    for at, one in enumerate(found):
        _check_keys(one, keys, keys, f"prompt {where}, {key.removesuffix('s')} {at + 1}")
    return found


def _check_keys(
    data: Mapping[object, object], known: frozenset[str], needed: frozenset[str], where: str
) -> None:
    if unknown := {str(key) for key in data} - known:
        raise JudgeError(f"{where}: unknown key {_listed(unknown)}; there are: {_listed(known)}")
    if missing := needed - {str(key) for key in data}:
        raise JudgeError(f"{where}: lacks {_listed(missing)}")


def _text(data: Mapping[str, object], key: str, where: str) -> str:
    value = data[key]
    if not isinstance(value, str):
        raise JudgeError(f"prompt {where}: {key} is text")
    return value


def _listed(names: set[str] | frozenset[str], prefix: str = "") -> str:
    return ", ".join(prefix + name for name in sorted(names))


def _mark(reference: str, candidate: str) -> str:
    """Return a short word that occurs in neither report, the same for the same pair."""
    digest = hashlib.sha256(f"{reference}\0{candidate}".encode(errors="surrogatepass")).hexdigest()
    marks = (digest[at : at + 8] for at in range(len(digest) - 8))
    reports = f"{reference}\0{candidate}".lower()
    return next(mark for mark in marks if mark not in reports)
