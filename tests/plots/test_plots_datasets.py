"""Ranks and correlations by data set: each from its own studies, and none from too few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from figurehelp import assert_apart, texts_of
from seeded_comparison import seeded, seeded_panel

from judge.plots.build import plan
from judge.plots.data import Drawing, Matrix, Ranks
from judge.plots.output import captions_text, draw, rendered, settings
from judge.plots.style import COLUMN, WIDTHS, Width
from judge.stats.compare import Comparison, compare, correlations


def of_sets(sizes: Mapping[str | None, int], n_models: int = 2) -> Comparison:
    """The seeded comparison, with so many studies in each data set."""
    panel = seeded_panel(n_models, sum(sizes.values()))
    column = tuple(name for name, n in sizes.items() for _ in range(n))
    return compare(replace(panel, fields={"dataset": column}), sort="green")


def drawings(c: Comparison) -> dict[str, Drawing]:
    return {drawing.name: drawing for drawing in plan(c).drawings}


def test_each_data_set_has_a_matrix_of_its_own_studies() -> None:
    c = of_sets({"MIMIC-CXR": 60, "IU X-ray": 40})
    found = drawings(c)
    for name, rows in (("MIMIC-CXR", range(60)), ("IU X-ray", range(60, 100))):
        own = correlations(c.panel.take(np.array(rows)))
        drawing = found[f"correlation_pearson_{name.replace(' ', '-')}"]
        assert isinstance(drawing.data, Matrix)
        assert drawing.data.values == own.pearson
        numbers = [n for line in own.n for n in line]
        assert drawing.data.n == (min(numbers), max(numbers))
        assert len(rows) < max(numbers) <= 2 * len(rows)
        assert f"in the data set {name} " in drawing.caption
    whole = found["correlation_kendall"].data
    assert isinstance(whole, Matrix)
    assert c.correlations
    assert whole.values == c.correlations.kendall
    assert sum(name.startswith("correlation") for name in found) == 5


def test_a_data_set_of_too_few_pairs_is_said_and_not_drawn() -> None:
    # Of two models 9 pairs are one study too few, and 10 are enough.
    c = of_sets({"large": 50, "few": 5, "fewer": 4})
    assert "correlation_pearson_few" in drawings(c)
    assert "correlation_pearson_fewer" not in drawings(c)
    assert plan(c).left_out[-1] == (
        "correlation of metrics in fewer: 8 pairs of values, and fewer than 10 say nothing"
    )


def test_a_cell_of_too_few_pairs_is_na_as_the_figure_says() -> None:
    c = of_sets({"a": 30, "b": 30})
    c.panel.values["bleu2"][30 + 4 :] = np.nan  # 8 pairs are left in b
    found = drawings(compare(c.panel, sort="green"))
    data = found["correlation_pearson_b"].data
    assert isinstance(data, Matrix)
    at = data.labels.index("BLEU-2")
    assert [value is None for value in data.values[0]] == [
        label == "BLEU-2" for label in data.labels
    ]
    assert all(value is None for value in data.values[at])
    with settings():
        texts = [text for text, _, _ in texts_of(draw(found["correlation_pearson_b"], COLUMN))]
    assert "n/a: fewer than 10 pairs, or one value only" in texts
    assert texts.count("n/a") == 2 * len(data.labels) - 1


def test_ranks_by_data_set_are_those_of_its_studies() -> None:
    c = of_sets({"a": 30, "b": 50, None: 20}, n_models=3)
    c.panel.values["green"][:30] = [0.1, 0.5, 0.3]
    c.panel.values["green"][30:] = [0.9, 0.5, 0.3]
    drawing = drawings(compare(c.panel, sort="green"))["ranks_green_by_dataset"]
    assert isinstance(drawing.data, Ranks)
    assert (drawing.data.groups, drawing.data.n) == (("b", "a"), (50, 30))
    places = dict(zip(drawing.data.models, drawing.data.ranks, strict=True))
    assert [places[model] for model in c.panel.models] == [(1, 3), (2, 1), (3, 2)]
    assert drawing.caption.endswith("20 studies without a data set are in none.")
    with settings():
        texts = [text for text, _, _ in texts_of(draw(drawing, COLUMN))]
    assert "1 = best; data set (number of studies)" in texts


@pytest.mark.parametrize("sizes", [{"only": 40}, {None: 40}, {"only": 20, None: 20}])
def test_one_data_set_is_no_division(sizes: Mapping[str | None, int]) -> None:
    planned = plan(of_sets(sizes))
    assert "ranks and correlations by data set: there are no two of the field 'dataset'" in (
        planned.left_out
    )
    names = [drawing.name for drawing in planned.drawings]
    assert [name for name in names if name.startswith("correlation")] == [
        f"correlation_{method}" for method in ("pearson", "spearman", "kendall")
    ]
    assert not any("by_dataset" in name for name in names)


def test_of_many_data_sets_the_largest_have_a_matrix() -> None:
    c = of_sets({f"set {at}": 40 - at for at in range(10)})
    found = drawings(c)
    assert "correlation_pearson_set-7" in found
    assert "correlation_pearson_set-8" not in found
    assert "correlation of metrics in 2 of 10 data sets: the 8 largest have one" in (
        plan(c).left_out
    )


ODD = (
    "../../etc/passwd",
    "two\nlines",
    "\u6570\u636e",
    "\x00\x1b[31m",
    "\ud800",
    "<b>&",
    "x" * 300,
)


@pytest.mark.parametrize("width", WIDTHS, ids=lambda width: width.name)
def test_any_name_of_a_data_set_becomes_a_file_and_a_heading(width: Width) -> None:
    found = drawings(of_sets({"a": 20, **dict.fromkeys(ODD, 10)}))
    mine = [drawing for name, drawing in found.items() if name.startswith("correlation_pearson_")]
    assert len({drawing.name.lower() for drawing in mine}) == 8
    assert not any("/" in drawing.name or "." in drawing.name for drawing in mine)
    for drawing in mine:
        svg, pdf, png = rendered(drawing, width, "s")
        svg.decode("utf-8")
        assert pdf.startswith(b"%PDF")
        assert png.startswith(b"\x89PNG")
        with settings():
            figure = draw(drawing, width)
            assert_apart(drawing.name, figure, texts_of(figure))


def test_captions_list_the_data_sets() -> None:
    comparison = seeded(2, others=False, fields=("dataset",))
    lines = captions_text(plan(comparison)).splitlines()
    at = lines.index("Data sets, in the order of `ranks_green_by_dataset`:")
    assert sorted(line.split(". ")[1] for line in lines[at + 2 : at + 6]) == [
        f"a data set {number}" for number in range(4)
    ]
