"""What a run costs: foretold from answers to other studies, counted, and kept within a limit."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from faultserver import Fault, FaultServer, always
from running import Runner, study_set

from judge import backends, rubrics
from judge.backends.openai import OPENAI_URL
from judge.batching.batch_run import BatchPolicy, ask_in_batches
from judge.running import cached_client
from judge.running.cost import Prices, SpendingLimit
from judge.running.forecast import Forecast, forecast
from judge.running.policy import RequestPolicy
from judge.running.progress import ProgressListener, RunStoppedError
from judge.running.run import run
from judge.running.session import JudgeSession
from judge.types import CompletionRequest, Message, Usage

N = 12
PRICED = Prices("gpt-4o", OPENAI_URL)


def test_prices_are_those_of_the_table() -> None:
    """USD 2.50 and 10 a million tokens in and out, half for cached ones [OpenAI's price list]."""
    prices = Prices("gpt-4o", OPENAI_URL)
    assert prices.dollars(Usage(1_000_000, 0)) == pytest.approx(2.5)
    assert prices.dollars(Usage(0, 1_000_000)) == pytest.approx(10)
    assert prices.dollars(Usage(1_000_000, 0, 1_000_000)) == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("my-own-model", OPENAI_URL),
        ("gpt-4o", "http://127.0.0.1:8000/v1"),
        ("gpt-4o", None),
    ],
)
def test_an_unknown_price_is_no_number(model: str, url: str | None) -> None:
    prices = Prices(model, url)
    assert prices.dollars(Usage(1000, 1000)) is None
    request = CompletionRequest("chat", model, (), {"max_tokens": 10})
    assert prices.at_most(request) is None


def test_the_typical_cost_without_answers_is_that_of_the_example_studies(
    tmp_path: Path,
) -> None:
    for name, is_known in (("green", True), ("crimson", True), ("direct", False)):
        rubric = rubrics.load(name)
        judge = backends.load("gpt-6-luna", rubric, backends.JudgeSettings(sends=False))
        with JudgeSession(rubric, judge, RequestPolicy(), tmp_path) as opened:
            coming = forecast(opened, study_set(1000))
        assert coming is not None
        said = coming.facts(1)["typical"]
        assert ("answers as long as the built-in judge's" in said) == is_known
        if not is_known:
            assert said.startswith("unknown")
            continue
        assert coming.typical is not None
        each = Usage(
            coming.prompt_tokens // 1000, coming.typical.completion_tokens // 1000
        )
        dollars = Prices.of(judge).dollars(each)
        assert dollars is not None
        assert coming.typical_dollars == pytest.approx(1000 * dollars, rel=0.01)
        assert f"${coming.typical_dollars:,.2f}" in said
        assert 50 < each.completion_tokens < 500


def test_the_typical_cost_is_that_of_the_answers_before(
    server: FaultServer, runner: Runner
) -> None:
    runner(
        4, model="gpt-4o"
    )  # a server of our own, under the name of the one that costs
    settings = backends.JudgeSettings(sends=False)
    judge = backends.load("gpt-4o", runner.rubric, settings)
    with JudgeSession(runner.rubric, judge, RequestPolicy(), runner.cache) as opened:
        coming = forecast(opened, study_set(100, 4))
    assert coming is not None
    used = coming.typical
    assert used is not None
    assert used.completion_tokens == round(
        100 * server.stats().usage.completion_tokens / 4
    )
    dollars = (2.5 * used.prompt_tokens + 10 * used.completion_tokens) / 1e6
    assert f"${dollars:,.2f}" in coming.facts(1)["typical"]
    assert coming.dollars is not None
    assert coming.dollars > dollars


@pytest.mark.parametrize("in_batches", [False, True])
def test_each_request_of_a_forecast_has_its_own_price(in_batches: bool) -> None:
    """gpt-6-luna costs twice as much above 272,000 tokens of prompt, which no study here has."""
    prices = Prices("gpt-6-luna", OPENAI_URL, in_batches)
    coming = Forecast(prices, answer_tokens=58.5)
    message = Message("user", "x" * 3996)
    for _ in range(1000):
        coming.add(
            CompletionRequest("chat", "gpt-6-luna", (message,), {"max_tokens": 100}), 2
        )
    factor = 0.5 if in_batches else 1.0
    typical = factor * 1000 * (1000 * 0.1 + 58.5 * 0.5) / 1e6
    assert coming.typical_dollars == pytest.approx(typical)
    bytes_in = 3996 + 16
    worst = factor * 1000 * ((2 * bytes_in + 100) * 0.1 + 200 * 0.5) / 1e6
    assert coming.dollars == pytest.approx(worst)


# A limit


def test_max_cost_needs_a_price(runner: Runner, server: FaultServer) -> None:
    with pytest.raises(RunStoppedError, match="price"):
        runner(5, max_cost=1.0)
    assert server.stats().requests == 0


def test_max_cost_stops_before_it_is_passed(
    runner: Runner, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No server on this machine has a price: this one is given GPT-4o's, and nothing else."""
    monkeypatch.setattr(
        cached_client, "Prices", SimpleNamespace(of=lambda _judge: PRICED)
    )
    with pytest.raises(RunStoppedError, match="--max-cost") as stopped:
        runner(200, max_cost=0.2, concurrency=4)
    spent = stopped.value.progress.dollars
    assert spent is not None
    assert 0.1 < spent <= 0.2
    assert not stopped.value.interrupted
    server.reset()
    with pytest.raises(RunStoppedError):
        runner(200, max_cost=0.2, concurrency=4)
    assert server.stats().requests > 0, "it goes on where it stopped, with new money"


def test_every_attempt_is_paid_for(
    server: FaultServer, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No server on this machine has a price: this one is given GPT-4o's."""
    monkeypatch.setattr(
        cached_client, "Prices", SimpleNamespace(of=lambda _judge: PRICED)
    )
    server.set_faults(studies={"study-0001": always(Fault.MALFORMED)})
    _, progress = runner(3, reask=2)
    stats = server.stats()
    assert progress.asked == stats.answered == 5
    assert progress.dollars == pytest.approx(PRICED.dollars(stats.usage))


# Batches


def batched(server: FaultServer, cache: Path, limit: float | None) -> JudgeSession:
    """A judge at the test's server whose answers cost what gpt-4o's do at OpenAI."""
    rubric = rubrics.load("green")
    judge = backends.load("gpt-4o", rubric, backends.JudgeSettings(base_url=server.url))
    judge.billing_url = OPENAI_URL
    policy = RequestPolicy(max_cost=limit)
    return JudgeSession(rubric, judge, policy, cache)


def test_batches_have_their_own_price_and_no_price_is_guessed() -> None:
    used = Usage(1_000_000, 100_000)
    full, half = (Prices("gpt-4o", OPENAI_URL, in_batches=one) for one in (False, True))
    assert half.dollars(used) == pytest.approx(full.dollars(used) / 2)  # type: ignore[operator]
    azure = "https://somebody.openai.azure.com/openai/v1"
    assert Prices("gpt-4o", azure).dollars(used) is not None
    assert Prices("gpt-4o", azure, in_batches=True).dollars(used) is None, (
        "not in the table"
    )
    assert Prices("unheard-of", OPENAI_URL, in_batches=True).dollars(used) is None


def test_what_it_cost_stands_in_the_manifest(
    server: FaultServer, tmp_path: Path
) -> None:
    said: list[str] = []
    policy = BatchPolicy(50_000, 0.05)
    with batched(server, tmp_path / "cache", None) as opened:
        listener = ProgressListener(say=said.append)
        ask_in_batches(opened, study_set(N), policy, listener)
        done = run(opened, study_set(N), out=tmp_path / "run")
    manifest = json.loads((done.path / "manifest.json").read_text())
    used = server.batches.stats().usage
    assert {name: manifest["spent"][name] for name in asdict(used)} == asdict(used)
    dollars = Prices("gpt-4o", OPENAI_URL, in_batches=True).dollars(used)
    assert manifest["spent"]["dollars"] == pytest.approx(dollars)
    assert f"cost ${dollars:,.2f}" in " ".join(said)


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_max_cost_holds_for_all_batches(
    server: FaultServer, tmp_path: Path, share: float
) -> None:
    with batched(server, tmp_path / "cache", None) as opened:
        coming = forecast(opened, study_set(N), in_batches=True)
    assert coming is not None
    assert coming.dollars is not None
    # With its second time of asking, the worst is over twice what one batch can cost.
    limit = share * coming.dollars
    opened = batched(server, tmp_path / "cache", limit)
    budget = opened.budget
    assert isinstance(budget, SpendingLimit)
    said: list[str] = []
    policy = BatchPolicy(50_000, 0.05)
    with opened:
        ask_in_batches(opened, study_set(N), policy, ProgressListener(say=said.append))
    assert opened.asked_before.dollars is not None
    assert opened.asked_before.dollars <= limit
    assert budget.spent <= limit
    # What was held back for the worst is free again when the answers are there.
    assert len(server.batches.stats().answered) == N
    stats = server.batches.stats()
    assert (stats.creates > 1) == (share < 0.5), said


def test_nothing_is_sent_without_a_budget(server: FaultServer, tmp_path: Path) -> None:
    opened = batched(server, tmp_path / "cache", 1e-6)
    with opened, pytest.raises(RunStoppedError, match="could pass --max-cost"):
        ask_in_batches(
            opened, study_set(N), BatchPolicy(50_000, 0.05), ProgressListener()
        )
    assert server.stats().requests == 0
    assert not server.batches.stats().requests
