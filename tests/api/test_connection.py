"""Where a server is, the way to it, whose key it needs, and what is sent there."""

from __future__ import annotations

import asyncio
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from faultserver import FaultServer
from hostile import Hostile, completion, judged, reply, self_signed
from running import Runner, study_set

from judge import backends, rubrics
from judge.address import proxy_of
from judge.backends.base import UnreachableError
from judge.backends.connection import Connection
from judge.backends.openai import OPENAI_URL, key_name
from judge.backends.openai_client import OpenAIClient
from judge.prompts import STRUCTURED, TEXT
from judge.types import JudgeError, Scored

GREEN = rubrics.load("green")
PROXIES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def load(model: str = "model-x", **settings: Any) -> backends.Judge:
    given = {"base_url": "http://127.0.0.1:9/v1"} | settings
    return backends.load(model, GREEN, backends.JudgeSettings(**given))


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.3.2.1/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://127.0.0.1.example.org/v1", False),
        (OPENAI_URL, False),
    ],
)
def test_only_this_machine_is_local(url: str, local: bool) -> None:
    assert Connection(url).is_local is local


@pytest.mark.parametrize(
    "url",
    [
        *(
            "localhost:8000/v1",
            "ftp://127.0.0.1/v1",
            "http://fe80::1/v1",
            "http://[::1/v1",
            "",
        ),
        *(
            "http://127.0.0.1:99999/v1",
            "http://127.0.0.1:x/v1",
            "http:///v1",
            "http://a b/v1",
        ),
        *("http://me:hunter2@127.0.0.1/v1", "https://example.org/v1?api-key=hunter2"),
    ],
)
def test_a_wrong_address_is_one_message_at_once(url: str) -> None:
    with pytest.raises(JudgeError) as caught:
        load(base_url=url, environ={"OPENAI_API_KEY": "k"})
    assert len(str(caught.value).splitlines()) == 1
    assert "hunter2" not in str(caught.value)


def key(url: str, environ: dict[str, str]) -> str:
    connection = Connection(url)
    return connection.key(environ, key_name(connection))


def test_ascii_is_asked_for_where_the_key_is_there_and_has_other_signs() -> None:
    for environ in ({}, {"OPENAI_API_KEY": " "}):
        with pytest.raises(JudgeError, match="needs a key: set OPENAI_API_KEY") as none:
            key("https://judge.example/v1", environ)
        assert "ASCII" not in str(none.value)
    for value in ("schlüssel", "a\x00b"):
        with pytest.raises(JudgeError, match="needs a key, in ASCII") as odd:
            key("https://judge.example/v1", {"OPENAI_API_KEY": value})
        assert value not in str(odd.value)


def test_the_key_is_the_one_of_the_server() -> None:
    environ = {"OPENAI_API_KEY": "one", "AZURE_OPENAI_API_KEY": "two"}
    assert key(OPENAI_URL, environ) == "one"
    assert key("https://x.openai.azure.com/openai/v1/", environ) == "two"
    assert key("http://127.0.0.1:1/v1", {}) == "none"
    for wrong in ({}, {"OPENAI_API_KEY": "  "}):
        with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
            key(OPENAI_URL, wrong)


@pytest.mark.parametrize("name", ["lexcion", "lexikon", "lexicn:x", ""])
def test_a_slip_never_sends_reports_away(name: str) -> None:
    with pytest.raises(JudgeError, match="built-in judge"):
        load(name, base_url=None, environ={"OPENAI_API_KEY": "k"})


# The way


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_what_is_for_this_machine_goes_through_no_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FaultServer, host: str
) -> None:
    with Hostile(reply(completion())) as proxy:
        for name in PROXIES:
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        ends, said = judged(server.url.replace("127.0.0.1", host), tmp_path)
        assert all(isinstance(end.outcome, Scored) for end in ends.values())
        assert not proxy.requests
        assert not said


# The transport that openai brings gives aiohttp the proxy's password in the old form.
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
def test_a_proxy_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Hostile(reply(completion())) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:hunter2@127.0.0.1:{proxy.port}")
        ends, (said,) = judged("http://judge.example:8000/v1", tmp_path)
    assert isinstance(ends["study-0000"].outcome, Scored)
    assert "through the proxy http://127.0.0.1:" in said
    assert "hunter2" not in said
    assert proxy.requests[0].startswith(
        "POST http://judge.example:8000/v1/chat/completions "
    )
    assert "Proxy-Authorization: Basic " in proxy.requests[0]
    assert "http://judge.example:8000/v1" in said, "where reports go is said"


def test_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Hostile(reply(completion()), tls=self_signed(tmp_path)) as server:
        with pytest.raises(JudgeError, match="SSL_CERT_FILE"):
            judged(server.url, tmp_path)
        assert not server.requests
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        ends, _ = judged(server.url, tmp_path)
    assert isinstance(ends["study-0000"].outcome, Scored)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://a..b/v1", JudgeError),
        ("http://127.1:9/v1", JudgeError),
        ("http://127.0.0.1:9/v1", UnreachableError),
    ],
)
def test_nobody_there_is_told_from_a_wrong_address(
    url: str, kind: type[Exception]
) -> None:
    async def ask() -> None:
        client = OpenAIClient(Connection(url), "none")
        with pytest.raises(kind):
            await client.ask({"model": "m", "messages": []})
        await client.aclose()

    asyncio.run(ask())


# What is sent


def test_sampling_is_sent_and_is_part_of_the_question(
    server: FaultServer, runner: Runner
) -> None:
    asked = {
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 7,
        "reasoning_effort": "low",
        "top_k": 20,
    }
    server.set_faults(record=True)
    runner(3)
    runner(3, asking={"sampling": asked})
    body = server.requests()[-1]["body"]
    assert {name: body[name] for name in asked} == asked
    assert server.stats().requests == 6, "another question"
    runner(3, asking={"sampling": {**asked, "seed": 8}})
    runner(3, asking={"sampling": {"temperature": 0.0}})
    assert server.stats().requests == 9, "0 is what it is by default"


def test_what_the_user_wants_is_not_left_out_silently(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(refused_parameters={"temperature": "unsupported_value"})
    with pytest.raises(JudgeError, match="temperature"):
        runner(3, asking={"sampling": {"temperature": 0.5}})
    assert len(runner(3)[0]) == 3, "what nobody asked for is left out with a word"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"max_completion_tokens": 3}, "'max_completion_tokens'"),
        ({"n": 2}, "'n'"),
        ({"temperature": float("nan")}, "temperature"),
        ({"x": float("inf")}, "x"),
        ({"x": reduce(lambda inner, _: [inner], range(100_000), 1)}, "x"),
        ({"x": reduce(lambda inner, _: [inner], range(101), 1)}, "x"),
    ],
)
def test_what_no_server_takes_or_would_spoil_the_answer(
    given: dict[str, Any], says: str
) -> None:
    with pytest.raises(JudgeError, match=says):
        load(sampling=given)


@pytest.mark.parametrize(
    ("model", "longest"),
    [
        *(
            (name, 25_000)
            for name in ("o1", "gpt-5", "openai/gpt-oss-20b", "x:o4-mini", "QwQ")
        ),
        *(
            (name, 2048)
            for name in ("gpt-4o", "gpt-4o-2024-11-20", "StanfordAIMI/GREEN-o1x")
        ),
        *((name, 8192) for name in ("gpt-4o3", "meta-llama/Llama-3.3-70B-Instruct")),
    ],
)
def test_an_answer_is_not_starved_by_its_reasoning(model: str, longest: int) -> None:
    assert load(model).sampling["max_tokens"] == longest
    assert load(model, max_tokens=99).sampling["max_tokens"] == 99


def test_which_reply_is_asked_for() -> None:
    assert load("gpt-4o").reply == STRUCTURED
    for judge in (
        load(reply="text"),
        load(prompt="green"),
        load("StanfordAIMI/GREEN-phi2"),
    ):
        assert judge.reply == TEXT
        assert judge.request(next(iter(study_set(1)))).schema is None
    for wrong in ({"prompt": "green", "reply": "structured"}, {"reply": "json"}):
        with pytest.raises(JudgeError, match="reply"):
            load(**wrong)


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "SOCKS4", "quic"])
@pytest.mark.parametrize("name", ["ALL_PROXY", "http_proxy"])
def test_a_proxy_that_speaks_no_http_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, name: str
) -> None:
    with Hostile(reply(completion())) as proxy:
        monkeypatch.setenv(name, f"{scheme}://me:hunter2@127.0.0.1:{proxy.port}")
        with pytest.raises(
            JudgeError, match="speaks with HTTP proxies alone"
        ) as refused:
            judged("http://judge.example:8000/v1", tmp_path)
        assert "hunter2" not in str(refused.value)
        assert not proxy.requests


@pytest.mark.parametrize(
    "listed", ["judge.example", ".example", "*", "10.0.0.0/8,judge.example:8000"]
)
def test_what_no_proxy_names_is_asked_directly(
    monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "127.0.0.1:1")
    assert proxy_of("http://judge.example:8000/v1") == "http://127.0.0.1:1"
    monkeypatch.setenv("NO_PROXY", listed)
    assert proxy_of("http://judge.example:8000/v1") is None
    if "/8" in listed:
        assert proxy_of("http://10.1.2.3:8000/v1") is None
        assert proxy_of("http://11.1.2.3:8000/v1") is not None


@pytest.mark.parametrize(
    "host",
    [
        "%31%32%37.0.0.1",
        "127\u30020\u30020\u30021",
        "127\uff0e0\uff0e0\uff0e1",
        "\uff11\uff12\uff17.0.0.1",
        "localhost%2e",
        "loc\u00adalhost",
        "\u24d1ocalhost",
        "127.0.0.1%00.x",
    ],
)
def test_a_host_that_two_programs_would_read_in_two_ways_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    with Hostile(reply(completion())) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(JudgeError, match="--base-url is no address"):
            judged(f"http://{host}:8000/v1", tmp_path)
        assert not proxy.requests


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_is_named(tmp_path: Path, status: int) -> None:
    with Hostile(reply(completion())) as other:
        target = f"http://127.0.0.1:{other.port}/elsewhere"
        moved = reply({}, f"{status} Moved", f"Location: {target}?key=secret")
        with Hostile(moved) as server, pytest.raises(JudgeError) as refused:
            judged(server.url, tmp_path)
        assert target in str(refused.value)
        assert "secret" not in str(refused.value)
        assert not other.requests
