"""What holds for every rubric there is, and the completions in each rubric's `cases/`.

A case is a YAML file with `about`, `completion`, optionally `complete` (the judge reported
to have ended by itself), `reply: structured` (it was asked for in that form), `prompt` and
`model` (whose wording was asked, and who answered) and `study` (`reference`, `candidate`), and
`expect`: either
`unparsed` with the reason, or `by_category` (the cells of the tally that are not 0, such as
`significant_b`), `scores` and any of: a measure by its name, the items of a kind by its plural
(of those that are graded their grade, codes and text, of others the text), `edits` (kind, line,
corrected), `corrected` (the report that they make), `explanation`, `warnings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from judge import rubrics
from judge.rubrics.contract import Rubric, StructuredReply
from judge.rubrics.derived import for_prompt
from judge.types import Annotation, Item, Study, UnparsedError

NAMES = rubrics.names()
CASES = [
    pytest.param(name, path, id=f"{name}-{path.stem}")
    for name in NAMES
    for path in sorted(rubrics.cases(name).glob("*.yaml"))
]
KEYS = {
    "about",
    "completion",
    "complete",
    "reply",
    "prompt",
    "model",
    "study",
    "expect",
}


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
        return for_prompt(rubric, case.get("prompt", ""), case.get("model", ""))
    assert case["reply"] == "structured"
    assert rubric.structured is not None
    return rubric.structured


def _outcome(rubric: Rubric, case: Mapping[str, Any], study: Study) -> Annotation | str:
    try:
        parse = _form(rubric, case).parse
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
        "scores": {
            score.name: measures[score.name] for score in rubric.with_role("score")
        },
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
    assert form.parse(form.render(outcome), study, complete=True) == outcome
