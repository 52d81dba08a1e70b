"""Every mark stands for the model, group and number that it is drawn beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from seeded_comparison import seeded_panel

from judge.plots.build import plan
from judge.plots.data import Boxes, Drawing, Matrix, Ranks, Rates
from judge.plots.output import draw, settings
from judge.plots.style import MARKERS, PAGE, SERIES, luminance
from judge.stats.compare import Comparison, compare

# Where the models of the seeded panel, the best first, stand in the one that is drawn.
SHUFFLED = [2, 0, 3, 1]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Four models whose order in the panel is not that of their ranks."""
    panel = seeded_panel(4, 300)
    shuffled = replace(
        panel,
        models=tuple(panel.models[at] for at in SHUFFLED),
        values={name: values[:, SHUFFLED] for name, values in panel.values.items()},
    )
    found = compare(shuffled, sort="green")
    assert [SHUFFLED[at] for at in found.order] == [0, 1, 2, 3]
    return found


@pytest.fixture(scope="module")
def drawings(comparison: Comparison) -> Mapping[str, Drawing]:
    return {drawing.name: drawing for drawing in plan(comparison, top_sites=6).drawings}


def drawn(drawing: Drawing) -> Figure:
    with settings():
        return draw(drawing, PAGE)


def column(c: Comparison, metric: str, model: str, **where: str) -> np.ndarray:
    """The scored values of a model on the studies whose fields are these."""
    rows = np.ones(len(c.panel.study_ids), dtype=bool)
    for name, value in where.items():
        rows &= np.array(c.panel.fields[name]) == value
    values = c.panel.values[metric][rows, c.panel.models.index(model)]
    return values[~np.isnan(values)]


# The numbers


def test_a_rate_is_its_models_in_its_class_with_its_interval(
    comparison: Comparison, drawings: Mapping[str, Drawing]
) -> None:
    data = drawings["rates_fineradscore"].data
    assert isinstance(data, Rates)
    kinds = ("no_significant_error", "no_actionable_error")
    assert data.labels == (
        "no error of severity 3 or 4 (FineRadScore)",
        "no error of severity 2 or more (FineRadScore)",
    )
    for panel in data.panels:
        for kind, points in zip(kinds, panel.series, strict=True):
            for model, point in zip(data.models, points, strict=True):
                values = column(comparison, f"fineradscore_{kind}", model, study_class=panel.title)
                assert point.value is not None
                assert point.low is not None
                assert point.high is not None
                assert point.value == pytest.approx(values.mean())
                assert point.low < point.value < point.high


@pytest.mark.parametrize("metric", ["green", "fineradscore_sum", "radcliq"])
def test_a_box_is_of_its_models_values_in_its_data_set(
    comparison: Comparison, drawings: Mapping[str, Drawing], metric: str
) -> None:
    data = drawings[f"boxes_{metric}"].data
    assert isinstance(data, Boxes)
    assert len(data.panels) == 4
    for panel in data.panels:
        for model, box in zip(data.models, panel.boxes, strict=True):
            values = column(comparison, metric, model, dataset=panel.title)
            assert box is not None
            quartiles = np.quantile(values, (0.25, 0.5, 0.75))
            assert (box.n, box.mean) == (len(values), pytest.approx(values.mean()))
            assert [box.q1, box.median, box.q3] == pytest.approx(quartiles)


def test_a_rank_is_its_models_at_its_site(
    comparison: Comparison, drawings: Mapping[str, Drawing]
) -> None:
    data = drawings["ranks_green"].data
    assert isinstance(data, Ranks)
    columns = zip(*data.ranks, strict=True)
    for site, n, places in zip(data.groups, data.n, columns, strict=True):
        assert comparison.panel.fields["site"].count(site) == n
        scored = [column(comparison, "green", model, site=site) for model in data.models]
        means = [values.mean() if len(values) else None for values in scored]
        known = [mean for mean in means if mean is not None]
        assert list(places) == [
            None if mean is None else 1 + sum(other > mean + 1e-9 for other in known)
            for mean in means
        ]
    assert any(None in line for line in data.ranks)


def test_studies_without_a_site_are_no_site(comparison: Comparison) -> None:
    panel = comparison.panel
    sites = tuple(None if at % 2 else site for at, site in enumerate(panel.fields["site"]))
    some = compare(replace(panel, fields={**panel.fields, "site": sites}), sort="green")
    drawing = next(d for d in plan(some, top_sites=3).drawings if d.name == "ranks_green")
    assert isinstance(drawing.data, Ranks)
    largest = Counter(site for site in sites if site is not None).most_common(3)
    assert sorted(drawing.data.n) == sorted(n for _, n in largest)
    assert set(drawing.data.groups) <= {site for site in sites if site is not None}
    assert f"{sites.count(None):,} studies without a site are in none." in drawing.caption
    known = next(d for d in plan(comparison, top_sites=3).drawings if d.name == "ranks_green")
    assert "without a site" not in known.caption


# The marks


def test_rates_are_drawn_in_percent_in_their_row_and_panel_as_the_key_says(
    drawings: Mapping[str, Drawing],
) -> None:
    data = drawings["rates_fineradscore"].data
    assert isinstance(data, Rates)
    figure = drawn(drawings["rates_fineradscore"])
    n_keys = len(data.labels)
    looks = list(zip(MARKERS, SERIES, strict=True))[:n_keys]
    for key, look in zip(figure.axes[:n_keys], looks, strict=True):
        assert {(line.get_marker(), line.get_color()) for line in key.lines} <= {
            look,
            ("None", look[1]),
        }
        assert look[0] in {line.get_marker() for line in key.lines}
    for axes, panel in zip(figure.axes[n_keys:], data.panels, strict=True):
        marks = [line for line in axes.lines if line.get_marker() in MARKERS]
        for at, points in enumerate(panel.series):
            known = [(row, point) for row, point in enumerate(points) if point.value is not None]
            values = [100 * (point.value or 0) for _, point in known]
            assert (marks[at].get_marker(), marks[at].get_color()) == looks[at]
            assert np.asarray(marks[at].get_xdata()) == pytest.approx(values)
            rows = np.round(np.asarray(marks[at].get_ydata(), dtype=float))
            assert rows.tolist() == [row for row, _ in known]
            bars = [segment[:, 0] for segment in axes.collections[at].get_segments()]
            ends = [(100 * (point.low or 0), 100 * (point.high or 0)) for _, point in known]
            assert np.array(bars) == pytest.approx(np.array(ends))


def test_boxes_are_drawn_from_the_first_to_the_third_quartile_with_the_mean(
    drawings: Mapping[str, Drawing],
) -> None:
    data = drawings["boxes_green"].data
    assert isinstance(data, Boxes)
    figure = drawn(drawings["boxes_green"])
    for axes, panel in zip(figure.axes, data.panels, strict=True):
        known = [box for box in panel.boxes if box]
        bars = [bar for bars in axes.containers for bar in bars]
        found = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
        assert np.array(found) == pytest.approx(np.array([(box.q1, box.q3) for box in known]))
        (means,) = [line for line in axes.lines if line.get_marker() == "D"]
        assert np.asarray(means.get_xdata()) == pytest.approx([box.mean for box in known])


def lightness(axes: Axes) -> dict[tuple[int, int], float]:
    """How light each cell of a heat map is, by row and column."""
    return {
        (round(patch.get_y() + 0.5), round(patch.get_x() + 0.5)): luminance(
            patch.get_facecolor()[:3]
        )
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    }


def assert_lighter(numbers: Mapping[tuple[int, int], float], axes: Axes) -> None:
    """Whether of two cells the one with the higher number is the lighter."""
    light = lightness(axes)
    ordered = sorted((number, light[cell]) for cell, number in numbers.items())
    shades = [shade for _, shade in ordered]
    assert shades == sorted(shades)
    assert shades[0] < shades[-1]


def test_the_best_place_is_the_lightest_and_each_is_written_in_its_cell(
    drawings: Mapping[str, Drawing],
) -> None:
    data = drawings["ranks_green"].data
    assert isinstance(data, Ranks)
    (axes,) = drawn(drawings["ranks_green"]).axes
    places = {
        (row, column): place
        for row, line in enumerate(data.ranks)
        for column, place in enumerate(line)
    }
    assert_lighter({cell: -place for cell, place in places.items() if place}, axes)
    words = {
        (round(text.get_position()[1]), round(text.get_position()[0])): text.get_text()
        for text in axes.texts
    }
    assert words == {cell: "n/a" if place is None else str(place) for cell, place in places.items()}


def test_the_highest_correlation_is_the_lightest(drawings: Mapping[str, Drawing]) -> None:
    data = drawings["correlation_pearson"].data
    assert isinstance(data, Matrix)
    axes = drawn(drawings["correlation_pearson"]).axes[0]
    figures = {
        (row, column): value
        for row, line in enumerate(data.values)
        for column, value in enumerate(line)
        if value is not None
    }
    assert_lighter(figures, axes)
