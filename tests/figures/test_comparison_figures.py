"""The figures of a comparison: which there are, and the numbers in their specifications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from seeded_comparison import seeded_panel

from judge.figures.comparison import comparison_figures
from judge.figures.files import Figure
from judge.rubrics import load
from judge.stats.correlation import correlations
from judge.stats.scores import cuts
from judge.stats.significance import Comparison, compare
from judge.types import JudgeError

# The models of the seeded panel, the best first, in the order of the one that is drawn.
SHUFFLED = [2, 0, 3, 1]
BOX = {"low": 5, "q1": 25, "median": 50, "q3": 75, "high": 95}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Four models whose order in the panel is not that of their ranks."""
    panel = seeded_panel(4, 300)
    shuffled = replace(
        panel,
        models=tuple(panel.models[model] for model in SHUFFLED),
        values={name: values[:, SHUFFLED] for name, values in panel.values.items()},
        tallies={name: counts[SHUFFLED] for name, counts in panel.tallies.items()},
    )
    made = compare(shuffled, sort="green")
    assert [SHUFFLED[model] for model in made.order] == [0, 1, 2, 3]
    return made


def figures_of(c: Comparison) -> dict[str, Figure]:
    return {figure.name: figure for figure in comparison_figures(c).figures}


def rows_of(c: Comparison, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = figures_of(c)[name].spec["data"]["values"]
    return rows


def model_of(c: Comparison, name: str) -> int:
    return c.panel.models.index(name)


def column(c: Comparison, metric: str, model: int, **fields: str) -> np.ndarray:
    """The scored values of a model on the studies with these fields."""
    rows = np.ones(len(c.panel.study_ids), dtype=bool)
    for name, value in fields.items():
        rows &= np.array(c.panel.fields[name]) == value
    values = c.panel.values[metric][rows, model]
    return values[~np.isnan(values)]


def group_of(row: Mapping[str, object]) -> str:
    return str(row["panel"]).split(", n ")[0]


def test_a_rate_is_its_models_in_its_class_with_its_interval(
    comparison: Comparison,
) -> None:
    rows = rows_of(comparison, "rates_fineradscore")
    metrics = {
        metric.label.removesuffix(" (FineRadScore)"): metric.name
        for metric in comparison.panel.metrics
    }
    assert {group_of(row) for row in rows} == {"abnormal", "normal"}
    assert len(rows) == 2 * 2 * 4
    for row in rows:
        model = model_of(comparison, row["name"])
        values = column(
            comparison, metrics[row["series"]], model, study_class=group_of(row)
        )
        assert (row["value"], row["n"]) == (pytest.approx(values.mean()), len(values))
        assert row["low"] < row["value"] < row["high"]


def test_a_mean_is_its_models_of_all_studies_and_of_each_data_set(
    comparison: Comparison,
) -> None:
    rows = rows_of(comparison, "scores_green")
    assert len(rows) == 5 * 4
    for row in rows:
        group = group_of(row)
        fields = {} if group == "all studies" else {"dataset": group}
        values = column(
            comparison, "green", model_of(comparison, row["name"]), **fields
        )
        assert row["value"] == pytest.approx(values.mean())
        assert row["low"] < row["value"] < row["high"]


def test_a_rank_is_its_models_at_its_site(comparison: Comparison) -> None:
    rows = rows_of(comparison, "ranks_green")
    for site in {row["across"] for row in rows}:
        name, n = site.removesuffix(")").rsplit(" (", 1)
        assert comparison.panel.fields["site"].count(name) == int(n)
        ranks = {row["down"]: row["value"] for row in rows if row["across"] == site}
        means = {}
        for model in ranks:
            scored = column(comparison, "green", model_of(comparison, model), site=name)
            means[model] = scored.mean() if len(scored) else None
        known = [mean for mean in means.values() if mean is not None]
        assert ranks == {
            model: None
            if mean is None
            else 1 + sum(other > mean + 1e-9 for other in known)
            for model, mean in means.items()
        }
    assert any(row["value"] is None for row in rows)


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
    rows = rows_of(comparison, f"errors_{rubric}")
    panels = dict(
        zip(dict.fromkeys(row["panel"] for row in rows), (None, *"abcdef"), strict=True)
    )
    cell = {cut: number for number, cut in enumerate(cuts(load(rubric)))}
    assert len(rows) == 7 * 4 * len(levels)
    names = list(dict.fromkeys(row["level"] for row in rows))
    for row in rows:
        counts = comparison.panel.tallies[rubric][model_of(comparison, row["name"])]
        cut = cell[panels[row["panel"]], levels[names.index(row["level"])]]
        assert row["value"] == pytest.approx(np.nanmean(counts[cut]))


def test_an_error_of_two_categories_is_in_both_and_once_among_all(
    comparison: Comparison,
) -> None:
    counts = np.zeros_like(comparison.panel.tallies["green"])
    cell = {cut: number for number, cut in enumerate(cuts(load("green")))}
    for category in (None, "a", "c"):
        counts[:, cell[category, "significant"]] = 1
    counts[comparison.order[1]] = np.nan  # a model without a scored study has no bar
    c = compare(replace(comparison.panel, tallies={"green": counts}), sort="green")
    for row in rows_of(c, "errors_green"):
        has_error = row["panel"] == "all errors" or row["panel"][1] in "ac"
        value = float(has_error and row["level"] == "clinically significant")
        expected = None if model_of(c, row["name"]) == comparison.order[1] else value
        assert row["value"] == expected


def of_datasets(sizes: Mapping[str | None, int], n_models: int = 2) -> Comparison:
    """The seeded comparison, with so many studies in each data set."""
    panel = seeded_panel(n_models, sum(sizes.values()))
    names = tuple(name for name, n in sizes.items() for _ in range(n))
    return compare(replace(panel, fields={"dataset": names}), sort="green")


def test_each_data_set_has_a_matrix_of_its_own_studies() -> None:
    c = of_datasets({"MIMIC-CXR": 60, "IU X-ray": 40, "../\n<b>": 5})
    figures = figures_of(c)
    for name, rows in (("MIMIC-CXR", range(60)), ("IU-X-ray", range(60, 100))):
        values = [
            row["value"]
            for row in figures[f"correlation_pearson_{name}"].spec["data"]["values"]
        ]
        table = correlations(c.panel.take(np.array(rows))).pearson
        assert values == [value for line in table for value in line]
    assert not any(set("/.\n<") & set(name) for name in figures)


def test_one_data_set_is_no_division_and_of_many_the_largest_have_a_matrix() -> None:
    single = figures_of(of_datasets({"only": 20, None: 20}))
    assert sum(name.startswith("correlation") for name in single) == 3
    many = figures_of(of_datasets({f"set {n}": 40 - n for n in range(10)}))
    assert "correlation_pearson_set-7" in many
    assert "correlation_pearson_set-8" not in many


def test_a_box_has_the_percentiles_of_its_models_studies(
    comparison: Comparison,
) -> None:
    figures = comparison_figures(comparison, ["boxes"]).figures
    by_name = {figure.name: figure for figure in figures}
    assert {name.split("_")[0] for name in by_name} == {"boxes"}
    rows = by_name["boxes_green"].spec["data"]["values"]
    assert len(rows) == 3 * 4
    for row in rows:
        group = group_of(row)
        fields = {} if group == "all studies" else {"study_class": group}
        model = model_of(comparison, row["name"])
        values = sorted(column(comparison, "green", model, **fields))
        assert row["n"] == len(values)
        assert row["value"] == pytest.approx(sum(values) / len(values))
        for part, percent in BOX.items():
            # Linear between the two studies around it.
            at = percent / 100 * (len(values) - 1)
            below = values[int(at)]
            above = values[min(int(at) + 1, len(values) - 1)]
            assert row[part] == pytest.approx(below + (at % 1) * (above - below))


def test_a_model_without_a_scored_study_has_no_box(comparison: Comparison) -> None:
    values = dict(comparison.panel.values)
    values["green"] = values["green"].copy()
    values["green"][:, 1] = np.nan
    c = compare(replace(comparison.panel, values=values), sort="green_errors")
    figures = comparison_figures(c, ["boxes"]).figures
    (green,) = (figure for figure in figures if figure.name == "boxes_green")
    rows = green.spec["data"]["values"]
    absent = [row for row in rows if row["name"] == c.panel.models[1]]
    assert {(row["n"], row["value"], row["q1"]) for row in absent} == {(0, None, None)}


def test_only_draws_what_it_names_and_says_what_is_lacking(
    comparison: Comparison,
) -> None:
    usual = {figure.name.split("_")[0] for figure in figures_of(comparison).values()}
    assert usual == {"scores", "rates", "errors", "ranks", "correlation"}
    only = comparison_figures(comparison, ["rates", "boxes"]).figures
    assert {figure.name.split("_")[0] for figure in only} == {"rates", "boxes"}
    bare = compare(replace(comparison.panel, fields={}), sort="green")
    with pytest.raises(JudgeError, match="ranks: it needs two models"):
        comparison_figures(bare, ["ranks"])
