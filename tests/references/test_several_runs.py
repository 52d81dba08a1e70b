"""A model against several references: the best of a study's numbers, or their mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from answered_runs import green, tables
from click.testing import CliRunner
from support import EXAMPLES, Invoke, write_json

from judge import rubrics
from judge.cli import main
from judge.rubrics.derived import Aggregation
from judge.running.folder import RunFolder
from judge.running.panel import aggregate, numbers
from judge.running.records import StudyResult
from judge.types import Scored, Study, Unparsed

PREDS = EXAMPLES / "preds_alder.json"
READERS = ("Adams", "Baker", "Chen")


def judged(*words: object) -> dict[str, Any]:
    done = CliRunner().invoke(
        main, list(map(str, ("green", *words, "--format", "json")))
    )
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The references, runs by both rules, and one of each reader's references alone. Read only.

    Adams wrote all references, Baker all but two, Chen every fourth; one of Baker's is empty.
    Of ex-012 Baker wrote what the model writes.
    """
    path = tmp_path_factory.mktemp("several")
    adams, baker, alder = (
        json.loads((EXAMPLES / name).read_text("utf-8"))
        for name in ("refs.json", "preds_birch.json", PREDS.name)
    )
    rows = []
    for at, (key, own) in enumerate(adams.items()):
        known = {
            "study_id": key,
            "study_class": own["study_class"],
            "site": own["site"],
        }
        text = (alder if key == "ex-012" else baker)[key]["model_prediction"]
        said = {"Adams": own["section_findings"], "Baker": "" if at == 5 else text}
        said |= {"Chen": f"{text} Small left pleural effusion."} if at % 4 == 0 else {}
        if at in (3, 4):
            del said["Baker"]
        rows += [
            {**known, "reference_id": n, "findings": text} for n, text in said.items()
        ]
    refs = write_json(path / "refs.json", rows)
    for rule in ("best", "mean"):
        judged(PREDS, refs, "--references", rule, "--out", path / rule)
    for reader in READERS:
        own = [row for row in rows if row["reference_id"] == reader and row["findings"]]
        alone = [{k: v for k, v in row.items() if k != "reference_id"} for row in own]
        file = write_json(path / f"{reader}.json", alone)
        judged(PREDS, file, "--allow-missing", "--out", path / reader)
    return path


def columns(run: Path, name: str) -> dict[str, float]:
    table = RunFolder.open(run).table()
    return dict(zip(table["study_id"], table[name], strict=True))


def test_the_best_and_the_mean_are_of_the_readers_own_runs(folder: Path) -> None:
    own = [columns(folder / reader, "green") for reader in READERS]
    best, mean, spread, n = (
        columns(folder / rule, name)
        for rule, name in (
            *(("best", "green"), ("mean", "green")),
            *(("best", "references_spread"), ("best", "references_n")),
        )
    )
    assert len(best) == 15
    for key in best:
        there = [of[key] for of in own if key in of]
        assert best[key] == max(there)
        assert mean[key] == pytest.approx(sum(there) / len(there))
        assert n[key] == len(there)
        if len(there) > 1:
            assert spread[key] == pytest.approx(max(there) - min(there))
        else:
            assert pd.isna(spread[key])
    summary = RunFolder.open(folder / "best").summary()
    assert "|references:best|" in summary.signature
    assert (
        "references of a study: 1 for 3 studies, 2 for 9 studies, 3 for 3 studies"
        in summary.notes
    )
    parts = RunFolder.open(folder / "best").manifest.combined.parts
    assert [part.name for part in parts] == [*READERS]


def test_a_study_is_shown_with_its_best_reference(folder: Path, invoke: Invoke) -> None:
    rows = json.loads((folder / "refs.json").read_text("utf-8"))
    every = {(row["study_id"], row["reference_id"]): row["findings"] for row in rows}
    records = list(RunFolder.open(folder / "best").records())
    for record in records:
        reader = record["fields"]["best_reference"]
        assert record["reference"] == every[record["study_id"], reader]
    assert {record["fields"]["best_reference"] for record in records} >= {
        "Adams",
        "Baker",
    }
    record = RunFolder.open(folder / "mean").record("ex-001")
    assert record["reference"].startswith(
        f"[Adams]\n{every['ex-001', 'Adams']}\n\n[Baker]\n"
    )
    for words in (
        ["rates", "mean"],
        ["page", "best", "--out", "p.html"],
        ["audit", "mean"],
    ):
        assert invoke(words[0], folder / words[1], *words[2:]).exit_code == 0
    for words in (["runs", "rescore", folder / "best"], ["green", folder / "mean"]):
        assert invoke(*words).exit_code == 2


def test_models_are_compared_by_one_rule(folder: Path, invoke: Invoke) -> None:
    runs = f"a={folder / 'best'}", f"b={folder / 'best'}"
    assert invoke("compare", *runs).exit_code == 0
    done = invoke("compare", runs[0], f"b={folder / 'mean'}", "--allow", "references")
    assert done.exit_code == 2
    assert "references:mean" in done.stderr or "judge of green" in done.stderr


def test_options_that_do_not_go_together(folder: Path, invoke: Invoke) -> None:
    refs = folder / "refs.json"
    for file, words, named in (
        (refs, ("--references", "best", "--shard", "1/2"), "--shard"),
        (refs, ("--references", "best", "--by", "nothing"), "nothing"),
    ):
        done = invoke("green", PREDS, file, *words)
        assert done.exit_code == 2
        assert named in done.stderr
    done = invoke("green", PREDS, refs, "--references", "mean", "--dry-run")
    assert "15 studies, 30 questions" in done.stderr


def test_a_study_that_failed_against_one_reference_is_not_scored() -> None:
    rubric, study = rubrics.load("green"), Study("s", "r", "c")
    annotation = rubric.parse(green(), study, complete=True)
    scored = StudyResult(
        0, study, Scored(annotation), rubric.measured(annotation, study), None
    )
    lost = StudyResult(1, study, Unparsed("truncated"), None, None)
    how = Aggregation("reference", "best", ("1", "2"))
    parts = [(study, ends) for ends in ([scored, lost], [lost], [scored])]
    (first, second, third), notes = aggregate(how, rubric, parts)
    wanted = Unparsed("not scored against all references", "2: unparsed, truncated")
    assert (first.outcome, first.measures) == (wanted, None)
    assert second.outcome == Unparsed("truncated")
    assert third.measures is not None
    assert any("2 studies" in note for note in notes)


def test_the_best_part_has_the_best_score_then_the_fewest_errors() -> None:
    rubric = rubrics.load("green")
    names = {one.name: 0.0 for one in rubric.measures}
    parts = [
        {**names, "green": 0.5, "n_significant": 1, "n_matched": 1},
        {**names, "green": 0.8, "n_significant": 2, "n_matched": 8},
        {**names, "green": 0.8, "n_significant": 1, "n_matched": 4},
    ]
    how = Aggregation("reference", "best", ("x", "y", "z"))
    found = numbers(how, rubric, tables(rubric, parts)).loc[0]
    assert (found["green"], found["n_significant"], found["n_matched"]) == (0.8, 1, 4)
    assert found["part"] == 2
    assert found["references_spread"] == pytest.approx(0.3)
    # One part alone neither agrees nor disagrees.
    alone = numbers(how, rubric, tables(rubric, parts[:1])).loc[0]
    assert pd.isna(alone["references_spread"])
