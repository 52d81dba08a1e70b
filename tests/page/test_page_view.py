"""The view of a study and of a run, for each rubric there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pagemaking import HOSTILE, examples, failed, hostile, write_run

from judge import rubrics
from judge.report.edits import rows
from judge.report.overview import cell, field_names, overview
from judge.report.view import search_text, study_view
from judge.rubrics import Level, Rubric
from judge.run.folder import Run
from judge.stats.worst import categories, worst_order, worst_rows
from judge.types import Annotation, Edit, Error, Study


@pytest.fixture(scope="module", params=rubrics.names())
def rubric(request: pytest.FixtureRequest) -> Rubric:
    return rubrics.load(request.param)


@pytest.fixture(scope="module")
def run(rubric: Rubric, tmp_path_factory: pytest.TempPathFactory) -> Run:
    ends = [*examples(rubric.name), failed("f-1"), hostile(rubric, "h-1")]
    return write_run(tmp_path_factory.mktemp("runs") / "run", rubric, ends)


def joined(side: list[list[Any]]) -> str:
    return "".join(text for text, _ in side)


def test_a_view_holds_the_whole_record(run: Run, rubric: Rubric) -> None:
    for record in run.records():
        view = json.loads(json.dumps(study_view(record, rubric), allow_nan=False))
        assert joined(view["reference"]) == record["reference"]
        assert joined(view["candidate"]) == record["candidate"]
        assert view["answer"] == record["answer"]
        assert view["outcome"] == record["outcome"]
        errors = record["annotation"]["errors"] if record["annotation"] else []
        assert [(e["text"], e["level"], e["categories"]) for e in view["errors"]] == [
            (e["text"], e["level"], e["categories"]) for e in errors
        ]
        assert (view["edits"] is not None) == bool(rubric.corrected and record["annotation"])
        assert (view["matched"] is not None) == bool(rubric.has_matched and record["annotation"])


def test_a_failed_study_has_a_reason_and_no_annotation(run: Run, rubric: Rubric) -> None:
    view = study_view(run.record("f-1"), rubric)
    assert (view["outcome"], view["reason"], view["detail"]) == ("failed", "timeout", "no answer")
    assert view["scores"] is None
    assert view["errors"] == []
    assert view["edits"] is None
    assert view["candidate"] == []


def test_the_search_reads_everything_that_is_shown(run: Run) -> None:
    record = run.record("h-1")
    text = search_text(record)
    for word in ("h-1", "small effusion", "onload=alert(3)", HOSTILE.lower()):
        assert word in text
    assert "timeout" in search_text(run.record("f-1"))


def test_the_order_is_worst_first_and_holds_every_study(run: Run, rubric: Rubric) -> None:
    table = run.table()
    order = worst_order(table, rubric)
    assert sorted(order) == list(range(len(table)))
    assert table["study_id"].iloc[order[-1]] == "f-1"
    scored = [str(table["study_id"].iloc[at]) for at in order][:-1]
    assert [row["study_id"] for row in worst_rows(table, rubric, len(scored))] == scored
    significant = [int(table["n_significant"].iloc[at]) for at in order[:-1]]
    assert significant == sorted(significant, reverse=True)


def test_letters_are_those_of_the_errors(run: Run, rubric: Rubric) -> None:
    for record, letters in zip(run.records(), categories(run.table(), rubric), strict=True):
        errors = record["annotation"]["errors"] if record["annotation"] else []
        assert letters == "".join(sorted({c for error in errors for c in error["categories"]}))


def test_an_overview_counts_each_study_once(run: Run, rubric: Rubric) -> None:
    table = run.table()
    view = json.loads(json.dumps(overview(run.summary(), table, rubric), allow_nan=False))
    for histogram in view["figures"]["scores"]:
        assert sum(part["n"] for part in histogram["bins"]) == histogram["n"] == view["n_scored"]
    rates = view["figures"]["rates"]
    assert rates[-1]["group"] == "all"
    assert sum(row["n_studies"] for row in rates[:-1]) == rates[-1]["n_studies"] == len(table)
    assert view["signature"] == run.summary()["signature"]
    assert view["judge"]["note"] == "a note"
    names = [column["name"] for column in view["columns"]]
    assert {"study_id", "categories", "site", "context"} <= set(names)
    assert set(field_names(table, rubric)) == {"site", "context", HOSTILE}
    assert all(name in table.columns or name == "categories" for name in names)


def test_no_study_scored(rubric: Rubric, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", rubric, [failed("f-1"), failed("f-2")])
    view = json.loads(json.dumps(overview(run.summary(), run.table(), rubric), allow_nan=False))
    assert view["n_scored"] == 0
    assert all(
        histogram["bins"] == [] or histogram["n"] == 0 for histogram in view["figures"]["scores"]
    )
    assert view["figures"]["rates"][-1]["no_significant_error"]["rate"] is None


def test_tones_follow_the_scale() -> None:
    def tones(name: str) -> dict[str, str]:
        from judge.report.overview import tones

        levels = rubrics.load(name).levels
        return {level.name: tone for level, tone in zip(levels, tones(levels), strict=True)}

    assert tones("green") == {"significant": "serious", "insignificant": "mild"}
    assert list(tones("fineradscore").values()) == ["mild", "notable", "serious", "critical"]


def test_the_gravest_tone_is_at_the_significant_end() -> None:
    from judge.report.overview import tones

    up = [Level(name, name, significant=name > "b", actionable=None) for name in "abcd"]
    assert tones(up) == ["mild", "notable", "serious", "critical"]
    assert tones(up[::-1]) == ["critical", "serious", "notable", "mild"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (pd.NA, None),
        (float("nan"), None),
        (3.0, 3),
        (2.5, 2.5),
        (True, "true"),
        ("NaN", "NaN"),
        ([1, 2], "[1, 2]"),
        (float("inf"), "inf"),
    ],
)
def test_cells(value: object, shown: object) -> None:
    assert cell(value) == shown
    assert type(cell(value)) is type(shown)


lines = st.lists(
    st.sampled_from(["The heart is large.", "No effusion.", "Ribs intact."]), max_size=4
)
corrections = st.lists(
    st.tuples(
        st.sampled_from(["change", "delete", "insert"]), st.integers(0, 3), st.integers(0, 9)
    ),
    max_size=4,
    unique_by=lambda edit: (edit[0] == "insert", edit[1]),
)


@given(lines, corrections)
def test_edit_rows_make_the_corrected_report(report: list[str], chosen: list) -> None:
    rubric = rubrics.load("fineradscore")
    assert rubric.corrected is not None
    candidate = " ".join(report)
    edits = [
        Edit(kind, at, "" if kind == "delete" else f"Line {n} is new.")
        for kind, at, n in chosen
        if at < len(report) or (kind == "insert" and at == len(report))
    ]
    annotation = Annotation(tuple(Error((), "severity1", "", edit) for edit in edits))
    errors = [
        {"text": "", "edit": {"kind": e.kind, "line": e.line, "corrected": e.corrected}}
        for e in edits
    ]
    found = list(rows(candidate, errors))
    corrected = rubric.corrected(annotation, Study("1", "", candidate))
    after = [row.after for row in found if row.after is not None]
    assert " ".join(after) == " ".join(corrected.split())
    assert [row.before for row in found if row.before is not None] == report
    assert sorted(row.error for row in found if row.error is not None) == list(range(len(edits)))


@given(st.text(max_size=80), st.text(max_size=80))
def test_pieces_make_both_lines(before: str, after: str) -> None:
    from judge.report.edits import Row

    before, after = " ".join(before.split()), " ".join(after.split())
    pieces = Row("change", 0, before, after, 0).pieces()
    bare = [
        "".join("".join(t for c, t in pieces if c in kept).split())
        for kept in (("same", "out"), ("same", "in"))
    ]
    assert bare == ["".join(before.split()), "".join(after.split())]
