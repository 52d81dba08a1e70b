"""A model against several references: the best, the mean, a run for each, the readers between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import EXAMPLES, Invoke, write_json

from judge import rubrics
from judge.rubrics.combining import Combination
from judge.running.combining import Combining, End
from judge.running.folder import Run
from judge.types import Failed, Study, Unparsed

PREDS = EXAMPLES / "preds_alder.json"


def texts(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


@pytest.fixture
def refs(tmp_path: Path) -> Path:
    """Adams wrote all references, Baker all but two, Chen every fourth; two of Baker's are empty.

    Of ex-012 Baker wrote what the model writes.
    """
    adams, baker = texts(EXAMPLES / "refs.json"), texts(EXAMPLES / "preds_birch.json")
    alder, rows = texts(PREDS), []
    for at, (key, own) in enumerate(adams.items()):
        known = {"study_id": key, "study_class": own["study_class"], "site": own["site"]}
        text = baker[key]["model_prediction"]
        text = alder[key]["model_prediction"] if key == "ex-012" else text
        said = {"Adams": own["section_findings"], "Baker": "" if at == 5 else text}
        said |= {"Chen": f"{text} Small left pleural effusion."} if at % 4 == 0 else {}
        if at in (3, 4):
            del said["Baker"]
        rows += [{**known, "reference_id": n, "findings": text} for n, text in said.items()]
    return write_json(tmp_path / "refs.json", rows)


def alone(refs: Path, reader: str) -> Path:
    """A file with one reader's references, as one has them without the others."""
    rows = json.loads(refs.read_text("utf-8"))
    own = [row for row in rows if row["reference_id"] == reader and row["findings"]]
    for row in own:
        del row["reference_id"]
    return write_json(refs.with_name(f"{reader}.json"), own)


def judged(invoke: Invoke, *words: object) -> Any:
    done = invoke("green", *words, "--format", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def columns(run: Path, name: str) -> dict[str, float]:
    table = Run(run).table()
    return dict(zip(table["study_id"], table[name], strict=True))


def test_each_readers_run_is_as_a_run_with_these_references_alone(
    invoke: Invoke, tmp_path: Path, refs: Path
) -> None:
    found = judged(invoke, PREDS, refs, "--references", "all", "--out", "all")
    assert [*found["references"]] == ["Adams", "Baker", "Chen"]
    assert found["references"]["Baker"]["n_studies"] == 11
    for reader in found["references"]:
        judged(invoke, PREDS, alone(refs, reader), "--allow-missing", "--out", reader)
        together = Run(tmp_path / "all" / f"reference-{reader}")
        for name in ("annotations.jsonl", "studies.csv"):
            theirs = (tmp_path / reader / name).read_bytes()
            assert (together.path / name).read_bytes() == theirs
    note = "references of a study: 1 for 3 studies, 2 for 9 studies, 3 for 3 studies"
    assert note in found["notes"]
    assert invoke("rescore", tmp_path / "all" / "reference-Chen").exit_code == 0


def test_the_best_and_the_mean_are_of_the_readers_runs(
    invoke: Invoke, tmp_path: Path, refs: Path
) -> None:
    judged(invoke, PREDS, refs, "--references", "all", "--out", "all")
    own = [columns(path, "green") for path in sorted((tmp_path / "all").iterdir())]
    best = judged(invoke, PREDS, refs, "--references", "best", "--out", "best")
    judged(invoke, PREDS, refs, "--references", "mean", "--out", "mean")
    spread = columns(tmp_path / "best", "references_spread")
    assert len(spread) == 15
    for key in spread:
        there = [of[key] for of in own if key in of]
        assert columns(tmp_path / "best", "green")[key] == max(there)
        mean = pytest.approx(sum(there) / len(there))
        assert columns(tmp_path / "mean", "green")[key] == mean
        if len(there) > 1:
            assert spread[key] == pytest.approx(max(there) - min(there))
        else:
            assert pd.isna(spread[key])
        assert columns(tmp_path / "best", "references_n")[key] == len(there)
    assert "|references:best|" in best["signature"]
    assert "empty references, left out: 2 (ex-006, ex-015)" in best["notes"]


def test_a_study_is_shown_with_its_best_reference(
    invoke: Invoke, tmp_path: Path, refs: Path
) -> None:
    judged(invoke, PREDS, refs, "--references", "best", "--out", "best")
    rows = json.loads(refs.read_text("utf-8"))
    every = {(row["study_id"], row["reference_id"]): row["findings"] for row in rows}
    records = list(Run(tmp_path / "best").records())
    for record in records:
        reader = record["fields"]["best_reference"]
        assert record["reference"] == every[record["study_id"], reader]
    assert {record["fields"]["best_reference"] for record in records} >= {"Adams", "Baker"}
    judged(invoke, PREDS, refs, "--references", "mean", "--out", "mean")
    record = Run(tmp_path / "mean").record("ex-001")
    assert record["reference"].startswith(f"[Adams]\n{every['ex-001', 'Adams']}\n\n[Baker]\n")
    for words in (["rates", "mean"], ["audit", "best", "--html", "p.html"], ["audit", "mean"]):
        assert invoke(*words).exit_code == 0
    for refused, words in (
        (["rescore", "best"], "made of several"),
        (["green", "mean"], "several"),
    ):
        done = invoke(*refused)
        assert done.exit_code == 2
        assert words in done.stderr


def test_models_are_compared_by_one_rule(invoke: Invoke, refs: Path) -> None:
    for model in ("alder", "birch"):
        preds = EXAMPLES / f"preds_{model}.json"
        judged(invoke, preds, refs, "--references", "best", "--out", f"best-{model}")
    judged(invoke, PREDS, refs, "--references", "mean", "--out", "mean-alder")
    done = invoke("compare", "best-alder", "best-birch", "--allow", "references")
    assert done.exit_code == 0, done.output
    done = invoke("compare", "other=mean-alder", "best-birch", "--allow", "references")
    assert done.exit_code == 2
    assert "references:mean" in done.stderr or "differ in the judge" in done.stderr


def test_readers_are_judged_against_each_other(invoke: Invoke, tmp_path: Path) -> None:
    """Two agree to the letter; the third writes of something that neither has."""
    same, other = "Heart size is normal. No effusion.", "Large left pneumothorax."
    refs = write_json(tmp_path / "refs.json", {"a": [same, same, other], "b": [same, same]})
    preds = write_json(tmp_path / "preds.json", {"a": other, "b": same})
    pair = [preds, refs, "--by", "study_id", "--between"]
    best = judged(invoke, *pair, "--references", "best", "--out", "best")
    (between,) = Run(tmp_path / "best").manifest["combined"]["between"]
    assert (between["n_studies"], between["n_of"], between["n_scored"]) == (5, 2, 5)
    # Of five reports only the third's has an error against its best reference.
    assert between["statistics"]["no_significant_error"]["value"] == pytest.approx(4 / 5)
    (note,) = [text for text in best["notes"] if "the readers' own reports" in text]
    assert "no significant error 80.0%; 5 of 5 reports, of 2 studies" in note
    assert best["statistics"]["no_significant_error"]["value"] == 1
    judged(invoke, *pair, "--references", "mean", "--out", "mean")
    (between,) = Run(tmp_path / "mean").manifest["combined"]["between"]
    # Against two others each: 1/2, 1/2 and 0 of a; 1 and 1 of b.
    assert between["statistics"]["no_significant_error"]["value"] == pytest.approx(3 / 5)


def test_a_dry_run_says_how_many_questions(invoke: Invoke, refs: Path) -> None:
    done = invoke("green", PREDS, refs, "--references", "mean", "--dry-run")
    assert done.exit_code == 0
    told = "15 studies, 30 questions about the candidates, 36 about the readers' reports"
    assert f"{told} (--between)" in done.stderr
    asked = invoke("green", PREDS, refs, "--references", "mean", "--dry-run", "--between")
    assert "66 studies; lexicon answers" in asked.stderr


def test_options_that_do_not_go_together(invoke: Invoke, refs: Path) -> None:
    for words, told in (
        (["--between"], "go with --references"),
        (["--references", "best", "--shard", "1/2"], "one reference each"),
        (["--references", "best", "--by", "nothing"], "no such field"),
    ):
        done = invoke("green", PREDS, refs if len(words) > 1 else EXAMPLES / "refs.json", *words)
        assert done.exit_code == 2
        assert told in done.stderr


def test_a_study_that_failed_against_one_reference_is_not_scored() -> None:
    rubric = rubrics.load("green")
    combining = Combining(rubric, Combination("reference", "best", ("1", "2")))
    annotation = rubric.parse(_ANSWER, Study("s", "r", "c"), complete=True)
    from judge.types import Annotated

    scored = End(0, Annotated(annotation), rubric.measured(annotation, Study("s", "r", "c")))
    end = combining.judged(0, Study("s", "r", "c"), [scored, End(1, Unparsed("truncated"), None)])
    told = Failed("not scored against all references", "2: unparsed, truncated")
    assert (end.outcome, end.measures) == (told, None)
    only = combining.judged(1, Study("t", "r", "c"), [End(1, Unparsed("truncated"), None)])
    assert only.outcome == Unparsed("truncated")
    assert combining.judged(2, Study("u", "r", "c"), [scored]).measures is not None


_ANSWER = """[Explanation]:
Nothing differs.

[Clinically Significant Errors]:
(a) False finding: 0.
(b) Missing finding: 0.
(c) Wrong location: 0.
(d) Wrong severity: 0.
(e) Comparison not in the reference: 0.
(f) Omitted comparison: 0.

[Clinically Insignificant Errors]:
(a) False finding: 0.
(b) Missing finding: 0.
(c) Wrong location: 0.
(d) Wrong severity: 0.
(e) Comparison not in the reference: 0.
(f) Omitted comparison: 0.

[Matched Findings]:
1. No effusion
"""


def test_notes_count_studies_and_not_questions(invoke: Invoke, tmp_path: Path) -> None:
    refs = {"a": ["The effusion is unchanged.", "Effusion."], "b": ["No effusion."] * 3}
    write_json(tmp_path / "refs.json", refs)
    write_json(tmp_path / "preds.json", {"a": "", "b": "No effusion."})
    found = judged(
        invoke,
        *(tmp_path / "preds.json", tmp_path / "refs.json"),
        *("--references", "mean", "--between", "--out", "mean"),
    )
    told = " ".join(found["notes"])
    assert "1 of 2 candidates are empty" in told
    assert "1 of 2 references seem to compare" in told
