"""The engine, the run folder and the Python call."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support import EXAMPLES

from judge import JudgeError, annotate, backends, rubrics
from judge.running.asking import RequestPolicy
from judge.running.engine import ProgressListener, judge_set
from judge.running.folder import Run
from judge.running.forms import FORMAT
from judge.running.records import Judged, completion_of, outcome_of, read, study_of, to_record
from judge.running.run import run
from judge.running.session import JudgeSession, signature
from judge.running.writer import writing
from judge.stats.table import summarise
from judge.studies import StudySet, from_given, read_pair
from judge.types import Annotated, Completion, Failed, Study, Unparsed

GREEN = rubrics.load("green")
LEXICON = backends.load("lexicon", GREEN)
SESSION = JudgeSession(GREEN, LEXICON, RequestPolicy(), Path("unused"))
CLEAR, EFFUSION = "The lungs are clear.", "Large left pleural effusion."


def judged(studies: StudySet) -> list[Judged]:
    """Real judgements by the built-in judge."""
    ends: list[Judged] = []
    judge_set(SESSION, studies, ends.append, ProgressListener())
    return ends


def judged_pair(reference: str, candidate: str, at: int = 0) -> Judged:
    studies = from_given(
        [reference],
        [candidate],
        study_ids=[f"s{at}"],
        study_classes=["abnormal"],
        fields={"site": ["x"]},
    )
    return replace(judged(studies)[0], at=at)


def test_every_study_ends_exactly_once() -> None:
    ends = judged(from_given([CLEAR] * 20, [EFFUSION] * 20, study_classes=["normal"] * 20))
    assert sorted(end.at for end in ends) == list(range(20))
    assert {end.study.study_id for end in ends} == {str(n) for n in range(20)}


def test_an_answer_cut_at_the_limit_is_never_read() -> None:
    good = judged_pair(CLEAR, CLEAR).completion
    assert good is not None
    study = Study("1", CLEAR, CLEAR)
    assert isinstance(read(GREEN, study, good)[0], Annotated)
    outcome, measures = read(GREEN, study, replace(good, finish_reason="length"))
    assert isinstance(outcome, Unparsed)
    assert outcome.reason == "truncated"
    assert measures is None


@pytest.mark.parametrize("text", ["", "nothing of the kind"])
def test_an_unreadable_answer_gets_no_counts(text: str) -> None:
    outcome, measures = read(GREEN, Study("1", CLEAR, CLEAR), Completion(text, "stop", "m"))
    assert isinstance(outcome, Unparsed)
    assert outcome.reason
    assert measures is None


@pytest.mark.parametrize(
    "outcome", [None, Unparsed("empty", "why"), Failed("timeout", "after 60 s")]
)
def test_a_record_gives_back_what_went_in(outcome: Unparsed | Failed | None) -> None:
    judged = judged_pair(EFFUSION, CLEAR)
    if outcome is not None:
        judged = replace(judged, outcome=outcome, measures=None)
    record = json.loads(json.dumps(to_record(judged, GREEN)))
    assert study_of(record) == judged.study
    assert outcome_of(record) == judged.outcome
    assert completion_of(record) == judged.completion
    if outcome is not None:
        assert record["measures"] is record["annotation"] is None


def test_lines_and_table_come_out_in_the_order_of_the_references(tmp_path: Path) -> None:
    made_by = {
        "signature": "x",
        "rubric": "green",
        "judge": {"name": "j", "version": "j-1", "note": None},
        "prompt": None,
        "section": "findings",
        "omitted": {},
        "notes": [],
    }
    with writing(tmp_path / "run", GREEN, ["site"]) as writer:
        for at in (2, 0, 1):
            writer.add(judged_pair(CLEAR, EFFUSION, at))
        table = writer.table()
        writer.finish(
            table,
            {**made_by, **summarise(table, GREEN)},
            {"format": FORMAT, **made_by, "fields": ["site"]},
        )
    opened = Run(tmp_path / "run")
    assert [record["study_id"] for record in opened.records()] == ["s0", "s1", "s2"]
    assert list(opened.table()["study_id"]) == ["s0", "s1", "s2"]
    assert opened.record("s1")["study_id"] == "s1"
    with pytest.raises(JudgeError, match="no study 's'"):
        opened.record("s")


def interrupted_write(path: Path) -> None:
    with writing(path, GREEN, ["site"]) as writer:
        writer.add(judged_pair(CLEAR, CLEAR))
        raise KeyboardInterrupt


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    with pytest.raises(KeyboardInterrupt):
        interrupted_write(out)
    assert list(tmp_path.iterdir()) == []


def full_disk(path: Path) -> None:
    with writing(path, GREEN, ["site"]) as writer:
        writer.add(judged_pair(CLEAR, CLEAR))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_one_message_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"cannot write to .*No space left"):
        full_disk(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_rewrite_keeps_the_run_that_was_there(tmp_path: Path) -> None:
    studies = read_pair(str(EXAMPLES / "preds.json"), str(EXAMPLES / "refs.json"))
    path = run(SESSION, studies, out=tmp_path / "run").path
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(KeyboardInterrupt):
        interrupted_write(path)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_the_folder_holds_what_was_promised(tmp_path: Path) -> None:
    preds, refs = str(EXAMPLES / "preds.json"), str(EXAMPLES / "refs.json")
    path = run(SESSION, read_pair(preds, refs), out=tmp_path / "run").path
    assert {file.name for file in path.iterdir()} == {
        *("manifest.json", "annotations.jsonl", "studies.csv", "studies.parquet", "summary.json")
    }
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    assert {entry["role"] for entry in manifest["inputs"]} == {"preds", "refs"}
    assert all(len(entry["sha256"]) == 64 for entry in manifest["inputs"])
    assert manifest["versions"]["judge"]
    as_csv, as_parquet = (
        pd.read_csv(path / "studies.csv"),
        pd.read_parquet(path / "studies.parquet"),
    )
    assert list(as_csv.columns) == list(as_parquet.columns)
    assert list(as_csv["green"]) == pytest.approx(list(as_parquet["green"]))
    assert len((path / "annotations.jsonl").read_text("utf-8").splitlines()) == 15


def three(**change: object) -> StudySet:
    columns: dict[str, object] = {
        "references": [CLEAR, CLEAR, EFFUSION],
        "candidates": [CLEAR, EFFUSION, CLEAR],
        "study_ids": ["1", "2", "3"],
        "study_classes": ["normal", "normal", "abnormal"],
    }
    return from_given(**(columns | change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"candidates": [CLEAR, EFFUSION, EFFUSION]},
        {"references": [CLEAR, EFFUSION, EFFUSION]},
        {"study_ids": ["1", "2", "4"]},
        {"study_classes": ["normal", "normal", "normal"]},
        {"fields": {"site": ["x", "y", "z"]}},
    ],
)
def test_whatever_changes_a_number_changes_the_signature(change: dict[str, object]) -> None:
    assert signature(GREEN, LEXICON, three(**change), "given", 1) != signature(
        GREEN, LEXICON, three(), "given", 1
    )


def test_the_signature_names_its_parts() -> None:
    line = signature(replace(GREEN, version=7), LEXICON, three(), "given", 1)
    assert line.startswith(
        f"green:7|judge:{LEXICON.version}|prompt:none|section:report|class:given|"
    )
    assert "\n" not in line


def test_annotate_takes_lists() -> None:
    frame = annotate([CLEAR, EFFUSION], [CLEAR, CLEAR], study_classes=["normal", None])
    assert list(frame["study_id"]) == ["0", "1"]
    assert list(frame["outcome"]) == ["annotated", "annotated"]
    assert list(frame["class_inferred"]) == [False, True]
    assert list(frame["study_class"]) == ["normal", "abnormal"]
    assert frame.loc[0, "green"] == 1
    assert frame.loc[1, "significant_b"] == 1
    assert "[Matched Findings]:" in frame.loc[0, "answer"]
    assert frame.attrs["signature"].startswith("green:")
    assert "baseline" in frame.attrs["note"]


def test_annotate_takes_a_frame_and_keeps_its_fields() -> None:
    given = pd.DataFrame(
        {"reference": [CLEAR], "candidate": [EFFUSION], "study_id": ["a"], "site": ["north"]}
    )
    frame = annotate(given)
    assert list(frame["study_id"]) == ["a"]
    assert list(frame["site"]) == ["north"]
    assert frame.loc[0, "significant_a"] == 1


def test_annotate_works_inside_a_running_loop() -> None:
    async def notebook() -> pd.DataFrame:
        return annotate([CLEAR], [CLEAR])

    assert asyncio.run(notebook()).loc[0, "green"] == 1


@pytest.mark.parametrize(
    ("args", "options", "says"),
    [
        (([CLEAR],), {}, "candidates"),
        (([CLEAR], [CLEAR, CLEAR]), {}, "1"),
        (([CLEAR, CLEAR], [CLEAR, CLEAR]), {"study_ids": ["x", "x"]}, "x"),
        (([CLEAR], [CLEAR]), {"rubric": "pink"}, "pink"),
        (([CLEAR], [CLEAR]), {"judge": "oracle:"}, "oracle"),
        ((pd.DataFrame({"reference": [CLEAR]}),), {}, "candidate"),
        ((pd.DataFrame({"reference": [CLEAR], "candidate": [CLEAR]}), [CLEAR]), {}, "beside"),
    ],
)
def test_annotate_says_what_is_wrong(
    args: tuple[object, ...], options: dict[str, object], says: str
) -> None:
    with pytest.raises(JudgeError, match=says):
        annotate(*args, **options)  # type: ignore[arg-type]


@pytest.mark.data
def test_the_shared_predictions_are_scored_and_near_misses_come_out_best(
    shared: Path, tmp_path: Path
) -> None:
    refs = str(shared / "refs.json")
    scores = []
    for name in ("random", "indication", "neighbour"):
        studies = read_pair(str(shared / f"preds_{name}.json"), refs)
        summary = run(SESSION, studies, out=tmp_path / name).summary
        assert summary["n_scored"] == 590
        assert [row["n_studies"] for row in summary["rates"]] == [283, 307]
        scores.append(summary["statistics"]["green"]["value"])
    assert scores[2] > max(scores[:2])
