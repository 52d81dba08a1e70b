"""The view of a study and of a run, for each rubric there is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pagemaking import HOSTILE, examples, failed, hostile, write_run
from support import with_rules

from judge import rubrics
from judge.report.edits import rows
from judge.report.overview import _histogram, cell, declared, field_names, overview
from judge.report.view import search_text, study_view
from judge.rubrics.categories import error
from judge.rubrics.contract import Rubric
from judge.rubrics.numbers import Measure
from judge.running.folder import Run
from judge.stats.table import TableBuilder, codes, summarise, worst_order, worst_rows
from judge.types import Annotation, Edit, Study


@pytest.fixture(scope="module", params=with_rules())
def rubric(request: pytest.FixtureRequest) -> Rubric:
    return rubrics.load(request.param)


@pytest.fixture(scope="module")
def run(rubric: Rubric, tmp_path_factory: pytest.TempPathFactory) -> Run:
    ends = [*examples(rubric.name), failed("f-1"), hostile(rubric, "h-1")]
    return write_run(tmp_path_factory.mktemp("runs") / "run", rubric, ends)


def joined(side: list[dict[str, Any]]) -> str:
    return "".join(segment["text"] for segment in side)


def stated(record: dict[str, Any], rubric: Rubric) -> list[tuple[str, str]]:
    """The names and labels of the counts by grade and code that are not 0."""
    both = [m for m in rubric.measures if m.counts and len(m.counts.labels) == 2]
    return [(m.name, m.label) for m in both if (record["measures"] or {}).get(m.name)]


def labelled(item: dict[str, Any], rubric: Rubric) -> str:
    """The text of an item with the names of its labels behind it."""
    labels = [rubric.facet(f).text(v) for f, all_ in item["labels"].items() for v in all_]
    return item["text"] + (f" ({', '.join(labels)})" if labels else "")


def test_a_view_holds_the_whole_record(run: Run, rubric: Rubric) -> None:
    for record in run.records():
        view = json.loads(json.dumps(study_view(record, rubric), allow_nan=False))
        assert joined(view["reference"]) == record["reference"]
        assert joined(view["candidate"]) == record["candidate"]
        assert view["answer"] == record["answer"]
        assert view["outcome"] == record["outcome"]
        items = record["annotation"]["items"] if record["annotation"] else []
        graded = {kind.name: kind.graded_by for kind in rubric.graded}
        rows = [row for row, item in enumerate(items) if item["kind"] in graded]
        assert view["items"] == [
            {
                **items[row],
                "grade": items[row]["labels"][graded[items[row]["kind"]]][0],
                "links": [rows.index(link) for link in items[row]["links"] if link in rows],
                "quotes": [items[n]["text"] for n in items[row]["links"] if n not in rows],
            }
            for row in rows
        ]
        assert (view["edits"] is not None) == bool(rubric.editor and record["annotation"])
        plain = [kind.name for kind in rubric.kinds if kind.name not in graded]
        assert [each["kind"] for each in view["lists"]] == (plain if record["annotation"] else [])
        for each in view["lists"]:
            texts = [labelled(one, rubric) for one in items if one["kind"] == each["kind"]]
            if not rubric.kind(each["kind"]).is_listed:
                texts = [
                    f"{said}: {record['measures'][name]}" for name, said in stated(record, rubric)
                ]
            assert each["texts"] == texts
            counts = rubric.counting(each["kind"], {})
            n = record["measures"][counts[0].name] if counts else len(each["texts"])
            assert each["n"] == n


def test_a_failed_study_has_a_reason_and_no_annotation(run: Run, rubric: Rubric) -> None:
    view = study_view(run.record("f-1"), rubric)
    assert (view["outcome"], view["reason"], view["detail"]) == ("failed", "timeout", "no answer")
    assert view["measures"] is None
    assert view["items"] == view["lists"] == []
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
    first = rubric.worst[0]
    values = table[first.measure].iloc[order[:-1]].dropna().tolist()
    assert values == sorted(values, reverse=first.largest_first)


def test_letters_are_those_of_the_errors(run: Run, rubric: Rubric) -> None:
    for record, letters in zip(run.records(), codes(run.table(), rubric), strict=True):
        items = record["annotation"]["items"] if record["annotation"] else []
        facet = rubric.codes
        if not all(kind.is_listed for kind in rubric.kinds):
            assert letters == "".join(sorted({name[-1] for name, _ in stated(record, rubric)}))
            continue
        found = {code for item in items for code in item["labels"].get(facet and facet.name, ())}
        names = [label.name for label in facet.labels if label.name in found] if facet else []
        assert letters == ("" if not names or len(names[0]) == 1 else ", ").join(names)


def test_an_overview_counts_each_study_once(run: Run, rubric: Rubric) -> None:
    table = run.table()
    view = json.loads(json.dumps(overview(run.summary(), table, rubric), allow_nan=False))
    for histogram in view["figures"]["scores"]:
        assert sum(part["n"] for part in histogram["bins"]) == histogram["n"]
        measure = next(one for one in rubric.measures if one.name == histogram["name"])
        assert histogram["n"] == view["n_scored"] or measure.undefined
    shown = [one for one in rubric.shown("groups") if one.kind == "rate"]
    assert [rate["name"] for rate in view["figures"]["rates"]] == [one.name for one in shown]
    for rate in view["figures"]["rates"]:
        *groups, whole = rate["rows"]
        assert whole["group"] == "all"
        assert sum(row["n"] for row in groups) == whole["n"] == view["n_scored"]
        assert sum(row["k"] for row in groups) == whole["k"]
    assert view["n_studies"] == len(table)
    assert view["signature"] == run.summary()["signature"]
    assert view["judge"]["note"] == "a note"
    names = [column["name"] for column in view["columns"]]
    coded = {rubric.codes.plural} if rubric.codes else set()
    assert {"study_id", "site", "context"} | coded <= set(names)
    assert set(field_names(table, rubric)) == {"site", "context", HOSTILE}
    assert all(name in table.columns or name in coded for name in names)


def test_no_study_scored(rubric: Rubric, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", rubric, [failed("f-1"), failed("f-2")])
    view = json.loads(json.dumps(overview(run.summary(), run.table(), rubric), allow_nan=False))
    assert view["n_scored"] == 0
    assert all(
        histogram["bins"] == [] or histogram["n"] == 0 for histogram in view["figures"]["scores"]
    )
    assert all(rate["rows"][-1]["value"] is None for rate in view["figures"]["rates"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("green", {"significant": "serious", "insignificant": "mild"}),
        (
            "fineradscore",
            {
                "severity1": "mild",
                "severity2": "notable",
                "severity3": "serious",
                "severity4": "critical",
            },
        ),
    ],
)
def test_tones_are_those_of_the_scale(name: str, expected: dict[str, str]) -> None:
    rubric = rubrics.load(name)
    assert rubric.grades is not None
    (facet,) = (f for f in declared(rubric)["facets"] if f["name"] == rubric.grades.name)
    assert {label["name"]: label["tone"] for label in facet["labels"]} == expected
    empty = TableBuilder(rubric, []).build()
    columns = overview(summarise(empty, rubric) | MADE_BY, empty, rubric)["columns"]
    tones = {one["name"]: one["tone"] for one in columns if one["kind"] == "count"}
    assert tones == {f"n_{grade}": tone for grade, tone in expected.items()}


MADE_BY = {
    "judge": {"name": "j", "version": "1", "note": None},
    "prompt": None,
    "signature": "s",
    "section": "findings",
    "omitted": {},
    "notes": [],
}


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
    assert rubric.editor is not None
    candidate = " ".join(report)
    edits = [
        Edit(kind, at, "" if kind == "delete" else f"Line {n} is new.")
        for kind, at, n in chosen
        if at < len(report) or (kind == "insert" and at == len(report))
    ]
    annotation = Annotation(tuple(error([], "severity", "severity1", "", edit) for edit in edits))
    errors = [
        {"text": "", "edit": {"kind": e.kind, "line": e.line, "corrected": e.corrected}}
        for e in edits
    ]
    found = list(rows(candidate, errors))
    corrected = rubric.editor(annotation, Study("1", "", candidate))
    after = [row.after for row in found if row.after is not None]
    assert " ".join(after) == " ".join(corrected.split())
    assert [row.before for row in found if row.before is not None] == report
    assert sorted(row.error for row in found if row.error is not None) == list(range(len(edits)))


@given(st.text(max_size=80), st.text(max_size=80))
def test_pieces_make_both_lines(before: str, after: str) -> None:
    from judge.report.edits import Row

    before, after = " ".join(before.split()), " ".join(after.split())
    pieces = Row("change", 0, before, after, 0).pieces()
    lines = [
        "".join(t for c, t in pieces if c in kept) for kept in (("same", "out"), ("same", "in"))
    ]
    assert lines == [before, after]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (
            "No change in pneumothorax or fluid.",
            "No residual pneumothorax.",
            "No [-change in-][+residual+] pneumothorax[- or fluid.-][+.+]",
        ),
        ("Heart is large.", "Heart is not large.", "Heart is [+not +]large."),
        ("Small effusion.", "Small effusion on the left.", "Small effusion[-.-][+ on the left.+]"),
    ],
)
def test_pieces_keep_the_spaces_between_words(before: str, after: str, shown: str) -> None:
    from judge.report.edits import Row

    mark = {"same": "{}", "out": "[-{}-]", "in": "[+{}+]"}
    pieces = Row("change", 1, before, after, 0).pieces()
    assert "".join(mark[change].format(text) for change, text in pieces) == shown


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        ([0, 1, 3], [(0, 0, 1), (1, 1, 1), (2, 2, 0), (3, 3, 1)]),
        (range(15), [(n, n, 1) for n in range(15)]),
        (range(41), [(n, n + 2, 3 if n < 39 else 2) for n in range(0, 41, 3)]),
        ([], []),
    ],
)
def test_whole_scores_have_bins_of_as_many_whole_numbers_each(
    values: Sequence[int], bins: list[tuple[int, int, int]]
) -> None:
    """Fifteen scores in twenty bins had gaps that are not in the data."""
    table = pd.DataFrame({"sum": [float(value) for value in values]})
    score = Measure("sum", "sum", role="score")
    found = _histogram(table, score)
    assert [(one["low"], one["high"], one["n"]) for one in found["bins"]] == bins
    assert found["whole"] is True
    assert _histogram(pd.DataFrame({"sum": [0.25, 1.0]}), score)["whole"] is False
