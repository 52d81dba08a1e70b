"""Files and batches, as the `openai` package meets them over a real socket."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
from pathlib import Path

import openai
import pytest
from batch_asking import (
    ALL,
    CHAT,
    KEYS,
    api,
    as_new,
    body,
    create,
    ended,
    ids,
    lines,
    now,
    request,
    upload,
)
from fault_asking import PATIENT, client, plain
from faultserver import BatchPlan, Fault, FaultServer, always, first


@pytest.fixture(scope="module")
def running():
    with FaultServer(render=plain) as server:
        yield server


@pytest.fixture
def server(running: FaultServer):
    return as_new(running)


def test_files_are_kept_listed_and_deleted(server: FaultServer) -> None:
    data = request(KEYS[0]) * 3 + "ä\r\n--\r\n".encode()
    first_file, second = upload(server, data), upload(server, data)
    with api(server) as asked:
        assert asked.files.content(first_file.id).content == data
        assert (first_file.bytes, first_file.purpose) == (len(data), "batch")
        assert asked.files.retrieve(second.id).filename == "requests.jsonl"
        page = asked.files.list(limit=1)
        assert (page.has_more, [file.id for file in page.data]) == (True, [second.id])
        assert [file.id for file in page] == [second.id, first_file.id]
        assert [file.id for file in asked.files.list(order="asc")] == [first_file.id, second.id]
        assert asked.files.delete(first_file.id).deleted
        assert [file.id for file in asked.files.list(purpose="batch")] == [second.id]
        assert asked.files.list(purpose="batch_output").data == []
        with pytest.raises(openai.NotFoundError, match=first_file.id):
            asked.files.content(first_file.id)


@pytest.mark.parametrize("aio", [False, True], ids=["default", "aiohttp"])
def test_a_large_file_in_pieces(server: FaultServer, aio: bool, tmp_path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_bytes(request(KEYS[0]) * 80_000)

    async def there_and_back() -> bytes:
        async with client(server.url, aio=aio) as asked:
            file = await asked.files.create(file=path, purpose="batch")
            return (await asked.files.content(file.id)).content

    assert path.stat().st_size > 20_000_000
    assert asyncio.run(there_and_back()) == path.read_bytes()


def test_a_file_in_chunks_of_unknown_length(server: FaultServer) -> None:
    def parts():
        yield b'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x\r\n'
        yield b'Content-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
        yield from (b"12345", b"\r", b"\n678")
        yield b"\r\n--x--\r\n"

    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    connection.request("POST", "/v1/files", parts(), headers, encode_chunked=True)
    name = json.loads(connection.getresponse().read())["id"]
    connection.request("GET", f"/v1/files/{name}/content")
    assert connection.getresponse().read() == b"12345\r\n678"
    connection.close()


def test_files_that_are_not_taken(server: FaultServer) -> None:
    server.batches.set(max_bytes=100)
    with api(server) as asked:
        for file, purpose in [
            (("a.txt", b"{}"), "batch"),
            (("a.jsonl", b"{}"), "nonsense"),
            (("a.jsonl", b""), "batch"),
        ]:
            with pytest.raises(openai.BadRequestError):
                asked.files.create(file=file, purpose=purpose)
        with pytest.raises(openai.APIStatusError) as caught:
            asked.files.create(file=("a.jsonl", b" " * 101), purpose="batch")
        assert caught.value.status_code == 413
        assert asked.files.list().data == []
    assert server.batches.stats().uploads == 0
    assert server.batches.stats().requests["upload_file"] == 4


def test_a_batch_goes_through_its_states(server: FaultServer) -> None:
    batch = create(server, metadata={"run": "7"})
    seen = [batch]
    for _ in range(4):
        server.batches.step()
        seen.append(now(server, batch))
    states = ["validating", "in_progress", "finalizing", "completed", "completed"]
    assert [each.status for each in seen] == states
    assert seen[0].output_file_id is None
    assert [each.request_counts.completed for each in seen] == [0, 0, 20, 20, 20]
    last = seen[-1]
    assert (last.metadata, last.endpoint, last.model) == ({"run": "7"}, CHAT, "gpt-4o")
    assert (last.errors, last.error_file_id, last.failed_at) == (None, None, None)
    times = [last.created_at, last.in_progress_at, last.finalizing_at, last.completed_at]
    assert [time - last.created_at for time in times] == [0, 60, 3660, 3720]
    assert last.expires_at - last.created_at == 86400
    assert last.usage.total_tokens == sum(
        line["response"]["body"]["usage"]["total_tokens"]
        for line in lines(server, last.output_file_id)
    )


def test_lines_are_answered_as_chat_answers_them(server: FaultServer) -> None:
    batch, output, errors = ended(server, create(server))
    assert errors == []
    assert ids(output) != ALL, "the order is another"
    assert sorted(ids(output)) == ALL
    for line in output:
        assert (line["error"], line["response"]["status_code"]) == (None, 200)
        text = line["response"]["body"]["choices"][0]["message"]["content"]
        assert text == server.answer(line["custom_id"].removeprefix("id of "))
    with api(server) as asked:
        assert asked.files.retrieve(batch.output_file_id).purpose == "batch_output"
        direct = asked.chat.completions.create(**body(KEYS[3]))
    (line,) = [line for line in output if line["custom_id"] == ALL[3]]
    alike = json.loads(direct.model_dump_json(exclude_unset=True)) | {"id": "", "created": 0}
    assert line["response"]["body"] | {"id": "", "created": 0} == alike


def test_errors_by_line(server: FaultServer) -> None:
    server.set_faults(
        studies={
            KEYS[0]: always(Fault.TOO_LONG),
            KEYS[1]: first(Fault.RATE_LIMIT),
            KEYS[2]: first(Fault.SERVER_ERROR),
            KEYS[3]: always(Fault.FILTERED_PROMPT),
            KEYS[4]: always(Fault.FILTERED),
            KEYS[5]: first(Fault.STALL),
        }
    )
    batch, output, errors = ended(server, create(server))
    assert {line["custom_id"]: line["response"]["status_code"] for line in errors} == {
        ALL[0]: 400,
        ALL[1]: 429,
        ALL[2]: 500,
        ALL[3]: 400,
    }
    told = {line["custom_id"]: line["response"]["body"]["error"]["code"] for line in errors}
    assert (told[ALL[0]], told[ALL[3]]) == ("context_length_exceeded", "content_filter")
    assert all(line["error"] is None for line in errors)
    assert sorted(ids(output)) == ALL[4:]
    reasons = {
        line["custom_id"]: line["response"]["body"]["choices"][0]["finish_reason"]
        for line in output
    }
    assert {ALL[4]: "content_filter", ALL[5]: "stop"}.items() <= reasons.items()
    counts = batch.request_counts
    assert (counts.total, counts.completed, counts.failed) == (20, 16, 4)
    with api(server) as asked:
        assert asked.chat.completions.create(**body(KEYS[1])).choices, "its second request"


def test_refusals_by_line(server: FaultServer) -> None:
    server.set_faults(refused_parameters={"max_tokens": "unsupported_parameter"})
    batch, output, errors = ended(server, create(server, KEYS[:2]))
    assert (output, batch.output_file_id) == ([], None)
    assert {line["response"]["body"]["error"]["param"] for line in errors} == {"max_tokens"}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (request("a") + b"nonsense\n", [("invalid_json_line", 2, None)]),
        (request("a", custom_id=""), [("missing_required_parameter", 1, "custom_id")]),
        (request("a") * 2, [("duplicate_custom_id", 2, "custom_id")]),
        (request("a", method="GET"), [("invalid_method", 1, "method")]),
        (request("a", url="/v1/embeddings"), [("invalid_url", 1, "url")]),
        (
            request("a") + request("b", body={**body("b"), "model": "other"}),
            [("mismatched_model", 2, "body.model")],
        ),
        (request("a") + request("b") + request("c"), [("max_requests_exceeded", None, None)]),
    ],
)
def test_files_that_fail_in_validation(server: FaultServer, data: bytes, told: list) -> None:
    server.batches.set(max_requests=2)
    batch = create(server, data)
    assert (batch.status, batch.errors) == ("validating", None)
    batch, output, errors = ended(server, batch)
    assert (batch.status, output, errors) == ("failed", [], [])
    assert [(each.code, each.line, each.param) for each in batch.errors.data] == told
    assert all(each.message for each in batch.errors.data)
    assert batch.failed_at == batch.created_at + 60
    assert server.batches.stats().answered == {}


def test_a_model_that_is_not_served_fails_the_batch(server: FaultServer) -> None:
    server.set_faults(models={"other": "other"})
    batch, _, _ = ended(server, create(server))
    assert {each.code for each in batch.errors.data} == {"model_not_found"}


def test_a_batch_can_be_told_to_fail(server: FaultServer) -> None:
    server.batches.next(BatchPlan(ending="failed", failure="token_limit_exceeded"), BatchPlan())
    assert [ended(server, create(server))[0].status for _ in range(3)] == [
        *("failed", "completed", "completed")
    ]


@pytest.mark.parametrize("limit", ["token_limit", "batch_limit"])
def test_an_enqueued_limit_frees_again(server: FaultServer, limit: str) -> None:
    going = create(server)
    most = server.batches.all()[0]["tokens"] + 1 if limit == "token_limit" else 1
    server.batches.set(**{limit: most})
    server.batches.step()
    refused = create(server)
    server.batches.step(refused.id)
    refused = now(server, refused)
    assert refused.status == "failed"
    (error,) = refused.errors.data
    assert (error.code, error.line) == ("token_limit_exceeded", None)
    assert "Enqueued token limit reached for gpt-4o" in error.message
    server.batches.finish(going.id)
    assert ended(server, create(server))[0].status == "completed"
    assert set(server.batches.stats().created.values()) == {3}
    assert set(server.batches.stats().answered.values()) == {2}


def test_from_a_shell_batches_go_on_by_themselves() -> None:
    """At Azure's address too, which differs by a prefix."""
    command = [sys.executable, "-m", "faultserver", "--port", "0", "--batching"]
    settings = json.dumps({"polls": 2, "plan": {"lost": 1}, "seconds": None})
    with subprocess.Popen(
        [*command, settings], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    ) as process:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"].replace("/v1", "/openai/v1")
        with openai.OpenAI(api_key="a key", base_url=url, timeout=PATIENT) as asked:
            data = b"".join(map(request, KEYS))
            name = asked.files.create(file=("a.jsonl", data), purpose="batch").id
            batch = asked.batches.create(input_file_id=name, endpoint=CHAT, completion_window="24h")
            states = [asked.batches.retrieve(batch.id) for _ in range(2)]
            assert [each.status for each in states] == ["in_progress", "completed"]
            output = asked.files.content(states[-1].output_file_id or "").text
        assert len(output.splitlines()) == 19
        process.terminate()
        assert process.wait(10) == 0
