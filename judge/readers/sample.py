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
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from judge.running.folder import Run, replace_file, staging_folder
from judge.running.records import SampleRead, adapter, first_of
from judge.stats.table import DEFAULT_BY, check_fields
from judge.text import in_natural_order
from judge.types import JudgeError

SAMPLE = "sample.json"
DEFAULT_SEED = 1
LEAST = 2
"""Studies of a stratum that are drawn before it takes its turn by size: fewer have no variance."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """The studies with the same values of some fields: how many there are, how many were drawn."""

    key: Mapping[str, Any]
    n_studies: int
    n_drawn: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The studies that were drawn, in the order in which they are to be read."""

    seed: int
    by: tuple[str, ...]
    strata: tuple[Stratum, ...]
    order: tuple[str, ...]


def sampled(
    run: Run, n: int | None = None, by: Sequence[str] | None = None, seed: int | None = None
) -> Sample:
    """Return the sample of `n` studies that is kept with a run; what it lacks is drawn and kept.

    Drawn from all studies, those that the judge could not score among them: without them the rest
    would be the easier ones. Without `n` it is the kept one as it is; one that is larger stays.
    `by` and `seed` are by default as kept, else `DEFAULT_BY` and 1. Raises `JudgeError` where
    another sample is kept, and as `draw` does.
    """
    known = kept_sample(run)
    by = tuple(dict.fromkeys(by or (known.by if known else DEFAULT_BY)))
    if known and (seed not in (None, known.seed) or by != known.by):
        raise JudgeError(
            f"{run.path} has a sample drawn with --seed {known.seed} --by {','.join(known.by)}: "
            f"draw more of it with -n alone, or remove {run.path / SAMPLE}"
        )
    if known and (n is None or n <= len(known.order)):
        return known
    if n is None:
        raise JudgeError(f"no sample is kept with {run.path}; draw one with -n")
    seed = known.seed if known else DEFAULT_SEED if seed is None else seed
    sample = draw(_columns(run, by), n, by, seed)
    text = json.dumps(asdict(sample), indent=2, allow_nan=False) + "\n"
    try:
        with staging_folder(run.path) as staging:
            (staging / SAMPLE).write_text(text, "utf-8")
            replace_file(staging / SAMPLE, run.path / SAMPLE)
    except OSError as error:
        raise JudgeError(f"cannot write to {run.path}: {error.strerror or error}") from error
    return sample


def kept_sample(run: Run) -> Sample | None:
    """Return the sample that is kept with a run, None where none was drawn.

    Raises `JudgeError` for a damaged one, and for one that is not of the run's studies.
    """
    from pydantic import ValidationError

    path = run.path / SAMPLE
    try:
        sample: Sample = adapter(Sample).validate_json(path.read_bytes(), strict=True)
        again = draw(_columns(run, sample.by), len(sample.order), sample.by, sample.seed)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        raise JudgeError(f"{path} is damaged ({first_of(error)}): remove it, draw again") from error
    if again != sample:
        raise JudgeError(
            f"{path} is no sample of this run's studies: they, or their {' or '.join(sample.by)}, "
            "have changed; remove it and draw another"
        )
    return sample


def read_of(run: Run, sample: Sample, read: Collection[str]) -> SampleRead | None:
    """Return how the studies that were read were drawn; None where that is not at random.

    The first n of a sample are a sample of n themselves.
    """
    if {*sample.order[: len(read)]} != {*read}:
        return None
    columns = _columns(run, sample.by)
    keys = dict(zip(columns["study_id"], _keys(columns, sample.by), strict=True))
    n_read = Counter(keys[study_id] for study_id in read)
    return {
        "seed": sample.seed,
        "by": [*sample.by],
        "strata": [
            {
                "key": {**stratum.key},
                "n_studies": stratum.n_studies,
                "n_drawn": n_read[tuple(stratum.key.values())],
            }
            for stratum in sample.strata
        ],
    }


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
    strata: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for study_id, key in zip(columns["study_id"], _keys(columns, by), strict=True):
        strata[key].append(study_id)
    least = sum(min(LEAST, len(members)) for members in strata.values())
    if n < least:
        raise JudgeError(
            f"{n} is too few for {LEAST} studies of each of the {len(strata)} groups by "
            f"{', '.join(by)}; draw at least {least} with -n"
        )
    places = []
    for key, members in strata.items():
        for at, (lot, study_id) in enumerate(sorted((_lot(seed, one), one) for one in members)):
            turn = 0.0 if at < LEAST else (2 * at + 1) / len(members)
            places.append((min(at, LEAST), turn, lot, study_id, key))
    drawn = sorted(places, key=lambda place: place[:4])[:n]
    n_drawn = Counter(key for *_, key in drawn)
    sizes = [
        Stratum(dict(zip(by, key, strict=True)), len(members), n_drawn[key])
        for key, members in strata.items()
    ]
    return Sample(
        seed,
        tuple(by),
        tuple(sizes[at] for at in in_natural_order([stratum.key for stratum in sizes])),
        tuple(study_id for *_, study_id, _ in drawn),
    )


def _columns(run: Run, by: Sequence[str]) -> dict[str, list[Any]]:
    table = run.columns()
    check_fields(by, table.column_names)
    return {name: table[name].to_pylist() for name in ("study_id", *by)}


def _keys(columns: Mapping[str, Sequence[Any]], by: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*([_plain(value) for value in columns[name]] for name in by), strict=True))


def _lot(seed: int, study_id: str) -> str:
    return hashlib.sha256(json.dumps([seed, study_id]).encode()).hexdigest()


def _plain(value: object) -> str | int | float | None:
    """Return a cell as JSON has it; None for no number."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, str | int | float | None) else str(value)
