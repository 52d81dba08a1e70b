"""What goes into the file of a comparison's page: which reports, and nothing that could run."""

from __future__ import annotations

import base64
import gzip
import re

import numpy as np
import pytest
from page_records import records_of
from seeded_comparison import seeded

from judge.pages.comparison import page, wanted
from judge.stats.significance import Comparison


def text_of(c: Comparison, most: int = 10_000) -> str:
    return "".join(page(c, records_of(wanted(c, most=most))))


def data_of(c: Comparison) -> dict[str, bytes]:
    parts = re.findall(
        r'<script type="text/plain" id="data-([\w-]+)">([\w+/=]*)</script>', text_of(c)
    )
    return {name: gzip.decompress(base64.b64decode(text)) for name, text in parts}


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


def test_values_come_back_as_they_are() -> None:
    c = seeded(3, 60)
    data = data_of(c)
    for at, metric in enumerate(c.panel.metrics):
        values = np.frombuffer(data[f"values-{at}"], "<f8").reshape(3, 60).T
        np.testing.assert_array_equal(values, c.panel.study_values(metric.name))
