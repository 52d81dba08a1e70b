"""What batches cost: the price for batches, before and after, and a limit that holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Batching, BatchPlan, FaultServer
from running import study_set

from judge import backends, rubrics
from judge.batching.rounds import BatchPolicy, in_batches
from judge.running.asking import RequestPolicy
from judge.running.budget import Purse
from judge.running.dry import forecast
from judge.running.engine import ProgressListener, RunStoppedError
from judge.running.progress import Prices
from judge.running.run import run
from judge.running.session import JudgeSession
from judge.types import Usage

N = 12
OPENAI = "https://api.openai.com/v1"


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(rubric="green", batching=Batching(polls=2)) as running:
        yield running


def session(server: FaultServer, cache: Path, limit: float | None) -> JudgeSession:
    """A judge at the test's server whose answers cost what gpt-4o's do at OpenAI."""
    rubric = rubrics.load("green")
    judge = backends.load("gpt-4o", rubric, backends.JudgeSettings(base_url=server.url))
    judge.billing_url = OPENAI
    policy = RequestPolicy(max_cost=limit)
    return JudgeSession(rubric, judge, policy, cache, Purse(limit) if limit else None)


def test_batches_have_their_own_price_and_no_price_is_guessed() -> None:
    used = Usage(1_000_000, 100_000)
    full, half = (Prices("gpt-4o", OPENAI, in_batches=one) for one in (False, True))
    assert half.dollars(used) == pytest.approx(full.dollars(used) / 2)  # type: ignore[operator]
    azure = "https://somebody.openai.azure.com/openai/v1"
    assert Prices("gpt-4o", azure).dollars(used) is not None
    assert Prices("gpt-4o", azure, in_batches=True).dollars(used) is None, "not in the table"
    assert Prices("unheard-of", OPENAI, in_batches=True).dollars(used) is None


def test_a_dry_run_takes_the_price_for_batches(server: FaultServer, tmp_path: Path) -> None:
    with session(server, tmp_path / "cache", None) as opened:
        plain = forecast(opened, study_set(N))
        batched = forecast(opened, study_set(N), in_batches=True)
    assert plain is not None
    assert batched is not None
    assert batched.worst.dollars == pytest.approx(plain.worst.dollars / 2)  # type: ignore[operator]
    assert server.batches.stats().uploads == 0


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the ledger's batches, which name the test's server, cost what OpenAI's do.

    The one thing that is not real here: nobody pays the test's server.
    """
    import judge.batching.collecting as collecting

    def prices(model: str, base_url: str | None, *, in_batches: bool) -> Prices:
        return Prices(model, OPENAI if base_url else None, in_batches=in_batches)

    monkeypatch.setattr(collecting, "Prices", prices)


@pytest.mark.usefixtures("priced")
def test_what_it_cost_stands_in_the_manifest(server: FaultServer, tmp_path: Path) -> None:
    said: list[str] = []
    policy = BatchPolicy(50_000, 0.05)
    with session(server, tmp_path / "cache", None) as opened:
        listener = ProgressListener(say=said.append)
        with in_batches(opened, study_set(N), policy, listener) as direct:
            done = run(opened, study_set(N), out=tmp_path / "run")
    assert direct.asked == 1
    assert direct.dollars
    manifest = json.loads((done.path / "manifest.json").read_text())
    (batch,) = manifest["batches"]
    tokens = server.batches.stats().tokens
    assert [batch[name] for name in ("prompt_tokens", "cached_tokens", "completion_tokens")] == [
        *tokens
    ]
    used = Usage(tokens[0], tokens[2], tokens[1])
    dollars = Prices("gpt-4o", OPENAI, in_batches=True).dollars(used)
    assert batch["dollars"] == pytest.approx(dollars)
    assert any("at the most $" in one for one in said)
    assert f"cost ${dollars:,.2f}" in " ".join(said)


@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_max_cost_holds_for_all_batches_together(
    server: FaultServer, tmp_path: Path, share: float
) -> None:
    with session(server, tmp_path / "cache", None) as opened:
        coming = forecast(opened, study_set(N), in_batches=True)
    assert coming is not None
    assert coming.worst.dollars is not None
    # With its second time of asking, the worst is over twice what one batch can cost.
    limit = share * coming.worst.dollars
    server.batches.next(BatchPlan())
    opened = session(server, tmp_path / "cache", limit)
    budget = opened.budget
    assert isinstance(budget, Purse)
    said: list[str] = []
    policy = BatchPolicy(50_000, 0.05)
    with opened, in_batches(opened, study_set(N), policy, ProgressListener(say=said.append)):
        pass
    assert sum(float(batch["dollars"]) for batch in opened.batches) <= limit  # type: ignore[arg-type]
    assert budget.spent <= limit
    # What was held back for the worst is free again when the answers are there.
    assert len(server.batches.stats().answered) + server.stats().requests == N
    stats = server.batches.stats()
    assert (stats.creates > 1) == (share < 0.5), said


@pytest.mark.usefixtures("priced")
def test_nothing_is_sent_that_the_budget_has_no_room_for(
    server: FaultServer, tmp_path: Path
) -> None:
    opened = session(server, tmp_path / "cache", 1e-6)
    asking = in_batches(opened, study_set(N), BatchPolicy(50_000, 0.05), ProgressListener())
    with opened, pytest.raises(RunStoppedError, match="could pass --max-cost"), asking:
        raise AssertionError("nothing was asked")
    assert server.stats().requests == 0
    assert server.batches.stats().uploads == 0


def test_an_unknown_price_and_a_limit(server: FaultServer, tmp_path: Path) -> None:
    opened = session(server, tmp_path / "cache", 1.0)
    opened.judge.billing_url = None
    policy = BatchPolicy(50_000, 0.05, directly=True)
    asking = in_batches(opened, study_set(N), policy, ProgressListener())
    with opened, pytest.raises(RunStoppedError, match="the price of an answer is unknown"), asking:
        raise AssertionError("nothing was asked")
    assert server.stats().requests == 0
