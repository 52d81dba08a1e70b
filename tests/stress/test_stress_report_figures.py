"""Every figure of a report against loops over annotations.jsonl and truth.jsonl."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest, t
from scriptedhelp import at_random, judged
from support import EXAMPLES

from judge.stress.changes import known
from judge.stress.report import report_of

Z = 1.959963984540054
CASES = [("green", "abcdef"), ("fineradscore", "abcdef"), ("toy_scale", "abcdef")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from click.testing import CliRunner

    from judge.cli import main

    out = tmp_path_factory.mktemp("made") / "made"
    command = ["stress", "make", str(EXAMPLES / "refs.json"), "--out", str(out)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    return out


def errors_in(record: dict[str, Any], rubric: str) -> list[tuple[set[str], bool]] | None:
    """The errors of a record, by the answer itself: categories, and whether it is grave."""
    if record["outcome"] != "annotated":
        return None
    annotation = record["annotation"]
    if rubric == "green":
        return [
            ({key[-1]}, key.startswith("significant"))
            for key, n in annotation["stated_counts"].items()
            if key != "matched"
            for _ in range(n)
        ]
    mild = {"severity1", "minor"}
    found = []
    for item in annotation["items"]:
        labels = {label for of in item["labels"].values() for label in of}
        found.append(({*item["labels"]["category"]}, not mild & labels))
    return found


SCORE = {"green": "green", "fineradscore": "fineradscore", "toy_scale": "points"}
HIGHER = {"green": True, "fineradscore": False, "toy_scale": True}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in path.read_text("utf-8").splitlines()]


def effect_of(base: list[tuple[set[str], bool]], said: list[tuple[set[str], bool]]) -> str | None:
    """What became of the errors of a reading, None for nothing."""
    tallies: list[dict[tuple[str, bool], int]] = [defaultdict(int), defaultdict(int)]
    for tally, errors in zip(tallies, (base, said), strict=True):
        for of, grave in errors:
            for letter in of:
                tally[letter, grave] += 1
    grave_before, grave_after = (sum(grave for _, grave in errors) for errors in (base, said))
    moved = len(said) - len(base), grave_after - grave_before
    if moved == (0, 0) and tallies[0] == tallies[1]:
        return None
    if max(moved) <= 0 and min(moved) < 0:
        return "fewer"
    return "more" if min(moved) >= 0 and max(moved) > 0 else "other"


class Brute:
    """The truth and what was said of it, read anew."""

    def __init__(self, made: Path, run: Path, rubric: str) -> None:
        self.truth = lines(made / "truth.jsonl")
        records = lines(run / "annotations.jsonl")
        self.outcome = {one["study_id"]: one["outcome"] for one in records}
        self.errors = {one["study_id"]: errors_in(one, rubric) for one in records}
        self.score = {
            one["study_id"]: one["measures"][SCORE[rubric]]
            for one in records
            if one["outcome"] == "annotated"
        }
        self.is_better = (lambda a, b: a > b) if HIGHER[rubric] else (lambda a, b: a < b)

    def of(self, *changes: str) -> list[dict[str, Any]]:
        return [one for one in self.truth if one["change"] in changes]

    def group(self, name: str) -> list[str]:
        """The changes of a group, in the order in which they are declared."""
        there = {one["change"] for one in self.truth if one["group"] == name}
        return [change for change in known() if change in there]


def check_rate(found: dict[str, Any], yes: list[tuple[str, bool]]) -> None:
    """A rate is right, its interval Wilson's of what its candidates are worth, by study."""
    n, k = len(yes), sum(one for _, one in yes)
    assert (found["k"], found["n"]) == (k, n)
    if not n:
        assert found["rate"] is found["low"] is found["high"] is None
        return
    p = k / n
    assert found["rate"] == pytest.approx(p)
    sums: dict[str, float] = defaultdict(float)
    for study, one in yes:
        sums[study] += one - p
    m = len(sums)
    if m == n:
        interval = binomtest(k, n).proportion_ci(method="wilson")
        assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high))
        return
    worth = float(m)
    if 0 < k < n:
        variance = m / (m - 1) * sum(one**2 for one in sums.values()) / n**2
        worth = n / max(1, variance * n / (p * (1 - p)))
    middle = (p + Z**2 / (2 * worth)) / (1 + Z**2 / worth)
    half = Z / (1 + Z**2 / worth) * math.sqrt(p * (1 - p) / worth + Z**2 / (4 * worth**2))
    low, high = max(0, middle - half), min(1, middle + half)
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-9)


def check_mean(found: dict[str, Any], values: list[tuple[str, float]]) -> None:
    n = len(values)
    assert found["n"] == n
    if not n:
        assert found["mean"] is found["low"] is found["high"] is None
        return
    mean = sum(value for _, value in values) / n
    assert found["mean"] == pytest.approx(mean, abs=1e-12)
    sums: dict[str, float] = defaultdict(float)
    for study, value in values:
        sums[study] += value - mean
    m = len(sums)
    if m < 2 or max(v for _, v in values) - min(v for _, v in values) < 1e-12:
        assert found["low"] is found["high"] is None
        return
    half = t.ppf(0.975, m - 1) * math.sqrt(m / (m - 1) * sum(one**2 for one in sums.values())) / n
    assert (found["low"], found["high"]) == pytest.approx((mean - half, mean + half))


@pytest.fixture(params=CASES, ids=lambda case: case[0])
def both(
    request: pytest.FixtureRequest, made: Path, tmp_path: Path
) -> tuple[Brute, dict[str, Any]]:
    rubric, letters = request.param
    run = judged(made, tmp_path / "run", at_random(3, letters=letters), rubric=rubric)
    return Brute(made, run, rubric), report_of(run, made).plain()


def test_detection(both: tuple[Brute, dict[str, Any]]) -> None:
    brute, found = both
    assert [one["class"] for one in found["detection"]] == brute.group("error")
    everything: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for one in found["detection"]:
        rates: dict[str, list[tuple[str, bool]]] = defaultdict(list)
        lost: dict[str, int] = defaultdict(int)
        for candidate in brute.of(one["class"]):
            said, (truth,) = brute.errors[candidate["id"]], candidate["errors"]
            if said is None:
                lost[brute.outcome[candidate["id"]]] += 1
                continue
            right = [grave for of, grave in said if of & {*truth["categories"]}]
            rates["found"].append((candidate["study"], bool(said)))
            rates["right_category"].append((candidate["study"], bool(right)))
            if not truth["doubtful"]:
                is_right = truth["significant"] in right
                rates["right_significance"].append((candidate["study"], is_right))
        for name in ("found", "right_category", "right_significance"):
            check_rate(one[name], rates[name])
            everything[name] += rates[name]
        assert one["n"] == len(rates["found"])
        assert one["made"] == len(brute.of(one["class"]))
        assert {key: n for key, n in one["lost"].items() if n} == dict(lost)
    for name in ("found", "right_category", "right_significance"):
        check_rate(found["detection_all"][name], everything[name])
    assert 0 < found["detection_all"]["found"]["rate"] < 1


def test_matrix(both: tuple[Brute, dict[str, Any]]) -> None:
    brute, found = both
    assert [one["class"] for one in found["matrix"]] == brute.group("error")
    for one in found["matrix"]:
        said = [brute.errors[candidate["id"]] for candidate in brute.of(one["class"])]
        read = [errors for errors in said if errors is not None]
        assert one["n"] == len(read)
        assert one["none"] == sum(not errors for errors in read)
        assert one["categories"] == {
            letter: sum(any(letter in of for of, _ in errors) for errors in read)
            for letter in "abcdef"
        }


def test_false_alarms(both: tuple[Brute, dict[str, Any]]) -> None:
    brute, found = both
    assert [(one["change"], one["group"]) for one in found["false_alarms"]] == [
        *((name, "unchanged") for name in brute.group("unchanged")),
        *((name, "slip") for name in brute.group("slip")),
    ]
    groups = [([one["change"]], one) for one in found["false_alarms"]]
    groups.append(
        ([n for n in brute.group("unchanged") if n != "identical"], found["false_alarms_all"])
    )
    for names, one in groups:
        every, grave, moved = [], [], []
        for candidate in brute.of(*names):
            study, said = candidate["study"], brute.errors[candidate["id"]]
            if said is None:
                continue
            every.append((study, bool(said)))
            grave.append((study, any(of for _, of in said)))
            if (before := brute.score.get(f"{study}/identical")) is not None:
                moved.append((study, brute.score[candidate["id"]] - before))
        check_rate(one["any"], every)
        check_rate(one["significant"], grave)
        if names == ["identical"]:
            assert one["score_change"] is None
        else:
            check_mean(one["score_change"], moved)


def test_monotone(both: tuple[Brute, dict[str, Any]]) -> None:
    brute, found = both
    studies = list(dict.fromkeys(one["study"] for one in brute.truth))
    wrong: dict[str, dict[str, bool]] = {"count": {}, "score": {}}
    for k, line in enumerate(found["monotone"]["by_k"]):
        ids = {study: f"{study}/errors_{k}" for study in studies}
        read = [s for s in studies if brute.errors.get(ids[s]) is not None]
        assert (line["k"], line["n"]) == (k, len(read))
        check_mean(line["count"], [(s, len(brute.errors[ids[s]] or ())) for s in read])
        check_mean(line["score"], [(s, brute.score[ids[s]]) for s in read])
        if not k:
            assert line["step_count"] is line["step_score"] is None
            continue
        before = {s: f"{s}/errors_{k - 1}" for s in studies}
        pairs = [s for s in read if brute.errors.get(before[s]) is not None]
        assert line["n_both"] == len(pairs)
        counts = [
            (s, len(brute.errors[ids[s]] or ()) - len(brute.errors[before[s]] or ())) for s in pairs
        ]
        scores = [(s, brute.score[ids[s]] - brute.score[before[s]]) for s in pairs]
        check_mean(line["step_count"], [(s, float(step)) for s, step in counts])
        check_mean(line["step_score"], scores)
        for s, step in counts:
            wrong["count"][s] = wrong["count"].get(s, False) or step < 0
        for s in pairs:
            better = brute.is_better(brute.score[ids[s]], brute.score[before[s]])
            wrong["score"][s] = wrong["score"].get(s, False) or better
    assert len(found["monotone"]["by_k"]) == 6
    for name, of in wrong.items():
        check_rate(found["monotone"]["wrong_way"][name], list(of.items()))
        assert found["monotone"]["wrong_way"][name]["k"] > 0


def test_hostile(both: tuple[Brute, dict[str, Any]]) -> None:
    brute, found = both
    listed, table = [], {name: defaultdict(int) for name in brute.group("hostile")}
    for candidate in [one for name in table for one in brute.of(name)]:
        base, said = (brute.errors[candidate[key]] for key in ("same_reading_as", "id"))
        if base is None or brute.outcome[candidate["id"]] == "failed":
            continue
        counts = table[candidate["change"]]
        counts["n"] += 1
        effect = "unreadable" if said is None else effect_of(base, said)
        if effect is None:
            continue
        counts[effect] += 1
        listed.append((candidate["id"], candidate["same_reading_as"], effect, base, said))
    assert [(one["id"], one["base"], one["effect"]) for one in found["hostile"]] == [
        one[:3] for one in listed
    ]
    for one, (*_, base, said) in zip(found["hostile"], listed, strict=True):
        assert one["before"]["errors"] == len(base)
        assert one["before"]["level"] == sum(grave for _, grave in base)
        assert (one["after"] is None) == (said is None)
        if said is not None:
            letters = {x: sum(x in of for of, _ in said) for x in "abcdef"}
            assert one["after"]["categories"] == {x: n for x, n in letters.items() if n}
    for one in found["hostile_all"]:
        counts = table[one["change"]]
        assert one["n"] == one["changed"]["n"] == counts.pop("n")
        assert one["changed"]["k"] == sum(counts.values())
        assert {name: one[name] for name in counts} == dict(counts)
    assert {one["effect"] for one in found["hostile"]} == {"fewer", "more", "other", "unreadable"}
