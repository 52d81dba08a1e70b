"""A run's progress on standard error: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from judge.cli.output import note

if TYPE_CHECKING:
    from judge.run.judging import Watch
    from judge.run.progress import Progress

_SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def watching() -> Iterator[Watch]:
    """Show a run's progress while it goes on."""
    from judge.run.judging import Watch

    if not sys.stderr.isatty():
        yield Watch(_Lines().tick, note)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True, highlight=False, markup=False)
    with Bar(
        BarColumn(bar_width=24),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)
        began = time.monotonic()

        def tick(progress: Progress) -> None:
            text = line(progress, time.monotonic() - began)
            bar.update(task, total=progress.total, completed=progress.done, description=text)

        yield Watch(tick, console.print)


class _Lines:
    """Writes a line every half a minute, so that a log of the night stays short."""

    def __init__(self) -> None:
        self._began = self._said = time.monotonic()

    def tick(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            note(line(progress, now - self._began))


def line(progress: Progress, seconds: float) -> str:
    """Return how far a run has come after so many seconds, in a line."""
    rate = progress.done / seconds if seconds else 0.0
    parts = [f"{progress.done:,}/{progress.total:,}"]
    if progress.from_cache:
        parts.append(f"{progress.from_cache:,} from cache")
    parts += [f"{progress.unparsed:,} unparsed", f"{progress.failed:,} failed", f"{rate:,.1f}/s"]
    if progress.asked:
        parts += [f"{tokens(progress)} tokens", f"cost {cost(progress)}"]
    if rate and progress.done < progress.total:
        parts.append(f"{_duration((progress.total - progress.done) / rate)} left")
    return ", ".join(parts)


def account(progress: Progress) -> list[str]:
    """Return what a run took, in a few lines."""
    if not (progress.asked or progress.from_cache or progress.retries):
        return []
    sent, cached = progress.prompt_tokens, progress.cached_tokens
    prompt = f"{sent:,} in ({cached:,} of them cached by the provider)"
    lines = [
        f"asked {progress.asked:,}, from cache {progress.from_cache:,}",
        f"tokens {prompt}, {progress.completion_tokens:,} out; cost {cost(progress)}",
    ]
    if progress.without_usage:
        lines.append(f"{progress.without_usage:,} answers came without a token count")
    if progress.retries:
        tried = ", ".join(f"{reason} {n:,}" for reason, n in sorted(progress.retries.items()))
        lines.append(f"sent again after: {tried}")
    return lines


def tokens(progress: Progress) -> str:
    """Return the tokens of a run so far, in and out together."""
    return f"{progress.prompt_tokens + progress.completion_tokens:,}"


def cost(progress: Progress) -> str:
    """Return the cost of a run so far; a price that is not known is not guessed."""
    return "unknown" if progress.dollars is None else f"${progress.dollars:,.2f}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
