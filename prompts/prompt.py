"""A prompt: one wording of a rubric's question, and the turns that are sent of it.

`user` is a template: `$reference`, `$candidate`, `$lines` (the candidate's numbered lines), `$row`
(`[0] first [1] second`), `$mark` (a word that occurs in neither report, for delimiters that no
report can close); `$$` is a dollar sign.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from math import inf
from string import Template
from types import MappingProxyType
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AliasChoices,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from judge.modalities import MODALITIES, NAMES
from judge.sentences import lines
from judge.types import JudgeError, Message, Study

PAIR = ""
REPORT = "report"
PHRASES = "phrases"
"""The subject of a question: two reports, one report, or a report and phrases."""
CHAT = "chat"
GREEN = "green"
"""The layouts: a model's own chat template, or the one that GREEN models were trained on."""
TEXT = "text"
STRUCTURED = "structured"
"""The replies: an answer in the rubric's layout, or JSON of a fixed form."""

_VARIABLES = {
    PAIR: {"reference", "candidate", "lines", "row", "mark"},
    REPORT: {"report", "reference", "mark"},
    PHRASES: {"report", "phrases", "mark"},
}
# A question must show one variable of each of these.
_REQUIRED = {
    PAIR: ({"reference"}, {"candidate", "lines", "row"}),
    REPORT: ({"report", "reference"},),
    PHRASES: ({"report"}, {"phrases"}),
}
_NO_LINES = "(no lines: the report is empty)"
SCHEMA_PLACE = "{schema}"
"""Where the JSON schema of the reply stands in a `json_instruction`."""
JSON_INSTRUCTION = f"""\
Answer with one JSON object that is valid under the JSON schema below, and write nothing before or \
after it.

{SCHEMA_PLACE}"""
"""The sentence for a prompt without a `json_instruction` of its own."""
_NO_CONTEXT: Mapping[str, str] = MappingProxyType({})
# These stand before the question where the judge is shown more than the two reports.
_MODALITY = Template(
    "Both reports are of this kind of examination: $words. Judge them as a radiologist who reads "
    "these, also where the instructions above name another."
)
MODALITY_ADVICE = {
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
DEFAULT = "default"
"""The key of a prompt's `shots` with the worked examples for all modalities that have no others."""
_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, config=_STRICT)
class Shot:
    """A worked example; `reference` may be called `report`, `candidate` may be called `phrases`."""

    reference: Annotated[
        str, Field(validation_alias=AliasChoices("reference", "report"))
    ]
    reply: str
    candidate: Annotated[
        str | None, Field(validation_alias=AliasChoices("candidate", "phrases"))
    ] = None


@dataclass(frozen=True, slots=True, config=_STRICT)
class ModalityShot:
    """A worked example for reports of one modality; its texts may be called as those of a `Shot`.

    `reply` is the answer as a text, or as the keys of the rubric's JSON: `judge.prompts.shots`
    writes these in the form that the prompt asks for.
    """

    reference: Annotated[
        str, Field(validation_alias=AliasChoices("reference", "report"))
    ]
    reply: str | dict[str, JsonValue]
    candidate: Annotated[
        str | None, Field(validation_alias=AliasChoices("candidate", "phrases"))
    ] = None


def _shots_tag(value: object) -> str:
    return "word" if isinstance(value, str) else "list"


ModalityShots: TypeAlias = Annotated[
    Annotated[Literal["built-in"], Tag("word")]
    | Annotated[tuple[ModalityShot, ...], Tag("list")],
    Discriminator(_shots_tag),
]
"""The worked examples for a modality: those that come with the program, or the prompt's own."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Prompt:
    """One wording of a rubric's question.

    `shots` are the worked examples that are sent, `modality_shots` those that a file has for each
    modality: `judge.prompts.shots.for_modality` makes them the `shots` of a prompt, and
    `shots_for` says of which modalities those are, none for the prompt's usual ones. In a file the
    key `shots` holds a list, or a list for each modality and the usual one as `default`.
    `turns` are few-shot turns as they are sent. `asks` says what the
    question is about: two reports by default, `report` (`$report` or `$reference`), or `phrases`
    (`$phrases`, numbered from 1, and `$report`). `reply` says what the wording asks for where a
    rubric has both. `scale`, two numbers that the wording names, is what a score is given on.
    `words` cuts each report to so many words, separated by single spaces. `layout: green` lays the
    turns out as GREEN models were trained on them. `user_in_context` takes the place of `user`
    where something is known of the patient, and shows that as `$context`, a line for each.
    `modalities` has a sentence for each modality that needs one. `json_instruction` asks for JSON
    where a server takes no schema: the schema's text stands in it once, at `{schema}`.
    """

    name: str
    version: Annotated[int, Field(strict=True)]
    rubric: str
    user: str
    system: str = ""
    shots: tuple[Shot, ...] = ()
    modality_shots: Mapping[str, ModalityShots] = field(default_factory=dict)
    shots_for: tuple[str, ...] = ()
    turns: tuple[Message, ...] = ()
    words: Annotated[int, Field(strict=True, ge=1)] | None = None
    layout: Literal["chat", "green"] = "chat"
    reply: Literal["text", "structured"] | None = None
    asks: Literal["", "report", "phrases"] = ""
    scale: tuple[float, float] | None = None
    user_in_context: str | None = None
    modalities: Mapping[str, str] | None = None
    json_instruction: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Prompt:
        if self.layout == GREEN and self.reply == STRUCTURED:
            raise ValueError(f"in the layout {GREEN} the reply is {TEXT}")
        if self.json_instruction is not None:
            if self.reply == TEXT:
                raise ValueError(
                    f"json_instruction goes with a reply that is JSON, not {TEXT}"
                )
            if self.json_instruction.count(SCHEMA_PLACE) != 1:
                raise ValueError(f"json_instruction holds {SCHEMA_PLACE} once")
        unknown = set(self.modalities or ()) - MODALITIES.keys()
        if unknown:
            raise ValueError(f"unknown modalities {', '.join(sorted(unknown))}")
        if self.scale is not None:
            _check_scale(self.scale, f"{self.system} {self.user}")
        unknown = self.modality_shots.keys() - {*NAMES}
        if unknown:
            raise ValueError(
                f"shots for unknown modalities {', '.join(sorted(unknown))}; there are: "
                f"{DEFAULT}, {', '.join(NAMES)}"
            )
        if self.is_exact and self.modality_shots:
            raise ValueError("a wording that models were made for has no shots")
        for shot in self._own_shots():
            if (shot.candidate is None) != (self.asks == REPORT):
                raise ValueError(
                    "shots hold the same texts as the question, and a reply"
                )
        known = _VARIABLES[self.asks]
        required = _REQUIRED[self.asks]
        _check_template("user", self.user, known, required)
        if self.user_in_context is not None:
            required = (*required, {"context"})
            _check_template(
                "user_in_context", self.user_in_context, {*known, "context"}, required
            )
        return self

    def _own_shots(self) -> Iterator[Shot | ModalityShot]:
        yield from self.shots
        for shots in self.modality_shots.values():
            if not isinstance(shots, str):
                yield from shots

    @property
    def is_exact(self) -> bool:
        """Whether models were made for these very words, so that nothing may stand beside them."""
        is_of_a_model = self.layout == GREEN or self.words is not None
        return is_of_a_model or bool(self.turns) or self.user_in_context is not None

    @property
    def sha256(self) -> str:
        """A hash that changes with any character of the prompt."""
        parts = [self.rubric, self.system, self.user]
        for shot in self.shots:
            parts += [shot.reference, shot.candidate or "", shot.reply]
        for turn in self.turns:
            parts += [turn.role, turn.content]
        # What is as usual is left out: the hash of an older prompt stays as it is.
        if self.words is not None:
            parts.append(f"words={self.words}")
        if self.layout != CHAT:
            parts.append(f"layout={self.layout}")
        if self.reply == STRUCTURED:
            parts.append(f"reply={self.reply}")
        if self.scale is not None:
            parts.append(f"scale={self.scale}")
        modalities = self.modalities or {}
        for name in sorted(modalities):
            parts.append(f"{name}={modalities[name]}")
        if self.user_in_context:
            parts.append(f"in_context={self.user_in_context}")
        if self.json_instruction is not None:
            parts.append(f"json_instruction={self.json_instruction}")
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def digest(self) -> str:
        """The first eight digits of the hash, which signatures name."""
        return self.sha256[:8]

    def plain_json(self, schema: str) -> str:
        """Return the words that ask for JSON under `schema`, its text, without a schema mode."""
        instruction = self.json_instruction or JSON_INSTRUCTION
        return instruction.replace(SCHEMA_PLACE, schema)

    def about(self, study: Study) -> tuple[Message, ...]:
        """Return the turns to send for a study, as `messages` does for its reports."""
        return self.messages(
            study.reference,
            study.candidate,
            context=study.context,
            prior=study.prior,
            modality=study.modality,
        )

    @property
    def example_turns(self) -> tuple[Message, ...]:
        """The turns of the worked examples, which stand behind the instructions."""
        turns = []
        for shot in self.shots:
            question = self._question(shot.reference, shot.candidate or "")
            turns.append(Message("user", question))
            turns.append(Message("assistant", shot.reply))
        return tuple(turns)

    def messages(
        self,
        reference: str,
        candidate: str,
        context: Mapping[str, str] = _NO_CONTEXT,
        prior: str | None = None,
        modality: str | None = None,
    ) -> tuple[Message, ...]:
        """Return the turns to send for a pair of reports; the fixed part comes first."""
        turns = []
        if self.system:
            turns.append(Message("system", self.system))
        turns += self.example_turns
        turns += self.turns
        # The context stands in the prompt's own place for it, or before the question.
        inside = _NO_CONTEXT
        before = context
        if self.user_in_context:
            inside, before = before, inside
        if self.is_exact and modality == "xr":
            modality = None  # what all of these wordings are about
        if self.is_exact and (before or prior or modality):
            raise JudgeError(
                f"the prompt {self.name} has no place for a context: leave --column prior, "
                "--modality or the context (--no-context) out, or choose another --prompt"
            )
        mark = _mark(reference, candidate, *before, *before.values(), prior or "")
        parts = []
        if modality:
            advice = (self.modalities or MODALITY_ADVICE).get(modality, "")
            kind = _MODALITY.substitute(words=MODALITIES[modality])
            parts.append(f"{kind} {advice}".rstrip())
        if before:
            shown = "\n".join(f"{name}: {value}" for name, value in before.items())
            parts.append(_CONTEXT.substitute(mark=mark, context=shown))
        if prior:
            parts.append(_PRIOR.substitute(mark=mark, prior=prior))
        parts.append(self._question(reference, candidate, inside))
        turns.append(Message("user", "\n\n".join(parts)))
        return tuple(turns)

    def _question(
        self, reference: str, candidate: str, context: Mapping[str, str] = _NO_CONTEXT
    ) -> str:
        if self.words is not None:
            reference = " ".join(reference.split()[: self.words])
            candidate = " ".join(candidate.split()[: self.words])
        user = self.user
        if context and self.user_in_context:
            user = self.user_in_context
        known = "\n".join(f"    {name}: {value}" for name, value in context.items())
        numbered = list(enumerate(lines(candidate)))
        numbered_lines = "\n".join(f"{number}: {line}" for number, line in numbered)
        phrases = enumerate(candidate.splitlines(), 1)
        return Template(user).substitute(
            context=known,
            reference=reference,
            report=reference,
            candidate=candidate,
            phrases="\n".join(f"{number}. {phrase}" for number, phrase in phrases),
            lines=numbered_lines or _NO_LINES,
            row=" ".join(f"[{number}] {line}" for number, line in numbered),
            mark=_mark(reference, candidate, known),
        )


def check(data: object, where: str) -> Prompt:
    """Return the prompt with these keys; raises `JudgeError`, which names all that are wrong."""
    if isinstance(data, Mapping):
        for key in ("modality_shots", "shots_for"):
            if key in data:
                raise JudgeError(f"{where}: {key}: no key of a prompt; write shots")
        if isinstance(data.get("shots"), Mapping):
            shots = dict(data["shots"])
            usual = shots.pop(DEFAULT, ())
            data = {**data, "shots": usual, "modality_shots": shots}
    try:
        return _FORM.validate_python(data)
    except ValidationError as error:
        faults = error.errors(
            include_url=False, include_context=False, include_input=False
        )
        faults_text = "; ".join(map(_fault_text, faults))
        raise JudgeError(f"{where}: {faults_text}") from error


def _fault_text(fault: ErrorDetails) -> str:
    """Return a fault with the key that it is in, if it is in one."""
    key = ".".join(map(str, fault["loc"])).replace("modality_shots", "shots", 1)
    if not key:
        return fault["msg"]
    return f"{key}: {fault['msg']}"


def _check_scale(scale: tuple[float, float], wording: str) -> None:
    if not -inf < scale[0] < scale[1] < inf:
        raise ValueError("scale is its lowest and its highest number, such as [0, 100]")
    for end in scale:
        if not re.search(rf"(?<![\d.-]){re.escape(f'{end:.15g}')}(?!\.?\d)", wording):
            raise ValueError(
                f"scale ends at {end:.15g}, which the wording does not name"
            )


def _check_template(
    key: str, text: str, known: Collection[str], required: Iterable[Collection[str]]
) -> None:
    template = Template(text)
    used = set(template.get_identifiers())
    if not template.is_valid():
        raise ValueError(f"a lone $ in {key}; write $$ for a dollar sign")
    unknown = used.difference(known)
    if unknown:
        there = ", $".join(sorted(known))
        raise ValueError(
            f"unknown variable ${min(unknown)} in {key}; there are: ${there}"
        )
    for one_of in required:
        if used.isdisjoint(one_of):
            raise ValueError(f"{key} lacks ${' or $'.join(sorted(one_of))}")


def _mark(reference: str, candidate: str, *beside: str) -> str:
    """Return a word that none of the texts holds."""
    digest = hashlib.sha256(
        f"{reference}\0{candidate}".encode(errors="surrogatepass")
    ).hexdigest()
    marks = (digest[start : start + 8] for start in range(len(digest) - 8))
    texts = "\0".join((reference, candidate, *beside)).lower()
    return next(mark for mark in marks if mark not in texts)


_FORM: TypeAdapter[Prompt] = TypeAdapter(Prompt)
