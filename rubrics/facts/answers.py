"""The questions of a study, and how their answers are read and written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Literal

from pydantic import Field

from judge.rubrics.facts.measures import (
    EVIDENCE,
    FACT,
    NOT_MENTIONED,
    OTHER,
    SIDES,
    VERDICT,
    Fact,
    Quotable,
    annotated,
    facts_of,
)
from judge.rubrics.questions import Question, Step, Steps, of_step, parts
from judge.rubrics.reply_text import Form, Line, Whole, checked, is_blank, read_json, twice
from judge.types import Annotation, Side, Study, UnparsedError


class Phrases(Form):
    """All findings of one report, each by itself."""

    phrases: list[Line] = Field(
        description="Short phrases, each of a single finding, in the order of the report."
    )


class Verdict(Form):
    """What a report says of one phrase."""

    phrase: Whole = Field(description="The number of the phrase in the list.")
    evidence: list[Line] = Field(
        description="The sentences of the report that decide it, copied word for word; empty for "
        "a phrase that is not mentioned."
    )
    verdict: Literal["entailed", "contradicted", "not_mentioned"] = Field(
        description="entailed: the report says it. contradicted: the report says otherwise. "
        "not_mentioned: neither."
    )


class Verdicts(Form):
    """One verdict for each phrase."""

    verdicts: list[Verdict]


# What the two questions are about, as their prompts say.
REPORT, PHRASES = "report", "phrases"
_STEPS: Mapping[tuple[str, Side], str] = {
    (asks, side): name.format(side)
    for (asks, name), side in product(
        ((REPORT, "phrases of the {}"), (PHRASES, "verdicts on the {}")), SIDES
    )
}


def read_phrases(text: str, study: Study, *, complete: bool = False) -> tuple[str, ...]:  # noqa: ARG001
    """Return the phrases in the answer to what one report says, none blank and none twice."""
    phrases = checked(Phrases, read_json(text)).phrases
    for phrase in phrases:
        if is_blank(phrase):
            raise UnparsedError("empty phrase", phrase)
    if (again := twice(phrases)) is not None:
        raise UnparsedError("phrase twice", again)
    return tuple(phrases)


def read_verdicts(text: str, study: Study, *, complete: bool = False) -> list[Fact]:  # noqa: ARG001
    """Return the phrases of `study.candidate`, a line each, as facts with the verdicts on them.

    Each has one verdict; evidence stands in `study.reference`, and is there where one is mentioned.
    """
    phrases = study.candidate.splitlines()
    report = _quotable(study.reference)
    found: dict[int, Fact] = {}
    for one in checked(Verdicts, read_json(text)).verdicts:
        if not 1 <= one.phrase <= len(phrases):
            raise UnparsedError("phrase off the list", f"{one.phrase} of {len(phrases)}")
        if one.phrase in found:
            raise UnparsedError("two verdicts", f"on phrase {one.phrase}")
        quotes = [_quoted(quote, report) for quote in one.evidence]
        if bool(quotes) == (one.verdict == NOT_MENTIONED):
            says = VERDICT[one.verdict].label
            reason = "evidence for nothing" if quotes else "no evidence"
            raise UnparsedError(reason, f"phrase {one.phrase} is {says}")
        fact = Fact(phrases[one.phrase - 1], one.verdict, tuple(dict.fromkeys(quotes)))
        found[one.phrase] = fact
    if missing := set(range(1, len(phrases) + 1)) - found.keys():
        raise UnparsedError("no verdict", f"on phrase {min(missing)}")
    return [found[number] for number in sorted(found)]


_quotable = lru_cache(64)(Quotable)


def _quoted(quote: str, report: Quotable) -> str:
    found = report.find(quote)
    if found is None:
        raise UnparsedError("evidence not in the report", quote)
    return found


def coming(study: Study, answers: Mapping[str, str]) -> Sequence[Step]:
    """Return the steps that can be asked now: the phrases, and when they are there the verdicts.

    A report without a word has no phrases, and entails none: nothing is asked of it.
    """
    texts = {"reference": study.reference, "candidate": study.candidate}
    steps = []
    for side in SIDES:
        first, then = _STEPS[REPORT, side], _STEPS[PHRASES, side]
        if not _speaks(texts[side]):
            continue
        if first not in answers:
            about = Study("", texts[side], "", modality=study.modality)
            steps.append(Step(first, about, REPORT))
        elif then not in answers and _speaks(texts[OTHER[side]]):
            about = _held(texts[OTHER[side]], read_phrases(answers[first], study), study)
            steps += [Step(then, about, PHRASES)] * bool(about.candidate)
    return steps


def _held(report: str, phrases: Sequence[str], study: Study) -> Study:
    told = {"context": study.context, "prior": study.prior, "modality": study.modality}
    return Study("", report, "\n".join(phrases), **told)  # type: ignore[arg-type]


def _speaks(report: str) -> bool:
    return any(map(str.isalnum, report))


STEPS = Steps(
    coming,
    {
        REPORT: Question("facts-phrases", read_phrases, lambda: Phrases),
        PHRASES: Question("facts-verdicts", read_verdicts, lambda: Verdicts),
    },
    most=len(_STEPS),
)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the facts that the answers to a study's questions tell of.

    Phrases are not mentioned by a report without a word.
    """
    answers = parts(text)
    texts = {"reference": study.reference, "candidate": study.candidate}
    facts: dict[Side, Sequence[Fact]] = {}
    phrases: dict[Side, tuple[str, ...]] = {}
    for side in SIDES:
        with of_step(step := _STEPS[REPORT, side]):
            told = answers.pop(step, None)
            if told is None and _speaks(texts[side]):
                raise UnparsedError("missing answer")
            phrases[side] = () if told is None else read_phrases(told, study)
            if phrases[side] and not _speaks(texts[side]):
                raise UnparsedError("phrases of nothing")
    for side in SIDES:
        about = _held(texts[OTHER[side]], phrases[side], study)
        with of_step(step := _STEPS[PHRASES, side]):
            told = answers.pop(step, None)
            if told is None and phrases[side] and _speaks(about.reference):
                raise UnparsedError("missing answer")
            facts[side] = (
                [Fact(phrase, NOT_MENTIONED) for phrase in phrases[side]]
                if told is None
                else read_verdicts(told, about)
            )
    if answers:
        raise UnparsedError("unexpected form", f"an answer to {min(answers)!r}, which is not asked")
    return annotated(facts)


def render(annotation: Annotation) -> str:
    """Return the answers to a study's questions; raises ValueError for what they do not express."""
    facts = facts_of(annotation)
    if annotated(facts) != annotation:
        raise ValueError(f"an answer holds {FACT.plural} and their {EVIDENCE.plural} alone")
    answers: dict[str, str] = {}
    for side in SIDES:
        answers[_STEPS[REPORT, side]] = _written("phrases", [fact.text for fact in facts[side]])
    for side in SIDES:
        verdicts = [
            {"phrase": number, "evidence": list(fact.evidence), "verdict": fact.verdict}
            for number, fact in enumerate(facts[side], 1)
        ]
        if verdicts:
            answers[_STEPS[PHRASES, side]] = _written("verdicts", verdicts)
    return json.dumps(answers, ensure_ascii=False, indent=1)


def _written(name: str, entries: Sequence[Any]) -> str:
    return json.dumps({name: entries}, ensure_ascii=False)
