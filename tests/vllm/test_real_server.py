"""`judge green --judge vllm:MODEL` with a real vLLM and a model that knows eight studies."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from children import below, gone, guard_of, sessions, wait_for
from instructmodel import make_instruct
from serving import FLAGS, MORE, Taught, command, environ, flags, records, run
from support import EXAMPLES, write_json
from tinymodel import reports

from judge import backends, rubrics
from judge.types import Completion, Study

pytestmark = pytest.mark.vllm


def line(model: Taught, *options: str) -> list[str]:
    return command(model.folder, "--prompt", str(model.prompt), *flags(), *options)


def long_line(model: Taught) -> list[str]:
    return line(model, "--reask", "0", "--min-coverage", "0", "--concurrency", "2")


class Running:
    """A run under way, and the server that it has started."""

    def __init__(self, folder: Path, command_line: list[str]) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            command_line,
            cwd=folder,
            env=environ(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def log(self) -> str:
        return "".join(
            path.read_text("utf-8", "replace") for path in self.folder.glob("state/**/*.log")
        )

    def wait_for_answers(self, count: int) -> None:
        """Wait until the server has given so many answers."""
        answered = re.compile(r'"POST /v1/completions HTTP/1.1" 200')
        wait_for(lambda: len(answered.findall(self.log())) >= count, 240)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    started: list[Running] = []

    def begin(command_line: list[str]) -> Running:
        started.append(Running(tmp_path, command_line))
        return started[-1]

    yield begin
    for running in started:
        running.process.kill()
        running.process.communicate()


def test_the_annotations_are_those_it_was_taught(model: Taught, folder: Path) -> None:
    done = run(folder, line(model, "--format", "json"))
    assert done.returncode == 0, done.stderr
    model.check(folder / "run")
    summary = json.loads(done.stdout)
    assert summary["n_scored"] == 8
    assert "vllm:model+" in summary["signature"]
    assert "dtype=float32,green" in summary["signature"]
    assert "Starting vLLM" in done.stderr
    assert "vLLM is ready" in done.stderr
    assert "Application startup complete" in (folder / "run/server.log").read_text("utf-8")
    assert not list(folder.glob("state/**/*.log")), "the log has moved into the run folder"
    # All is cached: nothing is started, and the numbers are the same.
    again = run(folder, line(model, "--format", "json"))
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "Starting vLLM" not in again.stderr


def test_the_same_tokens_as_transformers(model: Taught, tmp_path: Path) -> None:
    studies = [*model.studies]
    studies += [Study(f"n{at}", *pair) for at, pair in enumerate(reports(8, seed=5))]
    given = {"prompt": str(model.prompt), "max_tokens": 96, "environ": environ(tmp_path)}

    async def answers(kind: str, **options: object) -> list[Completion]:
        settings = backends.JudgeSettings(**given, options=options)
        judge = backends.load(f"{kind}:{model.folder}", rubrics.load("green"), settings)
        try:
            await judge.ready()
            return await asyncio.gather(*(judge.complete(judge.request(s)) for s in studies))
        finally:
            await judge.aclose()

    theirs, ours = asyncio.run(answers("hf")), asyncio.run(answers("vllm", vllm_args=FLAGS))
    for one, other in zip(theirs, ours, strict=True):
        assert (one.text, one.finish_reason, one.usage) == (
            other.text,
            other.finish_reason,
            other.usage,
        )


def test_a_server_that_is_killed_in_mid_run_costs_nothing(
    model: Taught, longer: Path, start: object
) -> None:
    running = start(long_line(model))  # type: ignore[operator]
    running.wait_for_answers(4)
    before = below(guard_of(running.process.pid))
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    _, err = running.process.communicate(timeout=400)
    assert running.process.returncode == 0, err
    assert err.count("ended in mid-run") == 1
    assert not before & set(sessions())
    assert len(list(records(longer / "run"))) == 8 + MORE
    assert all(record["outcome"] != "failed" for record in records(longer / "run"))
    model.check(longer / "run")


@pytest.mark.parametrize(
    ("how", "when"), [(signal.SIGKILL, "in mid-run"), (signal.SIGINT, "while it loads")]
)
@pytest.mark.usefixtures("longer")
def test_the_parent_ends_and_no_server_is_left(
    model: Taught, start: object, how: signal.Signals, when: str
) -> None:
    running = start(long_line(model))  # type: ignore[operator]
    guard = guard_of(running.process.pid)
    if when == "while it loads":
        wait_for(lambda: "version" in running.log(), 60)
    else:
        running.wait_for_answers(2)
    there = below(guard) | {guard}
    assert len(there) > 1
    running.process.send_signal(how)
    _, err = running.process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert running.process.returncode == 130, err
        assert "Traceback" not in err
        assert not there & set(sessions()), "gone before the prompt is back"
    assert gone(there)
    assert not [pid for pid, (_, session, _) in sessions().items() if session == guard]


def test_an_instruct_model_that_is_held_to_a_schema_is_read(tmp_path: Path) -> None:
    instruct = make_instruct(tmp_path / "smollm2")
    for name in ("preds", "refs"):
        studies = json.loads((EXAMPLES / f"{name}.json").read_text("utf-8"))
        write_json(tmp_path / f"{name}.json", dict(list(studies.items())[:6]))
    # Without a penalty the model repeats itself until the room is used up.
    options = ["--reply", "structured", "--body", "repetition_penalty=1.05", "--reask", "0"]
    options += ["--max-tokens", "300", "--min-coverage", "0", "--vllm-arg=--max-model-len=4096"]
    done = run(tmp_path, command(instruct, *flags(), *options))
    assert done.returncode in (0, 3), done.stderr
    answers = [record["answer"]["text"] for record in records(tmp_path / "run")]
    whole = [json.loads(text) for text in answers if text.rstrip().endswith("}")]
    assert len(answers) == 6
    assert len(whole) >= 3
    assert all("clinically_significant_errors" in reply for reply in whole)
