"""Several questions about a study, over real sockets: each is asked, kept and paid for once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from asking import judged, key, server, session, studies
from faultserver import Fault, always, first

from judge.cache.answers import KeptAnswer
from judge.cache.store import CompletionCache
from judge.rubrics.questions import split_answers
from judge.running.asking import COMPOSED
from judge.running.combining import entries, rescore
from judge.running.folder import RunFolder
from judge.running.forecast import forecast
from judge.running.run import run
from judge.types import Failed, JudgeError, Scored, Unparsed

REFERENCE = "Small effusion. Heart normal. No mass."
GOOD = (REFERENCE, "Small effusion. Heart normal. Mass.")
OTHER = (REFERENCE, "No small effusion. Heart normal.")


def test_a_study_takes_four_questions_and_is_scored_by_their_answers(
    tmp_path: Path,
) -> None:
    with server() as running:
        (end,), progress = judged(session(running.url, tmp_path), studies(GOOD))
    assert isinstance(end.outcome, Scored)
    assert end.measures is not None
    assert end.measures["precision"] == end.measures["recall"] == 2 / 3
    assert end.measures["n_contradicted"] == 2
    assert (progress.asked, progress.from_cache) == (4, 0)
    assert end.completion is not None
    assert (end.key, end.attempt) == (COMPOSED, 0)
    assert len(split_answers(end.completion.text)) == len(end.earlier) == 4
    used = [one.completion.usage for one in end.earlier]
    assert end.completion.usage is not None
    assert end.completion.usage.prompt_tokens == sum(
        one.prompt_tokens for one in used if one
    )


def test_models_share_the_phrases_of_the_reference(tmp_path: Path) -> None:
    """Asked at the same time, one after the other, and by another run: one request."""
    with server(latency=0.05) as running:
        given = studies(GOOD, OTHER)
        _, progress = judged(session(running.url, tmp_path), given)
        asked = running.stats().by_study
        assert set(asked.values()) == {1}
        # The reference's phrases, those of two candidates, and two times two verdicts.
        assert sum(asked.values()) == progress.asked == 7
        _, progress = judged(
            session(running.url, tmp_path), studies((REFERENCE, "Mass."))
        )
        assert (progress.asked, progress.from_cache) == (3, 1)
        # A report against itself: one question of each kind, and one is there.
        _, progress = judged(
            session(running.url, tmp_path), studies((REFERENCE, REFERENCE))
        )
        assert progress.asked == 1
        _, progress = judged(session(running.url, tmp_path), given)
        assert progress.asked == 0


def test_nothing_but_the_texts_is_in_a_question(tmp_path: Path) -> None:
    with server(record=True) as running:
        judged(session(running.url, tmp_path), studies(GOOD))
        bodies = [one["body"] for one in running.requests()]
    about = [body["messages"][-1]["content"] for body in bodies]
    phrases = [text for text in about if "<<<PHRASES" not in text]
    assert sorted("Heart normal. No mass." in text for text in phrases) == [False, True]
    forms = {body["response_format"]["json_schema"]["name"] for body in bodies}
    assert forms == {"Phrases", "Verdicts"}


@pytest.mark.ci
def test_a_killed_run_goes_on_with_the_answers_that_it_had(tmp_path: Path) -> None:
    references = {f"s{n}": f"Nodule {n}. Heart normal." for n in range(12)}
    candidates = {
        name: text.replace("Heart", "Aorta") for name, text in references.items()
    }
    (tmp_path / "refs.json").write_text(json.dumps(references), "utf-8")
    (tmp_path / "preds.json").write_text(json.dumps(candidates), "utf-8")
    command = [sys.executable, "-m", "judge", "facts", "preds.json", "refs.json"]
    with server(latency=0.2) as running:
        command += ["--judge", "model-x", "--base-url", running.url, "--cache", "cache"]
        process = subprocess.Popen(
            [*command, "--concurrency", "4"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if not k.startswith("OPENAI")},
        )
        running.wait_for(lambda stats: len(stats.by_study) > 10)
        process.kill()
        process.wait()
        running.set_faults(latency=0.0)
        before = running.stats().answered
        pairs = [(references[name], candidates[name]) for name in references]
        ends, progress = judged(
            session(running.url, tmp_path / "cache"), studies(*pairs)
        )
        assert all(isinstance(end.outcome, Scored) for end in ends)
        assert [end.measures and end.measures["recall"] for end in ends] == [0.5] * 12
        # Only what was under way when it was killed may have been answered in vain.
        assert progress.from_cache > 0
        assert progress.asked <= 48 - before + 4


def test_an_answer_that_failed_fails_its_study_and_no_other(tmp_path: Path) -> None:
    plan = {key(GOOD[0], GOOD[1]): always(Fault.TOO_LONG)}
    with server(studies=plan) as running:
        given = studies(GOOD, OTHER)
        (failed, good), progress = judged(session(running.url, tmp_path), given)
        assert isinstance(failed.outcome, Failed)
        assert failed.outcome.reason == "too long"
        assert failed.outcome.detail.startswith("verdicts on the candidate: ")
        assert (failed.completion, failed.measures) == (None, None)
        assert isinstance(good.outcome, Scored)
        assert (progress.failed, progress.unparsed) == (1, 0)
        # What was answered is not asked again.
        running.set_faults(studies={})
        (mended, _), progress = judged(session(running.url, tmp_path), given)
        assert isinstance(mended.outcome, Scored)
        assert progress.asked == 1


@pytest.mark.parametrize(
    ("fault", "reason"), [(Fault.MALFORMED, None), (Fault.TRUNCATED, "truncated")]
)
def test_an_answer_that_stays_unreadable_makes_its_study_unparsed(
    tmp_path: Path, fault: Fault, reason: str | None
) -> None:
    with server(studies={key(GOOD[1]): always(fault)}) as running:
        given = studies(GOOD, OTHER)
        (unread, good), progress = judged(session(running.url, tmp_path), given)
        assert isinstance(unread.outcome, Unparsed)
        assert reason in (None, unread.outcome.reason)
        assert unread.outcome.detail.startswith("phrases of the candidate")
        assert (unread.measures, unread.attempt) == (None, 1)
        # Both phrases, and once more what could not be read; verdicts are not asked for.
        assert len(unread.earlier) == 3
        assert isinstance(good.outcome, Scored)
        _, again = judged(session(running.url, tmp_path), given)
        assert (progress.unparsed, again.unparsed, again.asked) == (1, 1, 0)


def test_an_answer_that_cannot_be_read_is_asked_for_again_by_itself(
    tmp_path: Path,
) -> None:
    with server(studies={key(GOOD[0], GOOD[1]): first(Fault.MALFORMED)}) as running:
        (end,), progress = judged(session(running.url, tmp_path), studies(GOOD))
    assert isinstance(end.outcome, Scored)
    assert (progress.asked, end.attempt, len(end.earlier)) == (5, 1, 5)


def test_a_run_is_read_again_merged_into_a_cache_and_forecast(tmp_path: Path) -> None:
    plan = {
        key(GOOD[0], GOOD[1]): first(Fault.MALFORMED),
        key(OTHER[1]): always(Fault.TRUNCATED),
    }
    given = studies(GOOD, OTHER, (REFERENCE, ""))
    with server(studies=plan) as running:
        with session(running.url, tmp_path / "cache") as asked:
            coming = forecast(asked, given)
            assert coming is not None
            # Of twelve steps three ask the same, one nothing, and six depend on answers.
            assert (coming.requests, coming.repeated, coming.further) == (3, 2, 7)
            done = run(asked, given, out=tmp_path / "run")
        before = RunFolder.open(tmp_path / "run")
        assert rescore(before, tmp_path / "again")[1] == 0
        kept = list(entries(before.path))
        assert all(isinstance(one, KeptAnswer) for one in kept)
        with CompletionCache(tmp_path / "other") as other:
            for one in kept:
                other.put(one)  # type: ignore[arg-type]
        ends, progress = judged(session(running.url, tmp_path / "other"), given)
    assert progress.asked == 0
    assert [type(end.outcome) for end in ends] == [Scored, Unparsed, Scored]
    assert done.summary.n_scored == 2
    both = "prompt:facts-phrases@2+", ",facts-verdicts@2+"
    assert all(one in before.signature for one in both)


def test_a_wording_of_ones_own_takes_the_place_of_its_like(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    asks = "<<<REPORT $mark\n\n  $report\n\n  $mark REPORT>>>"
    text = f"name: own\nversion: 1\nrubric: facts\nasks: report\nuser: '{asks}'\n"
    own.write_text(text, "utf-8")
    with server() as running:
        asked = session(running.url, tmp_path / "cache", prompt=str(own))
        (end,), _ = judged(asked, studies(GOOD))
    assert [prompt.name for prompt in asked.judge.prompts] == ["own", "facts-verdicts"]
    assert isinstance(end.outcome, Scored)
    own.write_text(
        text.replace("asks: report\n", "").replace("$report", "$reference $candidate")
    )
    with pytest.raises(JudgeError, match="facts-phrases"):
        session(running.url, tmp_path / "cache", prompt=str(own))


def test_questions_that_depend_on_answers_go_into_no_batch(tmp_path: Path) -> None:
    (tmp_path / "both.json").write_text(
        json.dumps([{"reference": "a.", "candidate": "b."}])
    )
    words = ["facts", "both.json", "--batch", "--judge", "model-x"]
    words += ["--base-url", "http://127.0.0.1:9/v1", "--cache", "cache"]
    done = subprocess.run(
        [sys.executable, "-m", "judge", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "--batch" in done.stderr
