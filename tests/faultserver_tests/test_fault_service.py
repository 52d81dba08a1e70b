"""Load, limits, outages, counters."""

from __future__ import annotations

import asyncio
import http.client
import json
import time

import openai
import pytest
from fault_asking import IMPATIENT, ask, client, error, one, plain
from faultserver import Behaviour, Fault, FaultServer, Outage, first, spread

KEYS = [f"study-{number:04d}" for number in range(20)]


def serving(**behaviour) -> FaultServer:
    return FaultServer(Behaviour(**behaviour), render=plain, mode="thread")


def statuses(answers: list) -> list[int]:
    return [getattr(answer, "status_code", 200) for answer in answers]


def test_a_plan_is_what_comes() -> None:
    with serving(rates={Fault.SERVER_ERROR: 0.3, Fault.DROP: 0.2, Fault.EMPTY: 0.2}) as server:
        plans = server.plan(KEYS)
        for attempt in range(3):
            ask(server.url, KEYS)
            rows = server.log()[-len(KEYS) :]
            assert {row.study: (row.attempt, row.fault) for row in rows} == {
                key: (attempt, plans[key].at(attempt) or "") for key in KEYS
            }
        assert {row.fault for row in server.log()} == {"", "server_error", "drop", "empty"}


def test_latency_and_flight() -> None:
    with serving(latency=0.5) as server:
        start = time.monotonic()
        ask(server.url, KEYS)
        assert time.monotonic() - start >= 0.5
        stats = server.stats()
        assert (stats.in_flight_max, stats.in_flight) == (20, 0)
        assert all(row.ended - row.arrived >= 0.498 for row in server.log())
        assert sum(came for came, _, _ in stats.timeline.values()) == 20
        assert sum(ended for _, ended, _ in stats.timeline.values()) == 20
        assert max(most for _, _, most in stats.timeline.values()) == 20


def test_slots_make_the_others_wait() -> None:
    with serving(latency=0.04, slots=4) as server:
        ask(server.url, KEYS)
        # A timer may be late, never early.
        for place, row in enumerate(sorted(server.log(), key=lambda row: row.ended)):
            assert row.ended >= 0.04 * (place // 4 + 1) - 0.003


def test_a_slow_study_is_slow_alone() -> None:
    with serving(studies={KEYS[3]: first(Fault.SLOW)}, slow=0.2) as server:
        answers = ask(server.url, KEYS)
        assert answers[3].choices[0].message.content == server.answer(KEYS[3])
        slow = [row.study for row in server.log() if row.ended - row.arrived > 0.15]
        assert slow == [KEYS[3]]


def test_more_in_flight_than_allowed_is_429() -> None:
    with serving(latency=0.5, max_in_flight=8) as server:
        answers = ask(server.url, KEYS)
        assert sorted(statuses(answers)) == [200] * 8 + [429] * 12
        assert server.stats().by_status == {"200": 8, "429": 12}
        assert {row.attempt for row in server.log() if row.status == "429"} == {-1}


def test_more_a_second_than_allowed_is_429_and_says_when_to_come_back() -> None:
    with serving(per_second=8) as server:
        answers = ask(server.url, KEYS)
        assert sorted(statuses(answers)) == [200] * 8 + [429] * 12
        late = next(at for at, a in enumerate(answers) if isinstance(a, openai.RateLimitError))
        wait = int(answers[late].response.headers["retry-after-ms"]) / 1000
        assert 0 < wait <= 1
        time.sleep(wait)
        assert one(server.url, KEYS[late]).choices
        assert server.stats().too_soon == 0


def test_coming_back_too_soon_is_seen() -> None:
    with serving(studies={"study-1": first(Fault.RATE_LIMIT)}, retry_after=5) as server:
        error(server.url)
        one(server.url)
        one(server.url, "study-2")
        assert server.stats().too_soon == 1


def test_an_outage_has_its_time() -> None:
    with serving(
        outage=Outage(start=0.2, end=0.5), studies={"study-1": first(Fault.EMPTY)}
    ) as server:
        seen = []
        while not seen or seen[-1][0] < 0.7:
            status = statuses(ask(server.url, ["study-2"]))[0]
            seen.append((server.log()[-1].arrived, status))
        assert {status for at, status in seen if at < 0.2 or at >= 0.5} == {200}
        assert {status for at, status in seen if 0.2 <= at < 0.5} == {503}


def test_an_outage_is_switched_and_takes_nothing_from_the_plan() -> None:
    with serving(studies={"study-1": first(Fault.EMPTY)}) as server:
        server.set_faults(outage=Outage(Fault.UNAVAILABLE))
        assert error(server.url).status_code == 503
        server.set_faults(outage=None)
        assert one(server.url).choices[0].message.content == ""


def test_a_refused_port_resets_what_is_under_way_and_opens_again() -> None:
    with serving(outage=Outage(Fault.REFUSED, start=0.2, end=1.5), latency=0.4) as server:
        first_answer = error(server.url, aio=False)
        assert type(first_answer) is openai.APIConnectionError
        assert type(error(server.url, aio=False)) is openai.APIConnectionError
        assert server.stats().by_status == {"gone": 1}
        time.sleep(1.6)
        assert one(server.url, aio=False).choices


def test_a_client_that_leaves_is_seen() -> None:
    with serving(latency=5) as server:
        assert type(error(server.url, timeout=IMPATIENT)) is openai.APITimeoutError
        stats = server.wait_for(lambda stats: stats.in_flight == 0)
        assert stats.by_status == {"gone": 1}


def test_connections_are_kept() -> None:
    async def in_turn(url: str) -> None:
        for aio in (False, True):
            async with client(url, aio=aio) as asked:
                for key in KEYS:
                    await asked.chat.completions.create(
                        model="m", messages=[{"role": "user", "content": key}]
                    )

    with serving(rates={Fault.SERVER_ERROR: 0.0}) as server:
        asyncio.run(in_turn(server.url))
        stats = server.stats()
        assert (stats.requests, stats.connections) == (40, 2)


def test_requests_sent_together_on_one_connection_are_answered_in_turn() -> None:
    async def both(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps({"model": "m", "prompt": "study-1"}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n" % len(body)
        writer.write(head + b"\r\n" + body + head + b"Connection: close\r\n\r\n" + body)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    for latency in (0.0, 0.01):
        with serving(latency=latency) as server:
            assert asyncio.run(both(server.port)).count(b"HTTP/1.1 200 OK") == 2


def test_completions_with_text_and_with_token_ids() -> None:
    async def asked(url: str) -> list[str]:
        async with client(url) as program:
            prompts = ["about study-5", [ord(c) for c in "about study-6"], ["about study-7"]]
            answers = [
                await program.completions.create(model="m", prompt=prompt) for prompt in prompts
            ]
            return [answer.choices[0].text for answer in answers]

    with serving() as server:
        assert asyncio.run(asked(server.url)) == [server.answer(f"study-{n}") for n in (5, 6, 7)]


def test_models_and_other_addresses() -> None:
    async def listed(url: str) -> list[str]:
        async with client(url) as program:
            return [model.id async for model in program.models.list()]

    def status(method: str, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request(method, path)
        answer = connection.getresponse().status
        connection.close()
        return answer

    with serving(models={"a": "a-1", "b": "b"}) as server:
        assert asyncio.run(listed(server.url)) == ["a", "b"]
        assert status("GET", "/v1/models/a") == 200
        assert status("GET", "/v1/models/c") == 404
        assert status("POST", "/chat/completions") == 404
        assert status("GET", "/v1/chat/completions") == 405
        assert status("POST", "/v1/chat/completions") == 400
        assert status("GET", "/control/nothing") == 404
        server.set_faults(outage=Outage())
        assert status("GET", "/v1/models") == 503


def test_a_prompt_without_a_key_has_one_of_its_own() -> None:
    with serving() as server:
        ask(server.url, ["nobody", "nobody", "no one"])
        # The last message names a candidate too; without it, what is left decides.
        assert server.stats().by_study == {"study-7": 3}
        server.set_faults(key_pattern="patient-[0-9]+")
        server.reset()
        ask(server.url, ["nobody", "nobody", "no one"])
        assert sorted(server.stats().by_study.values()) == [1, 2]


def test_a_record_has_what_was_sent_and_no_key() -> None:
    with serving(record=True) as server:
        one(server.url, "study-8", api_key="very secret", seed=5)
        (request,) = server.requests()
        assert request["study"] == "study-8"
        assert request["body"]["seed"] == 5
        assert request["headers"]["content-type"] == "application/json"
        assert "very secret" not in json.dumps(request)


def test_a_reset_forgets() -> None:
    with serving(studies={"study-1": first(Fault.EMPTY)}) as server:
        for _ in range(2):
            assert one(server.url).choices[0].message.content == ""
            assert server.stats().requests == 1
            server.reset()
            assert server.stats().requests == 0
            assert server.log() == []


def test_changes_that_cannot_be_change_nothing() -> None:
    with serving() as server:
        with pytest.raises(ValueError, match="unknown"):
            server._ask("POST", "/control/faults", {"latensy": 1})
        with pytest.raises(ValueError, match="unterminated"):
            server.set_faults(key_pattern="(")
        assert one(server.url).choices


def test_the_500_of_the_requirement() -> None:
    keys = [f"study-{number:04d}" for number in range(500)]
    shares = {
        Fault.RATE_LIMIT: 0.05,
        Fault.SERVER_ERROR: 0.02,
        Fault.DROP: 0.01,
        Fault.MALFORMED: 0.02,
    }
    with serving(studies=spread(keys, shares)) as server:
        ask(server.url, keys)
        assert server.stats().by_status == {"429": 25, "500": 10, "dropped": 5, "200": 460}
        again = ask(server.url, keys)
        right = sum(
            answer.choices[0].message.content == server.answer(key)
            for key, answer in zip(keys, again, strict=True)
        )
        assert right == 490
