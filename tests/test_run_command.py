"""The engine, the run folder and the Python call."""

from __future__ import annotations

import asyncio
import errno
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from made_manifests import manifest_of

from judge import JudgeError, annotate, backends, rubrics
from judge.running.folder import RunFolder, writing
from judge.running.judging import judge_set
from judge.running.policy import RequestPolicy
from judge.running.progress import ProgressListener
from judge.running.records import (
    StudyResult,
    outcome_of,
    read,
    result_of,
    study_of,
    to_record,
)
from judge.running.run import write_run
from judge.running.session import JudgeSession
from judge.signature import studies_digest
from judge.studies import StudySet, from_python
from judge.types import Annotated, Failed, Study, Unparsed

GREEN = rubrics.load("green")
LEXICON = backends.load("lexicon", GREEN)
SESSION = JudgeSession(GREEN, LEXICON, RequestPolicy(), Path("unused"))
CLEAR, EFFUSION = "The lungs are clear.", "Large left pleural effusion."


def judged(studies: StudySet) -> list[StudyResult]:
    """Real judgements by the built-in judge."""
    ends: list[StudyResult] = []
    judge_set(SESSION, studies, ends.append, ProgressListener())
    return ends


def judged_pair(reference: str, candidate: str, at: int = 0) -> StudyResult:
    studies = from_python(
        [reference],
        [candidate],
        study_ids=[f"s{at}"],
        study_classes=["abnormal"],
        fields={"site": ["x"]},
    )
    return replace(judged(studies)[0], row=at)


def test_an_answer_cut_at_the_limit_is_never_read() -> None:
    good = judged_pair(CLEAR, CLEAR).completion
    assert good is not None
    study = Study("1", CLEAR, CLEAR)
    assert isinstance(read(GREEN, study, good)[0], Annotated)
    outcome, measures = read(GREEN, study, replace(good, finish_reason="length"))
    assert isinstance(outcome, Unparsed)
    assert outcome.reason == "truncated"
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
    assert result_of(0, record) == judged
    if outcome is not None:
        assert record["measures"] is record["annotation"] is None


def test_lines_and_table_come_out_in_the_order_of_the_references(
    tmp_path: Path,
) -> None:
    ends = [judged_pair(CLEAR, EFFUSION, at) for at in (2, 0, 1)]
    in_order = sorted((end.study for end in ends), key=lambda study: study.study_id)
    manifest = manifest_of(GREEN, studies_digest(in_order), fields=["site"])
    write_run(
        tmp_path / "run",
        GREEN,
        ends,
        lambda: manifest,
        fields=manifest.fields,
        by=["site"],
    )
    opened = RunFolder.open(tmp_path / "run")
    assert [record["study_id"] for record in opened.records()] == ["s0", "s1", "s2"]
    assert list(opened.table()["study_id"]) == ["s0", "s1", "s2"]
    assert opened.record("s1")["study_id"] == "s1"
    with pytest.raises(JudgeError, match="no study 's'"):
        opened.record("s")


def cut_short(path: Path, error: BaseException) -> None:
    with writing(path, GREEN, ["site"]) as writer:
        writer.add(judged_pair(CLEAR, CLEAR))
        raise error


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")]
)
def test_a_run_that_was_cut_short_leaves_what_was_there(
    example_run: Path, tmp_path: Path, error: BaseException
) -> None:
    before = {file.name: file.read_bytes() for file in example_run.iterdir()}
    for path in (tmp_path / "deep" / "run", example_run):
        with pytest.raises((KeyboardInterrupt, JudgeError)) as caught:
            cut_short(path, error)
        assert isinstance(caught.value, KeyboardInterrupt) or str(path) in str(
            caught.value
        )
    assert list(tmp_path.iterdir()) == [example_run]
    assert {file.name: file.read_bytes() for file in example_run.iterdir()} == before


def three(**change: object) -> StudySet:
    columns: dict[str, object] = {
        "references": [CLEAR, CLEAR, EFFUSION],
        "candidates": [CLEAR, EFFUSION, CLEAR],
        "study_ids": ["1", "2", "3"],
        "study_classes": ["normal", "normal", "abnormal"],
    }
    return from_python(**(columns | change))  # type: ignore[arg-type]


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
def test_whatever_changes_a_number_changes_the_signature(
    change: dict[str, object],
) -> None:
    assert SESSION.identity(three(**change), "given") != SESSION.identity(
        three(), "given"
    )


def test_annotate_works_inside_a_running_loop() -> None:
    async def notebook() -> pd.DataFrame:
        return annotate([CLEAR], [CLEAR])

    assert asyncio.run(notebook()).loc[0, "green"] == 1
