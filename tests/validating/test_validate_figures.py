"""The figures of judges beside readers have the numbers of the JSON, and say what is moved."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from figurehelp import assert_apart, texts_of
from ratedhelp import counts_of, made, many, run, studies_of

from judge.cli import main
from judge.plots.data import Drawing, Forest, Points
from judge.plots.output import draw, rendered, settings
from judge.plots.raters import JITTER, plan
from judge.plots.style import COLUMN, PAGE, WIDTHS, Width
from judge.validating.validation import validate


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("validate")
    made(path)
    return path


@pytest.fixture(scope="module")
def said(work: Path) -> tuple[dict[str, Any], Any]:
    studies = studies_of(work)
    return validate(studies), studies.values


def drawings(said: tuple[dict[str, Any], Any]) -> dict[str, Drawing]:
    return {drawing.name: drawing for drawing in plan(*said).drawings}


def test_each_row_is_its_judges_tau_with_its_interval_and_the_band_the_readers(said: Any) -> None:
    found, _ = said
    drawing = drawings(said)["agreement_kendall"]
    assert isinstance(drawing.data, Forest)
    assert drawing.data.rows == ("lexicon", "lexicon: GREEN")
    with settings():
        figure = draw(drawing, PAGE)
    for name, axes in zip(("errors", "significant"), figure.axes, strict=True):
        (ceiling,) = [one for one in found["ceiling_mean"] if one["quantity"] == name]
        own = [one["kendall"] for one in found["agreement"] if one["quantity"] == name]
        (marks,) = [line for line in axes.lines if line.get_marker() == "o"]
        assert np.asarray(marks.get_xdata()) == pytest.approx([one["value"] for one in own])
        assert np.asarray(marks.get_ydata()).tolist() == [0, 1]
        (bars,) = axes.collections
        ends = [segment[:, 0] for segment in bars.get_segments()]
        assert np.array(ends) == pytest.approx(np.array([(o["low"], o["high"]) for o in own]))
        (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
        assert np.asarray(dashed.get_xdata()) == pytest.approx([ceiling["kendall"]["value"]] * 2)
        bands = [(p.get_x(), p.get_x() + p.get_width()) for p in axes.patches]
        assert any(band == pytest.approx(ceiling["range"]["kendall"]) for band in bands)
        assert f"{ceiling['kendall']['value']:.3f}" in drawing.caption


@pytest.mark.parametrize("quantity", ["errors", "significant"])
def test_points_are_the_counts_moved_by_no_more_than_is_said(said: Any, quantity: str) -> None:
    found, values = said
    judge, readers = counts_of(values, quantity)
    known = ~(np.isnan(judge) | np.isnan(readers))
    judge, readers = judge[known], readers[known]
    counts, limits = (drawings(said)[f"{kind}_{quantity}"] for kind in ("counts", "limits"))
    for drawing, x, y in (
        (counts, readers, judge),
        (limits, (judge + readers) / 2, judge - readers),
    ):
        assert isinstance(drawing.data, Points)
        (panel,) = drawing.data.panels
        assert np.abs(panel.x - x).max() <= JITTER
        assert np.abs(panel.y - y).max() <= JITTER
        assert len(np.unique(panel.x)) == len(x), "equal points must be moved apart"
        assert f"up to {JITTER:g}" in drawing.caption
        assert "seed 20260101" in drawing.caption
    (of,) = [one for one in found["limits"] if one["quantity"] == quantity]
    with settings():
        (axes,) = draw(limits, PAGE).axes
    drawn = [line.get_ydata()[0] for line in axes.lines if line.get_color() != "#004488"]
    for name in ("bias", "lower", "upper"):
        assert min(abs(of[name]["value"] - y) for y in drawn) < 1e-9
    bands = sorted((p.get_y(), p.get_y() + p.get_height()) for p in axes.patches)
    ends = sorted((of[name]["low"], of[name]["high"]) for name in ("bias", "lower", "upper"))
    assert np.array(bands) == pytest.approx(np.array(ends))


def test_what_is_undefined_is_not_drawn_and_the_caption_says_why(said: Any) -> None:
    found, values = deepcopy(said[0]), said[1]
    nothing = {
        "n": 15,
        "value": None,
        "low": None,
        "high": None,
        "reason": "the judge never varies",
    }
    cell = next(one for one in found["agreement"] if one["quantity"] == "errors" and one["own"])
    cell["kendall"] = nothing
    limits = next(one for one in found["limits"] if one["quantity"] == "errors")
    limits |= dict.fromkeys(("bias", "lower", "upper"), nothing)
    known = drawings((found, values))
    forest, cloud = known["agreement_kendall"], known["limits_errors"]
    assert "n/a: lexicon on errors, the judge never varies" in forest.caption
    assert "lexicon: the judge never varies" in cloud.caption
    with settings():
        first = draw(forest, PAGE).axes[0]
        assert [text.get_text() for text in first.texts] == ["n/a"]
        (marks,) = [line for line in first.lines if line.get_marker() == "o"]
        assert list(marks.get_ydata()) == [1]
        (axes,) = draw(cloud, PAGE).axes
    assert not axes.patches
    assert not [text for text, _, _ in texts_of(axes.figure) if "nan" in text.lower()]


def test_a_quantity_that_nobody_agrees_on_is_not_drawn(said: Any) -> None:
    found = deepcopy(said[0])
    for one in found["agreement"]:
        if one["quantity"] == "errors":
            one["kendall"] = {"n": 0, "value": None, "low": None, "high": None, "reason": "alike"}
    planned = plan(found, said[1])
    (forest,) = [one.data for one in planned.drawings if isinstance(one.data, Forest)]
    assert [panel.title for panel in forest.panels] == ["significant errors"]
    assert any("agreement on errors" in text and "alike" in text for text in planned.left_out)


def test_a_judge_without_a_study_in_common_has_no_panel() -> None:
    found, values = many(2, 30)
    values["errors"][:, 1] = np.nan
    planned = plan(found, values)
    cloud = next(one.data for one in planned.drawings if one.name == "counts_errors")
    assert isinstance(cloud, Points)
    assert [panel.title for panel in cloud.panels] == [found["judges"][0]["name"]]
    assert any(found["judges"][1]["name"] in text for text in planned.left_out)


@pytest.mark.parametrize("width", WIDTHS, ids=lambda width: width.name)
def test_nothing_that_is_written_lies_over_other_words(width: Width) -> None:
    for drawing in plan(*many(10, 300)).drawings:
        with settings():
            figure = draw(drawing, width)
            texts = texts_of(figure)
            assert_apart(drawing.name, figure, texts)
        assert not [text for text, _, _ in texts if "nan" in text.lower()]


def test_ten_judges_on_ten_thousand_studies_make_no_huge_file() -> None:
    for drawing in plan(*many(10)).drawings:
        (svg,) = rendered(drawing, COLUMN, "signature", ("svg",))
        assert len(svg) < 3_000_000, drawing.name


def test_the_same_readings_give_the_same_bytes(said: Any) -> None:
    for name in ("agreement_kendall", "limits_errors"):
        one, again = (rendered(drawings(said)[name], COLUMN, "s") for _ in range(2))
        assert one == again, name


def test_the_command_writes_them_with_their_captions(work: Path, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    run("validate", work / "judged", "--readers", work / "readers", "--figures", folder)
    stems = {path.name.split(".")[0] for path in folder.glob("[!.]*.*.*")}
    assert stems == {
        "agreement_kendall",
        *(f"{kind}_{of}" for kind in ("counts", "limits") for of in ("errors", "significant")),
    }
    captions = (folder / "captions_validation.md").read_text("utf-8")
    assert "Signature: `validate:1|" in captions
    assert "Notes on the validation:" in captions
    for name in ("lexicon", "fern", "moss", "reed"):
        assert f". {name}" in captions
    (folder / "counts_errors.page.svg").write_text("edited")
    words = ["validate", work / "judged", "--readers", work / "readers", "--figures", folder]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code
    assert "not as judge wrote it" in done.output
