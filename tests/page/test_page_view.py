"""The view of a study and of a run, as the pages and the terminal show them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pagemaking import HOSTILE, examples, failed, hostile, write_run

from judge import rubrics
from judge.pages.bundle import as_json
from judge.pages.models import StudyList, list_column, value_filter
from judge.pages.run import RunOverview, field_names, overview, study_list
from judge.pages.study import RunStudy, run_study
from judge.rubrics.categories import error_item
from judge.rubrics.contract import Rubric
from judge.running.folder import RunFolder
from judge.stats.summary import TableBuilder
from judge.study.view import (
    cell,
    changed_words,
    edit_rows,
    search_text,
    search_words,
    word_differences,
)
from judge.tables.run import run_document
from judge.text import number
from judge.types import Annotation, Edit, Item, Scored, Study


@pytest.fixture(scope="module", params=["green", "fineradscore", "facts"])
def rubric(request: pytest.FixtureRequest) -> Rubric:
    return rubrics.load(request.param)


@pytest.fixture(scope="module")
def run(rubric: Rubric, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    ends = [*examples(rubric.name), failed("f-1"), hostile(rubric, "h-1")]
    return write_run(tmp_path_factory.mktemp("runs") / "run", rubric, ends)


def test_a_study_holds_the_whole_record(run: RunFolder, rubric: Rubric) -> None:
    graded = {kind.name: kind.graded_by for kind in rubric.graded}
    plain = [kind.name for kind in rubric.kinds if kind.name not in graded]
    for record in run.records():
        study = RunStudy.model_validate_json(as_json(run_study(record, rubric)))
        found = study.findings
        sides = (found.reference, found.candidate)
        texts = ["".join(piece.text for piece in side) for side in sides]
        assert texts == [record["reference"], record["candidate"]]
        assert study.measures == record["measures"]
        assert found.outcome == record["outcome"]
        if record["annotation"] is None:
            assert found.unscored is not None
            assert record["reason"] in found.unscored.heading
            assert record["detail"] in found.unscored.detail
            assert (found.items, found.lists) == ([], [])
            continue
        items = record["annotation"]["items"]
        own = [item for item in items if item["kind"] in graded]
        assert [item.text for item in found.items] == [
            item["text"] or "(no text)" for item in own
        ]
        assert [(item.labels, item.grade) for item in found.items] == [
            (item["labels"], item["labels"][graded[item["kind"]]][0]) for item in own
        ]
        assert (found.edits is not None) == bool(rubric.editor)
        for kind, each in zip(map(rubric.kind, plain), found.lists, strict=True):
            of_kind = [item for item in items if item["kind"] == kind.name]
            n = record["measures"].get(f"n_{kind.name}", len(of_kind))
            assert each.heading == f"{n} {kind.label if n == 1 else kind.plural}"
            for shown, item in zip(each.texts, of_kind, strict=True):
                assert shown.startswith(item["text"])
        answer = record["answer"]["text"]
        assert study.answer.text == answer


def test_labels_and_stated_counts_are_said_in_words() -> None:
    """As a judge's answer that says 2 and lists 1 has them, with two facts that belong together."""
    green = rubrics.load("green")
    item = error_item(["b"], "significance", "significant", "effusion missed")
    grades = ("significant", "insignificant")
    stated = {f"{grade}_{code}": 0 for grade in grades for code in "abcdef"}
    stated |= {"significant_b": 2, "matched": 1}
    annotation = Annotation((item,), stated_counts=stated)
    study = Study("1", "Effusion.", "Clear.", "normal")
    outcome = Scored(annotation)
    end = (study, outcome, green.measured(annotation, study), None)
    with_facts = rubrics.load("facts")
    linked = Item(
        "fact", "Effusion.", _facts_labels(with_facts), side="reference", links=(1,)
    )
    other = Item(
        "fact", "Effusion.", _facts_labels(with_facts), side="candidate", links=(0,)
    )
    facts = Annotation((linked, other))
    facts_end = (study, Scored(facts), with_facts.measured(facts, study), None)
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "green", green, [end])
        (record,) = run.records()
        shown = run_study(record, green)
        run = write_run(Path(folder) / "facts", with_facts, [facts_end])
        (record,) = run.records()
        first, second = run_study(record, with_facts).findings.items
    (error,) = shown.findings.items
    assert error.grade_text == "clinically significant"
    assert error.tags == ["(b) missing finding"]
    assert shown.findings.heading == "1 error"
    assert shown.findings.notes == [
        "The answer states 2 clinically significant and lists 1. The stated number counts."
    ]
    assert shown.answer.missing == "A reader's annotation has none."
    assert {"in the reference", "with 2"} <= {*first.tags}
    assert {"in the candidate", "with 1"} <= {*second.tags}


def _facts_labels(rubric: Rubric) -> dict[str, tuple[str, ...]]:
    (kind,) = rubric.graded
    return {facet: (rubric.facet(facet).labels[0].name,) for facet in kind.facets}


def test_an_overview_counts_each_study_once(run: RunFolder, rubric: Rubric) -> None:
    view = RunOverview.model_validate_json(as_json(overview(run)))
    n_scored = len(run.table()) - 1  # one has failed
    assert (view.n_studies, view.n_scored) == (n_scored + 1, n_scored)
    assert view.tiles[-1].text == str(n_scored)
    assert view.tiles[-1].more == f"of {n_scored + 1}; 1 not scored"
    for figure in view.figures:
        if not figure.title.startswith("Studies with"):
            continue
        counts = [bar.text.split()[0].split("/") for bar in figure.rows]
        *groups, (k, n) = [(int(k), int(n)) for k, n in counts]
        assert figure.rows[-1].name == "all"
        assert (sum(k for k, _ in groups), sum(n for _, n in groups)) == (k, n)
    assert view.signature == run.summary().signature
    printed = [table.title for table in run_document(run.summary(), rubric).tables]
    assert [table.title for table in view.tables] == printed


def test_a_list_has_the_table_in_columns(run: RunFolder, rubric: Rubric) -> None:
    table = run.table()
    found = StudyList.model_validate_json(as_json(study_list(table, rubric)))
    columns = {column.name: column for column in found.columns}
    assert len(columns) == len(found.columns)
    assert {f"field.{name}" for name in ("site", "context", HOSTILE)} <= {*columns}
    assert set(field_names(table, rubric)) == {"site", "context", HOSTILE}
    for column in found.columns:
        assert len(column.codes) == len(table)
        assert all(-1 <= code < len(column.texts) for code in column.codes)
        if column.numbers is not None:
            assert column.numbers == sorted(column.numbers)
        if not column.name.startswith("measure."):
            continue
        measure = next(
            one for one in rubric.measures if column.name.endswith(f".{one.name}")
        )
        for code, value in zip(
            column.codes, map(cell, table[measure.name].tolist()), strict=True
        ):
            assert (code == -1) == (value is None)
            if value is not None and column.kind == "score":
                digits = 0 if measure.is_whole else 3
                assert column.texts[code] == f"{value:z.{digits}f}"
    assert columns["outcome"].is_shown
    names = [by.name for by in found.filters]
    assert len({*names}) == len(names)
    # What an address means besides, whatever a facet or a field is called.
    assert not {"sort", "descending", "offset", "q", "study", "reviewed"} & {*names}
    for by in found.filters:
        if by.kind == "choice":
            codes = [code for choice in by.choices for code in choice.codes]
            assert {*range(len(columns[by.column].texts))} == {*codes} - {-1}


@given(
    st.lists(
        st.none()
        | st.integers(-5, 5)
        | st.sampled_from([0.5, -0.0001, 0.25])
        | st.sampled_from(["a", "b2", "b10", "1"]),
        max_size=12,
    )
)
def test_codes_order_values_as_they_are_printed(values: list[Any]) -> None:
    column = list_column("x", "x", values, kind="number", text=shown_number)
    back = [None if code == -1 else column.texts[code] for code in column.codes]
    assert back == [None if value is None else shown_number(value) for value in values]
    assert "-0.000" not in column.texts
    assert (column.numbers is None) == any(isinstance(value, str) for value in values)
    if "b2" in values and "b10" in values:
        assert column.texts.index("b2") < column.texts.index("b10")


def shown_number(value: str | float) -> str:
    return value if isinstance(value, str) else number(value)


def test_a_filter_of_many_or_long_values_is_typed() -> None:
    few = list_column("x", "site", ["a", "b", None], kind="field")
    assert (value_filter("x", "site", few).kind, few.missing) == ("choice", "")
    for values in ([str(n) for n in range(201)], ["x" * 101]):
        column = list_column("x", "site", values, kind="field")
        by = value_filter("x", "site", column)
        assert (by.kind, by.label, by.is_folded) == ("text", "site contains", True)


def test_items_are_counted_by_each_combination_of_labels() -> None:
    green = rubrics.load("green")
    run_table = TableBuilder(green, []).build()
    counts = study_list(run_table, green).item_counts
    by_labels = {frozenset(count.labels.items()): {*count.columns} for count in counts}
    assert len(by_labels) == 6 + 2 + 6 * 2
    assert by_labels[frozenset({("facet.category", "b")})] == {
        "measure.significant_b",
        "measure.insignificant_b",
    }
    both = frozenset({("facet.category", "b"), ("facet.significance", "significant")})
    assert by_labels[both] == {"measure.significant_b"}


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


words = st.lists(
    st.sampled_from(["heart", "Effusion", "2.2", "no", "\n", "  ", ".", "x\u202e"]),
    max_size=12,
).map(" ".join)


@given(words | st.text(max_size=60), words | st.text(max_size=60))
def test_differences_make_both_reports(before: str, after: str) -> None:
    pieces = word_differences(before, after)
    assert pieces is not None
    assert "".join(text for change, text in pieces if change != "out") == after
    out = "".join(text for change, text in pieces if change != "in")
    assert "".join(out.split()) == "".join(before.split())
    if before == after:
        assert {change for change, _ in pieces} <= {"same"}


def test_a_report_too_long_to_compare_is_shown_as_it_is(tmp_path: Path) -> None:
    green = rubrics.load("green")
    study = Study("1", "clear " * 2000, "dense " * 2000, "normal")
    annotation = Annotation(())
    end = (study, Scored(annotation), green.measured(annotation, study), None)
    (record,) = write_run(tmp_path / "run", green, [end]).records()
    shown = run_study(record, green).findings.differences
    assert shown.note == "Too long to compare word by word."
    assert [(piece.change, piece.text) for piece in shown.pieces] == [
        ("same", study.candidate)
    ]


def test_a_search_looks_through_all_that_is_said(run: RunFolder) -> None:
    record = next(record for record in run.records() if record["annotation"])
    text = search_text(record)
    parts = [record["study_id"], record["reference"], record["candidate"]]
    parts += [str(value) for value in record["fields"].values() if value is not None]
    parts += [item["text"] for item in record["annotation"]["items"]]
    for part in parts:
        assert part.lower() in text
    assert search_words("\u00a0 Pleural\ufeffEFFUSION ") == ["pleural", "effusion"]


def test_a_run_without_a_score_shows_why(tmp_path: Path) -> None:
    green = rubrics.load("green")
    run = write_run(tmp_path / "run", green, [failed("f-1"), failed("f-2")])
    found = study_list(run.table(), green)
    (outcome,) = [column for column in found.columns if column.name == "outcome"]
    assert (outcome.is_shown, outcome.texts) == (True, ["failed: timeout"])
    assert found.order == [0, 1]
    assert overview(run).tiles[-1].more == "of 2; 2 not scored"
