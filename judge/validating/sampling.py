"""How the studies that readers read were chosen: at random, and in which strata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from judge.running.folder import Run
from judge.running.records import SampleRead
from judge.studies.names import as_text
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

Codes = NDArray[np.intp]
Drawn = Literal["drawn", "told", "all"]
"""Why the readings are taken for drawn at random: their runs say so, the user does, or every
study was read, so that nothing was chosen."""


def drawn(opened: Sequence[Run], *, told: bool) -> Drawn:
    """Raise `JudgeError` where the studies that were read are not known to be drawn at random."""
    unknown = [run for run in opened if not (run.reading and "sample" in run.reading)]
    if not unknown:
        return "drawn"
    if len(unknown) < len(opened):
        raise JudgeError(
            f"{unknown[0].path} does not say how its studies were drawn, and other readings are a "
            "sample that does; correct with the one or the other"
        )
    if not told:
        raise JudgeError(
            f"{unknown[0].path} does not say how its studies were chosen. A corrected figure rests "
            "on studies drawn at random: the judge is wrong more or less often about those that "
            "were read worst first or picked by hand than about the rest. If they were drawn at "
            "random, say so with --readings-at-random"
        )
    return "told"


def strata(
    run: Run,
    table: pd.DataFrame,
    opened: Sequence[Run],
    read: Sequence[NDArray[np.bool_]],
) -> tuple[tuple[str, ...], Codes]:
    """Return the fields that the sample was drawn by, and each study's stratum.

    Raises `JudgeError` where the readers' samples were drawn by different fields, from other
    studies than the run's, or do not hold what was read.
    """
    samples: list[SampleRead] = [one.reading["sample"] for one in opened if one.reading]
    by = tuple(samples[0]["by"])
    for one, sample in zip(opened, samples, strict=True):
        if tuple(sample["by"]) != by:
            named = [", ".join(names) or "no field" for names in (by, sample["by"])]
            raise JudgeError(
                f"{opened[0].path} is a sample drawn by {named[0]}, {one.path} one by {named[1]}; "
                "correct with one of them"
            )
    if lacking := [name for name in by if name not in table.columns]:
        raise JudgeError(f"the sample was drawn by {lacking[0]!r}, a field that {run.path} has not")
    keys = list(zip(*(texts_of(table[name].tolist()) for name in by), strict=True))
    keys = keys or [()] * len(table)
    number = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([number[key] for key in keys], np.intp)
    there = Counter(keys)
    for one, sample, rows in zip(opened, samples, read, strict=True):
        told = {
            tuple(texts_of([each["key"].get(name) for name in by])): each
            for each in sample["strata"]
        }
        if {key: each["n_studies"] for key, each in told.items()} != dict(there):
            raise JudgeError(
                f"{one.path} is a sample of other studies than those of {run.path}: the strata by "
                f"{', '.join(by) or 'no field'} have other sizes"
            )
        for key, at in number.items():
            n, n_drawn = int(rows[codes == at].sum()), told[key]["n_drawn"]
            if n > n_drawn:
                raise JudgeError(
                    f"{one.path} has {n:,} readings where {n_drawn:,} studies were drawn; those "
                    "beside the sample were not drawn at random"
                )
    return by, codes


def is_even(strata: Codes, is_read: NDArray[np.bool_]) -> bool:
    """Whether each stratum was read as often as its share says, to the next whole number."""
    n_all = np.bincount(strata)
    n_read = np.bincount(strata[is_read], minlength=len(n_all))
    return bool((np.abs(n_read - n_all * is_read.sum() / len(strata)) < 1).all())


def texts_of(values: Sequence[Any]) -> list[str | None]:
    """Return the values of a field as texts, None where one is missing."""
    import pandas as pd

    return [None if pd.isna(value) else as_text(value) for value in values]
