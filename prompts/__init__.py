"""Prompts: one YAML file a wording of a rubric's question.

A file holds `name`, `version`, `rubric`, `system`, `user` and optionally `shots`, worked
examples that go before the question. `user` is a template: `$reference`, `$candidate`,
`$lines` (the candidate's numbered lines), `$row` (the same in one row, as FineRadScore's
authors write it: `[0] first [1] second`), `$mark`, and nothing else; `$$` stands for a
dollar sign. Reports are text from outside: `$mark` is a word that occurs in neither
report, so that no report can close the delimiters it stands between.

`asks` says what a question is about that is not about the two reports: `report`, one report
alone (`$report` or `$reference`), or `phrases`, short phrases, a line each, and the report that
they are held against (`$phrases`, numbered from 1, and `$report`). The examples then hold these. A
rubric that asks several questions about a study has a prompt for each.

`reply` says what answer the wording asks for, `text` or `structured`, where a rubric has both.
`scale`, two numbers, is what a score is given on where the rubric asks for one: the wording names
both.

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
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any

from judge.sentences import lines
from judge.types import MODALITIES, JudgeError, Message, Study
from judge.yamlfile import UnreadableYamlError, read_yaml

_ROOT = Path(__file__).parent
PAIR, REPORT, PHRASES = "", "report", "phrases"
"""What a question is about."""
_PAIR_VARIABLES = frozenset({"reference", "candidate", "lines", "row", "mark"})
_VARIABLES = {
    PAIR: _PAIR_VARIABLES,
    REPORT: frozenset({"report", "reference", "mark"}),
    PHRASES: frozenset({"report", "phrases", "mark"}),
}
# Of each of these, a question must show one.
_REQUIRED = {
    PAIR: (frozenset({"reference"}), frozenset({"candidate", "lines", "row"})),
    REPORT: (frozenset({"report", "reference"}),),
    PHRASES: (frozenset({"report"}), frozenset({"phrases"})),
}
_NO_LINES = "(no lines: the report is empty)"
_KINDS = {str: "text", int: "a whole number", list: "a list", dict: "a mapping"}
_KEYS: dict[str, type] = dict.fromkeys(
    ("name", "rubric", "system", "user", "user_in_context", "layout", "reply", "asks"), str
)
_KEYS |= {
    "modalities": dict,
    "version": int,
    "words": int,
    "shots": list,
    "turns": list,
    "scale": list,
}
_NEEDED = ("name", "version", "rubric", "user")
# What the examples call the two texts.
_SHOT_KEYS = {
    PAIR: {"reference": "reference", "candidate": "candidate"},
    REPORT: {"report": "reference"},
    PHRASES: {"report": "reference", "phrases": "candidate"},
}
_TURN_KEYS = ("role", "content")
CHAT, GREEN = "chat", "green"
"""The layouts: a model's own chat template, or the one that GREEN models were trained on."""
TEXT, STRUCTURED = "text", "structured"
"""What is asked for: an answer in the rubric's layout, or a reply of a fixed form, in JSON."""

_NO_CONTEXT: Mapping[str, str] = MappingProxyType({})
# What stands before the question where more is known than the two reports.
_MODALITY = Template(
    "Both reports are of this kind of examination: $words. Judge them as a radiologist who reads "
    "these, also where the instructions above name another."
)
_OF_MODALITY = {
    "ct": "Measurements, the level or segment, and the phase of the contrast medium are part of "
    "a finding: one that differs is an error of its size, its place or its description.",
    "mg": "The side, the BI-RADS category, the density of the breasts and the kind and spread of "
    "calcifications are part of a finding: a wrong side is a wrong location, a category or "
    "density that is too high or too low is a wrong severity.",
}
_CONTEXT = Template(
    "What was known of the patient and the examination. It is no report and is not judged: weigh "
    "by it how much a finding or its absence matters to this patient.\n"
    "<<<CONTEXT $mark\n$context\n$mark CONTEXT>>>"
)
_PRIOR = Template(
    "The report of this patient's earlier examination. It is not judged: it tells what the two "
    "reports below compare with. A statement of change that it bears out is right even where the "
    "reference leaves it out, and one that it contradicts is wrong.\n"
    "<<<EARLIER REPORT $mark\n$prior\n$mark EARLIER REPORT>>>"
)


@dataclass(frozen=True, slots=True)
class Shot:
    """A worked example and the reply that is wanted; of one report, that is the reference."""

    reference: str
    candidate: str
    reply: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One wording of a rubric's question; the module says what its parts are."""

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
    asks: str = PAIR
    scale: tuple[float, float] | None = None
    user_in_context: str | None = None
    modalities: Mapping[str, str] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether models were made for these very words: nothing else is put beside them."""
        has_place = self.user_in_context is not None
        return self.layout == GREEN or self.words is not None or bool(self.turns) or has_place

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
        parts += [f"scale={self.scale}"] if self.scale is not None else []
        parts += [f"{name}={text}" for name, text in sorted((self.modalities or {}).items())]
        parts += [f"in_context={self.user_in_context}"] if self.user_in_context else []
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]

    def about(self, study: Study) -> tuple[Message, ...]:
        """Return the turns to send for a study, as `messages` does for its reports."""
        return self.messages(
            study.reference, study.candidate, study.context, study.prior, study.modality
        )

    def messages(
        self,
        reference: str,
        candidate: str,
        context: Mapping[str, str] = _NO_CONTEXT,
        prior: str | None = None,
        modality: str | None = None,
    ) -> tuple[Message, ...]:
        """Return the turns to send for a pair of reports; the fixed part comes first."""
        turns = [Message("system", self.system)] if self.system else []
        for shot in self.shots:
            turns.append(Message("user", self._question(shot.reference, shot.candidate)))
            turns.append(Message("assistant", shot.reply))
        turns += self.turns
        own = context if self.user_in_context else _NO_CONTEXT
        told = _NO_CONTEXT if own else context
        beside = ""
        if self.is_exact and modality == "xr":
            modality = None  # what all of these wordings are about
        if told or prior or modality:
            if self.is_exact:
                raise JudgeError(
                    f"the prompt {self.name} has no place for what is told: leave --prior-field, "
                    "--modality or the context (--no-context) out, or choose another --prompt"
                )
            mark = _mark(reference, candidate, *context, *context.values(), prior or "")
            beside = self._beside(mark, told, prior, modality)
        turns.append(Message("user", beside + self._question(reference, candidate, own)))
        return tuple(turns)

    def _beside(
        self, mark: str, context: Mapping[str, str], prior: str | None, modality: str | None
    ) -> str:
        parts = []
        if modality:
            told = _MODALITY.substitute(words=MODALITIES[modality])
            parts.append(
                " ".join(filter(None, (told, (self.modalities or _OF_MODALITY).get(modality))))
            )
        if context:
            told = "\n".join(f"{name}: {value}" for name, value in context.items())
            parts.append(_CONTEXT.substitute(mark=mark, context=told))
        if prior:
            parts.append(_PRIOR.substitute(mark=mark, prior=prior))
        return "".join(f"{part}\n\n" for part in parts)

    def cuts(self, reference: str, candidate: str) -> bool:
        """Return whether a report of the pair has more words than are shown."""
        return self.words is not None and any(
            len(report.split()) > self.words for report in (reference, candidate)
        )

    def _question(
        self, reference: str, candidate: str, context: Mapping[str, str] = _NO_CONTEXT
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
            report=reference,
            candidate=candidate,
            phrases="\n".join(f"{n}. {line}" for n, line in enumerate(candidate.splitlines(), 1)),
            lines="\n".join(f"{at}: {line}" for at, line in numbered) or _NO_LINES,
            row=" ".join(f"[{at}] {line}" for at, line in numbered),
            mark=mark,
        )


def names() -> list[str]:
    """Return the names of the prompts that come with the program, sorted."""
    return sorted(path.stem for path in _ROOT.glob("*.yaml"))


def load(name: str) -> Prompt:
    """Return the prompt called `name`, or the one in the file of that path."""
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
    asks = given.get("asks", PAIR)
    if asks not in _VARIABLES:
        raise JudgeError(f"{where}: asks is {REPORT} or {PHRASES}; leave it out for two reports")
    texts = _SHOT_KEYS[asks]
    shots, turns = (
        [
            _mapping(one, dict.fromkeys(keys, str), keys, f"{where}, {name} {number}")
            for number, one in enumerate(given.pop(f"{name}s", ()), start=1)
        ]
        for name, keys in (("shot", (*texts, "reply")), ("turn", _TURN_KEYS))
    )
    scale, wording = given.pop("scale", None), f"{given.get('system')} {given['user']}"
    prompt = Prompt(
        **given,
        scale=None if scale is None else _scale(scale, wording, where),
        shots=tuple(
            Shot(**{"candidate": ""} | {texts.get(key, key): text for key, text in shot.items()})
            for shot in shots
        ),
        turns=tuple(Message(**turn) for turn in turns),
    )
    if prompt.words is not None and prompt.words < 1:
        raise JudgeError(f"{where}: words is a whole number from 1")
    if prompt.layout not in (CHAT, GREEN):
        raise JudgeError(f"{where}: layout is {CHAT} or {GREEN}")
    if prompt.reply not in (None, TEXT, STRUCTURED):
        raise JudgeError(f"{where}: reply is {TEXT} or {STRUCTURED}")
    _check_template(where, "user", prompt.user, _VARIABLES[asks], _REQUIRED[asks])
    if prompt.user_in_context is not None:
        known = _VARIABLES[asks] | {"context"}
        required = (*_REQUIRED[asks], frozenset({"context"}))
        _check_template(where, "user_in_context", prompt.user_in_context, known, required)
    if not set(prompt.modalities or ()) <= MODALITIES.keys():
        raise JudgeError(f"{where}: modalities are of {', '.join(MODALITIES)}")
    if prompt.layout == GREEN and prompt.reply == STRUCTURED:
        raise JudgeError(f"{where}: in the layout {GREEN} the reply is {TEXT}")
    return prompt


def _scale(given: list[Any], wording: str, where: str) -> tuple[float, float]:
    """Return the ends of a scale; raises `JudgeError` for what is none or is told no judge."""
    are_numbers = all(type(end) in (int, float) and isfinite(end) for end in given)
    if len(given) != 2 or not are_numbers or given[0] >= given[1]:
        raise JudgeError(f"{where}: scale is its lowest and its highest number, such as [0, 100]")
    low, high = given
    for end in (low, high):
        if not re.search(rf"(?<![\d.-]){re.escape(f'{end:.15g}')}(?!\.?\d)", wording):
            raise JudgeError(f"{where}: scale ends at {end:.15g}, which the wording does not name")
    return float(low), float(high)


def _check_template(
    where: str,
    key: str,
    text: str,
    known: Collection[str],
    required: Iterable[Collection[str]],
) -> None:
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


def _mark(reference: str, candidate: str, *beside: str) -> str:
    digest = hashlib.sha256(f"{reference}\0{candidate}".encode(errors="surrogatepass")).hexdigest()
    marks = (digest[at : at + 8] for at in range(len(digest) - 8))
    reports = "\0".join((reference, candidate, *beside)).lower()
    return next(mark for mark in marks if mark not in reports)
