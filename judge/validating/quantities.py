"""The quantities of runs: which all of them have, and what they are for each study."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from judge import rubrics
from judge.rubrics.contract import Measure, Rubric
from judge.rubrics.quantities import (
    RATING,
    SIGNIFICANT,
    Quantity,
    at_level,
    common_level,
    levels_of,
    quantities_of,
)
from judge.running.folder import Run
from judge.stats.estimate import summed
from judge.stats.panel import Values
from judge.types import JudgeError


def level_of(runs: Sequence[Run], level: str | None) -> str | None:
    """Return the level of which errors are significant, None where each rubric says so itself.

    `level` is the one that is asked for. Raises `JudgeError` where a run cannot express it.
    """
    level = level or common_level(_of_judges(run) for run in runs)
    levels = [levels_of(_of_judges(run), _lacks(run)) for run in runs]
    for run, known in zip(runs, levels, strict=True):
        if level is None and (known or not any(levels)):
            continue
        if level is None or not at_level(_of_judges(run), level, _lacks(run)):
            scale = ", ".join(known) or "none"
            raise JudgeError(
                f"{run.path} cannot say which errors are {level or SIGNIFICANT}: its levels are "
                f"{scale}; choose one that all runs have with --level"
            )
    return level


def level_words(run: Run, level: str | None) -> str:
    """Return what counts as significant in a run: `GREEN significant`, `actionable or worse`."""
    known = levels_of(_of_judges(run), _lacks(run))
    if SIGNIFICANT in known:
        return f"{run.rubric.title} significant"
    return f"{level or 'urgent'} or worse"


def _lacks(run: Run) -> Collection[str]:
    return run.reading["lacks"] if run.reading else ()


def shared(runs: Sequence[Run], level: str | None) -> tuple[Quantity, ...]:
    """Return the quantities that every run's rubric has; a score only where it is the same one.

    Categories of a reader's own are in the totals alone.
    """
    first, *others = [quantities_of(_of_judges(run), level=level) for run in runs]
    return tuple(
        one
        for name, one in first.items()
        if all(name in of and (one.kind == "count" or of[name] == one) for of in others)
    )


def scores_of(run: Run) -> tuple[Measure, ...]:
    """Return the scores of a run's rubric."""
    return _of_judges(run).with_role("score")


def _of_judges(run: Run) -> Rubric:
    return rubrics.load(run.manifest["rubric"])


def values_of(run: Run, names: Collection[str], level: str | None) -> dict[str, Values]:
    """Return quantities, or measures, of a run's studies by name, in the order of its table.

    NaN where a study was not scored, and where the reader was not asked for what is counted.
    The rating is there where a field has one. Raises `JudgeError` as `Run.columns` does.
    """
    known = quantities_of(_of_judges(run), _lacks(run), level)
    made_of = {name: known[name].measures if name in known else (name,) for name in names}
    wanted = list(dict.fromkeys(measure for of in made_of.values() for measure in of))
    table = run.columns(wanted, [RATING])
    columns = {name: table[name].to_numpy(zero_copy_only=False).astype(float) for name in wanted}
    found = {name: summed([columns[one] for one in of]) for name, of in made_of.items()}
    if RATING in table.column_names:
        found[RATING] = np.array([_number(one) for one in table[RATING].to_pylist()])
    return found


def _number(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else np.nan  # type: ignore[arg-type]
