"""The floor of harmless change: against loops over the answers of a scripted judge."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from scripted_judge import Said, Scripted, at_random, judged
from support import EXAMPLES, Invoke, write_json

from judge import rubrics
from judge.cli import main
from judge.comparing.alignment import choices_of
from judge.comparing.comparison import compare_runs
from judge.comparing.floor import comparison_floor, floor_report
from judge.figures.comparison import comparison_figures
from judge.running.folder import RunFolder
from judge.running.policy import RequestPolicy
from judge.running.run import run
from judge.running.session import JudgeSession
from judge.stats.estimate import Estimate
from judge.stats.independent import independent_difference, independent_quotient
from judge.stats.intervals import mean_interval, rate_interval
from judge.stress.floor import floor_of, run_floor
from judge.studies import read_pair
from judge.types import JudgeError

REFS = EXAMPLES / "refs.json"
Answers = Callable[[str], Said]


def judged_reports(
    out: Path, answers: Answers, preds: Path, *, section: str = "findings", **judge: Any
) -> Path:
    """A run of reports by the scripted judge."""
    studies = read_pair(str(preds), str(REFS), section=section)
    scripted = Scripted(answers, **judge)
    with JudgeSession(
        rubrics.load("green"), scripted, RequestPolicy(), out.parent
    ) as session:
        run(session, studies, out=out, by=["study_class"])
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "made"
    changes = "identical,reordered,upper_case,synonyms"
    command = ["stress", "make", str(REFS), "--changes", changes]
    done = CliRunner().invoke(main, [*command, "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module")
def runs(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `floor`, a run of the harmless changes, and `model`, one of reports."""
    folder = tmp_path_factory.mktemp("runs")
    judged(made, folder / "floor", at_random(3))
    judged_reports(folder / "model", at_random(3, bad=0), EXAMPLES / "preds.json")
    return folder


def harmless(path: Path) -> list[dict[str, Any]]:
    """The records of the reworded references of a run."""
    records = []
    for record in RunFolder.open(path).records():
        fields = record["fields"]
        if fields["group"] == "unchanged" and fields["change"] != "identical":
            records.append(record)
    return records


def figures(
    invoke: Invoke, runs: Path, *options: object
) -> dict[tuple[str, str], dict[str, Any]]:
    """The figures beside the floor by name and study class, `all` for all studies."""
    command = (
        "rates",
        runs / "model",
        "--floor",
        runs / "floor",
        "--format",
        "json",
        *options,
    )
    done = invoke(*command)
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    rows = {}
    for row in data["floor"]["figures"]:
        rows[row["name"], row["group"].get("study_class", "all")] = row
    return rows


def test_the_floor_is_that_of_loops_over_the_reworded_references(
    invoke: Invoke, runs: Path
) -> None:
    records = harmless(runs / "floor")
    scored = [record for record in records if record["outcome"] == "scored"]
    studies = sorted({record["fields"]["study"] for record in scored})
    units = [studies.index(record["fields"]["study"]) for record in scored]
    significant = [record["measures"]["n_significant"] for record in scored]
    errors = [
        record["measures"]["n_significant"] + record["measures"]["n_insignificant"]
        for record in scored
    ]
    rows = figures(invoke, runs)
    row = rows["errors", "all"]
    import numpy as np

    wanted = mean_interval(np.array(errors, float), (0.0, None), np.array(units))
    assert row["floor"]["n"] == len(scored)
    assert row["n_unscored"] == len(records) - len(scored) > 0
    assert row["n_references"] == len(studies) > 10
    for end in ("value", "low", "high"):
        assert row["floor"][end] == pytest.approx(getattr(wanted, end))
    share = rows["no_significant_error", "all"]
    clean = rate_interval(np.array(significant) == 0, np.array(units))
    for end in ("value", "low", "high"):
        assert share["floor"][end] == pytest.approx(getattr(clean, end))
    # Of a score there is a floor, and no correction.
    green = rows["green", "all"]
    assert green["floor"]["value"] == pytest.approx(
        sum(record["measures"]["green"] for record in scored) / len(scored)
    )
    assert green["corrected"]["value"] is None
    assert green["corrected"]["reason"] == "no correction is known for this figure"


def test_a_mean_loses_its_floor_and_a_share_is_divided_by_it(
    invoke: Invoke, runs: Path
) -> None:
    rows = figures(invoke, runs)
    mean = rows["errors", "all"]
    figure, floor, corrected = mean["figure"], mean["floor"], mean["corrected"]
    assert 0 < floor["value"] < 5
    assert corrected["value"] == pytest.approx(figure["value"] - floor["value"])
    below = (figure["value"] - figure["low"]) ** 2 + (
        floor["high"] - floor["value"]
    ) ** 2
    above = (figure["high"] - figure["value"]) ** 2 + (
        floor["value"] - floor["low"]
    ) ** 2
    assert corrected["low"] == pytest.approx(corrected["value"] - math.sqrt(below))
    assert corrected["high"] == pytest.approx(corrected["value"] + math.sqrt(above))
    share = rows["no_significant_error", "all"]
    assert share["corrected"]["value"] == pytest.approx(
        share["figure"]["value"] / share["floor"]["value"]
    )
    assert share["corrected"]["low"] < share["corrected"]["value"]
    assert share["corrected"]["value"] < share["corrected"]["high"]


def test_the_interval_of_a_quotient_has_its_limits() -> None:
    figure = Estimate(value=0.6, low=0.5, high=0.7)
    one = Estimate(value=1.0, low=1.0, high=1.0)
    alone = independent_quotient(figure, one)
    assert (alone.value, alone.low, alone.high) == pytest.approx((0.6, 0.5, 0.7))
    # Of a figure without an error the ends are those of the divisor, turned round.
    exact = Estimate(value=0.6, low=0.6, high=0.6)
    divisor = Estimate(value=0.8, low=0.7, high=0.9)
    by = independent_quotient(exact, divisor)
    assert (by.low, by.high) == pytest.approx((0.6 / 0.9, 0.6 / 0.7))
    none = Estimate(value=0.0, low=0.0, high=0.1)
    assert independent_quotient(none, divisor).low == 0.0
    # A wide interval of the divisor gives no interval, and says so.
    vague = independent_quotient(figure, Estimate(value=0.3, low=0.1, high=0.7))
    assert vague.value == pytest.approx(2.0)
    assert vague.low is None
    assert "too uncertain" in str(vague.reason)
    assert independent_quotient(figure, none).value is None
    # What has no interval takes it from neither.
    bare = independent_difference(figure, Estimate(value=0.1))
    assert bare.value == pytest.approx(0.5)
    assert bare.low is None
    assert bare.reason


def test_a_group_has_the_floor_of_its_own_studies(
    invoke: Invoke, runs: Path, tmp_path: Path
) -> None:
    classes = {
        study_id: entry["study_class"]
        for study_id, entry in json.loads(REFS.read_text()).items()
    }
    rows = figures(invoke, runs, "--by", "study_class")
    for name in ("normal", "abnormal"):
        errors = [
            record["measures"]["n_significant"] + record["measures"]["n_insignificant"]
            for record in harmless(runs / "floor")
            if record["outcome"] == "scored"
            and classes[record["fields"]["study"]] == name
        ]
        floor = rows["errors", name]["floor"]
        assert floor["n"] == len(errors)
        assert floor["value"] == pytest.approx(sum(errors) / len(errors))
    # Another data set with the same ids has other references: groups have no floor.
    others = json.loads(REFS.read_text())
    for entry in others.values():
        entry["section_findings"] = f"Portable view. {entry['section_findings']}"
    refs = write_json(tmp_path / "refs.json", others)
    studies = read_pair(str(EXAMPLES / "preds.json"), str(refs), section="findings")
    scripted = Scripted(at_random(3, bad=0))
    with JudgeSession(
        rubrics.load("green"), scripted, RequestPolicy(), tmp_path
    ) as session:
        run(session, studies, out=tmp_path / "model", by=["study_class"])
    (tmp_path / "floor").symlink_to(runs / "floor")
    rows = figures(invoke, tmp_path)
    assert rows["errors", "normal"]["floor"]["n"] == 0
    assert rows["errors", "normal"]["corrected"]["reason"].startswith("no harmless")
    assert rows["errors", "all"]["floor"]["n"] > 0


def test_a_floor_of_another_judge_prompt_or_section_is_refused(
    runs: Path, tmp_path: Path
) -> None:
    floor = RunFolder.open(runs / "floor")
    for options, what in (
        ({"version": "2"}, "judge:scripted-1, judge:scripted-2"),
        ({"section": "report"}, "section:findings, section:report"),
    ):
        path = judged_reports(
            tmp_path / what[:8], at_random(3), EXAMPLES / "preds.json", **options
        )
        with pytest.raises(JudgeError, match=what):
            floor_of(RunFolder.open(path), [floor])
    model = RunFolder.open(runs / "model")
    with pytest.raises(JudgeError, match="not a run of candidates"):
        run_floor(model, model.summary(), runs / "model")
    only_errors = tmp_path / "errors"
    CliRunner().invoke(
        main,
        [
            "stress",
            "make",
            str(REFS),
            "--out",
            str(only_errors),
            "--changes",
            "removed",
        ],
    )
    path = judged(only_errors, tmp_path / "floor", at_random(3))
    with pytest.raises(JudgeError, match="no reworded reference"):
        floor_of(model, [RunFolder.open(path)])


def test_readers_have_no_floor(invoke: Invoke, runs: Path, tmp_path: Path) -> None:
    readings = EXAMPLES / "readers" / "readings.csv"
    out = tmp_path / "readers"
    invoke("readers", "import", "tidy", readings, "--section", "findings", "-o", out)
    reader = next(path.parent for path in out.glob("*/manifest.json"))
    done = invoke("rates", reader, "--floor", runs / "floor")
    assert done.exit_code == 2
    assert "readers have none" in done.stderr


def test_what_is_not_possible_is_said_and_not_cut_off(
    made: Path, tmp_path: Path, invoke: Invoke
) -> None:
    references = {
        entry["section_findings"] for entry in json.loads(REFS.read_text()).values()
    }

    def only_in_reworded(text: str) -> Said:
        return [] if text in references else [("a", True)]

    judged(made, tmp_path / "floor", only_in_reworded)
    copies = {
        study_id: {"model_prediction": entry["section_findings"]}
        for study_id, entry in json.loads(REFS.read_text()).items()
    }
    preds = write_json(tmp_path / "preds.json", copies)
    judged_reports(tmp_path / "model", only_in_reworded, preds)
    rows = figures(invoke, tmp_path)
    assert rows["errors", "all"]["corrected"]["value"] == -1.0
    assert rows["errors", "all"]["is_impossible"]
    share = rows["no_significant_error", "all"]["corrected"]
    assert share["value"] is None
    assert share["reason"] == "the judge finds such an error in every harmless change"
    printed = invoke(
        "rates", tmp_path / "model", "--floor", tmp_path / "floor", "--table", "floor"
    ).stdout
    assert "-1.000" in printed
    assert "(not possible)" in printed
    assert "below 0 is not possible: chance is at work" in " ".join(printed.split())


def test_models_of_one_judge_have_one_floor_that_cancels(
    runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    other = judged_reports(
        tmp_path / "other", at_random(3, bad=0), EXAMPLES / "preds_birch.json"
    )
    arguments = (f"a={runs / 'model'}", f"b={other}", "--floor", runs / "floor")
    done = invoke("compare", *arguments, "--format", "json", "--by", "study_class")
    data = json.loads(done.stdout)
    assert any("cancels in differences of means" in t for t in data["floor"]["notes"])
    plain = json.loads(
        invoke(
            "compare", *arguments[:2], "--format", "json", "--by", "study_class"
        ).stdout
    )
    assert plain["groups"] == data["groups"]
    floors = {
        (row["name"], row["model"]): row["floor"]["value"]
        for row in data["floor"]["figures"]
        if not row["group"]
    }
    assert floors["green_errors", "a"] == floors["green_errors", "b"] > 0
    table = invoke("compare", *arguments, "--table", "floor", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert {row["model"] for row in rows} == {"a", "b"}
    assert {row["row"] for row in rows} == {"all"}
    named = invoke("compare", *arguments[:2], "--table", "floor")
    assert named.exit_code == 2
    assert "--table floor goes with --floor" in named.stderr


def test_judges_that_differ_need_a_floor_each(
    made: Path, runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    answers = at_random(9, bad=0)
    other = judged_reports(
        tmp_path / "other", answers, EXAMPLES / "preds_birch.json", version="2"
    )
    arguments = [f"a={runs / 'model'}", f"b={other}", "--allow", "judge", "--no-tests"]
    done = invoke("compare", *arguments, "--floor", runs / "floor")
    assert done.exit_code == 2
    assert "judge:scripted-1, judge:scripted-2" in done.stderr
    second = judged(made, tmp_path / "floor", answers, version="2")
    both = ["--floor", runs / "floor", "--floor", second, "--format", "json"]
    data = json.loads(invoke("compare", *arguments, *both).stdout)
    assert any("do not cancel" in text for text in data["floor"]["notes"])
    floors = {
        row["model"]: row["floor"]["value"]
        for row in data["floor"]["figures"]
        if row["name"] == "green_errors"
    }
    assert floors["a"] != floors["b"]


def test_figures_have_a_line_at_the_floor_with_a_legend(runs: Path) -> None:
    compared, comparison = compare_runs(
        choices_of([f"a={runs / 'model'}"]), None, by=("study_class",)
    )
    floor = comparison_floor([runs / "floor"], compared, comparison.panel.draws)
    report = floor_report(comparison, compared, floor)
    drawn = {one.name: one for one in comparison_figures(comparison, (), floor).figures}
    bare = {one.name: one for one in comparison_figures(comparison).figures}
    assert "floor" not in json.dumps(bare["rates_green"].spec["data"])
    wanted = {
        (row.name, row.group.get("study_class")): row.floor.value.value
        for row in report.rows
    }
    rates = drawn["rates_green"]
    for row in rates.spec["data"]["values"]:
        group = row["panel"].partition(",")[0]
        assert row["floor"] == wanted["green_no_significant_error", group]
    (score,) = drawn["scores_green_errors"].spec["data"]["values"]
    assert score["floor"] == wanted["green_errors", None]
    for figure in (rates, drawn["scores_green_errors"]):
        ticks = [
            layer["encoding"]["opacity"]
            for layer in figure.spec["spec"]["layer"]
            if layer["mark"]["type"] == "tick"
        ]
        assert [tick["datum"] for tick in ticks] == [
            "floor: the judge on harmless changes"
        ]
        assert "The upright line is the floor" in figure.caption


def test_a_floor_and_readers_do_not_go_together(invoke: Invoke, runs: Path) -> None:
    done = invoke(
        "rates", runs / "model", "--floor", runs / "floor", "--readers", "readers"
    )
    assert done.exit_code == 2
    assert "give one of them" in done.stderr


def _bench() -> ModuleType:
    path = EXAMPLES.parent / "bench" / "bench_floor.py"
    spec = importlib.util.spec_from_file_location("bench_floor", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_floor"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.ci
@pytest.mark.parametrize("figure", ["mean", "share"])
@pytest.mark.parametrize("references", ["other", "same"])
def test_corrected_intervals_cover_the_truth(figure: str, references: str) -> None:
    bench = _bench()
    case = bench.Case(figure=figure, false_errors=0.5, references=references)
    # The standard error of 95% in 400 repetitions is 1.1 points.
    assert 0.915 < bench.coverage(case, n=100, m=40, repetitions=400) < 0.995
