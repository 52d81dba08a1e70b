"""Many comparisons at once, slow ones and broken ones.

What compares is stood in for: ten real processes would take a minute and end when they like.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from judge.cli.compare import command
from judge.comparing.comparison import ALLOWED
from judge.service import ProblemError, comparisons
from judge.service.comparisons import Allowed, Comparisons
from judge.service.settings import ServiceSettings

Ask = Callable[[dict[str, Any]], Awaitable[object]]


async def whole(request: dict[str, Any]) -> None:
    """The first request names the folder and asks for the numbers, the second for the figures."""
    await asyncio.sleep(0.01)
    if "folder" in request:
        (Path(request["folder"]) / "overview.json").write_text("{}")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Comparisons]:
    monkeypatch.setattr(comparisons.tempfile, "tempdir", str(tmp_path))

    class StandIn:
        def __init__(self, task: str) -> None:
            assert task == "comparison"

        async def close(self) -> None:
            pass

    def make(ask: Ask, seconds: float = 600) -> Comparisons:
        StandIn.ask = staticmethod(ask)  # type: ignore[attr-defined]
        monkeypatch.setattr(comparisons, "Worker", StandIn)
        return Comparisons(ServiceSettings((tmp_path,), compare_seconds=seconds))

    return make


async def outcomes(kept: Comparisons, seeds: range) -> list[str]:
    """What each of so many askers gets: its folder is there, or the problem."""

    async def one(seed: int) -> str:
        try:
            folder = await kept.numbers({"seed": seed})
        except ProblemError as problem:
            return f"{problem.status} {problem.detail}"
        return "there" if (folder / "overview.json").exists() else "gone"

    return await asyncio.wait_for(asyncio.gather(*map(one, seeds)), 10)


def test_none_that_somebody_waits_for_is_forgotten(made: Callable[..., Comparisons]) -> None:
    async def ask() -> list[str]:
        return await outcomes(made(whole), range(12))

    found = asyncio.run(ask())
    assert found[:8] == ["there"] * 8
    assert all(text.startswith("503 too many comparisons") for text in found[8:])


def test_those_that_have_ended_make_room(made: Callable[..., Comparisons], tmp_path: Path) -> None:
    async def ask() -> None:
        many = made(whole)
        for seed in range(12):
            await many.figures({"seed": seed})
        folders = list(next(tmp_path.glob("judge-compare-*")).iterdir())
        assert len(folders) == 8
        await many.close()

    asyncio.run(ask())
    assert not list(tmp_path.glob("judge-compare-*"))


def test_one_comparison_serves_all_who_ask_for_it(made: Callable[..., Comparisons]) -> None:
    async def ask() -> None:
        many = made(whole)
        found = await asyncio.gather(*(many.numbers({"seed": 1}) for _ in range(6)))
        assert len(set(found)) == 1
        assert await many.numbers({"seed": 2}) != found[0]
        await many.close()

    asyncio.run(ask())


def test_a_slow_one_is_ended(made: Callable[..., Comparisons]) -> None:
    async def slow(_request: dict[str, Any]) -> None:
        await asyncio.sleep(30)

    async def ask() -> list[str]:
        return await outcomes(made(slow, seconds=0.1), range(2))

    assert asyncio.run(ask()) == ["504 the comparison took longer than 0.1 seconds"] * 2


def test_figures_that_fail_are_drawn_anew_when_asked_again(
    made: Callable[..., Comparisons],
) -> None:
    fails = True

    async def work(request: dict[str, Any]) -> None:
        await whole(request)
        if fails and "folder" not in request:
            raise ProblemError(502, "the process broke off")

    async def ask() -> None:
        nonlocal fails
        many = made(work)
        with pytest.raises(ProblemError, match="figures could not be drawn"):
            await many.figures({})
        # The numbers are there all the same, and are not made again for each that asks.
        assert await many.numbers({}) == await many.numbers({})
        fails = False
        assert (await many.figures({}) / "overview.json").exists()
        await many.close()

    asyncio.run(ask())


def test_who_waits_at_the_end_is_told_and_nothing_begins_after_it(
    made: Callable[..., Comparisons],
) -> None:
    async def ask() -> list[str]:
        many = made(whole)
        waiting = asyncio.create_task(outcomes(many, range(3)))
        await asyncio.sleep(0)  # they are asked, and none has begun
        await asyncio.sleep(0)
        await many.close()
        return [*await waiting, *await outcomes(many, range(9, 10))]

    *told, late = asyncio.run(ask())
    assert all(text.startswith("502 the comparison broke off") for text in told)
    assert late == "503 the service is ending"


def test_what_may_differ_is_the_same_everywhere() -> None:
    option = next(param for param in command.params if param.name == "allow")
    assert tuple(option.type.choices) == ALLOWED  # type: ignore[attr-defined]
    assert get_args(Allowed) == ALLOWED
