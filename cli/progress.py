"""A run's progress on standard error: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from judge.cli.output import note
from judge.report.words import harmless

if TYPE_CHECKING:
    from judge.running.cost import Progress
    from judge.running.engine import ProgressListener

_SECONDS_BETWEEN_LINES = 30.0
_LONGEST_TROUBLE = 60


@contextmanager
def watching() -> Iterator[ProgressListener]:
    """Show a run's progress while it goes on."""
    from judge.running.engine import ProgressListener

    began = said = time.monotonic()
    if not sys.stderr.isatty():

        def log(progress: Progress) -> None:
            """Write a line every half a minute, so that a log of the night stays short."""
            nonlocal said
            now = time.monotonic()
            if now - said >= _SECONDS_BETWEEN_LINES:
                said = now
                note(line(progress, now - began))

        yield ProgressListener(log, note)
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

        def tick(progress: Progress) -> None:
            text = line(progress, time.monotonic() - began)
            bar.update(task, total=progress.total, completed=progress.done, description=text)

        yield ProgressListener(tick, lambda text: console.print(harmless(text)))


def line(progress: Progress, seconds: float) -> str:
    """Return how far a run has come after so many seconds, in a line."""
    rate = progress.done / seconds if seconds else 0.0
    parts = [f"{progress.done:,}/{progress.total:,}"]
    if progress.from_cache:
        parts.append(f"{progress.from_cache:,} from cache")
    parts += [f"{progress.unparsed:,} unparsed", f"{progress.failed:,} failed", f"{rate:,.1f}/s"]
    if progress.asked:
        tokens = progress.prompt_tokens + progress.completion_tokens
        parts += [f"{tokens:,} tokens", f"cost {cost(progress)}"]
    if progress.trouble:
        parts.append(f"waiting: {harmless(progress.trouble[:_LONGEST_TROUBLE])}")
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
    if progress.damaged:
        lines.append(
            f"{progress.damaged:,} cached answers were damaged and asked for again "
            "(judge cache info --check looks at the others)"
        )
    if progress.without_usage:
        lines.append(f"{progress.without_usage:,} answers came without a token count")
    if progress.retries:
        tried = ", ".join(f"{reason} {n:,}" for reason, n in sorted(progress.retries.items()))
        lines.append(f"sent again after: {tried}")
    return lines


def cost(progress: Progress) -> str:
    """Return the cost of a run so far; a price that is not known is not guessed."""
    return "unknown" if progress.dollars is None else f"${progress.dollars:,.2f}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
