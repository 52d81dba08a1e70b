"""`judge batch`, and `--batch` given where it cannot be."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from faultserver import BatchPlan, FaultServer
from running import Shell

from judge.batching.ledger import Ledger
from judge.types import JudgeError

Made = Callable[[int], Shell]
N = 8
BATCH = ("--batch", "--batch-poll", "0.05", "--out", "run", "--format", "json")


def left_running(server: FaultServer, ready: Shell) -> str:
    """Start a batch, kill its process and return the batch's id."""
    with ready.start(*BATCH) as process:
        while not server.batches.stats().requests.get("get_batch"):
            time.sleep(0.05)
        process.kill()
        process.communicate()
    code, out, err = ready.judge("batch", "list", "--cache", "cache", "--format", "json")
    assert code == 0, err
    (batch,) = json.loads(out)
    assert (batch["state"], batch["n"]) == ("running", N - 1)
    return str(batch["id"])


def test_list_show_and_cancel(server: FaultServer, shell: Made) -> None:
    ready = shell(N)
    code, out, err = ready.judge("batch", "list", "--cache", "cache")
    assert (code, err) == (0, "")
    assert "No batch was made yet" in out
    server.batches.next(BatchPlan(ending="stays", share=0.5))
    name = left_running(server, ready)
    server.batches.advance(4000)
    code, out, err = ready.judge("batch", "show", name, "--cache", "cache")
    assert code == 0, err
    facts = dict(re.findall(r"^(\w[\w ]*?)  +(.*)$", out, re.M))
    assert facts["there"] == "in_progress"
    assert facts["asked"] == str(N - 1)
    assert facts["answered there"] == "3"
    assert facts["command"].startswith("judge ")
    remote = json.loads(
        ready.judge("batch", "show", name, "--cache", "cache", "--format", "json")[1]
    )
    assert remote["answered_there"] == 3
    # By the provider's id too.
    code, _, err = ready.judge("batch", "cancel", remote["remote_id"], "--cache", "cache")
    assert code == 0, err
    assert "Its answers so far are read by" in err
    server.batches.finish()
    code, _, err = ready.run(*BATCH)
    assert code == 3
    assert f"batch {name} was cancelled" in err
    assert "3 answered, 4 to be asked again" in err
    code, _, err = ready.judge("batch", "cancel", name, "--cache", "cache")
    assert code == 2
    assert "is over already (cancelled)" in err
    assert name in ready.judge("batch", "list", "--cache", "cache")[1]


@pytest.mark.parametrize("words", [("show", "b-1"), ("cancel", "b-1"), ("read", "preds.json")])
def test_no_such_batch(shell: Made, words: tuple[str, ...]) -> None:
    code, _, err = shell(1).judge("batch", *words, "--cache", "cache")
    assert code == 2
    assert "--cache" in err
    assert "Traceback" not in err


def test_a_batch_at_another_server_is_not_asked_again(server: FaultServer, shell: Made) -> None:
    ready = shell(N)
    name = left_running(server, ready)
    with FaultServer(rubric=ready.rubric) as other:
        ready.url = other.url
        code, _, err = ready.run(*BATCH)
        assert code == 2
        assert re.search(rf"7 questions stand in batch {name} at {server.url}: wait for it", err)
        assert other.batches.stats().uploads == 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--judge", "lexicon"), "--batch belongs to a model behind an API, which lexicon is not"),
        (("--base-url", "http://127.0.0.1:9/v1"), "a batch goes to one server"),
    ],
)
def test_where_a_batch_cannot_be(shell: Made, options: tuple[str, ...], why: str) -> None:
    ready = shell(2)
    command = ["judge", ready.rubric, "preds.json", "refs.json", "--cache", "cache", "--batch"]
    if "--judge" not in options:
        command += ["--judge", "model-x", "--base-url", ready.url]
    code, _, err = ready.judge(*command[1:], *options)
    assert code == 2
    assert why in err
    assert "Traceback" not in err


def test_reask_now_alone(shell: Made) -> None:
    code, _, err = shell(2).run("--reask-now")
    assert code == 2
    assert "--reask-now belongs to --batch" in err


def answers_of(file: Path, server: FaultServer) -> list[bytes]:
    """Answer a written file as a colleague would who sends each line's body."""
    import urllib.request

    lines = []
    for line in map(json.loads, file.read_text().splitlines()):
        assert line["url"] == "/v1/chat/completions"
        request = urllib.request.Request(
            f"{server.url}/chat/completions",
            json.dumps(line["body"]).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            body = json.load(reply)
        response = {"status_code": 200, "request_id": "r", "body": body}
        answer = {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}
        lines.append(json.dumps(answer).encode() + b"\n")
    return lines


def test_questions_that_somebody_else_answers(server: FaultServer, shell: Made) -> None:
    ready = shell(N)
    what = ("preds.json", "refs.json", "--rubric", ready.rubric, "--judge", "model-x")
    asked = (*what, "--base-url", ready.url, "--cache", "cache", "--batch-size", "5")
    code, out, err = ready.judge("batch", "write", "q.jsonl", *asked)
    assert code == 0, err
    assert [line.split("  ")[0] for line in out.splitlines()] == ["q.jsonl", "q-2.jsonl"]
    assert server.stats().requests == 0
    files = [ready.folder / "q.jsonl", ready.folder / "q-2.jsonl"]
    assert [len(file.read_text().splitlines()) for file in files] == [5, N - 5]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}, "reports stand in it"

    code, out, err = ready.judge("batch", "write", "again.jsonl", *asked)
    assert (code, out) == (0, "")
    assert "Nothing to ask" in err
    assert ready.judge("batch", "write", "q.jsonl", *asked)[0] == 2

    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert "which `judge batch write` wrote for somebody else" in err

    lines = answers_of(files[0], server)
    (ready.folder / "a.jsonl").write_bytes(b"".join(reversed(lines)))
    code, out, err = ready.judge("batch", "read", "a.jsonl", "--cache", "cache")
    assert (code, out) == (0, "5 answers taken\n"), err
    assert "3 of the 3 questions of batch" in err
    more = answers_of(files[1], server)
    strange = more[0].replace(b'"v1-', b'"v2-')
    refused = json.loads(more[1])
    refused["response"] = {"status_code": 400, "body": {"error": {"message": "no such thing"}}}
    (ready.folder / "b.jsonl").write_bytes(
        b"".join([strange, lines[0], more[0], json.dumps(refused).encode() + b"\n"])
    )
    code, out, err = ready.judge("batch", "read", "b.jsonl", "--cache", "cache")
    assert (code, out) == (1, "1 answers taken\n")
    assert "1 requests were refused" in err
    assert "no such thing" in err
    assert "1 lines answer no question" in err
    assert "1 questions had their answer already" in err
    (ready.folder / "c.jsonl").write_bytes(b"".join(more)[:-20])
    code, _, err = ready.judge("batch", "read", "c.jsonl", "--cache", "cache")
    assert code == 2
    assert "cannot read c.jsonl" in err

    before = server.stats().requests
    code, out, err = ready.run("--out", "run", "--format", "json")
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    assert server.stats().requests - before <= 2, "what was read is not asked again"


def test_a_written_batch_that_is_cancelled_is_asked_here(server: FaultServer, shell: Made) -> None:
    ready = shell(N)
    what = ("preds.json", "refs.json", "--rubric", ready.rubric, "--judge", "model-x")
    asked = (*what, "--base-url", ready.url, "--cache", "cache")
    code, out, _ = ready.judge("batch", "write", "q.jsonl", *asked)
    name = out.split()[-1]
    code, _, err = ready.judge("batch", "cancel", name, "--cache", "cache")
    assert code == 0, err
    server.batches.set(polls=1)
    code, _, err = ready.run(*BATCH)
    assert code == 0, err


def test_a_judge_that_is_not_asked_in_a_chat(shell: Made) -> None:
    ready = shell(2)
    code, _, err = ready.judge(
        *("batch", "write", "q.jsonl", "preds.json", "refs.json", "--judge", "lexicon"),
        *("--rubric", ready.rubric, "--cache", "cache"),
    )
    assert code == 2
    assert "is not asked in a chat" in err
    assert not (ready.folder / "q.jsonl").exists()


def test_a_damaged_ledger_is_said(tmp_path: Path) -> None:
    Ledger(tmp_path).__exit__()
    file = tmp_path / "batches" / "ledger.db"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(JudgeError, match=r"ledger\.db cannot be used .*move it away"):
        Ledger(tmp_path)
