"""Models of OpenAI, Azure, Anthropic and Google, through their own SDKs, at servers of our own."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import genai_prices
import pytest
from hostile import ANSWER
from provider_server import ProviderServer
from running import Runner
from support import Invoke

from judge import backends, rubrics
from judge.backends import JudgeSettings, hosted, models
from judge.backends.hosted import HostedJudge
from judge.running.cost import Prices
from judge.running.records import StudyResult
from judge.types import Failed, JudgeError, Scored, Study, Unparsed, Usage

PAIRS = ("examples/preds.json", "examples/refs.json")
EXAMPLES = Path(__file__).parents[2]
KEYS = {
    "OPENAI_API_KEY": "sk-openai",
    "ANTHROPIC_API_KEY": "sk-anthropic",
    "GEMINI_API_KEY": "sk-google",
    "AZURE_OPENAI_API_KEY": "sk-azure",
}
URLS = {
    "openai": ("OPENAI_BASE_URL", "/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", ""),
    "google": ("GOOGLE_GEMINI_BASE_URL", ""),
    "azure": ("AZURE_OPENAI_ENDPOINT", ""),
}
MODELS = {
    "openai": "openai:gpt-6-luna",
    "anthropic": "claude-haiku-5-5",
    "google": "gemini-3.5-flash-lite",
    "azure": "azure:radiology",
}
STUDY = Study("1", "No effusion.", "Small effusion.")


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as running:
        yield running


def environ(server: ProviderServer) -> dict[str, str]:
    """Keys, and the address of each provider as its own variable names it."""
    return KEYS | {name: server.url + path for name, path in URLS.values()}


def load(model: str, **settings: Any) -> HostedJudge:
    """A judge for GREEN that is asked nothing."""
    judge = backends.load(
        model, rubrics.load("green"), JudgeSettings(sends=False, **settings)
    )
    assert isinstance(judge, HostedJudge)
    return judge


def judged(
    server: ProviderServer, folder: Path, provider: str, **asking: Any
) -> tuple[StudyResult, Runner, Any]:
    """Ask a provider's model about one study; returns its end, what was said, and the totals."""
    run = Runner(None, rubrics.load("green"), folder / "cache")
    asked = {"base_url": None, "environ": environ(server)} | asking
    model = asked.pop("model", MODELS[provider])
    ends, progress = run(1, model=model, asking=asked, max_requests=3, reask=0)
    return ends["study-0000"], run, progress


# What is sent


def test_a_claude_model_is_asked_by_the_messages_api(
    server: ProviderServer, tmp_path: Path
) -> None:
    end, _, progress = judged(server, tmp_path, "anthropic")
    assert isinstance(end.outcome, Scored)
    (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["authorization"] == "Bearer sk-anthropic"
    body = asked.body
    assert body["model"] == "claude-haiku-5-5"
    assert "temperature" not in body
    assert body["max_tokens"] == models.MAX_TOKENS_REASONING
    assert body["output_config"]["effort"] == "low"
    assert body["output_config"]["format"]["type"] == "json_schema"
    (instructions,) = body["system"]
    assert instructions["cache_control"] == {"type": "ephemeral"}
    assert "study-0000" not in instructions["text"], (
        "the instructions are the same for all studies"
    )
    assert [turn["role"] for turn in body["messages"]] == ["user"]
    assert end.completion is not None
    assert end.completion.text == ANSWER, "thinking is no part of the answer"
    assert end.completion.model == "claude-haiku-5-5-20260901"
    assert end.completion.usage == Usage(
        1500, 250, cached_tokens=1000, written_tokens=200
    )
    assert progress.cached_tokens == 1000


def test_a_gemini_model_is_asked_by_the_gemini_api(
    server: ProviderServer, tmp_path: Path
) -> None:
    end, _, _ = judged(server, tmp_path, "google")
    assert isinstance(end.outcome, Scored)
    (asked,) = server.asked
    assert asked.path == "/v1/models/gemini-3.5-flash-lite:generateContent"
    assert asked.headers["x-goog-api-key"] == "sk-google"
    config = asked.body["generationConfig"]
    # As the package writes it; the API takes a field in either spelling.
    assert config["thinkingConfig"] == {"thinking_level": "MINIMAL"}
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["additionalProperties"] is False
    assert "temperature" not in config
    assert asked.body["systemInstruction"]["parts"][0]["text"]
    assert end.completion is not None
    assert end.completion.text == ANSWER, "thoughts are no part of the answer"
    assert end.completion.usage == Usage(1500, 250, cached_tokens=1000), (
        "thoughts are paid for"
    )


def test_a_model_of_openai_that_reasons_is_asked_with_its_least_effort(
    server: ProviderServer, tmp_path: Path
) -> None:
    end, _, _ = judged(server, tmp_path, "openai")
    assert isinstance(end.outcome, Scored)
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body["reasoning_effort"] == "none"
    assert asked.body["max_completion_tokens"] == models.MAX_TOKENS
    assert "max_tokens" not in asked.body
    assert asked.body["temperature"] == 0, "which it takes with the effort none"
    assert end.completion is not None
    assert end.completion.usage == Usage(
        1500, 250, cached_tokens=1000, written_tokens=100
    )


def test_azure_is_asked_at_its_own_path_with_its_own_key(
    server: ProviderServer, tmp_path: Path
) -> None:
    end, _, _ = judged(server, tmp_path, "azure")
    assert isinstance(end.outcome, Scored)
    (asked,) = server.asked
    assert asked.path == "/openai/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer sk-azure"
    assert asked.body["model"] == "radiology"
    with pytest.raises(JudgeError, match="AZURE_OPENAI_ENDPOINT or --base-url"):
        load("azure:radiology")


def test_openai_and_azure_are_told_to_store_nothing() -> None:
    endpoint = {"AZURE_OPENAI_ENDPOINT": "https://clinic.openai.azure.com"}
    for model in ("gpt-6-luna", "azure:radiology"):
        judge = load(model, environ=endpoint)
        assert judge.body(judge.request(STUDY))["store"] is False
        assert "store" not in judge.sampling
    other = load("gpt-6-luna", base_url="http://127.0.0.1:1/v1")
    assert "store" not in other.body(other.request(STUDY))


def test_an_effort_that_is_asked_for_stands_in_the_signature() -> None:
    for model, effort in (("gpt-6-luna", "high"), ("claude-haiku-5-5", "max")):
        judge = load(model, sampling={"reasoning_effort": effort})
        assert judge.sent_sampling["reasoning_effort"] == effort
        assert judge.sampling["max_tokens"] == models.MAX_TOKENS_REASONING
        assert "temperature" not in judge.sent_sampling
    assert load("gemini-3.5-flash-lite").sent_sampling["reasoning_effort"] == "minimal"
    assert "reasoning_effort" not in load("gpt-4o").sent_sampling
    with pytest.raises(
        JudgeError, match=r"no reasoning effort 'none' \(there are: low"
    ):
        load("claude-haiku-5-5", sampling={"reasoning_effort": "none"})


@pytest.mark.parametrize(
    ("model", "sampling", "why"),
    [
        (
            "gpt-6-luna",
            {"reasoning_effort": "low"},
            "with --reasoning-effort none only",
        ),
        ("claude-sonnet-5-5", {}, "takes no temperature"),
        ("gemini-3.8-flash", {}, "ignores it"),
    ],
)
def test_a_temperature_without_effect_is_refused(
    model: str, sampling: dict[str, object], why: str
) -> None:
    with pytest.raises(JudgeError, match=why):
        load(model, sampling={"temperature": 0.5, **sampling})


def test_a_service_tier_changes_no_answer_and_has_the_price_of_a_batch(
    server: ProviderServer, tmp_path: Path
) -> None:
    plain, flex = load("gpt-6-luna"), load("gpt-6-luna", service_tier="flex")
    assert flex.body(flex.request(STUDY))["service_tier"] == "flex"
    assert flex.request(STUDY) == plain.request(STUDY), "and so the key in the cache"
    used = Usage(1_000_000, 100_000)
    half = Prices.of(flex).dollars(used)
    whole = Prices.of(plain).dollars(used)
    assert half is not None
    assert whole == pytest.approx(2 * half)
    judged(server, tmp_path, "google", service_tier="flex")
    assert server.asked[0].body["serviceTier"] == "flex"
    with pytest.raises(JudgeError, match="anthropic has no service tier 'flex'"):
        load("claude-haiku-5-5", service_tier="flex")
    with pytest.raises(JudgeError, match="leave out --service-tier"):
        backends.load(
            "lexicon", rubrics.load("green"), JudgeSettings(service_tier="flex")
        )


# Which provider


@pytest.mark.parametrize(
    ("model", "provider", "served_as"),
    [
        ("gpt-6-luna", "openai", "gpt-6-luna"),
        ("claude-haiku-5-5", "anthropic", "claude-haiku-5-5"),
        ("claude-of-next-year", "anthropic", "claude-of-next-year"),
        ("gemini-9", "google", "gemini-9"),
        ("openai:claude-like", "openai", "claude-like"),
        ("anthropic:internal", "anthropic", "internal"),
        ("google:gemma-4", "google", "gemma-4"),
    ],
)
def test_a_provider_is_known_by_the_name_or_the_prefix(
    model: str, provider: str, served_as: str
) -> None:
    judge = load(model)
    assert (judge.provider, judge.served_as) == (provider, served_as)


def test_a_named_server_speaks_openais_protocol_whatever_its_model_is_called() -> None:
    judge = load("claude-haiku-5-5", base_url="http://127.0.0.1:4000/v1")
    assert judge.provider == "openai"
    assert "reasoning_effort" not in judge.sampling
    written_out = load("anthropic:claude-haiku-5-5", base_url="http://127.0.0.1:4000")
    assert written_out.provider == "anthropic"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_the_variable_of_a_missing_key_is_named(provider: str) -> None:
    keys = {"openai": "OPENAI", "anthropic": "ANTHROPIC", "google": "GEMINI"}
    with pytest.raises(JudgeError, match=f"set {keys[provider]}_API_KEY"):
        backends.load(MODELS[provider], rubrics.load("green"), JudgeSettings())


def test_a_provider_without_its_sdk_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosted, "find_spec", lambda _module: None)
    for model, extra in (
        ("claude-haiku-5-5", "anthropic"),
        ("gemini-3.5-flash-lite", "google"),
    ):
        with pytest.raises(JudgeError, match=rf"pip install .*\(the extra {extra}\)"):
            load(model)


# What is refused, and how answers end

REFUSALS: dict[str, Any] = {
    "anthropic": {
        "type": "error",
        "error": {"type": "authentication_error", "message": "invalid x-api-key"},
    },
    "google": {
        "error": {
            "code": 400,
            "message": "API key not valid. Please pass a valid API key.",
            "status": "INVALID_ARGUMENT",
            "details": [{"reason": "API_KEY_INVALID"}],
        }
    },
}


@pytest.mark.parametrize(
    ("provider", "status", "key"),
    [("anthropic", 401, "ANTHROPIC_API_KEY"), ("google", 400, "GEMINI_API_KEY")],
)
def test_a_wrong_key_stops_the_run_and_names_its_variable(
    server: ProviderServer, tmp_path: Path, provider: str, status: int, key: str
) -> None:
    server.refusals = [(status, REFUSALS[provider])] * 3
    with pytest.raises(JudgeError, match=f"refuses the key or the request .*{key}"):
        judged(server, tmp_path, provider)
    assert len(server.asked) == 1


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_an_unknown_model_loses_what_a_refusal_names(
    server: ProviderServer, tmp_path: Path, provider: str
) -> None:
    """As a model that reasons and takes no temperature, of a provider's next year."""
    words = "`temperature` is deprecated for this model."
    error = {"type": "invalid_request_error", "message": words}
    name = {
        "openai": "openai:next-1",
        "anthropic": "claude-next-1",
        "google": "gemini-next-1",
    }
    server.refusals = [(400, {"type": "error", "error": error})]
    end, run, _ = judged(server, tmp_path, provider, model=name[provider])
    assert isinstance(end.outcome, Scored)
    if provider == "anthropic":  # it is not even sent to a Claude that the table lacks
        assert all("temperature" not in each.body for each in server.asked)
        return
    first, last = server.asked
    assert "temperature" in json.dumps(first.body)
    assert '"temperature"' not in json.dumps(last.body)
    assert any("refuses temperature" in line for line in run.said)
    assert str(models.MAX_TOKENS_UNKNOWN) in json.dumps(last.body)


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_an_overloaded_provider_is_asked_again(
    server: ProviderServer, tmp_path: Path, provider: str
) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded", "code": 529}
    server.refusals = [(529, {"type": "error", "error": error})]
    end, _, progress = judged(server, tmp_path, provider)
    assert isinstance(end.outcome, Scored)
    assert progress.retries == {"status 529": 1}


CUT = [{"type": "text", "text": ANSWER[:60]}]
ENDS: list[tuple[str, dict[str, object], str]] = [
    ("anthropic", {"stop_reason": "max_tokens", "content": CUT}, "truncated"),
    (
        "anthropic",
        {"stop_reason": "model_context_window_exceeded", "content": CUT},
        "truncated",
    ),
    ("anthropic", {"stop_reason": "refusal"}, "refusal"),
    ("anthropic", {"content": []}, "empty"),
    (
        "google",
        {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}},
        "content filter",
    ),
    ("google", {"candidates": [{"finishReason": "SAFETY"}]}, "content filter"),
    ("google", {"candidates": [{"finishReason": "RECITATION"}]}, "content filter"),
]


@pytest.mark.parametrize(("provider", "changes", "reason"), ENDS)
def test_an_answer_that_did_not_end_well_is_no_score(
    server: ProviderServer,
    tmp_path: Path,
    provider: str,
    changes: dict[str, object],
    reason: str,
) -> None:
    server.changes = changes
    end, _, progress = judged(server, tmp_path, provider)
    assert isinstance(end.outcome, Failed | Unparsed)
    assert reason in end.outcome.reason
    assert progress.prompt_tokens == 1500, "it is paid for"


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_a_reply_that_is_no_answer_is_none(
    server: ProviderServer, tmp_path: Path, provider: str
) -> None:
    server.changes = {"content": "text", "candidates": ["text"]}
    end, _, _ = judged(server, tmp_path, provider)
    assert isinstance(end.outcome, Failed)
    assert end.outcome.reason == "unreadable response"


# What is known of models

TODAY = dt.date(2026, 11, 28)


def test_the_table_of_models_names_a_source_for_each() -> None:
    table = models.table()
    assert table.as_of <= dt.datetime.now(dt.UTC).date()
    for facts in table.models:
        assert set(facts.sources) <= set(table.sources)
        if facts.ends is not None and facts.successor is not None:
            successor = table.find(facts.successor)
            assert successor is not None, facts.name
            assert successor.ends is None, "a successor outlives what it follows"


def test_a_snapshot_and_a_fine_tuned_model_have_the_facts_of_their_base() -> None:
    names = ("gpt-4o-2024-11-20", "ft:gpt-4o-2024-11-20:clinic::7p4lURel", "gpt-4o")
    assert {models.table().find(name) for name in names} == {
        models.table().find("gpt-4o")
    }
    assert models.table().find("gpt-4o-of-somebody-else") is None


def test_a_model_that_ends_soon_is_said_with_its_successor() -> None:
    facts = models.facts_of("gpt-4o", "openai")
    assert facts is not None
    said = "gpt-4o ends on 2027-01-14; OpenAI names gpt-6-luna"
    assert facts.ending(TODAY) == said
    assert facts.ending(TODAY - dt.timedelta(days=200)) is None
    assert facts.ending(dt.date(2027, 2, 1)) == said.replace("ends", "ended")
    on_azure = models.facts_of("gpt-4o", "azure")
    assert on_azure is not None
    assert on_azure.ends == dt.date(2027, 4, 14)


@pytest.mark.parametrize(
    ("provider", "field"), [("openai", "shutdown_date"), ("anthropic", "retires_at")]
)
def test_the_provider_itself_knows_best_when_a_model_ends(
    server: ProviderServer, tmp_path: Path, provider: str, field: str
) -> None:
    model = MODELS[provider].removeprefix("openai:")
    soon = (dt.datetime.now(dt.UTC) + dt.timedelta(days=9)).date()
    about = {
        "id": model,
        "object": "model",
        "type": "model",
        "created": 1,
        "owned_by": "x",
    }
    about |= {
        "display_name": model,
        "lifecycle": "deprecated",
        "created_at": "2026-01-01T00:00:00Z",
    }
    server.models[model] = about | {field: f"{soon}T00:00:00Z"}
    _, run, _ = judged(server, tmp_path, provider)
    assert server.looked_up == [f"/v1/models/{model}"]
    assert f"{model} ends on {soon}." in run.said
    judge = load(MODELS[provider], environ=environ(server))
    asyncio.run(judge.look_up_end())
    assert judge.note == f"{model} ends on {soon}", (
        "a dry run asks too, where the key is there"
    )


def test_a_judge_that_ends_is_said_by_check_dry_run_and_run(
    invoke: Invoke,
    server: ProviderServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(models, "SOON", dt.timedelta(days=100_000))
    pairs = [str(EXAMPLES / name) for name in PAIRS]
    facts = models.facts_of("gpt-4o", "openai")
    assert facts is not None
    ends = facts.ending(dt.datetime.now(dt.UTC).date())  # its words are tested above
    assert ends is not None
    assert ends in invoke("green", *pairs, "--judge", "gpt-4o", "--dry-run").stdout
    checked = invoke("check", *pairs, "--judge", "gpt-4o").stdout
    assert f"{ends}; its key is missing: set OPENAI_API_KEY" in checked
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    assert ends in invoke("check", *pairs, "--judge", "gpt-4o").stdout
    asked = ("--judge", "gpt-4o", "--limit", "2", "--cache", "cache")
    run = invoke("green", *pairs, *asked, "--out", "run")
    assert ends in run.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert ends in manifest["judge"]["note"]
    served = manifest["served"]
    assert (served["provider"], served["model"]) == ("openai", "gpt-4o")
    assert served["answered_as"] == {"gpt-6-luna-2026-09-01": 2}
    assert len(served["answered_between"]) == 2


# What it costs


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
@pytest.mark.parametrize("in_batches", [False, True])
def test_a_price_is_that_of_genai_prices(provider: str, in_batches: bool) -> None:
    judge = load(MODELS[provider])
    used = Usage(2_000, 300, cached_tokens=1_000)
    tokens = genai_prices.Usage(
        input_tokens=2_000, output_tokens=300, cache_read_tokens=1_000
    )
    context = {"processing": "batch"} if in_batches else None
    whole = genai_prices.calc_price(
        tokens, judge.version, provider_id=provider, price_context=context
    )
    dollars = Prices.of(judge, in_batches=in_batches).dollars(used)
    assert dollars is not None
    assert Decimal(str(dollars)) == pytest.approx(whole.total_price)


def test_an_answer_of_an_earlier_version_is_found(
    server: ProviderServer, tmp_path: Path
) -> None:
    """Versions before 0.2 gave a model that the table lacks room for 2,048 tokens."""
    earlier = {"model": "openai:own", "max_tokens": 2048}
    judged(server, tmp_path, "openai", **earlier)
    end, _, progress = judged(server, tmp_path, "openai", model="openai:own")
    assert isinstance(end.outcome, Scored)
    assert (progress.asked, progress.from_cache) == (0, 1)
    server.text = ANSWER[:40]
    server.changes = {}
    cut = server._completion()
    cut["choices"][0]["finish_reason"] = "length"  # type: ignore[index]
    server.changes = cut
    judged(server, tmp_path / "other", "openai", **earlier)
    server.changes, server.text = {}, ANSWER
    end, _, progress = judged(server, tmp_path / "other", "openai", model="openai:own")
    assert isinstance(end.outcome, Scored), (
        "one that was cut is asked for with more room"
    )
    assert progress.asked == 1
