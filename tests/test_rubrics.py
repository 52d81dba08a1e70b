"""What holds for every rubric there is, and the completions in each rubric's `cases/`.

A case is a YAML file with `about`, `completion`, optionally `complete` (the judge reported
to have ended by itself), `reply: structured` (it was asked for in that form) and `study`
(`reference`, `candidate`), and `expect`: either
`unparsed` with the reason, or `by_category` (the cells of the tally that are not 0, such as
`significant_b`), `scores` and any of: a measure by its name, the items of a kind by its plural
(of those that are graded their grade, codes and text, of others the text), `edits` (kind, line,
corrected), `corrected` (the report that they make), `explanation`, `warnings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import with_rules

from judge import rubrics
from judge.rubrics.asking import sampled
from judge.rubrics.contract import Rubric, StructuredReply
from judge.types import (
    Annotation,
    AttributeDifference,
    Category,
    Discrepancy,
    Item,
    ReportComparison,
    ReportFinding,
    Study,
    UnparsedError,
)

NAMES = rubrics.names()
CASES = [
    pytest.param(name, path, id=f"{name}-{path.stem}")
    for name in NAMES
    for path in sorted(rubrics.cases(name).glob("*.yaml"))
]
KEYS = {"about", "completion", "complete", "reply", "samples", "study", "expect"}


def _paths(name: str) -> list[Path]:
    return [case.values[1] for case in CASES if case.values[0] == name]


def _read(path: Path) -> dict[str, Any]:
    case = yaml.safe_load(path.read_text("utf-8"))
    assert KEYS >= set(case) >= {"about", "completion", "expect"}, path
    return case


def _study(case: Mapping[str, Any]) -> Study:
    reports = {"reference": "No pneumothorax.", "candidate": "No pneumothorax."}
    return Study("case", **(reports | case.get("study", {})))


def _form(rubric: Rubric, case: Mapping[str, Any]) -> Rubric | StructuredReply:
    """What reads and writes answers of the form that a case is in."""
    if "reply" not in case:
        return rubric
    assert case["reply"] == "structured"
    assert rubric.structured is not None
    return rubric.structured


def _outcome(rubric: Rubric, case: Mapping[str, Any], study: Study) -> Annotation | str:
    try:
        parse = _form(rubric, case).parse
        if "samples" in case:
            parse = sampled(rubric, case["samples"]).parse
        return parse(case["completion"], study, complete=case.get("complete", False))
    except UnparsedError as error:
        return error.reason


def _found(rubric: Rubric, annotation: Annotation, study: Study) -> dict[str, object]:
    measures = rubric.measured(annotation, study)
    edits = [item.edit for item in annotation.items if item.edit]
    cells = [m.name for m in rubric.measures if m.counts and len(m.counts.labels) == 2]
    return {
        **measures,
        "by_category": {name: measures[name] for name in cells if measures[name]},
        "scores": {score.name: measures[score.name] for score in rubric.with_role("score")},
        **{
            kind.plural: [_said(rubric, item) for item in annotation.of_kind(kind.name)]
            for kind in rubric.kinds
        },
        "edits": [[edit.kind, edit.line, edit.corrected] for edit in edits],
        "corrected": rubric.editor(annotation, study) if rubric.editor else None,
        "explanation": annotation.explanation,
        "warnings": list(annotation.warnings),
    }


def _said(rubric: Rubric, item: Item) -> list[str] | str:
    if rubric.kind(item.kind) not in rubric.graded:
        return item.text
    codes = item.labels[rubric.codes.name] if rubric.codes else ()
    return [rubric.grade(item).name, "".join(codes), item.text]


@pytest.mark.parametrize("name", NAMES)
def test_rubric_has_cases_of_both_kinds(name: str) -> None:
    unparsed = ["unparsed" in _read(path)["expect"] for path in _paths(name)]
    assert any(unparsed)
    assert not all(unparsed)


@pytest.mark.parametrize(("name", "path"), CASES)
def test_case(name: str, path: Path) -> None:
    rubric = rubrics.load(name)
    case = _read(path)
    study = _study(case)
    outcome = _outcome(rubric, case, study)
    if "unparsed" in case["expect"]:
        assert outcome == case["expect"]["unparsed"]
        return
    assert isinstance(outcome, Annotation), outcome
    found = _found(rubric, outcome, study)
    expected = case["expect"]
    assert {"by_category", "scores"} <= set(expected) <= set(found)
    assert {key: found[key] for key in expected} == expected
    # What was read can be written and read again.
    form = _form(rubric, case)
    parse = sampled(rubric, case["samples"]).parse if "samples" in case else form.parse
    assert parse(form.render(outcome), study, complete=True) == outcome


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_leaves_no_trace_in_the_next(name: str) -> None:
    rubric = rubrics.load(name)
    cases = [_read(path) for path in _paths(name)]
    alone = [_outcome(rubric, case, _study(case)) for case in cases]
    for first in cases:
        _outcome(rubric, first, _study(first))
        assert [_outcome(rubric, case, _study(case)) for case in cases] == alone


@pytest.mark.parametrize("name", with_rules())
def test_what_rules_find_is_an_answer_that_is_counted_in_its_tally(name: str) -> None:
    rubric = rubrics.load(name)
    assert rubric.name == name
    assert rubric.baseline is not None
    assert rubric.render is not None
    study = Study("s", "Small effusion. No pneumothorax.", "Large effusion. Pneumothorax.")
    comparison = ReportComparison(
        discrepancies=(
            Discrepancy(Category.WRONG_SEVERITY, 2, "effusion", "large, not small", 0, 0),
            Discrepancy(Category.FALSE_FINDING, 4, "pneumothorax", "denied", 1, 1),
        ),
        matched=("effusion",),
        explanation="Two findings differ.",
        findings=(
            ReportFinding("reference", "Small effusion", 2, partners=(1,)),
            ReportFinding("candidate", "Large effusion", 2, partners=(0,)),
            ReportFinding("candidate", "Pneumothorax", 4),
        ),
        differences=(
            AttributeDifference(0, 1, "severity", is_negligible=False, text="large, not small"),
        ),
    )
    annotation = rubric.baseline(comparison, study)
    assert rubric.parse(rubric.render(annotation), study, complete=True) == annotation
    measures = rubric.measured(annotation, study)
    if rubric.tally is None:
        return
    graded = [item for item in annotation.items if rubric.kind(item.kind) in rubric.graded]
    grades = Counter(rubric.grade(item).name for item in graded)
    totals = {
        grade.name: measures[total.name]
        for grade in rubric.facet(rubric.tally.columns).labels
        for total in rubric.counting(rubric.tally.kind, {rubric.tally.columns: grade.name})
    }
    assert sum(totals.values()) == 2
    if rubric.kind(rubric.tally.kind).is_listed:
        assert {name: n for name, n in totals.items() if n} == grades
    else:
        assert not annotation.items
