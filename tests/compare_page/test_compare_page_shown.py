"""Each number on the page is the comparison's own, beside the model and pair it is of."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from seeded_comparison import seeded_panel

from judge.stats.compare import Comparison, compare
from judge.stats.metric import Metric
from judge.stats.paired import PairTest, Resampling
from judge.stats.panel import Cell

# Where the models of the seeded panel, the best first, stand in the one that is shown.
SHUFFLED = [1, 2, 0]
GROUPS = ("all studies", "study_class abnormal", "study_class normal")


@pytest.fixture(scope="module")
def shuffled() -> Comparison:
    """Three models whose order in the panel is not that of their ranks."""
    panel = seeded_panel(3)
    turned = replace(
        panel,
        models=tuple(panel.models[at] for at in SHUFFLED),
        values={name: values[:, SHUFFLED] for name, values in panel.values.items()},
        tallies={name: counts[SHUFFLED] for name, counts in panel.tallies.items()},
    )
    how = Resampling(seed=7, resamples=100, flips=200)
    return compare(turned, sort="green", by=["study_class"], how=how, signature="s")


def decimals(text: str) -> list[float]:
    plain = text.replace("\N{MINUS SIGN}", "-")
    return [float(found) for found in re.findall(r"[-+]?\d+\.\d+", plain)]


def choose_group(tab: Any, name: str) -> None:
    (at,) = [
        at for at, text in enumerate(tab.texts("#group option")) if text.startswith(f"{name} (")
    ]
    tab.tab.select_option("#group", str(at))


def assert_shown(cell: Cell, metric: Metric, text: str) -> None:
    """Whether the text is the figure of a cell with both ends of its interval."""
    assert cell.value is not None
    assert cell.low is not None
    assert cell.high is not None
    if metric.kind == "rate":
        wanted = [100 * cell.value, 100 * cell.low, 100 * cell.high]
        assert decimals(text) == pytest.approx(wanted, abs=0.06)
    else:
        on_scale = [cell.value, cell.low, cell.high]
        wanted = on_scale if metric.scale else [cell.value, cell.high - cell.value]
        assert decimals(text) == pytest.approx(wanted, abs=6e-4)
        assert ("±" in text) == (metric.scale is None)


@pytest.mark.parametrize("group", range(len(GROUPS)), ids=GROUPS)
def test_every_figure_and_rank_is_that_of_its_model(
    shown: Any, shuffled: Comparison, group: int
) -> None:
    tab = shown(shuffled)
    choose_group(tab, GROUPS[group])
    models, found = shuffled.panel.models, shuffled.groups[group]
    for metric in shuffled.panel.metrics:
        cells = found.cells[metric.name]
        for at, cell in enumerate(cells):
            button = tab.tab.locator(f'[data-cell="{at} {metric.name}"]')
            assert models[at] in button.locator("xpath=ancestor::tr").inner_text()
            _, _, heard = button.inner_text().partition(f"{models[at]}:")
            assert_shown(cell, metric, heard)
            whole = button.locator("xpath=ancestor::td").inner_text()
            ends = decimals(heard)[1:]
            assert decimals(whole)[-len(ends) :] == ends  # seen as it is heard
            fewer = re.findall(r"n = (\d+)", whole)
            assert fewer == ([str(cell.n)] if cell.n < found.n_studies else [])
        tab.tab.select_option("#metric", metric.name)
        ranks = [int(text.rstrip("=")) for text in tab.texts("#board tbody td:first-child")]
        rank_of = {model: cell.rank for model, cell in zip(models, cells, strict=True)}
        assert ranks == sorted(ranks)
        assert [rank_of[model] for model in tab.order()] == ranks


def pair_rows(tab: Any) -> dict[str, dict[str, str]]:
    """The table of tests as it is shown: by the other model, each cell by its heading."""
    heads = tab.texts("#pairs thead th")
    rows: list[list[list[str]]] = tab.tab.locator("#pairs tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((cell) => [cell.innerText, cell.title]))"
    )
    found = {}
    for row in rows:
        shown = {head: text.strip() for head, (text, _) in zip(heads, row, strict=True)}
        (method,) = [title for _, title in row if title]
        found[shown["Other model"]] = {
            **shown,
            "method": method,
            "is marked": str(any("*" in text for text, _ in row)),
        }
    return found


def is_shown(text: str, p: float | None) -> bool:
    """Whether `text` is this p, in three decimals or as too small for them."""
    assert p is not None
    if text.startswith("<"):
        return p < decimals(text)[0]
    return decimals(text) == pytest.approx([p], abs=6e-4)


def test_every_test_of_a_pair_is_shown_from_either_side_with_its_ends_turned(
    shown: Any, shuffled: Comparison
) -> None:
    tab = shown(shuffled)
    models = shuffled.panel.models
    for group, name in enumerate(GROUPS):
        choose_group(tab, name)
        for metric in shuffled.panel.metrics:
            tab.tab.select_option("#metric", metric.name)
            tests = shuffled.tests[group][metric.name]
            for model, own in enumerate(models):
                tab.tab.select_option("#pairs-model", str(model))
                rows = pair_rows(tab)
                assert set(rows) == set(models) - {own}
                for test in tests:
                    if test.a == model:
                        assert_test(test, metric, rows[models[test.b]], turned=False)
                    elif test.b == model:
                        assert_test(test, metric, rows[models[test.a]], turned=True)


def assert_test(test: PairTest, metric: Metric, row: dict[str, str], *, turned: bool) -> None:
    assert test.difference is not None
    assert test.low is not None
    assert test.high is not None
    numbers = [test.difference, test.low, test.high]
    if turned:
        numbers = [-test.difference, -test.high, -test.low]
    is_rate = metric.kind == "rate"
    shown = [*decimals(row["Difference"]), *decimals(row["95% interval"])]
    wanted = [100 * number if is_rate else number for number in numbers]
    assert shown == pytest.approx(wanted, abs=0.06 if is_rate else 6e-4)
    assert is_shown(row["p"], test.p)
    assert is_shown(row["p (Holm)"], test.p_holm)
    assert row["Studies"] == str(test.n)
    assert row["method"] == test.method
    assert row["is marked"] == str(test.is_significant)


@pytest.mark.parametrize(
    ("metric", "more_is_better"),
    [("green", True), ("fineradscore_sum", False), ("inverse_fineradscore", False)],
)
def test_who_is_ahead_in_a_study_follows_the_direction_of_the_metric(
    shown: Any, shuffled: Comparison, metric: str, more_is_better: bool
) -> None:
    page = shown(shuffled).tab
    values = shuffled.panel.values[metric] * (1 if more_is_better else -1)
    ahead = values[:, 0] - values[:, 1]
    known = ahead[~np.isnan(ahead)]
    n_ahead, n_behind = int((known > 0).sum()), int((known < 0).sum())
    assert n_ahead != n_behind
    page.select_option("#model-a", "0")
    page.select_option("#model-b", "1")
    page.select_option("#study-metric", metric)
    page.select_option("#first", "a")
    said = f"in {n_ahead} of {len(known)} studies, behind in {n_behind}"
    page.locator("#list .count", has_text=said).wait_for(timeout=10_000)
    first = page.locator("#list tbody tr").first
    study = shuffled.panel.study_ids.index(first.locator("[data-study]").inner_text())
    assert ahead[study] == np.nanmax(ahead)
    assert float(first.locator("td").nth(-1).inner_text()) == pytest.approx(ahead[study], abs=6e-4)
