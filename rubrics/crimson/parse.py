"""Reads an answer: every finding must be accounted for once, by ids that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from judge.rubrics.categories import ERROR
from judge.rubrics.crimson.measures import (
    ATTRIBUTES,
    CANDIDATE,
    FALSE,
    MATCH,
    MISSING,
    MODALITY_OF,
    NEGLIGIBLE,
    REFERENCE,
    SIGNIFICANCE,
    TYPE,
)
from judge.rubrics.reply_text import checked, denies, read_json, twice
from judge.types import Annotation, Item, Side, Study, UnparsedError

if TYPE_CHECKING:
    from judge.rubrics.crimson.reply import Finding, Reply

_At = Mapping[str, int]
"""The positions of findings among an annotation's items, by id."""


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the annotation in an answer: findings, matches and errors, in the reply's order.

    Ids become positions. JSON shows by itself whether it is whole, so `complete` makes no
    difference. Raises `UnparsedError` for what is no such reply, and for one that uses an id
    twice or that no finding has, leaves a finding out of both the matches and the errors, has it
    in both, tells of an attribute of two findings that it does not match, or says an error twice.
    """
    from judge.rubrics.crimson.reply import Reply

    return _annotation(checked(Reply, read_json(text)), study.modality)


def _annotation(reply: Reply, modality: str | None) -> Annotation:
    ours, theirs = reply.reference_findings, reply.predicted_findings
    reference, candidate = _positions(ours, 0), _positions(theirs, len(ours))
    items = [_item(one, REFERENCE.name, "reference") for one in ours]
    items += [_item(one, CANDIDATE.name, "candidate") for one in theirs]
    for findings in (ours, theirs):
        if (again := twice(one.finding for one in findings)) is not None:
            raise UnparsedError("finding twice", again)
    pairs = [(one.ref_id, one.pred_id) for one in reply.matched_findings]
    matches = dict.fromkeys(pairs)
    if len(matches) < len(pairs):
        raise UnparsedError("pair twice", "in the matched findings")
    _accounted(reference, [ref for ref, _ in matches], reply.errors.missing_findings, "missing")
    _accounted(candidate, [pred for _, pred in matches], reply.errors.false_findings, "false")
    items += [a_match(items, reference[ref], candidate[pred]) for ref, pred in matches]
    items += [alone(items, candidate[one], FALSE) for one in reply.errors.false_findings]
    items += [alone(items, reference[one], MISSING) for one in reply.errors.missing_findings]
    said: list[object] = []
    for one in reply.errors.attribute_errors:
        pair = one.ref_id, one.pred_id
        if one in said:
            raise UnparsedError("error twice", f"of {' and '.join(pair)}: {one.explanation}")
        said.append(one)
        if one.explanation and denies(one.explanation):
            raise UnparsedError("no entry", f"an attribute error: {one.explanation}")
        if pair not in matches:
            raise UnparsedError("pair not matched", f"an attribute error of {' and '.join(pair)}")
        at = reference[one.ref_id]
        own = items[at].label(SIGNIFICANCE.name)
        labels = {
            TYPE.name: _types(one.error_types, modality),
            SIGNIFICANCE.name: (NEGLIGIBLE if one.severity == NEGLIGIBLE else own,),
        }
        links = (at, candidate[one.pred_id])
        items.append(Item(ERROR, one.explanation, labels, links=links))
    return Annotation(tuple(items))


def _types(named: Sequence[str], modality: str | None) -> tuple[str, ...]:
    own = ["location" if one == "laterality" and modality != "mg" else one for one in named]
    for one in own:
        if MODALITY_OF.get(one) not in (None, modality):
            raise UnparsedError("unknown error type", f"{one}, which is of {MODALITY_OF[one]}")
    return tuple(sorted(set(own), key=ATTRIBUTES.index))


def _positions(findings: Sequence[Finding], first: int) -> _At:
    found = {one.id: at for at, one in enumerate(findings, first)}
    if len(found) < len(findings):
        _once([one.id for one in findings])
    return found


def _once(ids: Collection[str]) -> None:
    (most, n), *_ = Counter(ids).most_common(1) or [("", 1)]
    if n > 1:
        raise UnparsedError("id twice", most)


def _accounted(known: _At, matched: Collection[str], alone: Collection[str], what: str) -> None:
    _once(alone)
    paired, others = frozenset(matched), frozenset(alone)
    if dangling := (paired | others) - known.keys():
        raise UnparsedError("id of no finding", min(dangling))
    if both := paired & others:
        raise UnparsedError("contradiction", f"{min(both)} is matched and {what}")
    if left := known.keys() - paired - others:
        raise UnparsedError("finding left out", f"{min(left)} is neither matched nor {what}")


def _item(finding: Finding, kind: str, side: Side) -> Item:
    labels = {SIGNIFICANCE.name: (finding.clinical_significance,)}
    return Item(kind, finding.finding, labels, side)


def a_match(items: Sequence[Item], reference: int, candidate: int) -> Item:
    """Return the match of the findings at two positions."""
    said, also = items[reference].text, items[candidate].text
    text = said if said.casefold() == also.casefold() else f"{said} (candidate: {also})"
    return Item(MATCH.name, text, links=(reference, candidate))


def alone(items: Sequence[Item], at: int, what: str) -> Item:
    """Return the error of the finding at a position, which is false or missing."""
    one = items[at]
    labels = {TYPE.name: (what,), **one.labels}
    return Item(ERROR, one.text, labels, one.side, (at,))
