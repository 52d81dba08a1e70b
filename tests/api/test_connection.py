"""Where a server is, whose key it needs, and which judge a name stands for."""

from __future__ import annotations

import pytest

from judge import backends, rubrics
from judge.backends.connection import OPENAI_URL, Connection
from judge.running.progress import Prices, prompt_tokens
from judge.types import CompletionRequest, JudgeError, Message, Usage

GREEN = rubrics.load("green")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://127.3.2.1/v1", True),
        ("http://localhost:11434/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://0.0.0.0:8000/v1", False),
        ("http://10.0.0.5/v1", False),
        ("http://localhost.example.org/v1", False),
        ("http://127.0.0.1.example.org/v1", False),
        (OPENAI_URL, False),
    ],
)
def test_only_this_machine_is_local(url: str, local: bool) -> None:
    assert Connection(url).is_local is local


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("localhost:8000/v1", "neither http"),
        ("ftp://127.0.0.1/v1", "neither http"),
        ("127.0.0.1:8000", "neither http"),
        ("http://::1:8000/v1", "brackets"),
        ("http://fe80::1/v1", "brackets"),
        ("http://[::1/v1", "IPv6"),
        ("http://127.0.0.1:99999/v1", "out of range"),
        ("http://127.0.0.1:0/v1", "no port"),
        ("http://127.0.0.1:x/v1", "integer"),
        ("http:///v1", "no machine"),
        ("http://me:hunter2@127.0.0.1/v1", "password"),
        ("http://127.0.0.1@example.org/v1", "password"),
        ("https://example.org/v1?api-key=hunter2", r"\?"),
        ("http://127.0.0.1/v 1", "blank"),
        ("http://127.0.0.1/v1\n", "control"),
        ("", "neither http"),
    ],
)
def test_a_wrong_address_is_one_message_at_once(url: str, says: str) -> None:
    with pytest.raises(JudgeError, match=says) as caught:
        backends.load(
            "m", GREEN, backends.JudgeSettings(base_url=url, environ={"OPENAI_API_KEY": "k"})
        )
    assert len(str(caught.value).splitlines()) == 1
    assert "hunter2" not in str(caught.value)


def test_openai_base_url_is_honoured_and_said() -> None:
    said: list[str] = []
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:1234/v1/"}
    judge = backends.load("m", GREEN, backends.JudgeSettings(environ=environ, say=said.append))
    assert judge.billing_url is None, "a server on this machine, which costs nothing"
    assert said == ["The server is the one that OPENAI_BASE_URL names: http://127.0.0.1:1234/v1/"]
    said.clear()
    here = backends.JudgeSettings(
        base_url="http://127.0.0.1:1/v1", environ=environ, say=said.append
    )
    backends.load("m", GREEN, here)
    assert not said, "--base-url comes first"
    with pytest.raises(JudgeError, match="neither http"):
        backends.load(
            "m", GREEN, backends.JudgeSettings(environ={"OPENAI_BASE_URL": "localhost:1"})
        )


def test_the_key_is_the_one_of_the_server() -> None:
    environ = {"OPENAI_API_KEY": "one", "AZURE_OPENAI_API_KEY": "two"}
    assert Connection(OPENAI_URL).key(environ) == "one"
    assert Connection("https://x.openai.azure.com/openai/v1/").key(environ) == "two"
    assert Connection("http://127.0.0.1:1/v1").key({}) == "none"


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": "  "}])
def test_a_key_that_is_not_set_is_asked_for_by_name(environ: dict[str, str]) -> None:
    with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
        Connection(OPENAI_URL).key(environ)


@pytest.mark.parametrize("name", ["lexcion", "lexikon", "lexicn:x", "", " "])
def test_a_slip_never_sends_reports_away(name: str) -> None:
    with pytest.raises(JudgeError, match="built-in judge"):
        backends.load(name, GREEN, backends.JudgeSettings(environ={"OPENAI_API_KEY": "k"}))


def test_a_model_without_a_key_says_what_it_is() -> None:
    with pytest.raises(JudgeError, match=r"gpt-4o.*behind an API.*OPENAI_API_KEY"):
        backends.load("gpt-4o", GREEN)


def test_base_url_is_not_for_the_lexicon() -> None:
    with pytest.raises(JudgeError, match="--base-url"):
        backends.load("lexicon", GREEN, backends.JudgeSettings(base_url="http://127.0.0.1/v1"))


def test_a_prompt_of_another_rubric_is_refused(tmp_path: object) -> None:
    path = tmp_path / "p.yaml"  # type: ignore[operator]
    path.write_text('name: x\nversion: 1\nrubric: blue\nuser: "$reference $candidate"\n', "utf-8")
    with pytest.raises(JudgeError, match="blue"):
        backends.load(
            "gpt-4o",
            GREEN,
            backends.JudgeSettings(prompt=str(path), environ={"OPENAI_API_KEY": "k"}),
        )


def test_prices_are_those_of_the_table() -> None:
    """USD 2.50 and 10 a million tokens in and out, half for cached ones [OpenAI's price list]."""
    prices = Prices("gpt-4o", OPENAI_URL)
    assert prices.dollars(Usage(1_000_000, 0)) == pytest.approx(2.5)
    assert prices.dollars(Usage(0, 1_000_000)) == pytest.approx(10)
    assert prices.dollars(Usage(1_000_000, 0, 1_000_000)) == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("model", "url"),
    [("my-own-model", OPENAI_URL), ("gpt-4o", "http://127.0.0.1:8000/v1"), ("gpt-4o", None)],
)
def test_an_unknown_price_is_no_number(model: str, url: str | None) -> None:
    prices = Prices(model, url)
    assert prices.dollars(Usage(1000, 1000)) is None
    request = CompletionRequest("chat", model, (), {"max_tokens": 10})
    assert prices.at_most(request) is None


def test_an_answer_without_a_token_count_has_no_price() -> None:
    assert Prices("gpt-4o", OPENAI_URL).dollars(None) is None


def test_the_most_a_request_can_cost_is_more_than_it_will() -> None:
    prices = Prices("gpt-4o", OPENAI_URL)
    request = CompletionRequest(
        "chat", "gpt-4o", (Message("user", "x" * 4000),), {"max_tokens": 500}
    )
    most = prices.at_most(request)
    likely = prices.dollars(Usage(prompt_tokens(request), 300))
    assert most is not None
    assert likely is not None
    assert most > likely
