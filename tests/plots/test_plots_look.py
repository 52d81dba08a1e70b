"""What is drawn can be read: no text on another, none off the sheet, colours that tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest
from figurehelp import DICHROMACY, assert_apart, lab, linear, texts_of
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from seeded_comparison import model_names, seeded

from judge.plots.build import plan
from judge.plots.data import Drawing, Matrix, Ranks
from judge.plots.labels import fitted, one_line, room, width_of, wrapped
from judge.plots.output import draw, settings
from judge.plots.panels import NAMES_GAP, names_room
from judge.plots.style import (
    COLUMN,
    PAGE,
    SCREEN,
    SERIES,
    WIDTHS,
    Width,
    ink_on,
    luminance,
    shade,
)
from judge.stats.compare import compare

SIZES = (1, 2, 8, 24)


def one_of_a_kind(drawings: Sequence[Drawing]) -> list[Drawing]:
    """Those of each rubric, and of the kinds that come once a metric or method the first."""
    kinds = {drawing.name.split("_")[0]: drawing for drawing in reversed(drawings)}
    each = ("rates", "errors")
    return [d for d in drawings if d.name.startswith(each) or d in kinds.values()]


def drawn_texts(n_models: int, width: Width) -> list[tuple[str, Figure, list]]:
    found = []
    with settings():
        for drawing in one_of_a_kind(plan(seeded(n_models)).drawings):
            figure = draw(drawing, width)
            found.append((drawing.name, figure, texts_of(figure)))
    return found


@pytest.mark.parametrize("width", WIDTHS, ids=lambda width: width.name)
@pytest.mark.parametrize("n_models", SIZES)
def test_no_text_lies_on_another_or_off_the_sheet(n_models: int, width: Width) -> None:
    for name, figure, texts in drawn_texts(n_models, width):
        # A heat map takes no more room than it needs.
        is_map = name.startswith(("correlation", "ranks"))
        least = width.least if is_map else width.inches
        assert least - 1e-6 <= figure.get_size_inches()[0] <= width.inches + 1e-6
        assert_apart(name, figure, texts)


@pytest.mark.parametrize(("width", "n_blocks"), [(COLUMN, 6), (PAGE, 3)])
def test_many_sites_are_drawn_in_blocks(width: Width, n_blocks: int) -> None:
    sites = tuple(f"Hospital with a long name in town {at}" for at in range(67))
    places = tuple(tuple(1 + (row + at) % 24 for at in range(67)) for row in range(24))
    data = Ranks("GREEN", "site", model_names(24), sites, tuple(range(10_000, 9_933, -1)), places)
    with settings():
        figure = draw(Drawing("ranks", "", "", data), width)
        assert len(figure.axes) == n_blocks
        texts = texts_of(figure)
    assert sum("(9,9" in text or "(10,000)" in text for text, _, _ in texts) == 67
    assert_apart("ranks", figure, texts)


def test_long_names_are_cut_and_stay_different() -> None:
    names = model_names(24)
    cut = fitted(names, 1.0, COLUMN.small)
    assert len(set(cut)) == len(names)
    assert max(width_of(name, COLUMN.small) for name in cut) <= 1.0
    assert cut[1] == "MedVersa"
    assert "…" in cut[3]


def test_a_cut_keeps_the_part_in_which_names_differ() -> None:
    names = [f"vision-language-{at:02d}-finetuned-mimic-cxr-v2" for at in range(24)]
    cut = fitted(names, 1.0, COLUMN.small)
    assert all(f"…{at:02d}…" in text for at, text in enumerate(cut))
    assert max(width_of(text, COLUMN.small) for text in cut) <= 1.0
    letters = fitted(["x" * 40 + letter + "y" * 40 for letter in "ab"], 1.0, COLUMN.small)
    assert ["…a…" in letters[0], "…b…" in letters[1]] == [True, True]


def test_names_that_cannot_be_told_apart_get_their_place_in_the_list() -> None:
    cut = fitted(["first", "a b", "a  b"], 1.0, COLUMN.small)
    assert cut == ["first", "2. a b", "3. a b"]
    cut = fitted(["first", "x " * 90, "x  " * 90], 1.0, COLUMN.small)
    assert [text[:4] for text in cut] == ["firs", "2. x", "3. x"]
    assert max(width_of(text, COLUMN.small) for text in cut) <= 1.0


def test_a_name_with_a_letter_that_the_font_lacks_gets_its_place_in_the_list() -> None:
    names = ["first", "\u6a21\u578b-\u4e59", "a \u6a21", "\u4e00" * 90]
    needed = room(names[:3], 9.0, COLUMN.small)
    assert fitted(names[:3], needed, COLUMN.small) == ["first", "2. □□-□", "3. a □"]
    cut = fitted(names, 1.0, COLUMN.small)
    assert cut[3].startswith("4. □□")
    assert max(width_of(text, COLUMN.small) for text in cut) <= 1.0
    assert wrapped(names[:2], 1.0, COLUMN.small) == ["first", "2. □□-□"]
    assert one_line("\u6a21 (%)", 1.0, COLUMN.small) == "□ (%)"


def test_a_matrix_is_as_wide_as_its_metrics_and_its_scale_has_no_gap() -> None:
    labels = ("GREEN", "BLEU-2", "RadGraph")
    data = Matrix("pearson", None, 2, labels, ((1.0,) * 3,) * 3, (9, 9))
    drawing = Drawing("correlation", "", "", data)
    with settings():
        widths = {
            width.name: draw(drawing, width).get_size_inches()[0]
            for width in (COLUMN, PAGE, SCREEN)
        }
        shades = draw(drawing, PAGE).axes[1].patches
    # A web page scales all figures alike, so that there none is narrower.
    assert widths == pytest.approx({"column": 3.4, "page": 3.4, "screen": 7.0})
    assert all(one.get_x() + one.get_width() > two.get_x() for one, two in pairwise(shades))
    ends = shades[0].get_x(), max(shade.get_x() + shade.get_width() for shade in shades)
    assert ends == (0, len(shades))


@pytest.mark.parametrize("width", WIDTHS, ids=lambda width: width.name)
def test_a_box_plot_says_below_its_axis_where_the_whiskers_end(width: Width) -> None:
    found = {drawing.name: drawing for drawing in plan(seeded(2)).drawings}
    with settings():
        for name, words in (
            ("boxes_green", "whiskers: 5th to 95th percentile"),
            ("boxes_inverse_fineradscore", "whiskers: least to largest value"),
        ):
            assert words in [text for text, _, _ in texts_of(draw(found[name], width))]


@pytest.mark.parametrize("width", WIDTHS, ids=lambda width: width.name)
def test_names_get_the_room_that_they_need(width: Width) -> None:
    short, long = ["a", "MedVersa"], ["x" * 200, "b"]
    needed = width_of("MedVersa", width.small)
    assert needed < names_room(short, width) < needed + 0.1
    assert names_room(long, width) == pytest.approx({"page": 2.4, "column": 1.3}[width.name])
    fit = names_room(names := [f"vision-language-{at}-tuned" for at in range(9)], width)
    assert fitted(names, fit - NAMES_GAP, width.small) == names


def ticks(name: str, width: Width) -> list[str]:
    """The texts below the last panel of a box plot."""
    with settings():
        drawing = next(d for d in plan(seeded(3)).drawings if d.name == name)
        figure = draw(drawing, width)
        return [text.get_text() for text in figure.axes[-1].get_xticklabels()]


def test_ticks_are_those_that_a_scale_has() -> None:
    assert ticks("boxes_inverse_fineradscore", PAGE) == ["1", "2", "3", "4"]
    assert ticks("boxes_green", PAGE) == ["0", "0.25", "0.5", "0.75", "1"]
    assert ticks("boxes_bleu2", COLUMN)[-1] == "1"
    assert all(float(text).is_integer() for text in ticks("boxes_green_errors", PAGE))


def test_a_figure_has_a_key_of_what_is_in_it_alone() -> None:
    comparison = seeded(3)
    with settings():
        for at, column in (("all", None), ("flat", 0.5)):
            if column is not None:
                comparison.panel.values["bleu2"][:] = column
                comparison = compare(comparison.panel, sort="green")
            found = {d.name: d for d in plan(comparison).drawings}
            shown = [text for text, _, _ in texts_of(draw(found["correlation_pearson"], PAGE))]
            assert {"\N{MINUS SIGN}1", "0", "1"} <= set(shown), "the scale of colours"
            assert any("less is better" in text for text in shown)
            assert any("fewer than two" in text for text in shown) == (at == "flat")
            assert not any("pairs" in text for text in shown)


@pytest.mark.parametrize(
    ("name", "axis"),
    [
        ("rates_green", "studies with no clinically significant error (%)"),
        (
            "rates_fineradscore",
            "studies with no error of severity 3 or 4 / no error of severity 2 or more (%)",
        ),
    ],
)
def test_an_axis_can_be_understood_by_itself(name: str, axis: str) -> None:
    with settings():
        drawing = next(d for d in plan(seeded(2)).drawings if d.name == name)
        for width in WIDTHS:
            assert axis in [text for text, _, _ in texts_of(draw(drawing, width))]


def test_a_label_goes_on_two_lines_before_it_is_cut() -> None:
    assert wrapped(["no significant error"], 0.7, 6.0) == ["no significant\nerror"]
    assert wrapped(["short"], 0.8, 6.0) == ["short"]
    (cut,) = wrapped(["x" * 300], 0.8, 6.0)
    assert width_of(cut, 6.0) <= 0.8


@pytest.mark.parametrize(
    "name",
    ["$\\frac{1}{0}$", "模型 and more", "two\nlines", "x" * 3000, "\u202eright to left", " "],
)
def test_any_name_is_drawn_as_text(name: str) -> None:
    # A warning, such as one of a missing glyph, is an error here.
    comparison = seeded(2, models=[name, "b"])
    with settings():
        for drawing in plan(comparison).drawings:
            FigureCanvasAgg(draw(drawing, COLUMN)).draw()


def test_series_tell_apart_for_every_kind_of_colour_vision_and_in_grey() -> None:
    for one, other in combinations(SERIES, 2):
        for matrix in (np.eye(3), *map(np.array, DICHROMACY.values())):
            seen, also = lab(matrix @ linear(one)), lab(matrix @ linear(other))
            assert np.linalg.norm(seen - also) > 30
            assert abs(seen[0] - also[0]) > 15  # lightness alone: what is left in grey
    for colour in SERIES:
        assert 1.05 / (luminance(colour) + 0.05) >= 3  # against white, WCAG's for graphics


def test_heat_maps_rise_in_lightness_and_their_figures_can_be_read() -> None:
    shares = np.linspace(0, 1, 41)
    for matrix in (np.eye(3), *map(np.array, DICHROMACY.values())):
        lightness = [lab(matrix @ linear(shade(share)))[0] for share in shares]
        assert all(low < high for low, high in pairwise(lightness))
    for share in shares:
        light = luminance(shade(share)) + 0.05
        contrast = 1.05 / light if ink_on(shade(share)) == "white" else light / 0.05
        assert contrast >= 4.5


def test_what_is_missing_is_drawn_as_such_and_never_as_nan() -> None:
    comparison = seeded(3)
    with settings():
        for drawing in plan(comparison).drawings:
            shown = [text for text, _, _ in texts_of(draw(drawing, COLUMN))]
            assert not any("nan" in text.lower().split() for text in shown)
            assert any("n = " in text or "(" in text for text in shown), "n in each group"
            if drawing.name == "ranks_green":
                assert shown.count("n/a") == 1
