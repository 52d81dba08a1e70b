"""What goes into the page's file: which reports, how small, and nothing that could run."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from page_records import records_of
from seeded_comparison import seeded, seeded_panel

from judge.report import page as page_of_a_run
from judge.report.compare_page import FRONTEND, STATIC
from judge.report.compare_page.choice import wanted
from judge.report.compare_page.file import page
from judge.report.frontend import as_json
from judge.report.leaderboard import difference_and_interval, figure, p_value
from judge.stats.compare import Comparison, compare


def text_of(c: Comparison, most: int = 10_000) -> str:
    return "".join(page(c, records_of(wanted(c, most=most))))


def data_of(c: Comparison, most: int = 10_000) -> dict[str, bytes]:
    parts = re.findall(
        r'<script type="text/plain" id="data-([\w-]+)">([\w+/=]*)</script>', text_of(c, most)
    )
    return {name: gzip.decompress(base64.b64decode(text)) for name, text in parts}


def test_few_studies_come_with_all_their_reports() -> None:
    c = seeded(3, 40)
    found = wanted(c)
    assert set(found) == {(m, r) for m in c.panel.models for r in ("green", "fineradscore")}
    assert all(ids == set(c.panel.study_ids) for ids in found.values())


@pytest.mark.parametrize("most", [1, 50, 333])
def test_of_many_studies_those_come_in_which_models_differ_most(most: int) -> None:
    c = seeded(4, 300)
    found = wanted(c, most=most)
    assert sum(map(len, found.values())) == most
    assert found == wanted(c, most=most)
    if most < 333:
        return
    # The furthest of every pair by the metric that ranks, with both models' reports.
    green = c.panel.values["green"]
    for a in range(4):
        for b in range(4):
            ahead = green[:, a] - green[:, b]
            if a != b and np.nanmax(ahead) > 0:
                study = c.panel.study_ids[int(np.nanargmax(ahead))]
                for model in (a, b):
                    assert study in found[c.panel.models[model], "green"]


def test_a_single_model_comes_where_it_is_worst() -> None:
    c = seeded(1, 300)
    found = wanted(c, most=20)
    green = c.panel.values["green"][:, 0]
    worst = c.panel.study_ids[int(np.nanargmin(green))]
    assert worst in found[c.panel.models[0], "green"]


def test_the_same_comparison_gives_the_same_text() -> None:
    assert text_of(seeded(2, 30)) == text_of(seeded(2, 30))


def test_values_come_back_as_they_are() -> None:
    c = seeded(3, 60)
    data = data_of(c)
    whole = json.loads(data["columns"])["whole"]
    assert {"green_errors", "fineradscore_errors"} <= set(whole)
    for at, metric in enumerate(c.panel.metrics):
        values = np.frombuffer(data[f"values-{at}"], "<f8").reshape(3, 60).T
        np.testing.assert_array_equal(values, c.panel.of_study(metric.name))
        known = values[~np.isnan(values)].tolist()
        assert (metric.name in whole) == all(map(float.is_integer, known))


def test_no_number_is_written_that_is_none() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        as_json({"value": float("nan")})
    assert "NaN" not in data_of(seeded(3, 60, tests=True))["overview"].decode()


def test_the_data_are_those_of_the_comparison() -> None:
    c = seeded(3, 60, by=["study_class"], tests=True)
    data = data_of(c)
    overview = json.loads(data["overview"])
    names = [group["name"] for group in overview["groups"]]
    assert names[:3] == ["all studies", "study_class abnormal", "study_class normal"]
    assert sum(name.startswith("site ") for name in names) > 3
    assert sum(name.startswith("study_class ") for name in names) == 2
    cell = c.groups[0].cells["green"][1]
    green = c.panel.metric("green")
    shown_cell = overview["groups"][0]["cells"]["green"][1]
    assert (shown_cell["n"], shown_cell["rank"]) == (cell.n, cell.rank)
    assert f"{shown_cell['figure']} {shown_cell['interval']}" == figure(cell, green)
    test = c.tests[0]["green"][0]
    shown = overview["groups"][0]["tests"]["green"][0]
    assert (shown["a"], shown["b"], shown["n"]) == (test.a, test.b, test.n)
    assert (shown["p"], shown["p_holm"]) == (p_value(test.p), p_value(test.p_holm))
    assert (shown["is_significant"], shown["method"]) == (test.is_significant, test.method)
    for sign, seen in zip((1, -1), shown["differences"], strict=True):
        found = difference_and_interval(test, green, sign)
        assert (seen["text"], seen["interval"]) == found
    assert overview["records"] == {"here": 360, "all": 360}


def test_a_large_comparison_stays_small() -> None:
    # 24 models x 1,000 studies, values of 10 metrics for all, 2,000 records.
    c = seeded(24, 1000)
    assert len(text_of(c, most=2_000)) < 2_500_000


def test_only_the_pages_own_script_and_style_may_run() -> None:
    text = text_of(seeded(2, 20))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert not re.findall(
        r"https?://|\bsrc=|\bhref=\"|<link|<iframe|\sstyle=|\son[a-z]+=",
        text[: text.index("<script")],
    )


def test_the_scripts_put_text_on_the_page_as_text_alone() -> None:
    for name in FRONTEND.scripts:
        source = FRONTEND.files[name].decode()
        assert ("fetch(" in source) == (name == "data.js"), name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b"
            r"|new Function|DOMParser|XMLHttpRequest|WebSocket|https?://|localStorage|\bimport\(",
            source,
        ), name
        assert len(source.splitlines()) <= 400


def test_the_scripts_share_no_name_so_that_they_can_be_joined() -> None:
    declared = re.findall(
        r"^(?:async )?(?:function|const|let|class) (\w+)", FRONTEND.script, flags=re.MULTILINE
    )
    assert len(declared) == len(set(declared)) > 20


def test_every_file_of_the_page_is_used() -> None:
    own = {path.name for path in STATIC.iterdir()}
    shared = set(page_of_a_run.FRONTEND.files)
    assert own <= set(FRONTEND.files) <= own | shared
    assert own & shared <= {"main.js", "store.js", "study.js", "transports.js"}


def test_lines_stand_with_the_corrections_that_name_them() -> None:
    c = seeded(2, 10)
    packet = json.loads(data_of(c)["packet-0"])
    records = [record for found in packet.values() for record in found]
    for record in records:
        is_corrected = record["rubric"] == "fineradscore" and record["outcome"] == "annotated"
        assert ("lines" in record) == is_corrected
        if is_corrected:
            assert record["lines"] == ["".join(part["text"] for part in record["candidate"])]
    assert any("lines" in record for record in records)


def test_groups_come_in_the_order_of_their_numbers() -> None:
    panel = seeded_panel(2, 60, fields=("site",))
    values = ["Site 10", "site 2", None, "Site 1", 12, 3.5, "Site " + "9" * 5000]
    sites = tuple(values[at % len(values)] for at in range(60))
    c = compare(replace(panel, fields={"site": sites}), by=["site"])
    names = [group["name"] for group in json.loads(data_of(c)["overview"])["groups"]]
    assert [name.removeprefix("site ")[:7] for name in names] == [
        *("all studies"[:7], "3.5", "12", "Site 1", "site 2", "Site 10", "Site 99", "(none)"),
    ]
    # Each keeps its own studies and tests.
    overview = json.loads(data_of(seeded(2, 200, by=["site"], tests=True))["overview"])
    assert all(group["tests"] for group in overview["groups"] if "site" in group["key"])
