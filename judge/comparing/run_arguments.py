"""The runs among a command's arguments: `runs/*` also names what lies beside the runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.comparing.alignment import RunChoice
from judge.files import WRITING, folders_with
from judge.run_files.manifest import MANIFEST
from judge.text import counted
from judge.types import JudgeError

_DEEPEST = 3
"""Folders below an argument in which runs are looked for."""


@dataclass(frozen=True, slots=True)
class ChosenRuns:
    """The runs that a command's arguments name, and a sentence about each that was left out."""

    choices: tuple[RunChoice, ...]
    skipped: tuple[str, ...]


def chosen_runs(choices: Sequence[RunChoice]) -> ChosenRuns:
    """Return the runs that arguments name, without what a pattern brought along.

    The shell replaces `runs/*` by all that lies in `runs`, so that no program sees the pattern. An
    argument that is no run is taken as found by one if some pattern `START*END` that also finds a
    run among the arguments finds nothing in their folder but arguments. A folder is left out only
    beside two runs: beside one it would be half of what was to be compared.

    Raises `JudgeError` for each argument that is no run and was named by itself: with NAME=, in a
    folder of which other entries were not named, or if nothing is there.
    """
    runs = []
    others = []
    for chosen in choices:
        if os.path.lexists(chosen.path / MANIFEST):
            runs.append(chosen)
        else:
            others.append(chosen)
    skipped = []
    refused = []
    for other in others:
        why = _why_no_run(other)
        if _is_found_by_pattern(other, runs, choices):
            skipped.append(f"left out {other.shown}: {why}")
        else:
            refused.append(f"{other.shown} is not a run: {why}")
    if refused:
        raise JudgeError("\n".join(refused))
    return ChosenRuns(choices=tuple(runs), skipped=tuple(skipped))


def _is_found_by_pattern(
    other: RunChoice, runs: Sequence[RunChoice], choices: Iterable[RunChoice]
) -> bool:
    """Return whether a pattern that finds `other` and a run finds only what was named."""
    is_named_by_itself = other.model is not None
    if is_named_by_itself or not os.path.lexists(other.path):
        return False
    folder = other.path.parent
    runs_beside = [run for run in runs if run.path.parent == folder]
    needed = 1
    if other.path.is_dir():
        needed = 2
    if len(runs_beside) < needed:
        return False
    try:
        entries = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return False
    named = {one.path.name for one in choices if one.path.parent == folder}
    # No pattern finds a hidden name unless it begins with a dot itself.
    unnamed = [
        name for name in entries if name not in named and not name.startswith(".")
    ]
    for run in runs_beside:
        start = _shared_start(other.path.name, run.path.name)
        rests = [one.path.name.removeprefix(start)[::-1] for one in (other, run)]
        end = _shared_start(*rests)[::-1]
        found = [name for name in unnamed if _fits(name, start, end)]
        if not found:
            return True
    return False


def _shared_start(one: str, other: str) -> str:
    shared = ""
    for letter, other_letter in zip(one, other, strict=False):
        if letter != other_letter:
            break
        shared += letter
    return shared


def _fits(name: str, start: str, end: str) -> bool:
    """Return whether the pattern START*END finds a name."""
    is_long_enough = len(name) >= len(start) + len(end)
    return is_long_enough and name.startswith(start) and name.endswith(end)


def _why_no_run(other: RunChoice) -> str:
    path = other.path
    if not os.path.lexists(path):
        return "there is no such folder"
    if not path.is_dir():
        return "it is not a folder"
    if os.path.lexists(path / WRITING):
        return "it is not finished; the command that began it continues it"
    folders = [path]
    pattern = other.shown.rstrip("/")
    for _ in range(_DEEPEST):
        pattern += "/*"
        within = []
        for folder in folders:
            within += folders_with(folder, MANIFEST)
        if within:
            n = counted(len(within), "run", "runs")
            return f"it holds {n} itself: name those, as {pattern}"
        folders = _below(folders)
    return f"it holds no {MANIFEST}, as the folder of a run does"


def _below(folders: Iterable[Path]) -> list[Path]:
    """Return the folders in the folders, without links, which could lead back."""
    below = []
    for folder in folders:
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir() and not entry.is_symlink():
                below.append(entry)
    return below
