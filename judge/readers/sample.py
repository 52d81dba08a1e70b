"""The queue of a run's studies to be read: drawn at random from each stratum, and longer later.

Each study has one place in one order of all studies, which the seed decides: within its stratum
by chance, and the strata in turn so that the first n are about proportional to their sizes. A
sample of n is the first n of that order. So a larger sample keeps the smaller one, and is
distributed as if it had been drawn at once; and so is the part that was read by a reader who
stops early.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from judge.running.files import held, put_in_place, read_file
from judge.running.forms import adapter, first_of
from judge.types import JudgeError

SAMPLE = "sample.json"
LEAST = 2
"""Studies of a stratum that are drawn before it takes its turn by size: fewer have no variance."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """The studies with the same values of some fields: how many there are, how many were drawn."""

    key: Mapping[str, Any]
    n_studies: int
    n_drawn: int

    @property
    def probability(self) -> float:
        """The probability of each of its studies to be drawn."""
        return self.n_drawn / self.n_studies


@dataclass(frozen=True, slots=True)
class Sample:
    """The studies that were drawn, in the order in which they are to be read."""

    seed: int
    by: tuple[str, ...]
    strata: tuple[Stratum, ...]
    order: tuple[str, ...]


def draw(columns: Mapping[str, Sequence[Any]], n: int, by: Sequence[str], seed: int) -> Sample:
    """Draw `n` studies, all where there are no more; `columns` has `study_id` and the fields `by`.

    From each stratum `LEAST` come first, or all that it has; then the one whose turn it is by
    size (Sainte-Laguë: the next study is of the stratum with the largest N / (2 k + 1), of which
    k are drawn), so that no stratum ever loses one to a larger n. Within a stratum each set of
    studies is as likely as any other of its size. It depends on no version of a generator of
    random numbers, and not on the order of the studies: models of the same studies have the same
    sample.

    Raises `JudgeError` where n is below what all strata need.
    """
    ids = columns["study_id"]
    keys = list(zip(*(map(_plain, columns[name]) for name in by), strict=True)) or [()] * len(ids)
    members: dict[tuple[Any, ...], list[str]] = {}
    for study_id, key in zip(ids, keys, strict=True):
        members.setdefault(key, []).append(study_id)
    least = sum(min(LEAST, len(of)) for of in members.values())
    if n < least:
        raise JudgeError(
            f"{n} is too few: {LEAST} studies of each of the {len(members)} groups by "
            f"{', '.join(by)} make {least}; draw as many with -n, or name fewer fields with --by"
            if by
            else f"{n} is too few: draw at least {least} with -n"
        )
    places = []
    for key, of in members.items():
        for at, (chance, study_id) in enumerate(sorted((_chance(seed, one), one) for one in of)):
            turn = 0.0 if at < LEAST else (2 * at + 1) / len(of)
            places.append((min(at, LEAST), turn, chance, study_id, key))
    drawn = sorted(places, key=lambda place: place[:4])[:n]
    n_drawn = dict.fromkeys(members, 0)
    for *_, key in drawn:
        n_drawn[key] += 1
    strata = tuple(
        Stratum(dict(zip(by, key, strict=True)), len(of), n_drawn[key])
        for key, of in sorted(members.items(), key=lambda item: _sorted(item[0]))
    )
    return Sample(seed, tuple(by), strata, tuple(study_id for *_, study_id, _key in drawn))


def read_sample(run: Path) -> Sample | None:
    """Return the sample that is kept with a run, None where none was drawn.

    Raises `JudgeError` for a damaged one.
    """
    from pydantic import ValidationError

    path = run / SAMPLE
    try:
        found: Sample = adapter(Sample).validate_json(read_file(path), strict=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        raise JudgeError(
            f"{path} is damaged: {first_of(error)}; remove it, and draw again with the "
            "same --seed and --by: the sample is the same"
        ) from error
    return found


def write_sample(run: Path, sample: Sample) -> None:
    """Keep a sample with a run, whole or not at all; raises `JudgeError` where that fails."""
    text = json.dumps(asdict(sample), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        with held(run) as staging:
            (staging / SAMPLE).write_bytes(text.encode("utf-8", "replace"))
            put_in_place(staging / SAMPLE, run / SAMPLE)
    except OSError as error:
        raise JudgeError(f"cannot write to {run}: {error.strerror or error}") from error


def _chance(seed: int, study_id: str) -> str:
    """Return a study's lot, as good as drawn at random from all texts of its length."""
    lot = json.dumps([seed, study_id]).encode()
    return hashlib.sha256(lot).hexdigest()


def _plain(value: object) -> Any:  # noqa: ANN401 - a cell
    """Return a value as JSON has it; None for no number."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _sorted(key: tuple[Any, ...]) -> list[tuple[bool, str, Any]]:
    """Return what strata are sorted by: None last, numbers by size, whatever their fields hold."""
    return [(value is None, type(value).__name__, 0 if value is None else value) for value in key]
