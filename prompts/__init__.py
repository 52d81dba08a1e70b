"""Prompts: one YAML file a wording of a rubric's question.

A file holds `name`, `version`, `rubric`, `system`, `user` and optionally `shots`, worked
examples that go before the question. `user` is a template: `$reference`, `$candidate`,
`$lines` (the candidate's numbered lines), `$row` (the same in one row, as FineRadScore's
authors write it: `[0] first [1] second`), `$mark`, and nothing else; `$$` stands for a
dollar sign. Reports are text from outside: `$mark` is a word that occurs in neither
report, so that no report can close the delimiters it stands between.

A prompt of the rubric `rewording`, which is none, asks a writer for a report in other words: it
shows the reference alone.

`reply` says what answer the wording asks for, `text` or `structured`, where a rubric has both.

Three more keys are for models that know one exact wording. `turns` are few-shot turns as
they are sent, each a `role` and a `content`; `words` cuts each report to so many words,
separated by single spaces; `layout: green` lays the turns out as GREEN models were
trained on them, rather than as the model's own chat template does.

`user_in_context` is the template that is used instead of `user` where something is known of the
patient; it shows that as `$context`, a line for each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any

from judge.sentences import lines
from judge.types import JudgeError, Message
from judge.yamlfile import UnreadableYamlError, read_yaml

_ROOT = Path(__file__).parent
_VARIABLES = frozenset({"reference", "candidate", "lines", "row", "mark"})
# Of each of these, a question must show one.
_REQUIRED = (frozenset({"reference"}), frozenset({"candidate", "lines", "row"}))
REWORDING = "rewording"
"""What a prompt that asks for a rewording has as its rubric."""
_NO_LINES = "(no lines: the report is empty)"
_KINDS = {str: "text", int: "a whole number", list: "a list of mappings"}
_KEYS: dict[str, type] = dict.fromkeys(("name", "rubric", "system", "user", "layout", "reply"), str)
_KEYS |= {"version": int, "words": int, "shots": list, "turns": list, "user_in_context": str}
_NEEDED = ("name", "version", "rubric", "user")
_SHOT_KEYS = ("reference", "candidate", "reply")
_TURN_KEYS = ("role", "content")
CHAT, GREEN = "chat", "green"
"""The layouts: a model's own chat template, or the one that GREEN models were trained on."""
TEXT, STRUCTURED = "text", "structured"
"""What is asked for: an answer in the rubric's layout, or a reply of a fixed form, in JSON."""


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
    are shown, None for all; `layout` is `CHAT` or `GREEN`. `reply` is `TEXT` or `STRUCTURED`,
    None where the wording does not say. `user_in_context` asks where a context is known.
    """

    name: str
    version: int
    rubric: str
    user: str
    system: str = ""
    shots: tuple[Shot, ...] = ()
    turns: tuple[Message, ...] = ()
    words: int | None = None
    layout: str = CHAT
    reply: str | None = None
    user_in_context: str | None = None

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
        parts += [f"reply={self.reply}"] if self.reply == STRUCTURED else []
        parts += [f"in_context={self.user_in_context}"] if self.user_in_context else []
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]

    def messages(
        self, reference: str, candidate: str, context: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[Message, ...]:
        """Return the turns to send for a pair of reports; the fixed part comes first.

        `context` is what is known of the patient; a wording without a place for it leaves it out.
        """
        turns = [Message("system", self.system)] if self.system else []
        for shot in self.shots:
            turns.append(Message("user", self._question(shot.reference, shot.candidate)))
            turns.append(Message("assistant", shot.reply))
        turns += self.turns
        turns.append(Message("user", self._question(reference, candidate, context)))
        return tuple(turns)

    def cuts(self, reference: str, candidate: str) -> bool:
        """Return whether a report of the pair has more words than are shown."""
        return self.words is not None and any(
            len(report.split()) > self.words for report in (reference, candidate)
        )

    def _question(
        self, reference: str, candidate: str, context: Mapping[str, str] = MappingProxyType({})
    ) -> str:
        if self.words is not None:
            reference, candidate = (
                " ".join(report.split()[: self.words]) for report in (reference, candidate)
            )
        user = (self.user_in_context if context else None) or self.user
        known = "\n".join(f"    {name}: {value}" for name, value in context.items())
        is_numbered = "$lines" in user or "$row" in user or "${" in user
        numbered = list(enumerate(lines(candidate))) if is_numbered else []
        mark = _mark(reference, candidate, known)
        return Template(user).substitute(
            context=known,
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
        data, _ = read_yaml(path)
    except FileNotFoundError:
        raise JudgeError(
            f"unknown prompt {name!r}: no file of that name, and the built-in prompts are: "
            f"{', '.join(names())}"
        ) from None
    except (OSError, UnreadableYamlError) as error:
        raise JudgeError(f"cannot read prompt {name!r}: {error}") from error
    return _checked(data, name)


def _checked(data: object, where: str) -> Prompt:
    where = f"prompt {where}"
    given = _mapping(data, _KEYS, _NEEDED, where)
    shots, turns = (
        [
            _mapping(one, dict.fromkeys(keys, str), keys, f"{where}, {name} {number}")
            for number, one in enumerate(given.pop(f"{name}s", ()), start=1)
        ]
        for name, keys in (("shot", _SHOT_KEYS), ("turn", _TURN_KEYS))
    )
    prompt = Prompt(
        **given,
        shots=tuple(Shot(**shot) for shot in shots),
        turns=tuple(Message(**turn) for turn in turns),
    )
    if prompt.words is not None and prompt.words < 1:
        raise JudgeError(f"{where}: words is a whole number from 1")
    if prompt.layout not in (CHAT, GREEN):
        raise JudgeError(f"{where}: layout is {CHAT} or {GREEN}")
    if prompt.reply not in (None, TEXT, STRUCTURED):
        raise JudgeError(f"{where}: reply is {TEXT} or {STRUCTURED}")
    required = _REQUIRED[:1] if prompt.rubric == REWORDING else _REQUIRED
    _check_template(where, "user", prompt.user, _VARIABLES, required)
    if prompt.user_in_context is not None:
        known, required = _VARIABLES | {"context"}, (*required, frozenset({"context"}))
        _check_template(where, "user_in_context", prompt.user_in_context, known, required)
    if prompt.layout == GREEN and prompt.reply == STRUCTURED:
        raise JudgeError(f"{where}: in the layout {GREEN} the reply is {TEXT}")
    return prompt


def _check_template(
    where: str,
    key: str,
    text: str,
    known: Collection[str],
    required: Iterable[Collection[str]],
) -> None:
    """Raise `JudgeError` for a template with a variable that is not known or lacks one."""
    template = Template(text)
    used = set(template.get_identifiers())
    if not template.is_valid():
        raise JudgeError(f"{where}: a lone $ in {key}; write $$ for a dollar sign")
    if unknown := used.difference(known):
        raise JudgeError(
            f"{where}: unknown variable {_listed(unknown)}; there are: {_listed(known)}"
        )
    if missing := [shown for shown in required if used.isdisjoint(shown)]:
        lacking = ", ".join(" or ".join(f"${name}" for name in sorted(shown)) for shown in missing)
        raise JudgeError(f"{where}: {key} lacks {lacking}")


def _mapping(
    data: object, known: Mapping[str, type], needed: Collection[str], where: str
) -> dict[str, Any]:
    """Return the keys that have a value; raises `JudgeError` with every fault of them."""
    keys = ", ".join(sorted(known))
    if not isinstance(data, Mapping):
        raise JudgeError(f"{where}: expected a mapping with {keys}")
    given = {key: value for key, value in data.items() if value is not None}
    faults = [f"lacks {key}" for key in needed if key not in given]
    for key, value in given.items():
        if key not in known:
            faults.append(f"unknown key {key}")
        elif type(value) is not known[key]:
            faults.append(f"{key} is {_KINDS[known[key]]}")
    if faults:
        raise JudgeError(f"{where}: {'; '.join(faults)}; its keys are: {keys}")
    return given


def _listed(variables: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(variables))


def _mark(reference: str, candidate: str, context: str) -> str:
    """Return a short word that occurs in none of them, the same for the same reports."""
    digest = hashlib.sha256(f"{reference}\0{candidate}".encode(errors="surrogatepass")).hexdigest()
    marks = (digest[at : at + 8] for at in range(len(digest) - 8))
    reports = f"{reference}\0{candidate}\0{context}".lower()
    return next(mark for mark in marks if mark not in reports)
