"""What is drawn of a comparison: which figures, and the numbers in them, before any is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from seeded_comparison import seeded, seeded_panel

from judge.plots.build import plan
from judge.plots.data import Boxes, Drawing, Errors, Matrix, Ranks, Rates
from judge.rubrics import load
from judge.stats.correlation import correlations
from judge.stats.panel import cuts
from judge.stats.significance import Comparison, compare

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
        tallies={name: counts[SHUFFLED] for name, counts in panel.tallies.items()},
    )
    found = compare(shuffled, sort="green")
    assert [SHUFFLED[at] for at in found.order] == [0, 1, 2, 3]
    return found


def drawings(c: Comparison, top_sites: int = 6) -> dict[str, Drawing]:
    return {drawing.name: drawing for drawing in plan(c, top_sites=top_sites).drawings}


def column(c: Comparison, metric: str, model: str, **where: str) -> np.ndarray:
    """The scored values of a model on the studies whose fields are these."""
    rows = np.ones(len(c.panel.study_ids), dtype=bool)
    for name, value in where.items():
        rows &= np.array(c.panel.fields[name]) == value
    values = c.panel.values[metric][rows, c.panel.models.index(model)]
    return values[~np.isnan(values)]


def test_a_rate_is_its_models_in_its_class_with_its_interval(comparison: Comparison) -> None:
    data = drawings(comparison)["rates_fineradscore"].data
    assert isinstance(data, Rates)
    assert [panel.title for panel in data.panels] == ["abnormal", "normal"]
    kinds = ("no_significant_error", "no_actionable_error")
    for panel in data.panels:
        for kind, points in zip(kinds, panel.series, strict=True):
            for model, point in zip(data.models, points, strict=True):
                values = column(comparison, f"fineradscore_{kind}", model, study_class=panel.title)
                assert point.value == pytest.approx(values.mean())
                assert point.low is not None
                assert point.high is not None
                assert point.low < values.mean() < point.high


@pytest.mark.parametrize("metric", ["green", "fineradscore_sum"])
def test_a_box_is_of_its_models_values_in_its_data_set(comparison: Comparison, metric: str) -> None:
    data = drawings(comparison)[f"boxes_{metric}"].data
    assert isinstance(data, Boxes)
    assert [panel.title for panel in data.panels] == [f"a data set {at}" for at in range(4)]
    for panel in data.panels:
        for model, box in zip(data.models, panel.boxes, strict=True):
            values = column(comparison, metric, model, dataset=panel.title)
            assert box is not None
            quartiles = np.quantile(values, (0.25, 0.5, 0.75))
            assert (box.n, box.mean) == (len(values), pytest.approx(values.mean()))
            assert [box.q1, box.median, box.q3] == pytest.approx(quartiles)


def test_a_rank_is_its_models_at_its_site(comparison: Comparison) -> None:
    data = drawings(comparison)["ranks_green"].data
    assert isinstance(data, Ranks)
    for site, n, places in zip(data.groups, data.n, zip(*data.ranks, strict=True), strict=True):
        assert comparison.panel.fields["site"].count(site) == n
        scored = [column(comparison, "green", model, site=site) for model in data.models]
        means = [values.mean() if len(values) else None for values in scored]
        known = [mean for mean in means if mean is not None]
        assert list(places) == [
            None if mean is None else 1 + sum(other > mean + 1e-9 for other in known)
            for mean in means
        ]
    assert any(None in line for line in data.ranks)


def test_the_largest_sites_have_ranks_and_studies_without_a_site_are_in_none(
    comparison: Comparison,
) -> None:
    panel = comparison.panel
    sites = tuple(None if at % 2 else site for at, site in enumerate(panel.fields["site"]))
    some = compare(replace(panel, fields={**panel.fields, "site": sites}), sort="green")
    drawing = drawings(some, top_sites=3)["ranks_green"]
    assert isinstance(drawing.data, Ranks)
    largest = Counter(site for site in sites if site is not None).most_common(3)
    assert sorted(drawing.data.n) == sorted(n for _, n in largest)
    assert f"{sites.count(None):,} studies without a site" in drawing.caption
    assert any("one model" in reason for reason in plan(seeded(1)).left_out)


@pytest.mark.parametrize(
    ("rubric", "levels"),
    [
        ("green", ("significant", "insignificant")),
        ("fineradscore", ("severity4", "severity3", "severity2", "severity1")),
    ],
)
def test_a_bar_is_the_mean_over_its_models_scored_studies(
    comparison: Comparison, rubric: str, levels: tuple[str, ...]
) -> None:
    data = drawings(comparison)[f"errors_{rubric}"].data
    assert isinstance(data, Errors)
    at = {cut: number for number, cut in enumerate(cuts(load(rubric)))}
    for row, panel in zip((None, *"abcdef"), (data.whole, *data.panels), strict=True):
        for model, bar in zip(data.models, panel.bars, strict=True):
            counts = comparison.panel.tallies[rubric][comparison.panel.models.index(model)]
            assert bar == pytest.approx([np.nanmean(counts[at[row, level]]) for level in levels])
    unscored = comparison.panel.fields["site"].count("Site 2")
    assert data.n == (300 - unscored, 300)


def test_an_error_of_two_categories_is_in_both_and_once_among_all(comparison: Comparison) -> None:
    counts = np.zeros_like(comparison.panel.tallies["green"])
    at = {cut: number for number, cut in enumerate(cuts(load("green")))}
    for row in (None, "a", "c"):
        counts[:, at[row, "significant"]] = 1
    counts[comparison.order[1]] = np.nan  # a model without a scored study has no bar
    c = compare(replace(comparison.panel, tallies={"green": counts}), sort="green")
    data = drawings(c)["errors_green"].data
    assert isinstance(data, Errors)
    assert data.whole.bars == ((1, 0), None, (1, 0), (1, 0))
    assert [panel.bars[0] for panel in data.panels] == [
        (1, 0) if panel.title[1] in "ac" else (0, 0) for panel in data.panels
    ]


# Data sets


def of_sets(sizes: Mapping[str | None, int], n_models: int = 2) -> Comparison:
    """The seeded comparison, with so many studies in each data set."""
    panel = seeded_panel(n_models, sum(sizes.values()))
    names = tuple(name for name, n in sizes.items() for _ in range(n))
    return compare(replace(panel, fields={"dataset": names}), sort="green")


def test_each_data_set_of_enough_pairs_has_a_matrix_of_its_own_studies() -> None:
    # Of two models 9 pairs are one study too few, and 10 are enough.
    c = of_sets({"MIMIC-CXR": 60, "IU X-ray": 40, "few": 5, "fewer": 4})
    found = drawings(c)
    for name, rows in (("MIMIC-CXR", range(60)), ("IU-X-ray", range(60, 100))):
        data = found[f"correlation_pearson_{name}"].data
        assert isinstance(data, Matrix)
        assert data.values == correlations(c.panel.take(np.array(rows))).pearson
    assert "correlation_pearson_few" in found
    assert "correlation_pearson_fewer" not in found
    assert "fewer: 8 pairs" in plan(c).left_out[-1]


def test_ranks_by_data_set_are_those_of_its_studies() -> None:
    c = of_sets({"a": 30, "b": 50, None: 20}, n_models=3)
    c.panel.values["green"][:30] = [0.1, 0.5, 0.3]
    c.panel.values["green"][30:] = [0.9, 0.5, 0.3]
    data = drawings(compare(c.panel, sort="green"))["ranks_green_by_dataset"].data
    assert isinstance(data, Ranks)
    assert (data.groups, data.n) == (("b", "a"), (50, 30))
    places = dict(zip(data.models, data.ranks, strict=True))
    assert [places[model] for model in c.panel.models] == [(1, 3), (2, 1), (3, 2)]


def test_one_data_set_is_no_division_and_of_many_the_largest_have_a_matrix() -> None:
    one = drawings(of_sets({"only": 20, None: 20}))
    assert not any("dataset" in name for name in one)
    assert sum(name.startswith("correlation") for name in one) == 3
    many = drawings(of_sets({f"set {at}": 40 - at for at in range(10)}))
    assert "correlation_pearson_set-7" in many
    assert "correlation_pearson_set-8" not in many


def test_any_name_of_a_data_set_becomes_a_name_of_a_file_of_its_own() -> None:
    odd = ("../../etc/passwd", "two\nlines", "\u6570\u636e", "\x00", "\ud800", "<b>&", "x" * 300)
    names = list(drawings(of_sets({"a": 20, **dict.fromkeys(odd, 10)})))
    assert sum(name.startswith("correlation_pearson_") for name in names) == 8
    assert len({name.lower() for name in names}) == len(names)
    assert not any(set("/.\n") & set(name) or len(name) > 64 for name in names)
