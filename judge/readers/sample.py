"""A random sample of a run's studies for readers, stratified by fields.

The seed puts all studies in one order: random within a stratum, with the strata in turn so that the
first n are about proportional to their sizes. A sample of n is the first n of that order. A larger
sample therefore keeps the smaller one and is distributed as if drawn at once, and the studies that
a reader has read who stops early are a random sample too.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from typing_extensions import TypedDict

from judge.files import is_there, open_regular, replace_file, staging_folder
from judge.run_files.checked import adapter, first_of
from judge.run_files.entries import SampleEntry, StratumEntry
from judge.run_settings import DEFAULT_BY
from judge.running.folder import RunFolder
from judge.signature import random_rank
from judge.stats.summary import check_fields
from judge.text import in_natural_order
from judge.types import JudgeError

SAMPLE = "sample.json"
LEAST = 2
"""The studies drawn first from each stratum: fewer have no variance."""


class Stratum(TypedDict):
    """The studies with the values `key` of the fields, `n_drawn` of which were drawn."""

    key: dict[str, Any]
    n_studies: int
    n_drawn: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The drawn studies, in the order in which they are to be read."""

    seed: int
    by: tuple[str, ...]
    strata: tuple[Stratum, ...]
    order: tuple[str, ...]


def sampled(
    run: RunFolder,
    n: int | None = None,
    by: Sequence[str] | None = None,
    seed: int | None = None,
) -> Sample:
    """Return the sample of at least `n` studies in a run's folder, drawing the missing studies.

    The sample is of all studies, including those that the judge could not score: the others would
    be the easier ones. `by` and `seed` are by default those of the stored sample, else `DEFAULT_BY`
    and 1. Raises `JudgeError` where a different sample is stored, and as `draw` does.
    """
    known = kept_sample(run)
    if not by:
        by = DEFAULT_BY
        if known:
            by = known.by
    by = tuple(dict.fromkeys(by))
    if known:
        is_same_seed = seed in (None, known.seed)
        if not is_same_seed or by != known.by:
            how = f"drawn with --draw-seed {known.seed} --strata {','.join(known.by)}"
            raise JudgeError(
                f"{run.path / SAMPLE} was {how}: draw more with --limit alone, or remove it"
            )
    if known and (n is None or n <= len(known.order)):
        return known
    if n is None:
        raise JudgeError(f"{run.path} has no sample; draw one with --limit")
    if known:
        seed = known.seed
    elif seed is None:
        seed = 1
    sample = draw(_columns(run, by), n, by=by, seed=seed)
    text = json.dumps(asdict(sample), indent=2, allow_nan=False) + "\n"
    try:
        with staging_folder(run.path) as staging:
            (staging / SAMPLE).write_text(text, "utf-8")
            replace_file(staging / SAMPLE, run.path / SAMPLE)
    except OSError as error:
        raise JudgeError(
            f"cannot write to {run.path}: {error.strerror or error}"
        ) from error
    return sample


def kept_sample(run: RunFolder) -> Sample | None:
    """Return the sample in a run's folder, None where none was drawn."""
    from pydantic import ValidationError

    path = run.path / SAMPLE
    if not is_there(path):
        return None
    try:
        with open_regular(path) as file:
            sample: Sample = adapter(Sample).validate_json(file.read(), strict=True)
    except (OSError, ValidationError) as error:
        if isinstance(error, ValidationError):
            why = first_of(error)
        else:
            why = str(error.strerror)
        raise JudgeError(
            f"{path} cannot be read ({why}): remove it, draw again"
        ) from error
    columns = _columns(run, sample.by)
    again = draw(columns, len(sample.order), by=sample.by, seed=sample.seed)
    if again != sample:
        raise JudgeError(
            f"{path} is no sample of the run as it is now: remove it, draw again"
        )
    return sample


def read_of(
    run: RunFolder, sample: Sample, read: Collection[str]
) -> SampleEntry | None:
    """Return how the studies `read` were drawn; None unless they are the first of the sample."""
    if {*sample.order[: len(read)]} != {*read}:
        return None
    strata = _strata(_columns(run, sample.by), sample.by, read)
    return SampleEntry(
        seed=sample.seed,
        by=list(sample.by),
        strata=[StratumEntry(**stratum) for stratum in strata],
    )


def draw(
    columns: Mapping[str, Sequence[Any]],
    n: int,
    *,
    by: Sequence[str],
    seed: int,
    least: int = LEAST,
) -> Sample:
    """Draw `n` studies, or all if there are fewer; `columns` has `study_id` and the fields `by`.

    `least` studies of each stratum come first; each further study is of the stratum with the
    largest N / (2 k + 1), N its size and k its drawn studies (Sainte-Laguë), so that a larger n
    takes no study away. Within a stratum the draw is a simple random sample by a hash of seed and
    id: it depends on no random number generator and not on the order of the studies, so runs of
    several models over the same studies have the same sample.

    Raises `JudgeError` if n is smaller than the strata need.
    """
    members: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for study_id, key in _keys(columns, by).items():
        members[key].append(study_id)
    needed = sum(min(least, len(study_ids)) for study_ids in members.values())
    if n < needed:
        raise JudgeError(
            f"{n} is too few for {least} studies of each of the {len(members)} groups by "
            f"{', '.join(by)}; draw at least {needed} with --limit"
        )
    places = []
    for study_ids in members.values():
        ranks = [(random_rank(seed, study_id), study_id) for study_id in study_ids]
        ranked = sorted(ranks)
        for k, (rank, study_id) in enumerate(ranked):
            # The first of each stratum come before all turns.
            turn = 0.0
            if k >= least:
                turn = (2 * k + 1) / len(study_ids)
            places.append((min(k, least), turn, rank, study_id))
    order = tuple(study_id for *_, study_id in sorted(places)[:n])
    return Sample(seed, tuple(by), _strata(columns, by, order), order)


def _keys(
    columns: Mapping[str, Sequence[Any]], by: Sequence[str]
) -> dict[str, tuple[Any, ...]]:
    """Return each study's values of the fields `by`, which name its stratum."""
    fields = [columns[name] for name in by]
    keys = zip(*fields, strict=True)
    return dict(zip(columns["study_id"], keys, strict=True))


def _strata(
    columns: Mapping[str, Sequence[Any]], by: Sequence[str], drawn: Collection[str]
) -> tuple[Stratum, ...]:
    """Return the strata in the order of their values, each with its size and number drawn."""
    key_of = _keys(columns, by)
    n_drawn = Counter(key_of[study_id] for study_id in drawn)
    strata: list[Stratum] = []
    for key, size in Counter(key_of.values()).items():
        stratum = dict(zip(by, key, strict=True))
        strata.append({"key": stratum, "n_studies": size, "n_drawn": n_drawn[key]})
    order = in_natural_order([stratum["key"] for stratum in strata])
    return tuple(strata[index] for index in order)


def _columns(run: RunFolder, by: Sequence[str]) -> dict[str, list[Any]]:
    table = run.columns()
    check_fields(by, table.column_names)
    return {name: table[name].to_pylist() for name in ("study_id", *by)}
