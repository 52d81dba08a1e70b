"""A panel: what it makes of each number, a run like any other, and judges that do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from answered_runs import answered, green
from support import EXAMPLES, Invoke

import judge
from judge.pages.run import index, overview
from judge.running.folder import RunFolder
from judge.types import Failed

Counts = tuple[int, int, int]
"""Significant errors, insignificant ones, matched findings."""
# Significant errors of three judges: the majority sees none in a and c. GREEN is m / (m + s).
THREE: dict[str, dict[str, Counts]] = {
    "one": {"a": (0, 0, 2), "b": (1, 1, 1), "c": (0, 0, 0)},
    "two": {"a": (0, 2, 2), "b": (2, 1, 2), "c": (0, 0, 0)},
    "three": {"a": (1, 1, 2), "b": (0, 1, 1), "c": (0, 0, 0)},
}
ONE, OTHER = THREE["one"], THREE["three"]


def listed(n: int, what: str) -> str:
    return f"{n}. {'; '.join(f'{what} {at}' for at in range(1, n + 1))}" if n else "0."


def judged(
    path: Path,
    counts: Mapping[str, Counts | None],
    name: str | None = None,
    **more: Any,
) -> Path:
    """A judge's run with these counts by study; None is a study without an answer."""
    answers = {
        study_id: own
        and green(
            {"b": listed(own[0], "effusion")},
            {"b": listed(own[1], "scar")},
            listed(own[2], "heart"),
        )
        for study_id, own in counts.items()
    }
    fields = {"site": dict.fromkeys(counts, "north")}
    known = {"prompt": "green@1+aa", "fields": fields, **more}
    return answered(path, answers, judge=name or path.name, **known)


def panelled(invoke: Invoke, runs: list[Path], *words: object) -> dict[str, Any]:
    """The summary of the panel in the folder `out`."""
    done = invoke(
        "runs", "panel", *runs, "--out", "out", "--format", "json", "--rule", *words
    )
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def column(name: str) -> list[float]:
    found: list[float] = RunFolder.open(Path("out")).table()[name].tolist()
    return found


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return [judged(tmp_path / name, counts) for name, counts in THREE.items()]


# Numbers


def test_the_majority_is_the_middle_judge(invoke: Invoke, three: list[Path]) -> None:
    summary = panelled(invoke, three, "majority")
    assert column("n_significant") == [0, 1, 0]
    assert column("n_insignificant") == [1, 1, 0]
    assert column("green") == [1, 0.5, 0]
    rate = summary["statistics"]["no_significant_error"]
    assert (rate["k"], rate["n"]) == (2, 3)
    assert column("judges_n") == [3, 3, 3]
    assert column("judges_no_significant_error") == [2, 1, 3]
    assert column("judges_spread") == pytest.approx([1 / 3, 0.5, 0])


def test_the_mean_is_of_counts_scores_and_rates(
    invoke: Invoke, three: list[Path]
) -> None:
    summary = panelled(invoke, three, "mean")
    assert column("n_significant") == pytest.approx([1 / 3, 1, 0])
    assert column("green") == pytest.approx([8 / 9, (0.5 + 0.5 + 1) / 3, 0])
    # The judges' own rates are 2/3, 2/3 and 2/3, study by study 2/3, 1/3 and 1.
    assert summary["statistics"]["no_significant_error"]["value"] == pytest.approx(
        2 / 3
    )
    assert column("judges_no_significant_error") == pytest.approx([2 / 3, 1 / 3, 1])


def test_of_an_even_number_a_tie_is_an_error(invoke: Invoke, three: list[Path]) -> None:
    panelled(invoke, three[::2], "majority")
    assert column("n_significant") == [1, 1, 0]
    assert column("green") == pytest.approx([2 / 3, 0.5, 0])


# A run like any other


def test_a_panel_opens_as_any_run(invoke: Invoke, tmp_path: Path) -> None:
    for name, more in (("told", ()), ("untold", ("--no-context",))):
        files = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")
        assert invoke("crimson", *files, *more, "--out", name).exit_code == 0
    done = invoke(
        "runs", "panel", "told", "untold", "--rule", "majority", "--out", "out"
    )
    assert done.exit_code == 0, done.stderr
    for line in (
        *(
            "rates out --by site",
            "audit out ex-012",
            "page out --out page.html",
            "errors out",
        ),
        *("page one=out two=out --out compare.html", "runs ."),
    ):
        done = invoke(*line.split())
        assert done.exit_code == 0, (line, done.output)
    run = RunFolder.open(tmp_path / "out")
    assert "|context:context,none|" in run.signature
    columns = overview(run, run.table())["columns"]
    kinds = {one["name"]: one["kind"] for one in columns}
    assert kinds["judges_spread"] == "score"  # sorted and filtered by
    assert "judges_spread" in index(run.table(), run.rubric)["columns"]


def test_every_judges_errors_are_kept_and_it_is_not_read_again(
    invoke: Invoke, three: list[Path]
) -> None:
    panelled(invoke, three[:2], "majority")
    record = RunFolder.open(Path("out")).record("b")
    errors = [
        (i["text"], i["labels"]["said_by"]) for i in record["annotation"]["items"]
    ]
    assert ("effusion 1", ["judge1"]) in errors
    assert ("effusion 1", ["judge2"]) in errors
    assert ("heart 1", ["judge1"]) in errors
    assert "[two] Two reports." in record["annotation"]["explanation"]
    before = Path("out/manifest.json").read_bytes()
    assert invoke("runs", "rescore", "out").exit_code == 2
    assert Path("out/manifest.json").read_bytes() == before


def test_an_audit_tells_the_numbers_of_the_panel_from_the_judges_lists(
    invoke: Invoke, three: list[Path]
) -> None:
    panelled(invoke, three, "majority")
    text = invoke("audit", "out", "b").stdout
    assert "Clinically significant errors: 1 (3 listed)" in text
    assert "Matched findings: 1 (4 listed)" in text
    assert "- heart 2 (two)" in text


def test_the_order_of_the_judges_is_no_matter(
    tmp_path: Path, three: list[Path]
) -> None:
    one, two = (
        judge.panel(runs, tmp_path / name, rule="mean")
        for name, runs in (("forwards", three), ("backwards", three[::-1]))
    )
    assert one.signature == two.signature
    assert "|judge:panel:mean(" in one.signature
    for name in ("annotations.jsonl", "studies.csv", "summary.json"):
        assert (one.path / name).read_bytes() == (two.path / name).read_bytes()


def test_a_study_is_scored_where_all_judges_scored_it(
    invoke: Invoke, tmp_path: Path
) -> None:
    runs = [
        judged(tmp_path / "x", {**ONE, "a": None}),
        judged(tmp_path / "y", OTHER),
        judged(tmp_path / "z", {**OTHER, "a": None, "b": None}),
    ]
    summary = panelled(invoke, runs, "majority")
    assert (summary["n_studies"], summary["n_scored"], summary["n_failed"]) == (3, 1, 2)
    assert "2 studies are not scored by every judge: x 1, z 2" in summary["notes"]
    ends = {
        study.study_id: end for study, end in RunFolder.open(Path("out")).outcomes()
    }
    assert ends["a"] == Failed(
        "not scored by all judges", "x: failed, timeout; z: failed, timeout"
    )
    cited = invoke("cite", "out").stdout
    assert "by the rule majority" in cited
    assert "1 of 3 studies was scored" in cited


def test_means_of_rates_are_compared_with_such_means_alone(
    invoke: Invoke, three: list[Path]
) -> None:
    for rule in ("mean", "majority"):
        assert (
            invoke("runs", "panel", *three, "--rule", rule, "--out", rule).exit_code
            == 0
        )
    assert invoke("compare", "one=mean", "two=mean").exit_code == 0
    done = invoke("compare", "one=mean", "two=majority", "--allow", "judge")
    assert done.exit_code == 2
    assert "--rule majority" in done.stderr
    assert (
        invoke("compare", "one=one", "two=majority", "--allow", "judge").exit_code == 0
    )


# Judges that do not fit

Made = Callable[[Path], list[Path]]


def pair(**changed: Any) -> Made:
    """Two runs, the second with something that is not as in the first."""

    def made(folder: Path) -> list[Path]:
        own = {"counts": OTHER, **changed}
        return [judged(folder / "x", ONE), judged(folder / "y", **own)]

    return made


def a_panel(folder: Path) -> list[Path]:
    one, two = pair()(folder)
    judge.panel([one, two], folder / "p", rule="majority")
    return [folder / "p", one]


def two_rubrics(folder: Path) -> list[Path]:
    answers = dict.fromkeys(ONE, '{"corrections": []}')
    return [judged(folder / "x", ONE), answered(folder / "y", answers, "fineradscore")]


REFUSED: dict[str, tuple[Made, str]] = {
    "one run": (lambda folder: pair()(folder)[:1], "two judges or more"),
    "the same run": (lambda folder: pair()(folder)[:1] * 2, "x"),
    "one judge": (pair(name="x"), "--body seed=N"),
    "two rubrics": (two_rubrics, "rubric"),
    "two sections": (pair(section="impression"), "section"),
    "other reports": (pair(reference="No effusion."), "studies"),
    "a panel": (a_panel, "p"),
    "no run": (lambda folder: [folder, *pair()(folder)], "run"),
}


@pytest.mark.parametrize(("made", "named"), REFUSED.values(), ids=REFUSED)
def test_judges_that_do_not_fit_together(
    made: Made, named: str, invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke(
        "runs", "panel", *made(tmp_path), "--rule", "majority", "--out", "out"
    )
    assert done.exit_code == 2, done.output
    assert named in done.stderr
    assert not (tmp_path / "out").exists()


def test_categories_that_do_not_add_up_to_the_total_are_said(
    invoke: Invoke, tmp_path: Path
) -> None:
    """Three judges agree that there is an error in s0, and each gives it another category."""
    runs = []
    for name, letter in (("one", "a"), ("two", "b"), ("three", "c")):
        answers = {"s0": green({letter: "1. Nodule"}), "s1": green({"a": "1. Nodule"})}
        runs.append(answered(tmp_path / name, answers, judge=name, prompt="green@1+aa"))
    summary = panelled(invoke, runs, "majority")
    assert column("n_significant") == [1, 1]
    assert column("significant_a") == [0, 1]
    assert any(
        note.startswith("in 1 study the errors by category")
        for note in summary["notes"]
    )
    Path("out").rename("first")
    # Where the judges agree on the category, and by the mean, they add up.
    agreeing = panelled(
        invoke, [*runs[:1], answered_again(runs[0], tmp_path)], "majority"
    )
    assert not any("add up" in note for note in agreeing["notes"])


def answered_again(run: Path, folder: Path) -> Path:
    """The same answers by another judge."""
    answers = {"s0": green({"a": "1. Nodule"}), "s1": green({"a": "1. Nodule"})}
    del run
    return answered(folder / "again", answers, judge="again", prompt="green@1+aa")
