"""Batches of Anthropic and Google by their own packages, against servers of their forms."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import BatchPlan, Behaviour, Fault, FaultServer, always, first
from faultserver.anthropic_batches import AnthropicBatches
from faultserver.batches import Batches
from faultserver.google_batches import GoogleBatches
from hostile import Hostile, reply
from running import Shell, keys

from judge import backends, rubrics
from judge.backends import models
from judge.backends.connection import Connection
from judge.backends.hosted import HostedJudge
from judge.running.folder import RunFolder
from judge.studies import from_python

pytest.importorskip("anthropic")
types = pytest.importorskip("google.genai").types
google = pytest.importorskip("judge.batching.google")
google_client = pytest.importorskip("judge.backends.google_client")

N = 6
BATCH = ("--batch", "--batch-poll", "0.05", "--out", "run", "--format", "json")
KINDS: dict[str, tuple[type[Batches], str]] = {
    "anthropic": (AnthropicBatches, "anthropic:claude-haiku-5-5"),
    "google": (GoogleBatches, "google:gemini-3.5-flash-lite"),
    "google-file": (GoogleBatches, "google:gemini-3.5-flash-lite"),
}
of_all = pytest.mark.parametrize("kind", KINDS, indirect=True)
of_anthropic = pytest.mark.parametrize("kind", ["anthropic"], indirect=True)
of_google = pytest.mark.parametrize("kind", ["google", "google-file"], indirect=True)


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(kind: str) -> Iterator[FaultServer]:
    with FaultServer(Behaviour(), batches=KINDS[kind][0]) as running:
        running.batches.polls = 2
        yield running


@pytest.fixture
def ready(
    kind: str, server: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.setattr("judge.batching.batch_run._LEAST_PAUSE", 0.1)
    if kind == "google-file":
        monkeypatch.setattr("judge.batching.google.MOST_INLINE", 0)
    made = Shell(tmp_path, server.address, "green", KINDS[kind][1])
    made.write(N)
    return made


def assert_right(ready: Shell, server: FaultServer) -> None:
    """Each study of the run has the errors of its own answer."""
    n = 0
    for line in RunFolder.open(ready.folder / "run").lines():
        record = json.loads(line)
        own = server.annotation(record["study_id"])
        found = sorted(item["text"] for item in record["annotation"]["items"])
        assert found == sorted(item.text for item in own.items), record["study_id"]
        n += 1
    assert n == N


@of_all
def test_a_run_in_batches(server: FaultServer, ready: Shell) -> None:
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    stats = server.batches.stats()
    assert (
        stats.creates,
        set(stats.created.values()),
        set(stats.answered.values()),
    ) == (
        1,
        {1},
        {1},
    )
    assert sorted(stats.studies.values()) == keys(N)
    assert_right(ready, server)
    assert server.stats().requests == 0, "nothing is asked beside the batch"
    assert server.batches.kept() == [], "what the provider keeps is deleted"
    (batch,) = RunFolder.open(ready.folder / "run").manifest.batches
    assert (batch["provider"], batch["n"], batch["answered"]) == (
        server_name(ready),
        N,
        N,
    )


def server_name(ready: Shell) -> str:
    return ready.model.partition(":")[0]


@of_all
def test_what_expires_is_asked_again(server: FaultServer, ready: Shell) -> None:
    server.batches.plan = BatchPlan(ending="expired", share=0.5)
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    assert "is expired" in err
    assert server.batches.stats().creates == 2


@of_all
def test_a_study_that_is_refused_fails_alone(server: FaultServer, ready: Shell) -> None:
    server.set_faults(studies={key: always(Fault.TOO_LONG) for key in keys(2)})
    code, out, err = ready.run(*BATCH, "--min-coverage", "0.5")
    assert code == 0, err
    summary = json.loads(out)
    assert (summary["n_scored"], summary["reasons"]) == (N - 2, {"failed: too long": 2})


@of_all
def test_a_fault_of_one_request_is_asked_again(
    server: FaultServer, ready: Shell
) -> None:
    faults = first(Fault.RATE_LIMIT), first(Fault.SERVER_ERROR)
    server.set_faults(studies=dict(zip(keys(2), faults, strict=True)))
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    assert set(server.batches.stats().answered.values()) == {1}


@of_all
def test_a_parameter_that_is_refused_is_left_out(
    server: FaultServer, ready: Shell
) -> None:
    server.set_faults(refused_modes=("json_schema",))
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    assert server.batches.stats().creates == 2


@of_all
def test_lists_and_cancels(server: FaultServer, ready: Shell) -> None:
    server.batches.plan = BatchPlan(ending="stays", share=0.5)
    server.batches.polls = None
    process = ready.fork(*BATCH)
    while not server.batches.stats().requests["get_batch"]:
        assert process.is_alive()
    process.kill()
    process.join()
    _, out, _ = ready.judge("batch", "list", "--cache", "cache", "--format", "json")
    (batch,) = json.loads(out)
    assert (batch["provider"], batch["state"]) == (server_name(ready), "running")
    code, _, err = ready.judge("batch", "cancel", batch["id"], "--cache", "cache")
    assert code == 2, "the key goes to no address that only the ledger names"
    assert f"--base-url {server.address}" in err
    assert not server.batches.stats().requests["cancel_batch"]
    named = ("--base-url", server.address)
    code, _, err = ready.judge(
        "batch", "cancel", batch["id"], "--cache", "cache", *named
    )
    assert code == 0, err
    assert server.batches.stats().requests["cancel_batch"] == 1
    server.batches.finish()
    code, _, err = ready.run(*BATCH)
    assert code == 3
    assert "was cancelled" in err


@of_all
def test_a_batch_without_room_waits_for_the_others(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.meet("create_batch", first(None, Fault.RATE_LIMIT))
    code, out, err = ready.run(*BATCH, "--batch-size", "4")
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    assert "No room" in err
    assert set(server.batches.stats().created.values()) == {1}


@of_all
def test_a_batch_of_no_price_of_its_own(server: FaultServer, ready: Shell) -> None:
    tier = {"anthropic": "auto", "google": "flex"}[server_name(ready)]
    code, _, err = ready.run(*BATCH, "--service-tier", tier)
    assert code == 2
    assert "--service-tier" in err
    assert not server.batches.stats().requests


@of_all
def test_a_wrong_key_names_its_variable(server: FaultServer, ready: Shell) -> None:
    server.batches.meet("create_batch", always(Fault.WRONG_KEY))
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert {"anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}[
        server_name(ready)
    ] in err


ODD = [
    None,
    [],
    "text",
    {},
    {"id": 5, "name": 5},
    {
        "id": "msgbatch_1",
        "processing_status": ["ended"],
        "name": "batches/1",
        "metadata": [],
    },
    {"name": "batches/1", "metadata": {"state": ["BATCH_STATE_SUCCEEDED"]}},
    {"name": "batches/../x"},
    b"<html>Sign in</html>",
    b"[" * 100_000,
]


@pytest.mark.parametrize("model", sorted({model for _, model in KINDS.values()}))
@pytest.mark.parametrize("said", ODD, ids=range(len(ODD)))
def test_a_batch_of_another_form_is_one_message(
    tmp_path: Path, model: str, said: object
) -> None:
    with Hostile(reply(said)) as odd:
        made = Shell(tmp_path, odd.url.removesuffix("/v1"), "green", model)
        made.write(2)
        code, _, err = made.run(*BATCH)
    assert code == 2, err
    assert "Traceback" not in err
    assert "not a batch" in err or "about batches" in err, err


@pytest.mark.parametrize("kind", ["google"], indirect=True)
def test_why_a_batch_has_failed_is_said(server: FaultServer, ready: Shell) -> None:
    server.batches.limit = 0
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert "Too much is waiting." in err


# Anthropic


@of_anthropic
def test_results_are_fetched_from_this_server_alone(
    server: FaultServer, ready: Shell
) -> None:
    """A gateway passes on an address of Anthropic's own."""
    assert isinstance(server.batches, AnthropicBatches)
    with Hostile(reply({})) as elsewhere:
        server.batches.results_at = elsewhere.url.removesuffix("/v1")
        code, _, err = ready.run(*BATCH)
        assert code == 0, err
        assert elsewhere.requests == [], "the key goes nowhere else"
    server.batches.results_at = server.address
    ready.write(N + 1)
    assert ready.run(*BATCH[:-3], "more")[0] == 0


@of_anthropic
def test_ids_are_of_anthropic_s_alphabet(server: FaultServer, ready: Shell) -> None:
    """The server checks that; the body has a length, for servers that take no other."""
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    (mark,) = {
        each["custom_id"].partition("_")[0] for each in server.batches.asked["requests"]
    }
    _, out, _ = ready.judge("batch", "list", "--cache", "cache", "--format", "json")
    assert json.loads(out)[0]["id"] == mark


# Google


@of_google
@pytest.mark.parametrize("prefix", ["BATCH_STATE_", "JOB_STATE_"])
def test_states_have_two_spellings(
    server: FaultServer, ready: Shell, prefix: str
) -> None:
    batches = server.batches
    assert isinstance(batches, GoogleBatches)
    batches.prefix, batches.partial, batches.error_key = prefix, True, "status"
    server.set_faults(studies={"study-0001": always(Fault.TOO_LONG)})
    code, out, err = ready.run(*BATCH, "--min-coverage", "0.5")
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N - 1


@pytest.mark.parametrize("kind", ["google"], indirect=True)
def test_results_that_carry_no_id_are_in_the_order_of_requests(
    server: FaultServer, ready: Shell
) -> None:
    assert isinstance(server.batches, GoogleBatches)
    server.batches.carries = False
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    code, again, err = ready.run("--out", "again", "--format", "json")
    assert (code, again) == (0, out)
    assert_right(ready, server)


def test_a_line_of_a_file_is_what_the_package_sends() -> None:
    """Files hold the API's own form, which google-genai makes for requests that it sends itself."""
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "study-0001: which errors?"}]}
        ],
        "config": {
            "system_instruction": "You are a radiologist.",
            "response_mime_type": "application/json",
            "response_json_schema": {"type": "object", "properties": {"some_name": {}}},
            "thinking_config": {"thinking_level": "MINIMAL"},
            "temperature": 0,
            "max_output_tokens": 2048,
            "top_p": 0.5,
            "top_k": 3,
            "seed": 1,
            "frequency_penalty": 0.1,
            "presence_penalty": 0.1,
        },
    }
    with FaultServer(Behaviour(), batches=GoogleBatches) as server:

        async def send() -> None:
            place = Connection(server.address)
            made, http = google_client.client(place, "key", api_version="v1beta")
            config = types.CreateBatchJobConfig(display_name="b-1")
            request = types.InlinedRequest.model_validate(
                {**body, "metadata": {"key": "k"}}
            )
            await made.aio.batches.create(model="m", src=[request], config=config)
            await http.aclose()

        asyncio.run(send())
        (sent,) = server.batches.asked["inputConfig"]["requests"]["requests"]
    request = sent["request"]
    # The package leaves these names as they are in Python; the API takes both.
    level = request["generationConfig"].pop("thinkingConfig")["thinking_level"]
    request["generationConfig"]["thinkingConfig"] = {"thinkingLevel": level}
    assert google.as_sent(body) == request


# OpenAI


# Open models are served by others, in whose protocol `max_tokens` is the name.
OPENAI = [
    facts.name
    for facts in models.table().models
    if facts.provider == "openai" and not facts.name.startswith("gpt-oss")
]


@pytest.mark.parametrize("model", [*OPENAI, "gpt-9-x"])
def test_no_file_has_what_a_reasoning_model_refuses(model: str) -> None:
    """A batch would come back refused a day later."""
    settings = backends.JudgeSettings(sends=False)
    judge = backends.load(model, rubrics.load("green"), settings)
    assert isinstance(judge, HostedJudge)
    (study,) = from_python(["Clear."], ["Clear."])
    body = judge.body(judge.request(study))
    facts = models.facts_of(model, "openai")
    effort = body.get("reasoning_effort")
    if facts is None or facts.reasons or effort is not None:
        assert "max_tokens" not in body
        assert "max_completion_tokens" in body
    if facts is None or not facts.takes_temperature(effort):
        assert "temperature" not in body
