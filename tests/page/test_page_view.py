"""The view of a study and of a run, as the pages and the terminal show them."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pagemaking import HOSTILE, examples, failed, hostile, write_run

from judge import rubrics
from judge.pages.run import field_names, overview
from judge.rubrics.categories import error_item
from judge.rubrics.contract import Rubric
from judge.running.folder import RunFolder
from judge.study.view import cell, changed_words, edit_rows, study_view
from judge.types import Annotation, Edit, Study


@pytest.fixture(scope="module", params=["green", "fineradscore", "facts"])
def rubric(request: pytest.FixtureRequest) -> Rubric:
    return rubrics.load(request.param)


@pytest.fixture(scope="module")
def run(rubric: Rubric, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    ends = [*examples(rubric.name), failed("f-1"), hostile(rubric, "h-1")]
    return write_run(tmp_path_factory.mktemp("runs") / "run", rubric, ends)


def joined(side: list[dict[str, Any]]) -> str:
    return "".join(segment["text"] for segment in side)


def test_a_view_holds_the_whole_record(run: RunFolder, rubric: Rubric) -> None:
    graded = {kind.name: kind.graded_by for kind in rubric.graded}
    plain = [kind.name for kind in rubric.kinds if kind.name not in graded]
    for record in run.records():
        view = json.loads(json.dumps(study_view(record, rubric), allow_nan=False))
        for name in ("reference", "candidate"):
            assert joined(view[name]) == record[name]
        for name in ("answer", "outcome", "reason", "detail", "measures"):
            assert view[name] == record[name]
        items = record["annotation"]["items"] if record["annotation"] else []
        own = [item for item in items if item["kind"] in graded]
        assert [(one["text"], one["labels"], one["edit"]) for one in view["items"]] == [
            (item["text"], item["labels"], item["edit"]) for item in own
        ]
        assert [one["grade"] for one in view["items"]] == [
            item["labels"][graded[item["kind"]]][0] for item in own
        ]
        assert (view["edits"] is not None) == bool(
            rubric.editor and record["annotation"]
        )
        assert [each["kind"] for each in view["lists"]] == (
            plain if record["annotation"] else []
        )
        for each in view["lists"]:
            texts = [item["text"] for item in items if item["kind"] == each["kind"]]
            assert all(
                shown.startswith(text)
                for shown, text in zip(each["texts"], texts, strict=True)
            )


def test_an_overview_counts_each_study_once(run: RunFolder, rubric: Rubric) -> None:
    table = run.table()
    view = json.loads(json.dumps(overview(run, table), allow_nan=False))
    for rate in view["figures"]["rates"]:
        *groups, whole = rate["rows"]
        assert whole["group"] == "all"
        assert sum(row["n"] for row in groups) == whole["n"] == view["n_scored"]
        assert sum(row["k"] for row in groups) == whole["k"]
    assert view["n_studies"] == len(table)
    assert view["signature"] == run.summary().signature
    names = {column["name"] for column in view["columns"]}
    coded = {rubric.codes.plural} if rubric.codes else set()
    assert {"study_id", "site", "context"} | coded <= names <= {*table.columns, *coded}
    assert set(field_names(table, rubric)) == {"site", "context", HOSTILE}


@pytest.mark.parametrize(
    ("value", "shown"),
    [(pd.NA, None), (float("nan"), None), (3.0, 3), (2.5, 2.5), (True, "true"), ("NaN", "NaN"),
     ([1, 2], "[1, 2]"), (float("inf"), "inf")],
)  # fmt: skip
def test_cells(value: object, shown: object) -> None:
    assert cell(value) == shown
    assert type(cell(value)) is type(shown)


lines = st.lists(
    st.sampled_from(["The heart is large.", "No effusion.", "Ribs intact."]), max_size=4
)
corrections = st.lists(
    st.tuples(
        st.sampled_from(["change", "delete", "insert"]),
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    max_size=4,
    unique_by=lambda edit: (edit[0] == "insert", edit[1]),
)


@given(lines, corrections)
def test_edit_rows_make_the_corrected_report(report: list[str], chosen: list) -> None:
    rubric = rubrics.load("fineradscore")
    assert rubric.editor is not None
    candidate = " ".join(report)
    edits = [
        Edit(kind, at, "" if kind == "delete" else f"Line {n} is new.")
        for kind, at, n in chosen
        if at < len(report) or (kind == "insert" and at == len(report))
    ]
    annotation = Annotation(
        tuple(error_item([], "severity", "severity1", "", edit) for edit in edits)
    )
    errors = [
        {"text": "", "edit": {"kind": e.kind, "line": e.line, "corrected": e.corrected}}
        for e in edits
    ]
    found = list(edit_rows(candidate, errors))
    corrected = rubric.editor(annotation, Study("1", "", candidate))
    before, after = (
        [
            "".join(text for change, text in row["pieces"] if change in ("same", side))
            for row in found
            if row["kind"] != other
        ]
        for side, other in (("out", "insert"), ("in", "delete"))
    )
    assert " ".join(after) == " ".join(corrected.split())
    assert before == report
    numbers = sorted(row["error"] for row in found if row["error"] is not None)
    assert numbers == list(range(len(edits)))


@given(st.text(max_size=80), st.text(max_size=80))
def test_pieces_make_both_lines(before: str, after: str) -> None:
    before, after = " ".join(before.split()), " ".join(after.split())
    pieces = changed_words(before, after)
    lines = [
        "".join(t for c, t in pieces if c in kept)
        for kept in (("same", "out"), ("same", "in"))
    ]
    assert lines == [before, after]
