"""What the service says of runs, as types: each value with its text, and what can be done now.

The pages show these texts as they are, and offer the actions that a run has, no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from judge.pages.live import Preliminary
from judge.pages.models import Fact, PageModel
from judge.running.progress import Progress
from judge.text import counted, harmless

State = Literal["queued", "running", "stopped", "failed", "finished"]
ActionName = Literal["compare", "stop", "resume", "rename", "delete"]

_ACTIONS: dict[ActionName, str] = {
    "compare": "Compare",
    "stop": "Stop",
    "resume": "Resume",
    "rename": "Rename",
    "delete": "Delete",
}
_MOST_HEADLINE = 4
_LOOK_SECONDS = 1.0
_LONGEST_TROUBLE = 200
# Before so many studies have ended nobody knows how long the others take.
_FEWEST_FOR_TIME = 5


class Action(PageModel):
    """Something that can be done with a run now; `title` names the run beside it."""

    name: ActionName
    label: str
    title: str


def actions_for(name: str, actions: Iterable[ActionName]) -> list[Action]:
    """Return the actions of the run called `name`."""
    return [
        Action(name=action, label=_ACTIONS[action], title=f"{_ACTIONS[action]} {name}")
        for action in actions
    ]


class RunProgress(PageModel):
    """How far a run is: counts, US dollars (null where unknown) and all of it in words."""

    total: int
    done: int
    unparsed: int
    failed: int
    asked: int
    from_cache: int
    dollars: float | None
    text: str = Field(description="How many studies have ended.")
    unread_text: str = Field(
        description="How many of them have no score; empty for none."
    )
    price_text: str = Field(
        description="What the answers have cost so far; empty before the first."
    )
    left_text: str = Field(
        description="How long it may take; empty where that is unknown."
    )
    trouble: str = Field(description="What the run is waiting for; empty for nothing.")

    @classmethod
    def of(
        cls,
        progress: Progress,
        *,
        what: str = "studies",
        seconds: float | None = None,
    ) -> RunProgress:
        """Return it of a run's counts; `seconds` is how long a run that goes on has taken."""
        done, total = progress.done, progress.total
        text = f"{done:,} of {total:,} {what}"
        if what == "studies":
            text = f"{done:,} of {counted(total, 'study', 'studies')}"
        unread = []
        if progress.unparsed:
            unread.append(f"{progress.unparsed:,} unparsed")
        if progress.failed:
            unread.append(f"{progress.failed:,} failed")
        trouble = harmless((progress.trouble or "")[:_LONGEST_TROUBLE])
        return cls(
            total=total,
            done=done,
            unparsed=progress.unparsed,
            failed=progress.failed,
            asked=progress.asked,
            from_cache=progress.from_cache,
            dollars=progress.dollars,
            text=text,
            unread_text=", ".join(unread),
            price_text=_price_text(progress),
            left_text=_left_text(done, total, seconds),
            trouble=trouble,
        )


def _price_text(progress: Progress) -> str:
    """Return the price so far; empty while no answer was paid for or taken from the cache."""
    if progress.asked or progress.unknown_requests:
        return f"price so far {progress.cost}"
    if progress.from_cache:
        return "price so far $0.00: all answers from the cache"
    return ""


def _left_text(done: int, total: int, seconds: float | None) -> str:
    if not seconds or done < _FEWEST_FOR_TIME or done >= total:
        return ""
    left = seconds * (total - done) / done
    if left < 60:
        return "less than a minute left"
    minutes = round(left / 60)
    if minutes < 60:
        return f"about {counted(minutes, 'minute', 'minutes')} left"
    hours, minutes = divmod(minutes, 60)
    return f"about {hours} h {minutes:02} min left"


class Figure(PageModel):
    """One of a run's main figures."""

    label: str
    text: str


class ShownRun(PageModel):
    """A run as in the list of runs.

    `progress` is there from its first study to its end, `detail` where it was stopped, has failed
    or cannot be read, with `advice`; counts, `model`, `signature` and `headline` where they are
    known.
    """

    id: str
    address: str = Field(description="Of its page.")
    state: State
    state_text: str
    detail: str | None
    advice: str | None = Field(description="What can be done about it.")
    progress: RunProgress | None
    model: str | None
    rubric: str | None
    judge: str | None
    started: str | None
    started_text: str = Field(description="In UTC; empty where it is unknown.")
    signature: str | None
    n_studies: int | None
    n_scored: int | None
    counts_text: str = Field(
        description="Studies and scored ones; empty before the end."
    )
    headline: list[Figure]
    actions: list[Action]


class RunList(PageModel):
    """The runs, the newest first, and those in the trash."""

    runs: list[ShownRun]
    deleted: list[TrashedRunShown]
    trash_text: str
    look_again_after: float | None = Field(
        description="Seconds after which it may have changed; null where nothing is under way."
    )


class TrashedRunShown(PageModel):
    """A run in the trash: its id there, the name that it had, and when it was deleted."""

    id: str
    name: str
    deleted: str
    deleted_text: str
    restore_title: str


class TrashList(PageModel):
    """The runs in the trash, those deleted last first."""

    runs: list[TrashedRunShown]


class RunDetails(PageModel):
    """A run, and of a finished one its summary, as its file `summary.json` has it."""

    run: ShownRun
    summary: dict[str, Any] | None


class LiveRun(PageModel):
    """A run, and what is known of it before its end; `preliminary` is null without any of it."""

    run: ShownRun
    preliminary: Preliminary | None
    look_again_after: float | None = Field(
        description="Seconds after which it may have changed; null where nothing is under way."
    )


class RubricChoice(PageModel):
    """A rubric that a run can have, and the names of its prompts."""

    name: str
    title: str
    summary: str
    prompts: list[str]


class RubricList(PageModel):
    """The rubrics, and the sections of reports that can be judged alone."""

    rubrics: list[RubricChoice]
    sections: list[str]


class JudgeChoice(PageModel):
    """A judge that clients may ask.

    `budget` is null for none, `left` also where it is not known; both in US dollars, with answers
    under way at their most. `efforts` are reasoning efforts, the least first, `tiers` service
    tiers. `label` has name and budget in words.
    """

    name: str
    label: str
    built_in: bool
    budget: float | None
    left: float | None
    efforts: list[str]
    tiers: list[str]


class JudgeList(PageModel):
    """The judges that the service's owner allows."""

    judges: list[JudgeChoice]


class CheckedPrice(PageModel):
    """The requests of a run and the US dollars, null where the price is not known."""

    requests: int
    cached: int
    typical: float | None
    worst: float | None


class CheckedWords(PageModel):
    """A check in words: facts by their names, and limits of cost that the run may reach."""

    facts: list[Fact]
    warnings: list[str]


class RunCheck(PageModel):
    """What a run would judge, and what it may cost; `price` is null for a judge that sends none."""

    studies: dict[str, Any]
    price: CheckedPrice | None
    shown: CheckedWords


def look_again_after(runs: Iterable[ShownRun]) -> float | None:
    """Return after how many seconds some of the runs may have changed, None for none of them."""
    if any(run.state in ("queued", "running") for run in runs):
        return _LOOK_SECONDS
    return None


def time_text(moment: str | None) -> str:
    """Return a time in ISO 8601 to the minute, in words; empty for none."""
    if not moment:
        return ""
    try:
        return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M}"
    except ValueError:
        return ""


def headline_of(figures: Iterable[tuple[str, str]]) -> list[Figure]:
    """Return the first of a run's main figures."""
    first = list(figures)[:_MOST_HEADLINE]
    return [Figure(label=label, text=text) for label, text in first]
