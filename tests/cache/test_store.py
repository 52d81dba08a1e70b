"""A run, its forecast and its cost need of a store what `AnswerStore` says, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from cachehelp import ANSWER, request
from faultserver import Behaviour, FaultServer
from sqlite_answers import SqliteAnswers

from judge import RequestPolicy, backends, rubrics
from judge.cache import canonical, key_of
from judge.cache.answers import AnswerStore, answer_to, intact
from judge.cache.store import CompletionCache
from judge.running.forecast import forecast
from judge.running.judging import judge_set
from judge.running.progress import ProgressListener
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.studies import from_python

N = 8
STUDIES = from_python(
    [f"study-{at:04}. The lungs are clear." for at in range(N)],
    ["The lungs are clear. Small left effusion."] * N,
)


@pytest.mark.parametrize("store", [CompletionCache, SqliteAnswers])
def test_a_store_keeps_finds_claims_and_erases(
    tmp_path: Path, store: type[CompletionCache] | type[SqliteAnswers]
) -> None:
    records = [canonical(request(str(at))) for at in range(3)]
    keys = [key_of(record) for record in records]
    opened: AnswerStore = store(tmp_path)
    with opened as answers:
        for key, record in zip(keys, records, strict=True):
            assert answers.get(key) is None
            answers.put(answer_to(key, record, ANSWER, kind="k", is_batched=True))
        assert [answer.key for answer in intact(answers.iterate(), [])] == keys
        assert answers.is_batched(keys[0])
        assert answers.answer_tokens("k") == ANSWER.usage.completion_tokens  # type: ignore[union-attr]
        assert answers.answer_tokens("other") is None
        with store(tmp_path) as other:
            assert answers.claim(keys[0])
            assert not other.claim(keys[0])
            answers.release(keys[0])
            assert other.claim(keys[0])
            assert other.get(keys[0]) == ANSWER
            other.release(keys[0])
        assert answers.remove(keys[:2]) == 2
        assert len(answers) == 1


def test_a_run_pays_once_whatever_the_store(tmp_path: Path) -> None:
    rubric = rubrics.load("green")
    ends: list[StudyResult] = []
    with FaultServer(Behaviour()) as server:
        settings = backends.JudgeSettings(base_url=server.url)
        for n_asked in (N, N):
            judge = backends.load("model-x", rubric, settings)
            session = JudgeSession(
                rubric, judge, RequestPolicy(), tmp_path, open_store=SqliteAnswers
            )
            with session:
                judge_set(session, STUDIES, ends.append, ProgressListener())
                coming = forecast(session, STUDIES)
            assert server.stats().requests == n_asked
            assert coming is not None
            assert (coming.requests, coming.cached) == (0, N)
    assert {type(end.outcome).__name__ for end in ends} == {"Scored"}
    assert [path.name for path in tmp_path.glob("cache.*")] == []
