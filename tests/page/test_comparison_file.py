"""What goes into the file of a comparison's page: figures with their texts, and which reports."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from bisect import bisect_right
from typing import Any

import numpy as np
import pytest
from page_records import records_of
from seeded_comparison import seeded

from judge.pages.comparison import ComparisonPage, wanted
from judge.pages.numbers import text_steps
from judge.stats.significance import Comparison, model_order
from judge.tables import comparison as tables
from judge.tables import kinds
from judge.text import number, with_minus_signs


def text_of(c: Comparison, most: int = 10_000) -> str:
    return "".join(ComparisonPage(c).file(records_of(wanted(c, most=most))))


def data_of(c: Comparison, most: int = 10_000) -> dict[str, Any]:
    parts = re.findall(
        r'<script type="text/plain" id="data-([\w-]+)">([\w+/=]*)</script>',
        text_of(c, most),
    )
    return {
        name: json.loads(gzip.decompress(base64.b64decode(text)))
        for name, text in parts
    }


@pytest.mark.parametrize(("n_models", "most"), [(4, 3), (4, 333), (1, 20)])
def test_of_many_studies_those_come_in_which_models_differ_most(
    n_models: int, most: int
) -> None:
    c = seeded(n_models, 300)
    found = wanted(c, most=most)
    assert most - 2 * n_models < sum(map(len, found.values())) <= most
    green = c.panel.values["green"]
    apart = np.nanmax(green, axis=1) - np.nanmin(green, axis=1)
    furthest = int(np.nanargmin(green) if n_models == 1 else np.nanargmax(apart))
    if most > n_models:
        assert all(c.panel.study_ids[furthest] in ids for ids in found.values())


def test_values_come_back_as_they_are_with_the_texts_of_tables() -> None:
    c = seeded(3, 60)
    data = data_of(c)
    for model in range(3):
        columns = data[f"values-{model}"]["columns"]
        for metric, column in zip(c.panel.metrics, columns, strict=True):
            values = c.panel.study_values(metric.name)[:, model]
            numbers = [*column["numbers"], math.nan]  # -1: no value
            shown = [numbers[code] for code in column["codes"]]
            np.testing.assert_array_equal(shown, values)
            for value, text in zip(column["numbers"], column["texts"], strict=True):
                if metric.is_share:
                    assert text == ("no" if value == 1 else "yes")
                else:
                    digits = 0 if np.all(values[~np.isnan(values)] % 1 == 0) else 3
                    assert text == number(value, digits)


@pytest.mark.parametrize(("largest", "digits"), [(1.0, 3), (17.0, 0), (0.0, 3)])
def test_each_difference_has_the_text_that_a_table_prints(
    largest: float, digits: int
) -> None:
    steps = text_steps(largest, digits)
    random = np.random.default_rng(1)
    numbers = [*random.uniform(-largest, largest, 2000), -largest, largest, 0.0]
    # Half way between two texts, and the numbers beside that.
    for step in range(-20, 20):
        edge = (step + 0.5) * 10.0**-digits
        numbers += [edge, math.nextafter(edge, -9), math.nextafter(edge, 9)]
    for value in numbers:
        if abs(value) <= largest:
            text = steps.texts[max(0, bisect_right(steps.starts, value) - 1)]
            assert text == with_minus_signs(number(value, digits)), value


def test_differences_of_a_wide_range_are_written_in_coarser_steps() -> None:
    steps = text_steps(2_000_000.0, 3)
    assert len(steps.texts) <= 20_001
    assert steps.texts[bisect_right(steps.starts, 1_234_567.8) - 1] == "1235000"


def test_models_are_ranked_and_tested_as_in_the_tables() -> None:
    c = seeded(4, 80, by=["study_class"], tests=True)
    data = data_of(c)
    models = data["overview"]["models"]
    for place, name in enumerate(data["overview"]["groups"]):
        shown = data[f"group-{place}"]
        names = [tables.group_name(group.key) for group in c.groups]
        index = names.index(name["name"])
        group = c.groups[index]
        assert name["label"] == f"{name['name']} ({group.n_studies:,})"
        ids = [data["studies"]["study_id"][row] for row in shown["rows"]]
        assert sorted(ids) == sorted(c.parts[index].study_ids)
        for metric, ranking, cells in zip(
            c.panel.metrics, shown["rankings"], shown["cells"], strict=True
        ):
            order = [row["model"] for row in ranking["rows"]]
            assert order == list(model_order(group, metric.name))
            for model, cell in enumerate(cells):
                printed = tables.figure(
                    group.estimates[metric.name][model], metric
                ).printed()
                assert cell["text"] == with_minus_signs(printed.figure)
                assert models[model] in cell["label"]
                assert cell["interval"] in cell["label"]
            tests = {(t.a, t.b): t for t in c.tests[index][metric.name]}
            for row, following in zip(ranking["rows"], order[1:], strict=False):
                pair = sorted((row["model"], following))
                is_apart = tests[pair[0], pair[1]].is_significant
                assert bool(row["differs"]) is is_apart
                if is_apart:
                    assert row["differs"].endswith(f"from {models[following]}")
            assert ranking["rows"][-1]["differs"] == ""
            for (a, b), test in tests.items():
                for model, other, sign in ((a, b, 1), (b, a, -1)):
                    table = ranking["tests"][model]
                    assert table["title"].startswith(f"{models[model]} minus the other")
                    (row,) = [r for r in table["rows"] if r[0] == models[other]]
                    turned = tables.difference(test, metric, sign).printed()
                    assert row[1] == with_minus_signs(turned.figure)
                    assert row[3] == kinds.p_value(test.p)
                    assert row[4].endswith(" *") is test.is_significant
                    assert row[5] == f"{test.n:,}"


def test_a_file_says_which_reports_it_holds() -> None:
    c = seeded(3, 120)
    data = data_of(c, most=300)
    n_here = sum(packet >= 0 for packet in data["studies"]["packets"])
    rows = [
        row
        for name, packet in data.items()
        if name.startswith("packet-")
        for row in packet["rows"]
    ]
    assert len(rows) == n_here < 120
    n_all = 120 * 3 * 2
    assert f"{n_here * 6:,} of {n_all:,}" in data["overview"]["footer"]
    assert data_of(c)["overview"]["footer"] == ""
