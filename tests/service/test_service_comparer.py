"""Many comparisons at once, slow ones and broken ones.

What compares is stood in for: ten real processes would take a minute and end when they like.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from judge.cli.compare import command
from judge.comparing.opened import ALLOWED
from judge.service import comparer
from judge.service.comparer import Comparer
from judge.service.comparisons import Allowed
from judge.service.pieces import FIGURES, OVERVIEW
from judge.service.problems import ProblemError
from judge.service.settings import Settings

Work = Callable[[str, Path, "asyncio.Future[None]"], Awaitable[None]]


async def whole(_line: str, folder: Path, ready: asyncio.Future[None]) -> None:
    await asyncio.sleep(0.01)
    (folder / OVERVIEW).write_text("{}")
    ready.set_result(None)
    await asyncio.sleep(0.01)
    (folder / FIGURES).write_text("[]")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Comparer]:
    monkeypatch.setattr(comparer.tempfile, "tempdir", str(tmp_path))

    def make(work: Work, seconds: float = 600) -> Comparer:
        monkeypatch.setattr(comparer, "_run", work)
        return Comparer(Settings((tmp_path,), compare_seconds=seconds))

    return make


async def outcomes(comparer: Comparer, seeds: range) -> list[str]:
    """What each of so many askers gets: its folder is there, or the problem."""

    async def one(seed: int) -> str:
        try:
            folder = await comparer.pieces({"seed": seed})
        except ProblemError as problem:
            return f"{problem.status} {problem.detail}"
        return "there" if (folder / OVERVIEW).exists() else "gone"

    return await asyncio.wait_for(asyncio.gather(*map(one, seeds)), 10)


def test_none_that_somebody_waits_for_is_forgotten(made: Callable[..., Comparer]) -> None:
    async def ask() -> list[str]:
        return await outcomes(made(whole), range(12))

    found = asyncio.run(ask())
    assert found[:8] == ["there"] * 8
    assert all(text.startswith("503 too many comparisons") for text in found[8:])


def test_those_that_have_ended_make_room(made: Callable[..., Comparer], tmp_path: Path) -> None:
    async def ask() -> None:
        many = made(whole)
        for seed in range(12):
            await many.figures({"seed": seed})
        folders = list(next(tmp_path.glob("judge-compare-*")).iterdir())
        assert len(folders) == 8
        await many.close()

    asyncio.run(ask())
    assert not list(tmp_path.glob("judge-compare-*"))


def test_one_comparison_serves_all_who_ask_for_it(made: Callable[..., Comparer]) -> None:
    async def ask() -> None:
        many = made(whole)
        found = await asyncio.gather(*(many.pieces({"seed": 1}) for _ in range(6)))
        assert len(set(found)) == 1
        assert await many.pieces({"seed": 2}) != found[0]
        await many.close()

    asyncio.run(ask())


def test_a_slow_one_is_ended(made: Callable[..., Comparer]) -> None:
    async def slow(_line: str, _folder: Path, _ready: asyncio.Future[None]) -> None:
        await asyncio.sleep(30)

    async def ask() -> list[str]:
        return await outcomes(made(slow, seconds=0.1), range(2))

    assert asyncio.run(ask()) == ["504 the comparison took longer than 0.1 seconds"] * 2


def test_figures_that_fail_are_drawn_anew_when_asked_again(made: Callable[..., Comparer]) -> None:
    fails = True

    async def work(line: str, folder: Path, ready: asyncio.Future[None]) -> None:
        if fails:
            ready.set_result(None)
        else:
            await whole(line, folder, ready)

    async def ask() -> None:
        nonlocal fails
        many = made(work)
        with pytest.raises(ProblemError, match="figures could not be drawn"):
            await many.figures({})
        # The numbers are there all the same, and are not made again for each that asks.
        assert await many.pieces({}) == await many.pieces({})
        fails = False
        assert (await many.figures({}) / FIGURES).exists()
        await many.close()

    asyncio.run(ask())


def test_who_waits_at_the_end_is_told_and_nothing_begins_after_it(
    made: Callable[..., Comparer],
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
    assert tuple(Allowed) == ALLOWED
