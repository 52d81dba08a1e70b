"""What holds for every rubric there is, and the completions in each rubric's `cases/`.

A case is a YAML file with `about`, `completion`, optionally `complete` (the judge reported
to have ended by itself) and `study` (`reference`, `candidate`), and `expect`: either
`unparsed` with the reason, or `by_category` (the counts that are not 0, such as
`significant_b`), `scores` and any of `n_matched`, `n_actionable`, `errors` (level,
categories, text), `edits` (kind, line, corrected), `corrected` (the report that they make),
`matched`, `explanation`, `remarks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from judge import rubrics
from judge.types import (
    Annotation,
    Category,
    Comparison,
    Discrepancy,
    Study,
    UnparsedError,
)

NAMES = rubrics.names()
CASES = [
    pytest.param(name, path, id=f"{name}-{path.stem}")
    for name in NAMES
    for path in sorted(rubrics.load(name).cases.glob("*.yaml"))
]
KEYS = {"about", "completion", "complete", "study", "expect"}
EXPECTED = {
    "by_category",
    "scores",
    "n_matched",
    "n_actionable",
    "errors",
    "edits",
    "corrected",
    "matched",
    "explanation",
    "remarks",
}


def _read(path: Path) -> dict[str, Any]:
    case = yaml.safe_load(path.read_text("utf-8"))
    assert KEYS >= set(case) >= {"about", "completion", "expect"}, path
    assert set(case["expect"]) <= EXPECTED or set(case["expect"]) == {"unparsed"}, path
    return case


def _study(case: Mapping[str, Any]) -> Study:
    reports = {"reference": "No pneumothorax.", "candidate": "No pneumothorax."}
    return Study("case", **(reports | case.get("study", {})))


def _outcome(rubric: rubrics.Rubric, case: Mapping[str, Any], study: Study) -> Annotation | str:
    try:
        return rubric.parse(case["completion"], study, complete=case.get("complete", False))
    except UnparsedError as error:
        return error.reason


def _found(rubric: rubrics.Rubric, annotation: Annotation, study: Study) -> dict[str, object]:
    counts = rubric.score(annotation, study)
    edits = [error.edit for error in annotation.errors if error.edit]
    return {
        "by_category": {
            f"{level}_{category.value}": count
            for (level, category), count in counts.by_category.items()
            if count
        },
        "scores": {score.name: counts.scores[score.name] for score in rubric.scores},
        "n_matched": counts.n_matched,
        "n_actionable": counts.n_actionable,
        "errors": [
            [error.level, "".join(category.value for category in error.categories), error.text]
            for error in annotation.errors
        ],
        "edits": [[edit.kind, edit.line, edit.corrected] for edit in edits],
        "corrected": rubric.corrected(annotation, study) if rubric.corrected else None,
        "matched": list(annotation.matched),
        "explanation": annotation.explanation,
        "remarks": list(annotation.remarks),
    }


@pytest.mark.parametrize("name", NAMES)
def test_rubric_has_cases_of_both_kinds(name: str) -> None:
    paths = sorted(rubrics.load(name).cases.glob("*.yaml"))
    unparsed = ["unparsed" in _read(path)["expect"] for path in paths]
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
    assert {"by_category", "scores"} <= set(case["expect"])
    assert {key: found[key] for key in case["expect"]} == case["expect"]
    # What was read can be written and read again.
    assert rubric.parse(rubric.render(outcome), study) == outcome


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_leaves_no_trace_in_the_next(name: str) -> None:
    rubric = rubrics.load(name)
    cases = [_read(path) for path in sorted(rubric.cases.glob("*.yaml"))]
    alone = [_outcome(rubric, case, _study(case)) for case in cases]
    for first in cases:
        _outcome(rubric, first, _study(first))
        assert [_outcome(rubric, case, _study(case)) for case in cases] == alone


@pytest.mark.parametrize("name", NAMES)
def test_declaration(name: str) -> None:
    rubric = rubrics.load(name)
    assert rubric.name == name
    levels = [level.name for level in rubric.levels]
    assert len(set(levels)) == len(levels) > 0
    assert any(level.significant for level in rubric.levels)
    assert len({level.actionable is None for level in rubric.levels}) == 1
    assert len({score.name for score in rubric.scores}) == len(rubric.scores) > 0


@pytest.mark.parametrize("name", NAMES)
def test_counts_agree_with_the_declaration(name: str) -> None:
    rubric = rubrics.load(name)
    study = Study("s", "Small effusion. No pneumothorax.", "Large effusion. Pneumothorax.")
    comparison = Comparison(
        discrepancies=(
            Discrepancy(Category.WRONG_SEVERITY, 2, "effusion", "large, not small", 0, 0),
            Discrepancy(Category.FALSE_FINDING, 4, "pneumothorax", "denied", 1, 1),
        ),
        matched=("effusion",),
        explanation="Two findings differ.",
    )
    annotation = rubric.from_comparison(comparison, study)
    assert rubric.parse(rubric.render(annotation), study) == annotation
    counts = rubric.score(annotation, study)
    assert set(counts.scores) == {score.name for score in (*rubric.scores, *rubric.checks)}
    assert set(counts.by_level) == {level.name for level in rubric.levels}
    levels = {level.name: level for level in rubric.levels}
    significant = sum(counts.by_level[name] for name in levels if levels[name].significant)
    assert counts.n_significant == significant
    assert counts.n_insignificant == sum(counts.by_level.values()) - significant
    assert (counts.n_actionable is not None) == rubric.has_actionable
    assert (counts.n_matched is not None) == rubric.has_matched
    assert {level for level, _ in counts.by_category} <= set(levels)
