"""The rubrics: what is asked, how the answer is read, what it is worth.

Each rubric is a folder beside this file whose `__init__` defines `RUBRIC`; a new folder is
found without an edit anywhere else and becomes a command of its own.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from judge.types import Annotation, Comparison, JudgeError, Study, StudyCounts

if TYPE_CHECKING:
    from pydantic import BaseModel

_ROOT = Path(__file__).parent
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a rubric's severity scale.

    `significant` and `actionable` say what an error of this level is; `actionable` is None
    where the rubric has no such notion.
    """

    name: str
    label: str
    significant: bool
    actionable: bool | None


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a study: its column name, what it is in a line, and its direction.

    `inverse` labels 1 / (mean over studies), printed beside the mean where the field
    prints it; None where it does not.
    """

    name: str
    label: str
    higher_is_better: bool
    inverse: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A score's figure for a set of studies: the mean of its column, or 1 / that mean."""

    name: str
    label: str
    column: str
    is_inverse: bool


class Parse(Protocol):
    """Reads an answer.

    `complete` says that the judge reported to have ended by itself, so that a list without
    a stated count may be taken as whole. Raises `UnparsedError` with a reason for whatever
    cannot be read with certainty.
    """

    def __call__(self, text: str, study: Study, *, complete: bool = False) -> Annotation:
        """Return the annotation that `text` expresses about `study`."""
        ...


@dataclass(frozen=True, slots=True)
class Rubric:
    """One way to judge a report, as a value.

    `render` writes an annotation as the answer a judge would give: `parse(render(x)) == x`.
    `score` is a pure function of the annotation and the study it is about; it gives the
    `scores`, what the candidate is worth, and the `checks`, whether the annotation makes
    sense. `from_comparison` is how the built-in judge's findings become an annotation of
    this rubric. `corrected` applies an annotation's edits to the candidate, None where
    errors have none. `reply_model` gives the form of a reply that is JSON (called when it
    is needed: the import is slow), None where the reply is text. `version` changes whenever
    the same answer would give another number.
    """

    name: str
    version: int
    title: str
    summary: str
    levels: tuple[Level, ...]
    scores: tuple[Score, ...]
    has_matched: bool
    prompt: str
    parse: Parse
    render: Callable[[Annotation], str]
    score: Callable[[Annotation, Study], StudyCounts]
    from_comparison: Callable[[Comparison, Study], Annotation]
    reply_model: Callable[[], type[BaseModel]] | None = None
    corrected: Callable[[Annotation, Study], str] | None = None
    checks: tuple[Score, ...] = ()

    @property
    def has_actionable(self) -> bool:
        """Whether the scale says which errors are actionable."""
        return all(level.actionable is not None for level in self.levels)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What is printed of the scores for a set of studies, in order."""
        found = []
        for score in self.scores:
            found.append(Figure(score.name, score.label, score.name, is_inverse=False))
            if score.inverse:
                found.append(
                    Figure(f"inverse_{score.name}", score.inverse, score.name, is_inverse=True)
                )
        return tuple(found)

    @property
    def cases(self) -> Path:
        """The folder of completions with what must come out of them."""
        return _ROOT / self.name / "cases"


def names() -> list[str]:
    """Return the names of all rubrics, sorted."""
    return sorted(
        entry.name
        for entry in _ROOT.iterdir()
        if _NAME.fullmatch(entry.name) and (entry / "__init__.py").is_file()
    )


def load(name: str) -> Rubric:
    """Return the rubric called `name`; raises `JudgeError` where there is none."""
    if name not in names():
        raise JudgeError(f"unknown rubric {name!r}; there are: {', '.join(names())}")
    rubric: Rubric = importlib.import_module(f"judge.rubrics.{name}").RUBRIC
    return rubric
