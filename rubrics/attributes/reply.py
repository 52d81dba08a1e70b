"""The reply that a judge gives: findings, matches and verdicts, as they are read and written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from judge.rubrics import replies
from judge.rubrics.attributes.declared import (
    GRADE_OF,
    JUDGED,
    NOT_STATED,
    RIGHT,
    SIDES,
    TRIAGE,
    VERDICTS,
    WRONG_MAJOR,
    WRONG_MINOR,
)
from judge.rubrics.attributes.findings import (
    Finding,
    Findings,
    Match,
    to_annotation,
    to_findings,
)
from judge.rubrics.attributes.sizes import Size, find_sizes
from judge.rubrics.normality import is_normal
from judge.rubrics.quotations import quotable
from judge.rubrics.replies import (
    Line,
    Listed,
    OrNull,
    ReplyModel,
    WholeNumber,
    is_bare_denial,
    word_key,
)
from judge.types import Annotation, Side, Study, UnparsedError

_LEVELS = tuple(label.name for label in TRIAGE.labels)
_ANY = (*VERDICTS, NOT_STATED)
_OF_CERTAINTY = (RIGHT, WRONG_MAJOR, WRONG_MINOR)


def _real(text: str) -> str:
    if replies.is_no_entry(text):
        raise ValueError("a finding that is none has no entry")
    return text


class ListedFinding(ReplyModel):
    """One abnormal finding of a report."""

    index: WholeNumber = Field(description="1, 2, ... in each report.")
    finding: Annotated[Line, AfterValidator(_real)] = Field(
        description="The finding with its side and place, in a few words."
    )
    quotes: list[Line] = Field(
        description="The sentences of the report that tell of it, copied word for word."
    )
    sizes: list[Line] = Field(
        description="Each length of it in the quotes, number and unit, copied; empty without one."
    )
    triage: Annotated[Literal[_LEVELS], Listed]  # type: ignore[valid-type]


_Verdict = Annotated[Literal[_ANY], Listed]  # type: ignore[valid-type]


class ListedMatch(ReplyModel):
    """Findings of both reports that are of the same thing, and what is right about them."""

    optional: ClassVar = {"explanation": ""}

    reference: list[WholeNumber] = Field(
        description="Indices of the reference's findings."
    )
    candidate: list[WholeNumber] = Field(
        description="Indices of the candidate's findings."
    )
    # In this order, so that a judge gives its reason before it settles on a verdict.
    explanation: Annotated[Line, OrNull] = Field(
        description="What is wrong and whether it matters, in a sentence; empty if nothing is."
    )
    location: _Verdict
    side: _Verdict
    severity: _Verdict
    morphology: _Verdict
    certainty: Annotated[Literal[_OF_CERTAINTY], Listed]  # type: ignore[valid-type]
    comparison: _Verdict


class Reply(ReplyModel):
    """The findings of both reports and their matches; a finding in no match is missing or false."""

    reference_findings: list[ListedFinding]
    candidate_findings: list[ListedFinding]
    matches: list[ListedMatch]


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the findings, matches and errors of an answer, in its order.

    Each quotation stands in its report, and each size in a quotation of its finding; whether sizes
    agree is decided here, not by the judge.
    """
    reply = replies.read_reply(Reply, text)
    listed: dict[Side, list[ListedFinding]] = {
        "reference": reply.reference_findings,
        "candidate": reply.candidate_findings,
    }
    reports: dict[Side, str] = {
        "reference": study.reference,
        "candidate": study.candidate,
    }
    findings: dict[Side, list[Finding]] = {}
    places: dict[Side, dict[int, int]] = {}
    for side in SIDES:
        findings[side] = [_finding(one, reports[side]) for one in listed[side]]
        again = replies.first_repeat(finding.text for finding in findings[side])
        if again is not None:
            raise UnparsedError("finding twice", again)
        places[side] = {one.index: place for place, one in enumerate(listed[side])}
        if len(places[side]) < len(listed[side]):
            raise UnparsedError("index twice", f"of a finding of the {side}")
    matches: list[Match] = []
    free = {side: set(range(len(findings[side]))) for side in SIDES}
    for one in reply.matches:
        match = _match(one, places)
        _check_words(match, findings)
        for side in SIDES:
            taken = set(match.places[side]) - free[side]
            if taken:
                again = findings[side][min(taken)].text
                raise UnparsedError("finding in two matches", again)
            free[side] -= set(match.places[side])
        matches.append(match)
    _check_alone(findings, free)
    return to_annotation(findings, matches)


def _finding(listed: ListedFinding, report: str) -> Finding:
    if is_normal(listed.finding):
        detail = f"an abnormal finding: {listed.finding!r}"
        raise UnparsedError("contradiction", detail)
    known = quotable(report)
    quotations: dict[str, None] = {}
    for quote in listed.quotes:
        words = known.find(quote)
        if words is None:
            raise UnparsedError("quotation not in the report", quote)
        quotations[words] = None
    if not quotations:
        raise UnparsedError("finding without a quotation", listed.finding)
    sizes: dict[str, Size] = {}
    for text in listed.sizes:
        size = _quoted_size(text, tuple(quotations))
        sizes[size.text] = size
    return Finding(
        listed.finding, listed.triage, tuple(quotations), tuple(sizes.values())
    )


def _quoted_size(text: str, quotations: Sequence[str]) -> Size:
    """Return the one size that a text is as it stands in a quotation, with what bounds it there."""
    named = list(find_sizes(text))
    if len(named) != 1:
        raise UnparsedError("no single size", text)
    for quotation in quotations:
        for size in find_sizes(quotation):
            if size.written == named[0].written:
                return size
    raise UnparsedError("size not in the quotations", text)


def _match(listed: ListedMatch, places: dict[Side, dict[int, int]]) -> Match:
    indices: dict[Side, list[int]] = {
        "reference": listed.reference,
        "candidate": listed.candidate,
    }
    of_match: dict[Side, tuple[int, ...]] = {}
    for side in SIDES:
        named = indices[side]
        if not named:
            raise UnparsedError("match of nothing", f"no finding of the {side}")
        if len({*named}) < len(named):
            raise UnparsedError("index twice", f"in a match, of the {side}")
        dangling = {*named} - places[side].keys()
        if dangling:
            detail = f"{min(dangling)} of the {side}"
            raise UnparsedError("index of no finding", detail)
        of_match[side] = tuple(sorted(places[side][index] for index in named))
    verdicts: dict[str, str] = {}
    for attribute in JUDGED:
        verdicts[attribute] = getattr(listed, attribute)
    explanation = ""
    if not GRADE_OF.keys().isdisjoint(verdicts.values()):
        explanation = listed.explanation
    if explanation and is_bare_denial(explanation):
        detail = f"a wrong attribute that is explained by {explanation!r}"
        raise UnparsedError("contradiction", detail)
    return Match(of_match, verdicts, explanation)


def _check_words(match: Match, findings: Findings) -> None:
    """Refuse a match in which something differs, and both reports say it in the same words."""
    said = []
    for side in SIDES:
        of_match = [findings[side][place] for place in match.places[side]]
        quoted = [word_key(one) for finding in of_match for one in finding.quotations]
        said.append(sorted({*quoted}))
    if said[0] != said[1]:
        return
    for attribute, verdict in match.verdicts.items():
        if verdict not in (RIGHT, NOT_STATED):
            detail = f"{attribute} differs, and both reports say it in the same words"
            raise UnparsedError("contradiction", detail)


def _check_alone(findings: Findings, free: dict[Side, set[int]]) -> None:
    """Refuse a finding that is missing in the words in which another is false."""
    ours = {word_key(findings["reference"][one].text) for one in free["reference"]}
    for place in sorted(free["candidate"]):
        text = findings["candidate"][place].text
        if word_key(text) in ours:
            raise UnparsedError("contradiction", f"{text!r} is missing and false")


def render(annotation: Annotation) -> str:
    """Return the annotation as a reply; raises ValueError for one that no reply expresses."""
    findings, matches = to_findings(annotation)
    reply: dict[str, object] = {}
    for side in SIDES:
        reply[f"{side}_findings"] = [
            {
                "index": index,
                "finding": finding.text,
                "quotes": finding.quotations,
                "sizes": [size.text for size in finding.sizes],
                "triage": finding.triage,
            }
            for index, finding in enumerate(findings[side], 1)
        ]
    reply["matches"] = [_written(match) for match in matches]
    return json.dumps(reply, ensure_ascii=False)


def _written(match: Match) -> dict[str, object]:
    written: dict[str, object] = {}
    for side in SIDES:
        written[side] = [place + 1 for place in match.places[side]]
    written["explanation"] = match.explanation
    return written | dict(match.verdicts)
