"""What a stress test reports: every rate against loops over the answers of a scripted judge."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from faultserver import Behaviour, FaultServer
from scripted_judge import at_random, judged
from support import EXAMPLES, Invoke

import judge
from judge import rubrics
from judge.running.folder import RunFolder
from judge.stats.intervals import wilson
from judge.stress.report import scale_of
from judge.types import JudgeError

REFS = EXAMPLES / "refs.json"
FEW = ("--changes", "identical,reordered,denied,instruction", "-n", "4")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from click.testing import CliRunner

    from judge.cli import main

    folder = tmp_path_factory.mktemp("made") / "made"
    done = CliRunner().invoke(main, ["stress", "make", str(REFS), "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


def said_of(record: dict[str, Any]) -> list[tuple[str, bool]] | None:
    """The errors of a record's annotation, None where it was not scored."""
    if record["outcome"] != "scored":
        return None
    items = [
        item["labels"]
        for item in record["annotation"]["items"]
        if item["kind"] == "error"
    ]
    return [(of["category"][0], of["significance"][0] == "significant") for of in items]


def test_every_rate_is_that_of_loops_over_the_answers(
    made: Path, tmp_path: Path
) -> None:
    path = judged(made, tmp_path / "run", at_random(1))
    report = judge.stress_report(path).plain()
    records = {record["study_id"]: record for record in RunFolder.open(path).records()}
    said = {name: said_of(record) for name, record in records.items()}
    by_change: dict[str, list[str]] = {}
    for name, record in records.items():
        by_change.setdefault(record["fields"]["change"], []).append(name)

    def check(rate: dict[str, Any], hits: list[bool]) -> None:
        assert (rate["k"], rate["n"]) == (sum(hits), len(hits))
        wanted = wilson(sum(hits), len(hits))
        if (
            len({records[name]["reference"] for name in records}) == 15
        ):  # one study each
            assert rate["low"] == pytest.approx(wanted.low)
            assert rate["high"] == pytest.approx(wanted.high)

    assert report["detection"]
    for row in report["detection"]:
        names = [name for name in by_change[row["class"]] if said[name] is not None]
        truth = {n: records[n]["fields"]["truth"].split(",") for n in names}
        grades = {n: records[n]["fields"]["significance"] for n in names}
        sure = [name for name in names if grades[name] != "doubtful"]
        check(row["found"], [bool(said[n]) for n in names])
        check(
            row["right_category"],
            [any(c in truth[n] for c, _ in said[n] or ()) for n in names],
        )
        check(
            row["right_significance"],
            [
                any(
                    c in truth[n] and s == (grades[n] == "significant")
                    for c, s in said[n] or ()
                )
                for n in sure
            ],
        )
        lost = [
            records[n]["outcome"] for n in by_change[row["class"]] if said[n] is None
        ]
        assert row["made"] == len(names) + len(lost)
        assert row["lost"] == {
            "unparsed": lost.count("unparsed"),
            "failed": lost.count("failed"),
            "undefined": 0,
        }
    for row in report["false_alarms"]:
        names = [name for name in by_change[row["change"]] if said[name] is not None]
        check(row["any"], [bool(said[n]) for n in names])
        check(
            row["significant"],
            [any(level for _, level in said[n] or ()) for n in names],
        )
        before = {
            records[n]["fields"]["study"]: records[n] for n in by_change["identical"]
        }
        moves = [
            records[n]["measures"]["green"]
            - before[records[n]["fields"]["study"]]["measures"]["green"]
            for n in names
            if said[before[records[n]["fields"]["study"]]["study_id"]] is not None
        ]
        if row["change"] != "identical":
            assert row["score_change"]["mean"] == pytest.approx(sum(moves) / len(moves))
    for row in report["hostile_all"]:
        pairs = [
            (name, records[name]["fields"]["base"]) for name in by_change[row["change"]]
        ]
        known = [
            (a, b)
            for a, b in pairs
            if said[b] is not None
            and (said[a] is not None or records[a]["outcome"] == "unparsed")
        ]
        hits = [
            said[a] is None or sorted(said[a] or ()) != sorted(said[b] or ())
            for a, b in known
        ]
        check(row["changed"], hits)
        assert sum(
            row[effect] for effect in ("fewer", "more", "other", "unreadable")
        ) == sum(hits)


def most_matched(truths: list[set[str]], said: list[str]) -> int:
    """The most errors put in that have an error said of their own, by trying all orders."""
    best = 0
    for order in permutations(range(len(truths))):
        left = list(said)
        hits = 0
        for at in order:
            # The rarest first would not always do: each choice is tried by another order.
            for category in sorted(truths[at], key=left.count):
                if category in left:
                    left.remove(category)
                    hits += 1
                    break
        best = max(best, hits)
    return best


def test_several_errors_are_counted_and_matched_one_by_one(
    made: Path, tmp_path: Path
) -> None:
    path = judged(made, tmp_path / "run", at_random(5))
    report = judge.stress_report(path).plain()
    records = {record["study_id"]: record for record in RunFolder.open(path).records()}
    assert [row["change"] for row in report["several"]] == [
        f"errors_{n}" for n in range(2, 6)
    ]
    hits = total = 0
    for row in report["several"]:
        of_row = [r for r in records.values() if r["fields"]["change"] == row["change"]]
        read = [r for r in of_row if said_of(r) is not None]
        said = [[category for category, _ in said_of(r) or ()] for r in read]
        n = int(row["change"][-1])
        assert (row["made"], row["n"]) == (len(of_row), len(read))
        assert row["put_in"] == n
        assert row["counted"]["mean"] == pytest.approx(sum(map(len, said)) / len(said))
        assert row["found"]["k"] == sum(map(bool, said))
        assert row["all_counted"]["k"] == sum(len(one) == n for one in said)
        matched = 0
        for record, categories in zip(read, said, strict=True):
            truths = [
                {*truth.split(",")} for truth in record["fields"]["truth"].split(";")
            ]
            assert len(truths) == n
            matched += most_matched(truths, categories)
        right = row["right_category"]
        assert (right["k"], right["n"]) == (matched, n * len(read))
        hits, total = hits + matched, total + n * len(read)
    assert hits > 0
    whole = report["several_all"]["right_category"]
    assert (whole["k"], whole["n"]) == (hits, total)


def test_a_changed_reading_says_what_it_was_and_is(
    invoke: Invoke, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = judged(made, tmp_path / "run", at_random(4))
    report = judge.stress_report(path).plain()
    records = {record["study_id"]: record for record in RunFolder.open(path).records()}
    assert len(report["hostile"]) > 5
    for row in report["hostile"]:
        assert row["id"] == f"{row['study']}/{row['change']}"
        assert row["base"] == f"{row['study']}/errors_1"
        for part, name in (("before", row["base"]), ("after", row["id"])):
            said = said_of(records[name])
            if said is None:
                assert row["effect"] == "unreadable"
                assert {*row[part].values()} == {None}
                continue
            assert row[part]["errors"] == len(said)
            assert row[part]["level"] == sum(level for _, level in said)
            assert row[part]["score"] == records[name]["measures"]["green"]
    words = ("stress", "report", path, "--table", "changed")
    rows = list(csv.DictReader(io.StringIO(invoke(*words, "--format", "csv").stdout)))
    assert len(rows) == len(report["hostile"])
    assert " of " not in invoke(*words).stdout.splitlines()[0]
    monkeypatch.setattr("judge.tables.stress._MOST_CHANGED", 5)
    assert f"5 of {len(rows)}" in invoke(*words).stdout


def test_what_could_not_be_made_is_in_the_report_of_the_folder(
    invoke: Invoke, tmp_path: Path
) -> None:
    assert invoke("stress", REFS, "--out", "made", *FEW).exit_code == 0
    truth = [
        json.loads(line)
        for line in (tmp_path / "made" / "truth.jsonl").read_text().splitlines()
    ]
    (run_,) = runs_in(tmp_path / "made")
    for source in ("made", run_.path):
        printed = invoke("stress", "report", source, "--format", "json").stdout
        found = {row["change"]: row for row in json.loads(printed)["not_made"]}
        assert {*found} == {line["change"] for line in truth}
        for name, row in found.items():
            lines = [line for line in truth if line["change"] == name]
            assert row["made"] == sum(line["made"] for line in lines)
            assert row["not_made"] == len(lines) - row["made"]
            assert sum(row["reasons"].values()) == row["not_made"]
    assert found["denied"]["not_made"] > 0
    shown = invoke("stress", "report", "made", "--table", "not_made").stdout
    assert "no sentence says of one known finding" in shown
    # A folder of a time before the file, and one whose file is damaged.
    path = tmp_path / "made" / "truth.jsonl"
    path.write_text("{}\n")
    done = invoke("stress", "report", "made")
    assert done.exit_code == 2
    assert "truth.jsonl" in done.stderr
    path.unlink()
    done = invoke("stress", "report", "made", "--format", "json")
    assert json.loads(done.stdout)["not_made"] is None


@pytest.mark.parametrize(
    ("rubric", "level", "milder"),
    [
        ("green", "significant", ("n_insignificant",)),
        ("fineradscore", "actionable", ("n_severity1",)),
        (
            *("crimson", "actionable"),
            ("n_not_actionable_not_urgent", "n_benign_expected", "n_negligible"),
        ),
        ("facts", "", ()),
    ],
)
def test_the_level_is_the_least_that_the_rubric_names(
    rubric: str, level: str, milder: tuple[str, ...]
) -> None:
    scale = scale_of(rubrics.load(rubric))
    assert scale.level_name == level
    assert {*scale.errors} - {*scale.level} == {*milder}


def test_repeats_by_hand(made: Path, tmp_path: Path) -> None:
    paths = [
        judged(made, tmp_path / f"r{k}", at_random(k, bad=0.05), k) for k in range(3)
    ]
    found = judge.stress_report(paths).plain()["stability"]
    each = [
        {r["study_id"]: r for r in RunFolder.open(path).records()} for path in paths
    ]
    names = [n for n in each[0] if all(run[n]["outcome"] == "scored" for run in each)]
    assert (found["n"], found["n"] + found["lost"]) == (len(names), len(each[0]))
    clean = [[run[n]["measures"]["n_significant"] == 0 for run in each] for n in names]
    assert found["flips"]["k"] == sum(0 < sum(row) < 3 for row in clean)
    import numpy as np

    scores = np.array([[run[n]["measures"]["green"] for run in each] for n in names])
    assert found["score_sd"] ** 2 == pytest.approx(scores.var(axis=1, ddof=1).mean())
    with pytest.raises(JudgeError, match="same reading"):
        judge.stress_report([paths[0], paths[0]])
    other = judged(made, tmp_path / "other", at_random(1), version="2")
    with pytest.raises(JudgeError, match="scripted-2"):
        judge.stress_report([paths[0], other])


def test_a_run_of_other_studies_is_refused(
    invoke: Invoke, judged_examples: Path
) -> None:
    done = invoke("stress", "report", judged_examples)
    assert done.exit_code == 2
    assert str(judged_examples) in done.stderr


def test_each_format_has_the_figures(
    invoke: Invoke, made: Path, tmp_path: Path
) -> None:
    path = judged(made, tmp_path / "run", at_random(2))
    report = json.loads(invoke("stress", "report", path, "--format", "json").stdout)
    rows = list(
        csv.DictReader(
            io.StringIO(invoke("stress", "report", path, "--format", "csv").stdout)
        )
    )
    (row,) = [row for row in rows if row["name"] == "denied"]
    (found,) = [r["found"] for r in report["detection"] if r["class"] == "denied"]
    assert float(row["found"]) == found["rate"]
    share = f"{found['k']}/{found['n']}"
    for form in ("table", "md"):
        text = invoke("stress", "report", path, "--format", form).stdout
        assert share in next(line for line in text.splitlines() if "denied" in line)


# Runs.


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


def asked_of(server: FaultServer, *more: object) -> tuple[object, ...]:
    return (
        *FEW,
        "--judge",
        "model-x",
        "--base-url",
        server.url,
        "--cache",
        "cache",
        *more,
    )


def runs_in(folder: Path) -> list[RunFolder]:
    return [RunFolder.open(path) for path in sorted((folder / "runs").iterdir())]


def test_the_built_in_judge_is_run_once_and_found_again(
    invoke: Invoke, tmp_path: Path
) -> None:
    words = ("stress", REFS, "--out", "made", *FEW, "--repeats", "3")
    done = invoke(*words)
    assert done.exit_code == 0, done.stderr
    (run_,) = runs_in(tmp_path / "made")
    assert run_.summary().by == ["change"]
    files = {
        path: path.stat().st_mtime_ns for path in (tmp_path / "made").glob("*.jsonl")
    }
    again = invoke(*words)
    assert (again.exit_code, again.stdout) == (0, done.stdout)
    assert files == {path: path.stat().st_mtime_ns for path in files}
    done = invoke(*words, "--draw-seed", 2)
    assert done.exit_code == 2
    assert "made" in done.stderr
    preds = tmp_path / "made" / "preds.jsonl"
    preds.write_text(preds.read_text() + "\n")
    assert "preds.jsonl" in invoke(*words).stderr


def test_each_repeat_asks_for_itself_and_goes_on_without_a_question(
    invoke: Invoke, server: FaultServer, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    words = ("stress", REFS, "--out", "made", *asked_of(server, "--repeats", "3"))
    assert invoke(*words, "--dry-run").exit_code == 0
    assert (made.exists(), server.stats().requests) == (False, 0)
    done = invoke(*words)
    assert done.exit_code == 0, done.stderr
    runs = runs_in(made)
    assert {run.repeat for run in runs} == {0, 1, 2}
    assert len({run.signature for run in runs}) == 3
    n = server.stats().requests
    again = invoke(*words)
    assert (again.exit_code, again.stdout, server.stats().requests) == (
        0,
        done.stdout,
        n,
    )
    assert judge.stress_report(made).plain()["stability"]["repeats"] == 3
