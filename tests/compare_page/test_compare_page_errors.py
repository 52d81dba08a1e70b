"""What each model gets wrong, on the page: the group that the leaderboard shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from seeded_comparison import seeded_panel

from judge.rubrics import load
from judge.stats.compare import Comparison, compare
from judge.stats.tally import cuts


def with_errors() -> Comparison:
    """Three models whose counts are random; the last was not scored on half of the studies."""
    panel = seeded_panel(3, n_sites=3)
    rng = np.random.default_rng(5)
    tallies = {
        name: rng.poisson(0.4, (3, len(cuts(load(name))), len(panel.study_ids))).astype("f4")
        for name in ("green", "fineradscore")
    }
    tallies["green"][2, :, ::2] = np.nan
    return compare(replace(panel, tallies=tallies), sort="green", by=["study_class"])


def test_errors_are_those_of_the_chosen_group(shown: Any) -> None:
    c = with_errors()
    tab = shown(c)
    options = tab.texts("#group option")
    for wanted in ("all studies", "study_class normal"):
        (at,) = [at for at, text in enumerate(options) if text.startswith(f"{wanted} (")]
        tab.tab.select_option("#group", str(at))
        classes = np.array(c.panel.fields["study_class"])
        rows = np.ones(len(classes), bool) if at == 0 else classes == "normal"
        tables = tab.tab.locator("#errors table")
        assert tables.count() == 2
        for table, rubric in zip(tables.all(), ("green", "fineradscore"), strict=True):
            found = [
                [cell.strip() for cell in line.locator("th, td").all_inner_texts()]
                for line in table.locator("tbody tr").all()
            ]
            counts = c.panel.tallies[rubric][..., rows]
            measure = {cut: k for k, cut in enumerate(cuts(load(rubric)))}
            levels = dict.fromkeys(level for _, level in measure)
            wanted_rows = []
            for level in levels:
                for model in c.order:
                    of_model = counts[model]
                    scored = of_model[:, ~np.isnan(of_model).any(axis=0)]
                    cells = [
                        f"{scored[measure[label, level]].mean():.3f}" for label in [*"abcdef", None]
                    ]
                    n = f" (n {scored.shape[1]})" if scored.shape[1] < rows.sum() else ""
                    wanted_rows.append([c.panel.models[model] + n, *cells])
            assert [row[1:] for row in found] == wanted_rows
    assert tab.said == []


def test_runs_without_a_tally_have_no_such_section(shown: Any) -> None:
    tab = shown(compare(replace(seeded_panel(2), tallies={})))
    assert tab.tab.locator("#errors").count() == 0
    assert tab.tab.locator("#board").count() == 1
