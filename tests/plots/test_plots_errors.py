"""Errors by category: each bar is its model's own, its levels in order, its sum behind it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from figurehelp import DICHROMACY, assert_apart, lab, linear, texts_of
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from seeded_comparison import model_names, seeded_panel

from judge.plots.build import plan
from judge.plots.data import Drawing, Errors, ErrorsPanel, Level
from judge.plots.output import draw, settings
from judge.plots.style import COLUMN, PAGE, TONES, WIDTHS, Width
from judge.rubrics import load
from judge.stats.compare import Comparison, compare
from judge.stats.panel import Panel
from judge.stats.tally import cuts

ORDER = {
    "green": ("significant", "insignificant"),
    "fineradscore": ("severity4", "severity3", "severity2", "severity1"),
}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """The first model of the panel is the last in rank."""
    panel = seeded_panel(3, 90)
    back = replace(
        panel,
        models=panel.models[::-1],
        values={name: values[:, ::-1] for name, values in panel.values.items()},
        tallies={name: counts[::-1] for name, counts in panel.tallies.items()},
    )
    found = compare(back, sort="green")
    assert found.order == (2, 1, 0)
    return found


def errors_of(c: Comparison, rubric: str) -> tuple[Drawing, Errors]:
    drawing = next(d for d in plan(c).drawings if d.name == f"errors_{rubric}")
    assert isinstance(drawing.data, Errors)
    return drawing, drawing.data


def bars_of(axes: Axes) -> dict[int, list[Rectangle]]:
    """The segments of each row, from the left; the stripes behind the rows are not among them."""
    found: dict[int, list[Rectangle]] = {}
    for patch in axes.patches:
        if isinstance(patch, Rectangle) and patch.get_linewidth() and patch.get_height() < 1:
            found.setdefault(round(patch.get_y() + patch.get_height() / 2), []).append(patch)
    return found


@pytest.mark.parametrize("rubric", ORDER)
def test_a_bar_is_the_mean_over_its_models_scored_studies(
    comparison: Comparison, rubric: str
) -> None:
    _, data = errors_of(comparison, rubric)
    panel, declared = comparison.panel, load(rubric)
    assert declared.tally
    at = {cut: number for number, cut in enumerate(cuts(declared))}
    rows = declared.facet(declared.tally.rows).labels
    assert [one.title for one in data.panels] == [f"({row.name}) {row.label}" for row in rows]
    for row, drawn in zip(
        (None, *(row.name for row in rows)), (data.whole, *data.panels), strict=True
    ):
        for model, bar in zip(data.models, drawn.bars, strict=True):
            column = panel.tallies[rubric][panel.models.index(model)]
            means = [np.nanmean(column[at[row, level]]) for level in ORDER[rubric]]
            assert bar == pytest.approx(means)
    unscored = panel.fields["site"].count("Site 2")
    assert unscored
    assert data.n == (90 - unscored, 90)


@pytest.mark.parametrize("rubric", ORDER)
def test_levels_are_drawn_one_after_the_other_in_their_tones(
    comparison: Comparison, rubric: str
) -> None:
    drawing, data = errors_of(comparison, rubric)
    with settings():
        figure = draw(drawing, PAGE)
    colours = [TONES[level.tone] for level in data.levels]
    keys, panels = figure.axes[: len(colours)], figure.axes[len(colours) :]
    assert [to_hex(axes.patches[0].get_facecolor()) for axes in keys] == colours
    assert len({axes.get_xlim() for axes in panels[1:]}) == 1, "one scale in all categories"
    for axes, panel in zip(panels, (data.whole, *data.panels), strict=True):
        drawn = bars_of(axes)
        for row, bar in enumerate(panel.bars):
            assert bar is not None
            starts = np.cumsum((0, *bar[:-1]))
            known = [at for at, length in enumerate(bar) if length]
            assert [one.get_width() for one in drawn[row]] == pytest.approx([bar[i] for i in known])
            assert [one.get_x() for one in drawn[row]] == pytest.approx([starts[i] for i in known])
            assert [to_hex(one.get_facecolor()) for one in drawn[row]] == [
                colours[at] for at in known
            ]
            end = starts[-1] + bar[-1]
            assert end < axes.get_xlim()[1]
            (text,) = [text for text in axes.texts if text.get_position()[1] == row]
            assert text.get_text() == f"{end:.2f}"
            assert text.get_position()[0] > end


def test_an_error_of_two_categories_is_in_both_and_once_among_all(comparison: Comparison) -> None:
    counts = comparison.panel.tallies["green"].copy()
    at = {cut: number for number, cut in enumerate(cuts(load("green")))}
    counts[:] = 0
    for row in (None, "a", "c"):
        counts[:, at[row, "significant"]] = 1
    _, data = errors_of(compare(replace(comparison.panel, tallies={"green": counts})), "green")
    assert data.whole.bars == ((1, 0),) * 3
    assert [panel.bars[0] for panel in data.panels] == [
        (1, 0) if panel.title[1] in "ac" else (0, 0) for panel in data.panels
    ]


def test_a_model_without_a_scored_study_has_no_bar_and_no_zero(comparison: Comparison) -> None:
    counts = {name: of.copy() for name, of in comparison.panel.tallies.items()}
    counts["green"][comparison.order[1]] = np.nan
    drawing, data = errors_of(compare(replace(comparison.panel, tallies=counts)), "green")
    assert [bar is None for bar in data.whole.bars] == [False, True, False]
    with settings():
        figure = draw(drawing, COLUMN)
    for axes in figure.axes[2:]:
        assert [text.get_text() for text in axes.texts if text.get_position()[1] == 1] == ["n/a"]
        assert 1 not in bars_of(axes)
    nobody = np.full_like(counts["green"], np.nan)
    without = compare(replace(comparison.panel, tallies={"green": nobody}))
    assert "errors_green" not in [drawing.name for drawing in plan(without).drawings]


def made(labels: list[Level], n_models: int = 3, titles: int = 6) -> Drawing:
    bar = tuple(0.1 * (at + 1) for at in range(len(labels)))
    panels = tuple(
        ErrorsPanel(f"({at}) a title of some words", (bar,) * n_models) for at in range(titles)
    )
    whole = ErrorsPanel("all errors", (bar,) * n_models)
    models = model_names(n_models)
    data = Errors("errors", "severity", models, tuple(labels), whole, panels, (1, 1))
    return Drawing("errors_made", "", "", data)


def test_labels_of_one_tone_or_of_none_are_told_apart() -> None:
    levels = [Level(name, tone) for name, tone in (("a", "mild"), ("b", "mild"), ("c", None))]
    with settings():
        keys = draw(made(levels), PAGE).axes[:3]
    looks = {(to_hex(k.patches[0].get_facecolor()), k.patches[0].get_hatch()) for k in keys}
    assert len(looks) == 3


@pytest.mark.parametrize("width", WIDTHS, ids=lambda width: width.name)
@pytest.mark.parametrize("titles", [1, 2, 5, 13])
def test_any_number_of_categories_finds_room(width: Width, titles: int) -> None:
    levels = [Level(f"{tone} with a long label", tone) for tone in TONES]
    with settings():
        figure: Figure = draw(made(levels, 4, titles), width)
        assert_apart("errors", figure, texts_of(figure))


def test_no_error_at_all_is_drawn_as_0(comparison: Comparison) -> None:
    panel: Panel = comparison.panel
    none = {name: np.zeros_like(counts) for name, counts in panel.tallies.items()}
    drawing, data = errors_of(compare(replace(panel, tallies=none)), "green")
    assert data.whole.bars == ((0, 0),) * 3
    with settings():
        texts = [text for text, _, _ in texts_of(draw(drawing, PAGE))]
    assert texts.count("0.00") == 3 * 7


def test_tones_tell_apart_for_every_kind_of_colour_vision_and_in_grey() -> None:
    tones = [colour for tone, colour in TONES.items() if tone not in (None, "good")]
    for one, other in combinations(tones, 2):
        for matrix in (np.eye(3), *map(np.array, DICHROMACY.values())):
            seen, also = lab(matrix @ linear(one)), lab(matrix @ linear(other))
            assert abs(seen[0] - also[0]) > 15  # lightness alone: what is left in grey
    lightness = [lab(linear(colour))[0] for colour in tones]
    assert lightness == sorted(lightness), "the graver the darker"
    assert all(len(to_rgb(colour)) == 3 for colour in TONES.values())
