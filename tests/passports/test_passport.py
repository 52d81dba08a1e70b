"""`judge passport`: what is known of a judge, against what was put into its runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answered_runs import answered, green
from scipy.stats import kendalltau
from support import EXAMPLES, Invoke

from judge.passports.criteria import CRITERIA, judged, verdict_of
from judge.run_files.passport import Passport, read_passport
from judge.stats.estimate import Estimate
from judge.stats.intervals import wilson
from judge.stress.report import stress_figures

REFERENCE, CANDIDATE = "The lungs are clear.", "There is a nodule in the left lung."
DIGITS = 12


def errors(n: int) -> str:
    """A GREEN answer with so many significant errors."""
    listed = "; ".join(f"Nodule {at} is not there" for at in range(n))
    return green({"a": f"{n}. {listed}"} if n else {})


def change(run: Path, **fields: Any) -> None:
    """Change fields of a run's manifest."""
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, **fields}))


def judge_run(path: Path, counts: Mapping[str, int | None], **fields: Any) -> Path:
    """A run of the judge test-1 with these significant errors by study."""
    answers = {key: None if n is None else errors(n) for key, n in counts.items()}
    answered(path, answers, reference=REFERENCE, candidate=CANDIDATE)
    change(path, finished="2026-01-01T00:00:00+00:00", sampling="temperature=0")
    change(path, **fields)
    return path


def readers_of(
    invoke: Invoke, folder: Path, counts: Mapping[str, Mapping[str, int]]
) -> Path:
    """Runs of readers with these significant errors by reader and study."""
    table = folder.with_suffix(".csv")
    names = ("study_id", "reader", "significant", "count", "reference", "candidate")
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for reader, by_study in counts.items():
            for key, n in by_study.items():
                writer.writerow((key, reader, "yes", n, REFERENCE, CANDIDATE))
    words = ("readers", "import", "tidy", table, "--section", "findings")
    done = invoke(*words, "--out", folder)
    assert done.exit_code == 0, done.stderr
    return folder


def passport_of(invoke: Invoke, *words: object, judge: str = "test-1") -> Passport:
    done = invoke("passport", judge, *words, "--out", "made", "--resamples", 200)
    assert done.exit_code == 0, done.stderr
    (path,) = Path("made").glob("*.json")
    found = read_passport(path)
    path.unlink()
    return found


def figures(found: Passport, modality: str = "") -> dict[str, Any]:
    (entry,) = [one for one in found.modalities if one.modality == modality]
    return {one.name: one.figure for one in (*entry.criteria, *entry.others)}


def tau_within(
    judge: Sequence[float], reader: Sequence[float], of: Sequence[str]
) -> float:
    """Kendall's tau-b over the pairs of one reference, by its definition."""
    right = ordered_by_judge = ordered_by_reader = 0
    for first, second in combinations(range(len(of)), 2):
        if of[first] != of[second]:
            continue
        by_judge = np.sign(round(judge[first] - judge[second], DIGITS))
        by_reader = np.sign(round(reader[first] - reader[second], DIGITS))
        right += by_judge * by_reader
        ordered_by_judge += by_judge != 0
        ordered_by_reader += by_reader != 0
    return float(right / np.sqrt(ordered_by_judge * ordered_by_reader))


def test_agreement_is_pooled_and_within_a_reference_of_all_runs(
    invoke: Invoke, tmp_path: Path
) -> None:
    """Two runs of other studies are one set; a report that two runs judged counts once."""
    rng = np.random.default_rng(4)
    ids = [f"s{study}/{model}" for study in range(40) for model in "ab"]
    hard = np.repeat(rng.poisson(1.5, 40), 2)
    ann = dict(zip(ids, (hard + rng.poisson(0.7, 80)).tolist(), strict=True))
    bob = dict(zip(ids, (hard + rng.poisson(0.7, 80)).tolist(), strict=True))
    judge = dict(zip(ids, (hard + rng.poisson(0.7, 80)).tolist(), strict=True))
    readers_of(
        invoke, tmp_path / "readers", {"ann": ann, "bob": dict(list(bob.items())[:60])}
    )
    judge_run(tmp_path / "runs/one", {key: judge[key] for key in ids[:50]})
    judge_run(tmp_path / "runs/two", {key: judge[key] for key in ids[50:]})
    # An older run of the same reports, with other answers.
    judge_run(
        tmp_path / "runs/old",
        dict.fromkeys(ids[:50], 3),
        finished="2025-01-01T00:00:00+00:00",
        repeat=1,
    )

    found = figures(passport_of(invoke, "runs", "--readers", "readers"))

    mean = []
    for key in ids:
        known = [one[key] for one in (ann, bob) if one is ann or key in ids[:60]]
        mean.append(sum(known) / len(known))
    by_judge = [judge[key] for key in ids]
    references = [key.partition("/")[0] for key in ids]
    expected = kendalltau(by_judge, mean).statistic
    assert found["agreement"].n == 80
    assert found["agreement"].value == pytest.approx(expected)
    assert found["agreement"].low < expected < found["agreement"].high
    within = tau_within(by_judge, mean, references)
    assert within < expected - 0.1  # what is hard is hard for all candidates
    assert found["agreement_within"].value == pytest.approx(within)
    assert found["agreement_within"].low < within < found["agreement_within"].high


def test_each_modality_has_its_own_agreement_and_verdict(
    invoke: Invoke, tmp_path: Path
) -> None:
    ids = {name: [f"{name}{n}" for n in range(30)] for name in ("xr", "ct")}
    for name, of_modality in ids.items():
        counts = {key: n % 5 for n, key in enumerate(of_modality)}
        judge_run(tmp_path / "runs" / name, counts, modality=[name])
    read = {key: n % 5 for n, key in enumerate(ids["xr"])}
    read |= {key: 4 - n % 5 for n, key in enumerate(ids["ct"])}
    readers_of(invoke, tmp_path / "readers", {"ann": read})

    found = passport_of(invoke, "runs", "readers")

    assert [entry.modality for entry in found.modalities] == ["ct", "xr"]
    assert figures(found, "xr")["agreement"].value == pytest.approx(1)
    assert figures(found, "ct")["agreement"].value == pytest.approx(-1)


def test_known_errors_and_false_alarms_are_those_of_the_stress_test(
    invoke: Invoke,
) -> None:
    words = ("stress", "run", EXAMPLES / "refs.json", "--limit", 4, "--out", "tested")
    assert invoke(*words).exit_code == 0
    expected = stress_figures("tested").data

    found = passport_of(invoke, "tested", "--assume-modality", "xr", judge="lexicon")

    shown = figures(found, "xr")
    for name, rate in (
        ("errors_found", expected["detection_all"]["found"]),
        ("right_category", expected["detection_all"]["right_category"]),
        ("false_alarms", expected["false_alarms_all"]["any"]),
    ):
        assert (shown[name].k, shown[name].n) == (rate["k"], rate["n"])
        assert (shown[name].low, shown[name].high) == (rate["low"], rate["high"])
    # Rules answer the same each time, which needs no second run.
    (entry,) = found.modalities
    answers = {one.name: one.answer for one in entry.criteria}
    assert answers["same_verdict"] == "yes"
    assert answers["agreement"] == "unknown"
    assert entry.verdict == "unknown"


def spent(asked: int, dollars: float | None = None) -> dict[str, Any]:
    return {"asked": asked, "from_cache": 0, "dollars": dollars, "retries": {}}


def test_repeats_unread_price_and_time(invoke: Invoke, tmp_path: Path) -> None:
    first = {f"s{n}": n % 2 for n in range(20)} | {"lost": None, "gone": None}
    # Two of twenty change their verdict; another number of errors is the same verdict.
    second = first | {"s0": 1, "s1": 0, "s3": 2}
    took = {
        "started": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:00:44+00:00",
        "spent": spent(22, dollars=0.11),
    }
    judge_run(tmp_path / "runs/first", first, **took)
    judge_run(tmp_path / "runs/second", second, repeat=1, spent=spent(22))
    # The cache's answers again are no second answer.
    judge_run(tmp_path / "runs/cached", first, repeat=2, spent=spent(0))

    found = figures(passport_of(invoke, "runs"))

    assert (found["same_verdict"].k, found["same_verdict"].n) == (18, 20)
    same = wilson(18, 20)
    assert (found["same_verdict"].low, found["same_verdict"].high) == (
        same.low,
        same.high,
    )
    # The same studies count once, however often they were judged.
    assert (found["unread"].k, found["unread"].n) == (2, 22)
    assert found["dollars_per_1000"].value == pytest.approx(1000 * 0.11 / 22)
    assert found["seconds"].value == pytest.approx(2)


def stress_run(path: Path, n: int, *, found: int, alarms: int, **fields: Any) -> None:
    """A run of test-1 over candidates with known errors, of `n` references each."""
    answers: dict[str, str] = {}
    names = ("study", "change", "group", "k", "truth", "significance", "base")
    values: dict[str, dict[str, str]] = {name: {} for name in names}
    for at in range(n):
        for name, group, count in (
            ("removed", "error", int(at < found)),
            ("reordered", "unchanged", int(at < alarms)),
        ):
            key = f"s{at}/{name}"
            answers[key] = errors(count)
            row = (f"s{at}", name, group, "1", "a", "significant", "")
            for field, value in zip(names, row, strict=True):
                values[field][key] = value
            values.setdefault("patient", {})[key] = f"s{at}"
    answered(path, answers, fields=values, reference="", candidate=CANDIDATE)
    change(
        path, finished="2026-01-01T00:00:00+00:00", sampling="temperature=0", **fields
    )


def test_a_judge_is_trusted_if_each_criterion_is_met(
    invoke: Invoke, tmp_path: Path
) -> None:
    ids = [f"r{study}/{model}" for study in range(50) for model in "ab"]
    counts = {key: n % 4 for n, key in enumerate(ids)}
    asked = {"modality": ["xr"], "spent": spent(100)}
    judge_run(tmp_path / "runs/first", counts, **asked)
    judge_run(tmp_path / "runs/second", counts, repeat=1, **asked)
    stress_run(tmp_path / "runs/stress", 60, found=58, alarms=1, modality=["xr"])
    read = counts | {"r0/a": 1, "r1/b": 0}
    readers_of(invoke, tmp_path / "readers", {"ann": read})

    (entry,) = passport_of(invoke, "runs", "readers").modalities
    assert {one.name: one.answer for one in entry.criteria} == dict.fromkeys(
        (criterion.name for criterion in CRITERIA), "yes"
    )
    assert (entry.verdict, entry.why) == ("trusted", "")

    # One criterion that is surely not met, by a threshold of the user's, is enough.
    words = ("runs", "readers", "--threshold", "errors_found=0.999")
    changed = passport_of(invoke, *words)
    (entry,) = changed.modalities
    assert entry.verdict == "not trusted"
    assert entry.why.startswith("known errors found: ")
    assert changed.thresholds["errors_found"] == 0.999
    assert "errors_found=0.999" in changed.signature

    # Without the second run it is not known whether the judge says the same again.
    change(tmp_path / "runs/second", spent=spent(0))
    (entry,) = passport_of(invoke, "runs", "readers").modalities
    assert (entry.verdict, [one.name for one in entry.against]) == (
        "unknown",
        ["same_verdict"],
    )


@pytest.mark.parametrize(
    ("name", "figure", "answer"),
    [
        ("agreement", Estimate(n=50, value=0.6, low=0.4, high=0.8), "yes"),
        ("agreement", Estimate(n=50, value=0.6, low=0.39, high=0.8), "unknown"),
        ("agreement", Estimate(n=49, value=0.6, low=0.5, high=0.8), "unknown"),
        ("agreement", Estimate(n=50, value=0.1, low=-0.1, high=0.39), "no"),
        ("agreement", Estimate(n=50, value=0.6, reason="too few"), "unknown"),
        ("agreement", Estimate(n=0, reason="none"), "unknown"),
        ("unread", wilson(0, 300), "yes"),
        ("unread", wilson(0, 50), "unknown"),
        ("unread", wilson(40, 300), "no"),
        ("false_alarms", wilson(5, 49), "unknown"),
        ("errors_found", wilson(100, 100), "yes"),
    ],
)
def test_the_whole_interval_decides(name: str, figure: Estimate, answer: str) -> None:
    (criterion,) = [one for one in CRITERIA if one.name == name]
    entry = judged(criterion, figure)
    assert entry.answer == answer
    assert bool(entry.why) == (answer != "yes")
    assert (
        verdict_of([entry])[0]
        == {
            "yes": "trusted",
            "no": "not trusted",
            "unknown": "unknown",
        }[answer]
    )


def test_what_is_of_another_judge_prompt_or_rubric_is_left_out_with_the_reason(
    invoke: Invoke, tmp_path: Path
) -> None:
    counts = {f"s{n}": n for n in range(3)}
    judge_run(tmp_path / "runs/newest", counts, finished="2026-02-01T00:00:00+00:00")
    judge_run(tmp_path / "runs/warm", counts, sampling="temperature=1")
    answered(tmp_path / "runs/other", {"s0": errors(1)}, judge="test-2")
    prompted = answered(
        tmp_path / "runs/prompt", {"s0": errors(1)}, prompt="own@1+ab12"
    )
    change(prompted, sampling="temperature=0")
    rubric = judge_run(tmp_path / "runs/rubric", counts)
    change(rubric, rubric="counts")
    (tmp_path / "runs/broken").mkdir()
    (tmp_path / "runs/broken/manifest.json").write_text("{")
    readers_of(invoke, tmp_path / "readers", {"ann": {"elsewhere": 1}})

    found = passport_of(invoke, "runs", "readers")

    reasons = {Path(one.path).name: one.reason for one in found.left_out}
    assert reasons.pop("reader-ann").startswith("no study was both judged and read")
    assert reasons.pop("broken").startswith("runs/broken/manifest.json is damaged")
    assert reasons == {
        "warm": "another sampling: temperature=1, unlike in the newest run, runs/newest",
        "other": "another judge: test-2",
        "prompt": "another prompt: own@1+ab12, unlike in the newest run, runs/newest",
        "rubric": "another rubric: counts",
    }
    assert [one.path for one in found.runs] == ["runs/newest"]

    of_prompt = passport_of(invoke, "runs", "--prompt", "own")
    assert [one.path for one in of_prompt.runs] == ["runs/prompt"]
    assert [prompt.digest for prompt in of_prompt.prompts] == ["ab12"]


def test_page_json_and_tables_say_the_same(invoke: Invoke, tmp_path: Path) -> None:
    judge_run(tmp_path / "judge-runs/one", {f"s{n}": n for n in range(12)})
    done = invoke("passport", "test-1", "--rubric", "green", "--format", "json")
    assert done.exit_code == 0, done.stderr
    (path,) = Path("judge-runs/passports").glob("*.json")
    (page,) = Path("judge-runs/passports").glob("*.html")
    assert json.loads(done.stdout) == json.loads(path.read_text())
    text = page.read_text()
    assert '<td class="words"><bdi>unknown</bdi></td>' in text
    assert "<script" not in text
    assert "12" in text
    # The passport itself is no run: it is made again in its place.
    again = invoke("passport", "test-1", "--format", "csv", "--table", "verdicts")
    assert again.exit_code == 0, again.stderr
    assert "not stated,unknown,none" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody",), "there is no run of the judge nobody by green"),
        (("lexicon", "nowhere"), "there is no folder nowhere"),
        (("lexicon", "--rubric", "nope"), "unknown rubric 'nope'"),
        (("lexicon", "--threshold", "x=1"), "there is no threshold 'x'"),
    ],
)
def test_a_mistake_is_one_sentence(
    invoke: Invoke, words: tuple[str, ...], said: str
) -> None:
    done = invoke("passport", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
