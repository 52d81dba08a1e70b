"""A panel's run: opened as any other, refused where judges do not fit together."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from panelhelp import Counts, judged
from support import EXAMPLES, Invoke, write_json

import judge
from judge.cli import main
from judge.report.overview import index, overview
from judge.running.folder import Run
from judge.types import Failed, JudgeError

GIVEN: dict[str, Counts | None] = {"a": (0, 0, 2), "b": (1, 1, 1), "c": (0, 0, 0)}
OTHER: dict[str, Counts | None] = {"a": (1, 0, 1), "b": (1, 0, 1), "c": (0, 0, 3)}


@pytest.fixture
def lexicons(invoke: Invoke, tmp_path: Path) -> list[Path]:
    """Runs by the built-in judge and by one that takes nothing for grave, on real reports."""
    from importlib.resources import files

    from judge.backends import lexicon

    words = (files(lexicon) / "lexicon.yaml").read_text("utf-8")
    mild = words.replace("severity: 3", "severity: 1").replace("severity: 2", "severity: 1")
    (tmp_path / "mild.yaml").write_text(mild, "utf-8")
    pair = [EXAMPLES / "preds_alder.json", EXAMPLES / "refs.json"]
    for out, name in (("usual", "lexicon"), ("mild", "lexicon:mild.yaml")):
        done = invoke("fineradscore", *pair, "--judge", name, "--out", out)
        assert done.exit_code == 0, done.stderr
    return [tmp_path / "usual", tmp_path / "mild"]


def test_a_panel_opens_as_any_run(invoke: Invoke, tmp_path: Path, lexicons: list[Path]) -> None:
    done = invoke("panel", *lexicons, "--rule", "majority", "--out", "panel")
    assert done.exit_code == 0, done.stderr
    assert "majority of lexicon and lexicon:mild.yaml" in done.stdout
    for words in (
        ["rates", "panel", "--by", "site"],
        ["audit", "panel"],
        ["audit", "panel", "--html", "page.html"],
        ["errors", "panel"],
        ["compare", "one=panel", "two=panel", "--html", "compare.html"],
        ["runs", "."],
    ):
        done = invoke(*words)
        assert done.exit_code == 0, (words, done.output)
    shown = invoke("audit", "panel", "ex-015").stdout
    assert "lexicon: " in shown
    assert "lexicon:mild.yaml: " in shown
    assert "Scores: highest severity 4.000" in shown
    run = Run(tmp_path / "panel")
    found = overview(run.summary(), run.table(), run.rubric)
    columns = {one["name"]: one for one in found["columns"]}
    assert columns["judges_minority"]["kind"] == "score"  # sorted and filtered by
    assert "judges_minority" in index(run.table(), run.rubric)["columns"]


def test_every_judges_errors_are_kept_with_the_judge(invoke: Invoke, tmp_path: Path) -> None:
    runs = [judged(tmp_path / "x", GIVEN, "x"), judged(tmp_path / "y", OTHER, "y")]
    done = invoke("panel", *runs, "--rule", "any", "--out", "out")
    assert done.exit_code == 0, done.stderr
    record = Run(tmp_path / "out").record("b")
    errors = [(i["text"], i["labels"]["said_by"]) for i in record["annotation"]["items"]]
    assert ("effusion 1", ["judge1"]) in errors
    assert ("effusion 1", ["judge2"]) in errors
    assert ("x: heart 1", ["judge1"]) in errors
    assert "[y] Two reports. y" in record["annotation"]["explanation"]
    assert record["answer"] is None


def test_the_order_of_the_judges_is_no_matter(invoke: Invoke, tmp_path: Path) -> None:
    runs = [judged(tmp_path / "x", GIVEN, "x"), judged(tmp_path / "y", OTHER, "y")]
    for out, order in (("one", runs), ("two", runs[::-1])):
        assert invoke("panel", *order, "--rule", "mean", "--out", out).exit_code == 0
    one, two = (Run(tmp_path / out) for out in ("one", "two"))
    assert one.signature == two.signature
    assert "|judge:panel:mean(" in one.signature
    for name in ("annotations.jsonl", "studies.csv", "summary.json"):
        assert (one.path / name).read_bytes() == (two.path / name).read_bytes()


def test_a_study_is_scored_where_all_judges_scored_it(invoke: Invoke, tmp_path: Path) -> None:
    runs = [
        judged(tmp_path / "x", {**GIVEN, "a": None}, "x"),
        judged(tmp_path / "y", OTHER, "y"),
        judged(tmp_path / "z", {**OTHER, "a": None, "b": None}, "z"),
    ]
    done = invoke("panel", *runs, "--rule", "majority", "--out", "all", "--format", "json")
    summary = json.loads(done.stdout)
    assert (summary["n_studies"], summary["n_scored"], summary["n_failed"]) == (3, 1, 2)
    assert summary["reasons"] == {"failed: not scored by all judges": 2}
    assert "2 studies are not scored, since judges failed: x 1, z 2" in summary["notes"]
    ends = {study.study_id: end for study, end in Run(tmp_path / "all").outcomes()}
    told = "x: failed, timeout; z: failed, timeout"
    assert ends["a"] == Failed("not scored by all judges", told)

    fewer = ["--min-judges", "2", "--out", "two", "--format", "json"]
    summary = json.loads(invoke("panel", *runs, "--rule", "majority", *fewer).stdout)
    assert (summary["n_scored"], summary["n_failed"]) == (2, 1)
    assert summary["reasons"] == {"failed: scored by fewer than 2 judges": 1}
    assert Run(tmp_path / "two").table()["judges_n"].tolist()[1:] == [2, 3]
    assert "+least2|" in summary["signature"]


def test_means_of_rates_are_compared_with_such_means_alone(invoke: Invoke, tmp_path: Path) -> None:
    runs = [judged(tmp_path / "x", GIVEN, "x"), judged(tmp_path / "y", OTHER, "y")]
    for rule in ("mean", "any"):
        assert invoke("panel", *runs, "--rule", rule, "--out", rule).exit_code == 0
    done = invoke("compare", "one=mean", "two=mean", "--format", "json")
    assert done.exit_code == 0, done.output
    done = invoke("compare", "one=mean", "two=any", "--allow", "judge")
    assert done.exit_code == 2
    assert "make it with --rule majority" in done.stderr
    assert invoke("compare", "one=x", "two=any", "--allow", "judge").exit_code == 0


def test_a_panel_is_not_read_again(invoke: Invoke, tmp_path: Path) -> None:
    runs = [judged(tmp_path / "x", GIVEN, "x"), judged(tmp_path / "y", OTHER, "y")]
    assert invoke("panel", *runs, "--rule", "any", "--out", "out").exit_code == 0
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    done = invoke("rescore", "out")
    assert done.exit_code == 2
    assert "rescore those and make it again with judge panel" in done.stderr
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before


Made = Callable[[Path], list[Path]]


def pair(**changed: object) -> Made:
    """Two runs, the second with something that is not as in the first."""

    def made(folder: Path) -> list[Path]:
        own = {"counts": OTHER, "judge": "y"} | changed
        return [judged(folder / "x", GIVEN, "x"), judged(folder / "y", **own)]  # type: ignore[arg-type]

    return made


def another_rubric(folder: Path) -> list[Path]:
    one, two = pair()(folder)
    manifest = json.loads((two / "manifest.json").read_text())
    manifest["signature"] = manifest["signature"].replace("green:2", "fineradscore:2")
    write_json(two / "manifest.json", manifest)
    return [one, two]


def a_panel(folder: Path) -> list[Path]:
    one, two = pair()(folder)
    judge.panel([one, two], folder / "p", rule="any")
    return [folder / "p", one]


REFUSED: dict[str, tuple[Made, str]] = {
    "one run": (lambda folder: pair()(folder)[:1], "the runs of two judges or more"),
    "the same run": (lambda folder: pair()(folder)[:1] * 2, "are the same run"),
    "two rubrics": (another_rubric, "have one rubric: it is green:2 in"),
    "two sections": (pair(section="impression"), "have one section: it is findings in"),
    "two prompts": (pair(prompt="other@1+bb"), "different prompts: green@1+aa in"),
    "other reports": (pair(reference="No effusion."), "another reference in"),
    "fewer studies": (pair(counts={"a": (0, 0, 1)}), "lacks 2 studies of"),
    "more studies": (pair(counts={**OTHER, "d": (0, 0, 1)}), "'d' among them"),
    "a panel": (a_panel, "is made of several runs already"),
    "no run": (lambda folder: [folder, *pair()(folder)], "is a folder of runs"),
}


@pytest.mark.parametrize(("made", "words"), REFUSED.values(), ids=REFUSED)
def test_judges_that_do_not_fit_together(
    made: Made, words: str, invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke("panel", *made(tmp_path), "--rule", "majority", "--out", "out")
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_prompts_may_differ_where_one_says_so(invoke: Invoke, tmp_path: Path) -> None:
    runs = pair(prompt="other@1+bb")(tmp_path)
    more = ["--rule", "any", "--allow", "prompt", "--out", "out"]
    assert invoke("panel", *runs, *more).exit_code == 0
    assert Run(tmp_path / "out").manifest["prompt"] == "green, other"


def test_from_python(tmp_path: Path) -> None:
    runs = pair()(tmp_path)
    found = judge.panel(runs, tmp_path / "out", rule="majority", by="site")
    assert found.rates("site")["n_scored"].tolist() == [3, 3]
    with pytest.raises(JudgeError, match="--min-judges 3: there are 2 judges"):
        judge.panel(runs, tmp_path / "other", rule="majority", min_judges=3)
    with pytest.raises(JudgeError, match="no rule 'median'"):
        judge.panel(runs, tmp_path / "other", rule="median")


def test_the_command_is_listed() -> None:
    assert "panel" in main.list_commands(None)  # type: ignore[arg-type]


def test_judges_that_were_told_different_things_do_not_fit(invoke: Invoke) -> None:
    files = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")
    for name, more in (("told", ()), ("untold", ("--no-context",))):
        assert invoke("crimson", *files, *more, "--out", name).exit_code == 0
    refused = invoke("panel", "told", "untold", "--rule", "any", "--out", "panel")
    assert refused.exit_code == 2
    assert "told different things" in refused.stderr
    assert not Path("panel").exists()
    allowed = ("--rule", "any", "--allow", "prompt", "--out", "panel")
    assert invoke("panel", "told", "untold", *allowed).exit_code == 0
    assert "|context:context,none|" in Run("panel").signature


def test_sections_of_several_references_stand_side_by_side(invoke: Invoke) -> None:
    files = (EXAMPLES / "preds_alder.json", EXAMPLES / "references.json", "--allow-missing")
    sections = ("--section", "findings,report", "--references", "mean", "--out", "both")
    done = invoke("green", *files, *sections)
    assert done.exit_code == 0, done.stderr
    assert "all references agree" in done.stdout.partition("Sections side by side")[2]


def test_a_panel_is_written_up_with_its_judges_and_how_they_agree(
    invoke: Invoke, lexicons: list[Path]
) -> None:
    assert invoke("panel", *lexicons, "--rule", "any", "--out", "panel").exit_code == 0
    text, *works = invoke("cite", "panel").stdout.split("\n\n")
    versions = [Run(path).manifest["judge"]["version"] for path in lexicons]
    assert (
        f"The judges were {'; '.join(versions)} (the built-in rule-based baseline: never "
        "report its numbers as those of a judge model). Each number of a study is theirs combined "
        "by the rule any; Krippendorff's alpha between them (Krippendorff 2011) is "
    ) in text
    alphas = Run(Path("panel")).manifest["combined"]["agreement"]
    assert "; ".join(f"{one['label']} {one['value']:.3f}" for one in alphas) in text
    assert any(work.startswith("@misc{krippendorff2011alpha,") for work in works)
