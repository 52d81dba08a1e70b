"""A run whose answers cannot be read is given up, and goes on only when it is told to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from faultserver import Fault, FaultServer, always
from running import Runner, Shell, keys, study_set

from judge import JudgeError
from judge.running.engine import FirstAnswers, UnreadableError
from judge.running.progress import Progress
from judge.types import Annotated, Annotation, Completion, Failed, Study, Unparsed


def unreadable(server: FaultServer, n: int) -> None:
    server.set_faults(studies={key: always(Fault.MALFORMED) for key in keys(n)})


def without_example(error: UnreadableError) -> tuple[str, list[str]]:
    what, _, rest = str(error).partition(" Study ")
    assert " was answered: " in rest
    return what, rest.splitlines()[1:]


def test_it_stops_and_the_same_run_stops_there_again_without_a_question(
    server: FaultServer, runner: Runner
) -> None:
    unreadable(server, 400)
    with pytest.raises(UnreadableError) as given_up:
        runner(400, concurrency=8)
    assert isinstance(given_up.value, JudgeError)
    done = given_up.value.progress.done
    assert 50 <= done < 50 + 8
    assert server.stats().requests == 2 * done, "each is asked again once"
    server.reset()
    with pytest.raises(UnreadableError) as again:
        runner(400, concurrency=8)
    assert server.stats().requests == 0
    # Which study is the example is for the one that is answered first, of eight at a time.
    assert without_example(again.value) == without_example(given_up.value)
    unreadable(server, 60)
    ends, progress = runner(400, concurrency=8, give_up_after=0)
    assert len(ends) == 400
    assert sum(isinstance(end.outcome, Annotated) for end in ends.values()) == 340
    assert progress.from_cache == 2 * done


@pytest.mark.parametrize(("n_bad", "stops"), [(10, False), (11, True)])
def test_half_is_not_more_than_half(
    server: FaultServer, runner: Runner, n_bad: int, stops: bool
) -> None:
    unreadable(server, n_bad)
    if stops:
        with pytest.raises(UnreadableError, match="11 of the first 20 answers"):
            runner(100, concurrency=1, give_up_after=20)
    else:
        assert len(runner(100, concurrency=1, give_up_after=20)[0]) == 100


def test_a_run_that_is_over_is_written(server: FaultServer, runner: Runner) -> None:
    unreadable(server, 50)
    assert len(runner(50)[0]) == 50
    assert len(runner(study_set(3), give_up_after=4)[0]) == 3


def test_what_failed_is_no_answer(server: FaultServer, runner: Runner) -> None:
    plans = {key: always(Fault.TOO_LONG) for key in keys(40)}
    server.set_faults(studies=plans)
    assert len(runner(100, concurrency=1)[0]) == 100


def test_what_is_said(server: FaultServer, shell: Callable[[int], Shell]) -> None:
    ready = shell(200)
    unreadable(server, 200)
    code, out, err = ready.run("--concurrency", "4", "--give-up-after", "10")
    assert (code, out) == (3, "")
    assert "Traceback" not in err
    assert "of 200 studies. 10 of the first 10 answers cannot be read" in err
    assert "was answered: " in err
    assert "--judge, --prompt, --reply" in err
    assert err.splitlines()[-1].endswith("--give-up-after 10 --give-up-after 0")
    assert not list(ready.folder.glob("judge-runs/**/*.json*"))
    server.reset()
    assert ready.run("--concurrency", "4", "--give-up-after", "10")[0] == 3
    assert server.stats().requests == 0
    code, _, err = ready.run("--give-up-after", "10", "--give-up-after", "0")
    assert code == 3, "too few could be scored"
    assert "Only 0 of 200 studies" in err


def test_what_a_server_says_steers_no_terminal_and_is_short() -> None:
    first = FirstAnswers(3)
    study = Study("s\x1b]0;x\x07", "r", "c")
    for reason, text in (
        ("no JSON", "\x1b[2J\u202ehidden\n" + "long " * 1000),
        ("empty", ""),
        ("no JSON", "x"),
    ):
        assert not first.are_unreadable
        first.add(study, Unparsed(reason), Completion(text, "stop", "m"))
    assert first.are_unreadable
    message = str(UnreadableError(first.message(), Progress(10)))
    assert "3 of the first 3 answers cannot be read, 2 of them for: no JSON" in message
    assert "hidden" in message
    assert not {"\x1b", "\x07", "\u202e"} & set(message)
    assert len(message) < 800
    assert "--max-tokens" not in message


def test_who_was_cut_is_told_of_the_limit() -> None:
    first = FirstAnswers(1)
    first.add(Study("s", "r", "c"), Failed("timeout"), None)
    assert not first.are_unreadable
    first.add(Study("s", "r", "c"), Unparsed("truncated"), Completion("", "length", "m"))
    first.add(Study("s", "r", "c"), Annotated(Annotation(())), Completion("", "stop", "m"))
    assert "(nothing)" in first.message()
    assert "--max-tokens" in first.message()
