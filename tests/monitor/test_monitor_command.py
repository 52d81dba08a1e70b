"""`judge monitor`: what it judges, when it raises an alarm, and what it keeps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from browserhelp import axe, chromium, ready, watch
from faultserver import Behaviour, Fault, FaultServer, always
from feeds import CLEAN, MISSED, day_of, record, weeks_of, written
from support import Invoke

from judge.backends.openai import OPENAI_URL
from judge.monitoring.monitor import read_report
from judge.running import cached_client
from judge.running.cost import Prices
from judge.running.folder import RunFolder

# Ten studies a week, two of them with a missed finding; in the last week eight.
USUAL = [2] * 9
N_PAID = 60


def runs_of(out: Path) -> list[Path]:
    return sorted((out / "runs").iterdir())


def report_of(done: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def test_a_command_judges_what_is_new_and_raises_an_alarm(
    invoke: Invoke, tmp_path: Path
) -> None:
    feed, out = tmp_path / "feed", tmp_path / "monitored"
    feed.mkdir()
    usual = weeks_of(USUAL, site="north", reader="fern")
    written(feed / "1.json", [*usual, record("open", 8, signed=None)])
    words = ["monitor", feed, "--out", out, "--until", day_of(8, 6), "-f", "json"]
    first = invoke(*words)
    assert first.exit_code == 0, first.stderr
    assert "90 studies are new, 1 not signed yet." in first.stderr
    data = report_of(first)
    assert data["alarms"] == []
    assert (data["counts"]["judged"], data["counts"]["unsigned"]) == (90, 1)
    assert data["last_period"] == "2026-W10"
    # The same command again asks for nothing, and makes no run.
    assert report_of(invoke(*words))["charts"] == data["charts"]
    assert len(runs_of(out)) == 1
    # A week later the model misses more.
    written(feed / "2.json", weeks_of([8], first=9, site="north", reader="fern"))
    words[5] = day_of(9, 6)
    alarmed = invoke(*words)
    assert alarmed.exit_code == 1
    assert "10 studies are new" in alarmed.stderr
    assert (
        "Alarm: no significant error, all studies: 20.0% of 10 studies in 2026-W11, below the "
        "limit of 40.0% (baseline 80.0%)." in alarmed.stderr
    )
    data = report_of(alarmed)
    assert data == json.loads((out / "monitor.json").read_text("utf-8"))
    assert read_report(out).model_dump(mode="json") == data
    alarm = data["alarms"][0]
    assert (alarm["metric"], alarm["period"], alarm["value"], alarm["n"]) == (
        "no_significant_error",
        "2026-W11",
        0.2,
        10,
    )
    assert alarm["limit"] == 0.4
    last = runs_of(out)[1]
    assert alarm["studies"] == [
        {"study_id": f"w9-{number}", "run": last.name, "n": 1} for number in range(8)
    ]
    assert len(RunFolder.open(last).table()) == 10
    assert data["false_alarms_per_year"] == pytest.approx(3 * 52 * 0.00135)
    # Readers have charts only where they are asked for.
    assert "fern" not in json.dumps(data["charts"])
    by_reader = report_of(invoke(*words, "--by", "reader"))
    assert by_reader["charts"][3]["group"] == {"reader": "fern"}


def test_an_addendum_replaces_what_was_judged(invoke: Invoke, tmp_path: Path) -> None:
    feed, out = tmp_path / "feed.json", tmp_path / "monitored"
    words = ["monitor", feed, "--out", out, "--until", day_of(9), "-f", "json"]
    written(feed, [record("a"), record("b")])
    (chart, *_) = report_of(invoke(*words))["charts"]
    assert (chart["points"][0]["k"], chart["points"][0]["n"]) == (2, 2)
    written(feed, [record("a"), record("b"), record("b", 3, draft=MISSED)])
    data = report_of(invoke(*words))
    (point,) = data["charts"][0]["points"]
    assert (point["k"], point["n"], point["start"]) == (1, 2, day_of(0))
    assert (data["counts"]["judged"], data["counts"]["replaced"]) == (2, 1)
    # What leaves the feed stays.
    written(feed, [record("a")])
    assert report_of(invoke(*words))["counts"]["judged"] == 2


def test_a_monitor_has_one_judge_and_a_folder_of_its_own(
    invoke: Invoke, tmp_path: Path
) -> None:
    feed = written(tmp_path / "feed.json", [record("a")])
    out = tmp_path / "monitored"
    unsigned = written(tmp_path / "unsigned.json", [record("a", signed=None)])
    nothing = invoke("monitor", unsigned, "--out", out, "-f", "json")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "Nothing to chart yet" in nothing.stderr
    assert not out.exists()
    dry = invoke("monitor", feed, "--out", out, "--dry-run")
    assert dry.exit_code == 0
    assert "1 study" in dry.stderr
    assert not out.exists()
    assert invoke("monitor", feed, "--out", out).exit_code == 0
    written(feed, [record("a"), record("b")])
    other = invoke("monitor", feed, "--out", out, "--rubric", "fineradscore")
    assert other.exit_code == 2
    assert "its charts would show the change of the judge" in other.stderr
    direct = invoke("monitor", feed, "--out", out, "--rubric", "direct")
    assert (direct.exit_code, "counts no errors" in direct.stderr) == (2, True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("text")
    taken = invoke("monitor", feed, "--out", tmp_path / "mine")
    assert (taken.exit_code, "thesis.txt" in taken.stderr) == (2, True)
    inside = invoke("monitor", tmp_path, "--out", tmp_path / "within")
    assert (inside.exit_code, "is in the feed" in inside.stderr) == (2, True)
    odd = invoke("monitor", feed, "--out", out, "--baseline", "soon")
    assert (odd.exit_code, "--baseline" in odd.stderr) == (2, True)
    late = invoke("monitor", feed, "--out", out, "--until", "31.5.2026")
    assert (late.exit_code, "2026-05-31" in late.stderr) == (2, True)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(), rubric="green") as running:
        yield running


def of_server(week: int, n: int) -> list[dict[str, Any]]:
    """Studies that the server finds by the words in their signed reports."""
    found = []
    for number in range(n):
        key = f"study-{100 * week + number:04}"
        signed = f"{key}. The lungs are clear."
        found.append(record(key, week, signed=signed, draft="The lungs are clear."))
    return found


def test_money_for_a_month_ends_and_the_next_month_goes_on(
    invoke: Invoke,
    tmp_path: Path,
    server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No server on this machine has a price: this one is given GPT-4o's."""
    priced = SimpleNamespace(of=lambda _judge: Prices("gpt-4o", OPENAI_URL))
    monkeypatch.setattr(cached_client, "Prices", priced)
    feed = written(tmp_path / "feed.json", of_server(0, N_PAID))
    out = tmp_path / "monitored"
    words = ["monitor", feed, "--out", out, "--judge", "model-x", "-f", "json"]
    words += ["--base-url", server.url, "--cache", tmp_path / "cache"]
    words += ["--concurrency", "1", "--until", day_of(2)]
    first = invoke(*words, "--max-cost-month", "0.1")
    assert first.exit_code == 3
    assert "could pass --max-cost-month (0.1 dollars)" in first.stderr
    data = report_of(first)
    counts, spent = data["counts"], data["spent"]
    assert 0 < counts["judged"] < N_PAID
    assert counts["judged"] == counts["scored"] == server.stats().answered
    assert counts["judged"] + counts["waiting"] == N_PAID
    assert data["waiting"] == [
        row["id"] for row in of_server(0, N_PAID)[counts["judged"] :]
    ]
    assert 0 < spent["dollars"] <= spent["limit"] == 0.1
    poorest = [tmp_path / "poor" if word == out else word for word in words]
    poorest[poorest.index(tmp_path / "cache")] = tmp_path / "empty"
    poor = invoke(*poorest, "--max-cost-month", "0.001")
    assert (poor.exit_code, poor.stdout) == (3, "")
    # There is no more money in this month: nothing is asked, and all is said again.
    server.reset()
    again = report_of(invoke(*words, "--max-cost-month", "0.1"))
    assert server.stats().requests <= 2
    assert again["counts"]["judged"] + again["counts"]["waiting"] == N_PAID
    # With more money only what waits is asked.
    server.reset()
    before = again["counts"]["judged"]
    done = invoke(*words, "--max-cost-month", "5")
    assert done.exit_code == 0, done.stderr
    assert server.stats().answered == N_PAID - before
    assert report_of(done)["counts"]["judged"] == N_PAID
    assert report_of(done)["spent"]["dollars"] > 0.1


def test_a_study_that_failed_is_asked_again_and_counted_as_unscored(
    invoke: Invoke, tmp_path: Path, server: FaultServer
) -> None:
    feed = written(tmp_path / "feed.json", of_server(0, 4))
    out = tmp_path / "monitored"
    words = ["monitor", feed, "--out", out, "--judge", "model-x", "-f", "json"]
    words += ["--base-url", server.url, "--cache", tmp_path / "cache"]
    words += ["--until", day_of(2), "--min-coverage", "0.5"]
    server.set_faults(studies={"study-0001": always(Fault.MODERATION)})
    data = report_of(invoke(*words))
    unscored = data["charts"][2]["points"][0]
    assert (unscored["k"], unscored["n"], data["counts"]["failed"]) == (1, 4, 1)
    server.set_faults(studies={})
    server.reset()
    healed = report_of(invoke(*words))
    assert server.stats().answered == 1
    assert (healed["counts"]["judged"], healed["counts"]["failed"]) == (4, 0)
    assert healed["charts"][2]["points"][0]["k"] == 0


@pytest.mark.browser
def test_the_page_shows_the_charts_and_leads_to_the_studies(
    invoke: Invoke, tmp_path: Path
) -> None:
    evil = "<script>document.title = 'taken'</script>"
    records = weeks_of([2] * 9, site="north")
    records += weeks_of([9], first=9, site=evil, version="2 & 3")
    feed = written(tmp_path / "feed.json", records)
    out = tmp_path / "monitored"
    done = invoke("monitor", feed, "--out", out, "--until", day_of(9, 6))
    assert done.exit_code == 1, done.stderr
    assert CLEAN not in (out / "index.html").read_text("utf-8")
    with chromium() as browser:
        page = browser.new_page()
        seen = watch(page)
        page.goto((out / "index.html").as_uri())
        assert page.title() == "Monitor"
        assert page.locator("svg.chart").count() == 9
        assert page.locator("svg.chart polygon.worse").count() >= 2
        assert axe(page) == []
        page.locator("details summary").first.click()
        assert page.locator("details table").first.locator("tbody tr").count() == 10
        page.get_by_role("link", name="w9-0").first.click()
        ready(page)
        assert "Small left effusion" in page.locator("main").inner_text()
        seen.assert_quiet()
        assert not seen.outside("file:", "blob:", "data:")
