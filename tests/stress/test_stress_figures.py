"""The figures of stress tests have the numbers of the reports, and their words can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figurehelp import assert_apart, texts_of
from stressfigures import judges, made_up, rate

from judge.plots import draw_stress, stress_page_figures
from judge.plots.data import Rates
from judge.plots.output import draw, settings
from judge.plots.stress import _FIRST, plan
from judge.plots.style import COLUMN, PAGE, WIDTHS, Width
from judge.stress.changes import known
from judge.types import JudgeError


def rates_of(reports: dict[str, dict[str, Any]], name: str) -> Rates:
    (found,) = [one.data for one in plan(reports).drawings if one.name == name]
    assert isinstance(found, Rates)
    return found


@pytest.mark.parametrize(
    ("name", "rows", "whole", "series"),
    [
        ("stress_detection", "detection", "detection_all", ("found", "right_category")),
        ("stress_false_alarms", "false_alarms", "false_alarms_all", ("any", "significant")),
    ],
)
def test_each_point_and_bar_is_the_rate_of_its_class(
    name: str, rows: str, whole: str, series: tuple[str, str]
) -> None:
    reports = judges(3)
    (drawing,) = [one for one in plan(reports).drawings if one.name == name]
    with settings():
        figure = draw(drawing, PAGE)
    panels = [axes for axes in figure.axes if axes.lines and axes.collections]
    assert len(panels) == 3
    for report, axes in zip(reports.values(), panels, strict=True):
        given = [report[whole], *report[rows]]
        dots = [line for line in axes.lines if line.get_marker() in ("o", "s")]
        assert len(dots) == len(axes.collections) == 2
        for of, marks, bars in zip(series, dots, axes.collections, strict=True):
            wanted = [100 * one[of]["rate"] for one in given]
            assert np.asarray(marks.get_xdata()) == pytest.approx(wanted)
            assert np.round(np.asarray(marks.get_ydata())).tolist() == list(range(len(given)))
            ends = np.array([segment[:, 0] for segment in bars.get_segments()])
            assert ends == pytest.approx(
                np.array([(100 * one[of]["low"], 100 * one[of]["high"]) for one in given])
            )


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("width", WIDTHS, ids=lambda width: width.name)
def test_no_text_lies_on_another_or_off_the_sheet(n: int, width: Width) -> None:
    for drawing in plan(judges(n)).drawings:
        with settings():
            figure = draw(drawing, width)
            assert_apart(drawing.name, figure, texts_of(figure))


def test_a_row_says_how_many_were_read_and_a_range_where_judges_differ() -> None:
    both_ = judges(2)
    one, other = both_.values()
    first, second = one["detection"][0], other["detection"][0]
    data = rates_of({"lexicon": one}, "stress_detection")
    assert data.models[1] == f"denied ({first['n']:,})"
    low, high = sorted((first["n"], second["n"]))
    both = rates_of(both_, "stress_detection")
    assert both.models[1] == f"denied ({low:,}\N{EN DASH}{high:,})"
    # The first row has no class: it is of all of them, and has a line below it.
    assert both.models[0].startswith("all (")
    assert 1 in both.breaks


def test_lines_stand_between_classes_and_the_unchanged_report_is_marked() -> None:
    assert {*_FIRST} <= {one.name for one in known().values() if one.group == "error"}
    report = made_up("lexicon", 1)
    names = [one["class"] for one in report["detection"]]
    breaks = rates_of({"lexicon": report}, "stress_detection").breaks
    assert [names[at - 1] for at in breaks[1:]] == [name for name in names if name in _FIRST]
    alarms = rates_of({"lexicon": report}, "stress_false_alarms")
    changes = [one["change"] for one in report["false_alarms"]]
    assert [changes[at - 1] for at in alarms.marked] == ["identical"]
    assert changes[alarms.breaks[1] - 1] == "homophone"  # the first slip
    with settings():
        figure = draw(plan({"lexicon": report}).drawings[1], COLUMN)
    bands = [patch.get_y() for axes in figure.axes for patch in axes.patches]
    assert sum(y == alarms.marked[0] - 0.5 for y in bands) == 1


def test_a_class_that_no_judge_read_has_no_row_and_one_that_some_did_not_has_no_point() -> None:
    reports = judges(2)
    one, other = reports.values()
    for report in (one, other):
        report["detection"][0] |= {"found": rate(0, 0), "right_category": rate(0, 0)}
    other["detection"][1] |= {"found": rate(0, 0), "right_category": rate(0, 0)}
    data = rates_of(reports, "stress_detection")
    assert not any(name.startswith("denied") for name in data.models)
    assert data.models[1] == f"affirmed (0\N{EN DASH}{one['detection'][1]['n']:,})"
    assert data.panels[1].series[0][1].value is None
    with settings():
        figure = draw(plan(reports).drawings[0], PAGE)
        assert sum(text == "n/a" for text, _, _ in texts_of(figure)) == 1


def test_a_rubric_without_categories_or_levels_has_one_series() -> None:
    report = made_up("lexicon", 1)
    report["level"] = None
    for row in (*report["detection"], report["detection_all"]):
        row["right_category"] = None
    for row in (*report["false_alarms"], report["false_alarms_all"]):
        row["significant"] = None
    both = {"lexicon": report, "other": made_up("other", 2)}
    for name in ("stress_detection", "stress_false_alarms"):
        data = rates_of(both, name)
        assert [len(panel.series) for panel in data.panels] == [1, 2]
        (drawing,) = [one for one in plan(both).drawings if one.name == name]
        with settings():
            texts = texts_of(draw(drawing, PAGE))
        assert not any(text == "n/a" for text, _, _ in texts)
    assert len(rates_of({"lexicon": report}, "stress_detection").labels) == 1


def test_a_judge_whose_rubric_has_no_errors_has_no_points() -> None:
    reports = judges(2)
    other = [*reports.values()][1]
    for row in (*other["detection"], other["detection_all"]):
        row |= {"found": None, "right_category": None}
    panel = rates_of(reports, "stress_detection").panels[1]
    assert panel.n == (0, 0)
    assert {cell.value for cell in panel.series[0]} == {None}


def test_what_was_not_read_is_said_and_not_drawn(tmp_path: Path) -> None:
    report = made_up("lexicon", 1)
    for row in (*report["detection"], report["detection_all"]):
        row |= {"found": rate(0, 0), "right_category": rate(0, 0)}
    written = draw_stress({"lexicon": report}, tmp_path / "figures")
    assert written.notes == ("not drawn: errors found: no candidate with one error was read",)
    assert not list((tmp_path / "figures").glob("stress_detection*"))
    assert "Not drawn: errors found" in (tmp_path / "figures" / "captions_stress.md").read_text()


def test_a_rubric_without_errors_has_no_figure_and_says_why() -> None:
    report = made_up("lexicon", 1)
    for row in (*report["detection"], report["detection_all"]):
        row["found"] = None
    for row in (*report["false_alarms"], report["false_alarms_all"]):
        row["any"] = None
    planned = plan({"lexicon": report})
    assert not planned.drawings
    assert planned.left_out == (
        "errors found: the rubric counts no errors",
        "false alarms: the rubric counts no errors",
    )


def test_files_captions_and_what_is_somebody_elses(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    reports = judges(2)
    draw_stress(reports, folder)
    names = {path.name for path in folder.glob("[!.]*")}
    assert names == {
        "captions_stress.md",
        *(
            f"stress_{of}.{width}.{form}"
            for of in ("detection", "false_alarms")
            for width in ("column", "page")
            for form in ("svg", "pdf", "png")
        ),
    }
    captions = (folder / "captions_stress.md").read_text("utf-8")
    for name, report in reports.items():
        assert name in captions
        assert report["signature"] in captions
    before = {path.name: path.read_bytes() for path in folder.glob("[!.]*")}
    draw_stress(reports, folder)
    assert {path.name: path.read_bytes() for path in folder.glob("[!.]*")} == before
    (folder / "stress_detection.page.svg").write_text("edited")
    with pytest.raises(JudgeError, match="not as judge wrote it"):
        draw_stress(reports, folder)


def test_a_page_has_both_figures_with_words_for_who_cannot_see_them() -> None:
    figures = stress_page_figures(made_up("lexicon", 1))
    assert [figure.svg.count("<svg") for figure in figures] == [1, 1]
    assert all("95% Wilson intervals" in figure.caption for figure in figures)
