"""The report of a stress test: every figure against loops over the truth and the answers.

The judge here is a script. Then the truth that a run goes with, repeats, and what is printed.
"""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binomtest, f, t
from support import EXAMPLES, Invoke, write_json

import judge
from judge import rubrics
from judge.backends.base import Judge
from judge.backends.errors import StudyError
from judge.cli import main
from judge.running.asking import RequestPolicy
from judge.running.run import run
from judge.running.session import JudgeSession
from judge.stats.reliability import intraclass, within_variance
from judge.stress.changes import known
from judge.stress.report import report_of
from judge.stress.truth import read_truth
from judge.studies import read_pair
from judge.types import Completion, CompletionRequest, JudgeError, Message, Study

Z = 1.959963984540054

Said = list[tuple[str, int]] | str
"""The errors of an answer: letters of categories and a severity from 1 to 4; `bad` cannot be
read, `none` is no answer at all."""
Answers = Callable[[str], Said]


class Scripted(Judge):
    """Says of each candidate what a function says of its text."""

    runs_inline = True
    note = None

    def __init__(self, answers: Answers) -> None:
        self.name, self.version = "scripted", "scripted-1"
        self._answers = answers

    def request(self, study: Study) -> CompletionRequest:
        """Return the candidate as it is."""
        return CompletionRequest("script", self.version, (Message("user", study.candidate),))

    async def complete(self, request: CompletionRequest) -> Completion:
        said = self._answers(request.messages[0].content)
        if said == "none":
            raise StudyError("prompt too long")
        text = "Sorry?" if isinstance(said, str) else _written(said)
        return Completion(text, "stop", self.version)


def _written(said: list[tuple[str, int]]) -> str:
    names = {
        "a": "False finding",
        "b": "Missing finding",
        "c": "Wrong location",
        "d": "Wrong severity",
        "e": "Comparison not in the reference",
        "f": "Omitted comparison",
    }
    parts = ["[Explanation]:\nNone."]
    for title, grave in (("Significant", True), ("Insignificant", False)):
        parts.append(f"[Clinically {title} Errors]:")
        for letter, name in names.items():
            n = sum(of[0] == letter and (severity > 1) == grave for of, severity in said)
            parts.append(f"({letter}) {name}: {n}." + f" {'; '.join(['word'] * n)}" * bool(n))
    return "\n".join([*parts, "[Matched Findings]:\n2. one; two"])


def at_random(seed: int, *, bad: float = 0.1) -> Answers:
    """Answers that a seed and the text decide, some of which cannot be read."""

    def answer(text: str) -> Said:
        rng = random.Random(f"{seed} {text}")
        if (luck := rng.random()) < bad:
            return "bad" if luck < 0.7 * bad else "none"
        n = rng.choice((0, 0, 1, 1, 2, 3))
        of = ["".join(rng.sample("abcdef", rng.choice((1, 1, 2)))) for _ in range(n)]
        return [("".join(sorted(one)), rng.randint(1, 4)) for one in of]

    return answer


def judged(
    made: Path,
    out: Path,
    answers: Answers,
    *,
    prompt: str | None = None,
    repeat: int = 0,
) -> Path:
    """A run of a scripted judge on candidates, under a prompt and as a repeat of that name."""
    studies = read_pair(str(made / "preds.json"), str(made / "refs.json"))
    judge = Scripted(answers)
    with JudgeSession(rubrics.load("green"), judge, RequestPolicy(), out.parent) as session:
        run(session, studies, out=out)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    manifest["signature"] += f"|prompt:{prompt}|repeat:{repeat}"
    write_json(out / "manifest.json", {**manifest, "prompt": prompt, "repeat": repeat})
    return out


def line(study: str, change: str, group: str, **more: Any) -> dict[str, Any]:
    """A line of a truth, without errors."""
    usual = {"same_reading_as": None, "before": f"Lungs of {study}.", "k": 0, "errors": []}
    head = {"id": f"{study}/{change}", "study": study, "change": change, "group": group}
    return {**head, **usual, "after": f"{change} {study}.", **more}


def error(categories: str, *, significant: bool = True, doubtful: bool = False) -> dict[str, Any]:
    """An error of a truth."""
    return {"categories": [*categories], "significant": significant, "doubtful": doubtful}


def with_errors(study: str, change: str, group: str, *errors: dict[str, Any]) -> dict[str, Any]:
    """A line of a truth with errors."""
    return line(study, change, group, k=len(errors), errors=[*errors])


def written(folder: Path, lines: Sequence[dict[str, Any]]) -> Path:
    """Candidates as `judge stress make` writes them, but for its manifest."""
    folder.mkdir(parents=True)
    write_json(folder / "preds.json", {one["id"]: {"report": one["after"]} for one in lines})
    keys = ("study", "change", "group")
    refs = {
        one["id"]: {"report": one["before"], "patient": one["study"]}
        | {key: one[key] for key in keys}
        for one in lines
    }
    write_json(folder / "refs.json", refs)
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (folder / "truth.jsonl").write_text(text, "utf-8")
    return folder


def by_text(answers: dict[str, Said]) -> Answers:
    """The answers to candidates by their texts; one that is not named has no error."""
    return lambda text: answers.get(text, [])


GRAVE: Said = [("a", 4)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Candidates of the examples, and two readings of them. Read it; do not write to it."""
    out = tmp_path_factory.mktemp("made") / "made"
    command = ["stress", "make", str(EXAMPLES / "refs.json"), "--out", str(out)]
    assert CliRunner().invoke(main, command).exit_code == 0
    for at in range(2):
        judged(out, out / "runs" / str(at), at_random(at), repeat=at)
    return out


def errors_in(record: dict[str, Any]) -> list[tuple[set[str], bool]] | None:
    """The errors of a record, by the answer itself: categories, and whether it is grave."""
    if record["outcome"] != "annotated":
        return None
    return [
        ({key[-1]}, key.startswith("significant"))
        for key, n in record["annotation"]["stated_counts"].items()
        if key != "matched"
        for _ in range(n)
    ]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in path.read_text("utf-8").splitlines()]


class Brute:
    """The truth and what was said of it, read anew."""

    def __init__(self, made: Path, run: Path) -> None:
        self.truth = lines(made / "truth.jsonl")
        records = lines(run / "annotations.jsonl")
        self.outcome = {one["study_id"]: one["outcome"] for one in records}
        self.errors = {one["study_id"]: errors_in(one) for one in records}
        self.score = {
            one["study_id"]: one["measures"]["green"]
            for one in records
            if one["outcome"] == "annotated"
        }

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


@pytest.fixture(scope="module")
def both(made: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Brute, dict[str, Any]]:
    run = tmp_path_factory.mktemp("brute") / "run"
    judged(made, run, at_random(3))
    return Brute(made, run), report_of(run, made).plain()


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


# Which truth a run goes with, and what is wrong with a truth.

LINES = [
    line("s1", "identical", "unchanged"),
    line("s1", "reordered", "unchanged"),
    with_errors("s1", "denied", "error", error("b")),
    with_errors("s1", "errors_1", "count", error("b")),
    {**with_errors("s1", "instruction", "hostile", error("b")), "same_reading_as": "s1/errors_1"},
]


def damaged(at: int, **changed: Any) -> list[dict[str, Any]]:
    return [{**one, **changed} if n == at else one for n, one in enumerate(LINES)]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (damaged(2, errors=[error("z")]), "line 3"),
        (damaged(2, group="other"), "line 3, 'group'"),
        (damaged(2, k=2), "line 3, 'k'"),
        (damaged(4, same_reading_as="s2/errors_1"), "'s2/errors_1'"),
        ([], "no candidate"),
    ],
)
def test_what_is_damaged_is_said_with_its_line(
    tmp_path: Path, lines: list[dict[str, Any]], names: str
) -> None:
    file = tmp_path / "truth.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    with pytest.raises(JudgeError) as raised:
        read_truth(file)
    assert names in str(raised.value)
    assert str(file) in str(raised.value)
    file.write_text(json.dumps(LINES[0]) + "\n" + json.dumps(LINES[1])[:50], "utf-8")
    with pytest.raises(JudgeError, match="line 2"):
        read_truth(file)


# Repeats and prompts.

# Six targets by four judges [Shrout and Fleiss 1979, table 2].
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)


def test_the_published_example() -> None:
    found = intraclass(SHROUT_FLEISS)
    assert found.value == pytest.approx(0.17, abs=0.005)  # their table 4
    means = SHROUT_FLEISS.mean(axis=1)
    between = 4 * sum((one - means.mean()) ** 2 for one in means) / 5
    within = ((SHROUT_FLEISS - means[:, None]) ** 2).sum() / 18
    assert (between, within) == pytest.approx((11.24, 6.26), abs=0.01)  # their table 3
    ratio = between / within
    low, high = ratio / f.ppf(0.975, 5, 18), ratio * f.ppf(0.975, 18, 5)
    ends = (low - 1) / (low + 3), (high - 1) / (high + 3)
    assert (found.low, found.high) == pytest.approx(ends)
    assert within_variance(SHROUT_FLEISS) == pytest.approx(within)


def candidates(folder: Path, n_studies: int = 4, n_changes: int = 3) -> Path:
    names = ("identical", "reordered", "bulleted", "upper_case")[:n_changes]
    studies = [f"s{at}" for at in range(n_studies)]
    return written(folder, [line(s, name, "unchanged") for s in studies for name in names])


def said(folder: Path, made: Path, readings: list[Answers], *, prompts: list[str] | None = None):
    runs = [
        judged(made, folder / "runs" / str(at), of, repeat=0 if prompts else at, prompt=prompt)
        for at, of in enumerate(readings)
        for prompt in [prompts[at] if prompts else None]
    ]
    return report_of(runs, made).plain()


def test_repeats_by_hand(tmp_path: Path) -> None:
    """Four studies of three candidates; two candidates of one study flip, one answer is lost."""
    made = candidates(tmp_path / "made")
    grave: Said = [("a", 4)]
    answers: list[dict[str, Said]] = [
        {"identical s0.": grave, "reordered s0.": grave, "bulleted s3.": grave},
        {"reordered s0.": grave, "bulleted s3.": grave, "upper s9.": grave},
        {"identical s0.": grave, "bulleted s3.": [("a", 4), ("b", 1)], "identical s2.": "bad"},
    ]
    found = said(tmp_path, made, [by_text(one) for one in answers])
    one = found["stability"]["repeats"]
    assert found["repeats"] == 3
    assert found["stability"]["prompts"] is found["stability"]["why"] is None
    assert (one["n"], one["n_studies"], one["lost"]) == (11, 4, 1)
    assert (one["flips"]["k"], one["flips"]["n"]) == (2, 11)
    # The two are of one study: worth fewer than 11.
    p, sums = 2 / 11, [2 - 6 / 11, -6 / 11, -4 / 11, -6 / 11]
    worth = 11 / (4 / 3 * sum(x * x for x in sums) / 11 / (p * (1 - p)))
    z = 1.959963984540054
    middle = (p + z * z / 2 / worth) / (1 + z * z / worth)
    half = z / (1 + z * z / worth) * math.sqrt(p * (1 - p) / worth + z * z / 4 / worth**2)
    assert worth < 11
    ends = (one["flips"]["low"], one["flips"]["high"])
    assert ends == pytest.approx((middle - half, middle + half))
    # GREEN is 2 / (2 + 1) with the error and 1 without: two candidates move by a third.
    within = [np.var(v, ddof=1) for v in ([2 / 3, 1, 2 / 3], [2 / 3, 2 / 3, 1])]
    assert one["score_sd"] == pytest.approx(math.sqrt(sum(within) / 11))
    counts = np.zeros((11, 3))
    counts[0], counts[1], counts[2] = (1, 0, 1), (1, 1, 0), (1, 1, 2)
    assert one["icc"] == intraclass(counts).plain()
    clean = (1 / 3 + 1 / 3) / 11  # the mean variance of 0s and 1s: 1/3 of those that flip
    assert one["rate"]["k"] == 8  # of the first reading
    assert one["rate"]["again"] == pytest.approx(z * math.sqrt(clean / 11))
    mean = (2 * 1 / 3 + 8) / 11
    assert one["rate"]["share"] == pytest.approx(clean / (mean * (1 - mean)))
    assert [(each["of"], each["k"]) for each in one["rates"]] == [
        ("repeat 0", 8),
        ("repeat 1", 9),
        ("repeat 2", 9),
    ]


# What is printed.


def many(n: int, change: str, group: str, *errors: dict[str, Any]) -> list[dict[str, Any]]:
    return [with_errors(f"s{at:02}", change, group, *errors) for at in range(n)]


def verdict_of(folder: Path, lines: list[dict[str, Any]], answers: dict[str, Said]) -> list[str]:
    made = written(folder / "made", lines)
    return report_of(judged(made, folder / "run", by_text(answers)), made).plain()["verdict"]


def test_the_verdict_is_three_sentences_at_most(tmp_path: Path) -> None:
    lines = [
        *(one for name in ("denied", "affirmed") for one in many(10, name, "error", error("b"))),
        *(one for name in ("identical", "reordered") for one in many(10, name, "unchanged")),
        *many(4, "errors_1", "count", error("b")),
        *(
            {**one, "same_reading_as": f"{one['study']}/errors_1"}
            for one in many(4, "instruction", "hostile", error("b"))
        ),
    ]
    answers: dict[str, Said] = {f"denied s{at:02}.": GRAVE for at in range(10)}
    answers |= {f"affirmed s{at:02}.": GRAVE for at in range(1, 5)}
    answers |= {"affirmed s00.": "bad", "instruction s03.": GRAVE}
    answers |= {f"reordered s{at:02}.": GRAVE for at in range(5)}
    assert verdict_of(tmp_path / "a", lines, answers) == [
        "Sees 73.7% (14 of 19) of the single errors; 1 of 48 candidates without a reading.",
        "Finds errors in 50.0% (5 of 10) of the reports in other words.",
        "Hostile texts changed 1 of 4 readings (25.0%), instruction most.",
    ]
    assert verdict_of(tmp_path / "c", LINES[:1], {}) == ["No candidate with one error was read."]


def test_each_format_has_the_figures(invoke: Invoke, made: Path) -> None:
    report = judge.stress_report(made)
    found = json.loads(invoke("stress", "report", made, "--format", "json").stdout)
    assert found == json.loads(json.dumps(report.plain()))
    assert found["repeats"] == 2
    table = invoke("stress", "report", made).stdout
    text = invoke("stress", "report", made, "--format", "md").stdout
    side = next(one for one in found["detection"] if one["class"] == "side_swapped")["found"]
    shown = f"{side['k']}/{side['n']} {100 * side['rate']:.1f}%"
    assert f"| side swapped | {shown}" in text
    for one in (shown, found["signature"], *found["verdict"]):
        assert one in " ".join(table.split())
    rows = list(
        csv.DictReader(io.StringIO(invoke("stress", "report", made, "--format", "csv").stdout))
    )
    at = {(one["table"], one["name"], one["figure"]): one for one in rows}
    assert len(at) == len(rows) == len(report.figures)
    for one in found["detection"]:
        row = at["detection", one["class"], "right_category"]
        rate = one["right_category"]
        assert (row["k"], row["n"]) == (str(rate["k"]), str(rate["n"]))
        assert row["value"] == ("" if rate["rate"] is None else str(rate["rate"]))
        assert row["unparsed"] == str(one["lost"]["unparsed"])
    again = found["stability"]["repeats"]
    assert float(at["stability", "repeats", "icc"]["low"]) == again["icc"]["low"]
