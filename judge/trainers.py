"""What TRL and verl pass to a reward function, as it is read, and what they do with no reward."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from judge.studies.texts import says_nothing
from judge.types import JudgeError

# The first TRL that does not sum no reward at all to 0.
_LEAVES_OUT = (1, 6)
_LISTS = (Sequence, np.ndarray, pd.Series, pd.Index)


def text_of(completion: object) -> str:
    """Return the text of a completion: itself, or what the assistant says last in messages."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and all(isinstance(one, Mapping) for one in completion):
        said = [one.get("content") for one in completion if one.get("role") == "assistant"]
        if said and (said[-1] is None or isinstance(said[-1], str)):
            return said[-1] or ""
        parts = said[-1] if said and isinstance(said[-1], Sequence) else []
        texts = [one.get("text") for one in parts if isinstance(one, Mapping)]
        words = [one for one in texts if isinstance(one, str)]
        if parts and len(words) == len(parts):
            return "".join(words)
    raise JudgeError(
        f"a completion is neither text nor messages with an assistant's: {completion!r:.80}"
    )


def is_nothing(reference: object) -> bool:
    """Whether there is no reference: None, NaN, pandas' NA, or a text that says nothing."""
    if isinstance(reference, str):
        return says_nothing(reference)
    return pd.api.types.is_scalar(reference) and bool(pd.isna(reference))  # type: ignore[call-overload]


def lists_of(
    columns: Mapping[str, Any], is_wanted: Callable[[str], bool]
) -> dict[str, Sequence[Any]]:
    """Return the columns of a batch as lists, without what else a trainer passes beside them."""
    found: dict[str, Sequence[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, _LISTS) and not isinstance(column, str | bytes):
            found[name] = list(column)
        elif is_wanted(name):
            raise JudgeError(f"the column {name!r} is no list but a {type(column).__name__}")
    return found


def finite(unscored: object) -> float:
    """Return the reward that is to stand for none; raises `JudgeError` for no finite number."""
    if not isinstance(unscored, bool) and isinstance(unscored, Real) and math.isfinite(unscored):
        return float(unscored)
    raise JudgeError(f"unscored is no finite number but {unscored!r:.80}")


@cache
def what_trl_does() -> str:
    """Return what the installed TRL does with a completion that no function rewards."""
    try:
        found = metadata.version("trl")
    except metadata.PackageNotFoundError:
        return "they are None"
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < _LEAVES_OUT:
        return (
            f"TRL {found} takes each as 0 unless another reward function scores it; TRL 1.6.0 and "
            "later leave it out"
        )
    return "TRL leaves them out"
