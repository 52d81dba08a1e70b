"""Runs asked in batches: from the first question to the last answer, over real sockets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from faultserver import BatchPlan, Fault, FaultServer, always, first
from running import Shell, keys

from judge.running.folder import Run

Made = Callable[[int], Shell]
N = 12
BATCH = ("--batch", "--batch-poll", "0.05", "--out", "run", "--format", "json")


@pytest.fixture
def ready(server: FaultServer, shell: Made) -> Shell:
    server.batches.set(polls=2)
    return shell(N)


def paid_once(server: FaultServer, n: int = N) -> None:
    """Every study was answered once, the first directly and the others in batches."""
    stats = server.batches.stats()
    directly = server.stats().by_study
    assert set(stats.paid.values()) <= {1}
    assert len({*stats.studies.values(), *directly}) == n
    assert len(stats.answered) + sum(directly.values()) == n


def test_all_but_one_question_come_in_a_batch_and_the_run_is_the_same(
    server: FaultServer, ready: Shell
) -> None:
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    stats = server.batches.stats()
    assert (len(stats.created), stats.creates) == (N - 1, 1)
    assert server.stats().by_study == {keys(1)[0]: 1}
    paid_once(server)
    assert re.search(r"Batch b-\w{8} is completed: 11 answered; tokens .* cost unknown", err)
    made_by_batch = Run(ready.folder / "run")
    assert made_by_batch.manifest["spent"]["asked"] == 0
    (batch,) = made_by_batch.manifest["batches"]
    assert (batch["n"], batch["answered"], batch["failed"], batch["again"]) == (N - 1, N - 1, 0, 0)
    assert batch["remote_state"] == "completed"
    assert batch["prompt_tokens"] > 0

    code, again, err = ready.run("--out", "plain", "--format", "json")
    assert (code, again) == (0, out), "another run of the same signature"
    plain = Run(ready.folder / "plain")
    assert plain.signature == made_by_batch.signature
    assert [*plain.lines()] == [*made_by_batch.lines()]
    assert server.batches.stats().paid == stats.paid
    ledger = ready.folder / "cache" / "batches" / "ledger.db"
    assert ledger.stat().st_size < 40_000, "the questions, which hold reports, are gone"
    assert b"lungs" not in ledger.read_bytes()
    assert [one.name for one in ledger.parent.iterdir() if one.is_dir()] == []


def test_nothing_is_sent_where_the_cache_has_all(server: FaultServer, ready: Shell) -> None:
    assert ready.run("--out", "plain")[0] == 0
    server.reset()
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    stats = server.batches.stats()
    assert (stats.creates, stats.uploads, server.stats().requests) == (0, 0, 0)


def test_an_unreadable_answer_is_asked_again_in_a_second_batch(
    server: FaultServer, ready: Shell
) -> None:
    server.set_faults(studies={key: always(Fault.MALFORMED) for key in keys(5)[2:]})
    code, out, err = ready.run(*BATCH, "--min-coverage", "0.5")
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N - 3
    stats = server.batches.stats()
    assert stats.creates == 2
    assert len(stats.created) == N - 1 + 3
    assert server.stats().requests == 1
    assert set(stats.paid.values()) == {1}
    (one, two) = Run(ready.folder / "run").manifest["batches"]
    assert (one["n"], two["n"]) == (N - 1, 3)


def test_reask_now_asks_the_second_time_directly(server: FaultServer, ready: Shell) -> None:
    server.set_faults(studies={key: always(Fault.MALFORMED) for key in keys(5)[2:]})
    code, _, err = ready.run(*BATCH, "--reask-now", "--min-coverage", "0.5")
    assert code == 0, err
    stats = server.batches.stats()
    assert (stats.creates, server.stats().requests) == (1, 1 + 3)
    assert set(stats.paid.values()) == {1}


@pytest.mark.parametrize("directly", [False, True])
def test_what_expires_is_asked_again_and_what_is_answered_is_kept(
    server: FaultServer, ready: Shell, *, directly: bool
) -> None:
    server.batches.next(BatchPlan(ending="expired", share=0.4))
    code, out, err = ready.run(*BATCH, *(["--reask-now"] if directly else []))
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    paid_once(server)
    stats = server.batches.stats()
    assert stats.creates == (1 if directly else 2)
    assert re.search(r"is expired: 4 answered, 7 to be asked again", err)


def test_one_that_expires_three_times_fails_its_studies_and_the_next_run_asks_afresh(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.set(plan=BatchPlan(ending="expired", share=0))
    code, out, err = ready.run(*BATCH)
    assert code == 3, err
    summary = json.loads(out)
    assert (summary["n_scored"], summary["reasons"]) == (1, {"failed: expired": N - 1})
    assert server.batches.stats().creates == 3
    server.batches.set(plan=BatchPlan())
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    paid_once(server)


def test_errors_by_line(server: FaultServer, ready: Shell) -> None:
    server.batches.next(
        BatchPlan(faults={Fault.TOO_LONG: 2, Fault.RATE_LIMIT: 1, Fault.SERVER_ERROR: 1}, lost=1)
    )
    code, out, err = ready.run(*BATCH, "--min-coverage", "0.5")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["n_scored"] == N - 2
    assert summary["reasons"] == {"failed: too long": 2}
    assert re.search(r"6 answered, 2 without hope of an answer, 3 to be asked again", err)
    assert set(server.batches.stats().paid.values()) == {1}


def test_strange_lines_second_answers_and_a_file_that_is_cut(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.next(BatchPlan(twice=2, unknown=1))
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    assert "Left out: 1 answers to what was not asked, 2 second answers" in err


def test_a_file_that_is_cut_is_an_error_until_it_is_whole(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.next(BatchPlan(cut=True))
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert "a line is not one of a batch's answers" in err
    assert "they stay at" in err
    assert not (ready.folder / "run").exists()


def test_a_refused_file_is_said_with_its_lines(server: FaultServer, ready: Shell) -> None:
    server.batches.next(BatchPlan(ending="failed", failure="invalid_json_line"))
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert re.search(r"refused batch b-\w+: .*line 1", err)
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    paid_once(server)


def test_cancelled_at_the_provider_stops_and_the_same_command_goes_on(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.next(BatchPlan(ending="cancelled", share=0.5))
    code, _, err = ready.run(*BATCH)
    assert code == 3
    assert re.search(r"Stopped \(batch b-\w+ was cancelled\) after 6 of 12 studies", err)
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    paid_once(server)


def test_batches_have_a_size_and_wait_for_room(server: FaultServer, ready: Shell) -> None:
    server.batches.set(batch_limit=2)
    code, out, err = ready.run(*BATCH, "--batch-size", "4")
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    paid_once(server)
    assert "No room for batch" in err


def test_no_room_at_all_says_what_to_do(server: FaultServer, ready: Shell) -> None:
    server.batches.set(token_limit=10)
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert "has no room for a batch of 11 questions" in err
    assert "--batch-size" in err


def test_most_first_answers_unreadable_gives_up_before_they_are_asked_again(
    server: FaultServer, ready: Shell
) -> None:
    server.set_faults(rates={Fault.MALFORMED: 1.0})
    code, _, err = ready.run(*BATCH, "--give-up-after", "10")
    assert code == 3
    assert "10 of the first 10 answers cannot be read" in err
    assert server.batches.stats().creates == 1
    code, _, err = ready.run(*BATCH, "--give-up-after", "0")
    assert code == 3
    assert server.batches.stats().creates == 2


def test_trouble_with_every_call_is_waited_out(server: FaultServer, ready: Shell) -> None:
    for name in ("upload_file", "create_batch", "get_batch", "get_content"):
        server.batches.meet(name, first(Fault.RATE_LIMIT, Fault.UNAVAILABLE))
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    paid_once(server)
