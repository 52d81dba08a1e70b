"""The figures of a run with the judge's bias taken out, by readings of a part of its studies."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from judge import plugins
from judge.comparing.loaded import LoadedRuns, load
from judge.comparing.names import RunChoice
from judge.rubrics.contract import Rubric, Statistic
from judge.running.folder import Run
from judge.signature import Signature
from judge.stats.prediction_powered import Values, corrected
from judge.stats.rates import summed
from judge.stats.table import grouped
from judge.studies.names import as_text
from judge.text import counted
from judge.types import JudgeError
from judge.validating.raters import Rater, check_texts, raters

if TYPE_CHECKING:
    import pandas as pd

Codes = NDArray[np.intp]
SEVERAL = "averaged"
"""What becomes of the readings of several readers of a study."""


def corrected_summary(
    run: Run,
    by: Sequence[str],
    paths: Sequence[Path],
    *,
    at_random: bool = False,
    patient_field: str | None = None,
) -> dict[str, Any]:
    """Return the summary of a run grouped by fields, corrected by readers' runs.

    `paths` are readers' runs, or folders of such. `at_random` says that the studies were drawn at
    random where these runs do not. The summary is that of `Run.regrouped`; each statistic that can
    be corrected has `corrected` beside its value, for all studies and in each group; `readings`
    says whose readings these are and how they were drawn.

    Raises `JudgeError` for a field that the run has not, a run of the wrong kind, other texts, no
    study in common, and readings that were not drawn at random.
    """
    if run.reading is not None:
        raise JudgeError(
            f"{run.path} is a reader's run, and what is corrected is a judge's: name the judge's "
            "run, and give this one with --readings"
        )
    readers = raters([RunChoice(path, str(path)) for path in paths], readers=True)
    named = [(reader.shown, reader.run) for reader in readers]
    judge = load([(str(run.path), run)])
    runs = load([(str(run.path), run), *named], lambda judged, *_: judged)
    for reader, places in zip(readers, runs.rows[1:], strict=True):
        if not (places >= 0).any():
            raise JudgeError(
                f"{run.path} has none of the studies of {reader.shown}; they are joined by study id"
            )
    notes = check_texts(runs)
    judged, values, why_not = _values(runs)
    if not values:
        raise JudgeError(
            f"nothing of {run.path} can be corrected by these readings: "
            f"{'; '.join(dict.fromkeys(why_not.values()))}"
        )
    aligned = run.table().iloc[runs.rows[0]]
    is_scored = runs.is_scored
    is_read = np.asarray(is_scored[:, 1:].any(axis=1))
    how, sample_by, strata = _drawn(runs, aligned, at_random=at_random)
    patient, patients = judge.patients(patient_field) or (None, None)
    summary = run.regrouped(by, patient_field)
    blocks = [summary, *summary["rates"]]
    parts = [list(range(len(aligned))), *(rows for _, rows in grouped(aligned, by))]
    for block, rows in zip(blocks, parts, strict=True):
        for statistic in correctable(run.rubric):
            if (name := statistic.name) in values:
                block["statistics"][name]["corrected"] = corrected(
                    judged[name][rows],
                    values[name][rows],
                    statistic,
                    strata[rows],
                    None if patients is None else patients[rows],
                    is_even=_is_even(strata, is_read),
                ).plain()
    about: list[dict[str, Any]] = [
        {
            "reader": reader.name,
            "run": reader.shown,
            "signature": reader.run.signature,
            "n": int(is_scored[:, at].sum()),
            "n_elsewhere": len(reader.run.columns([])) - int((runs.rows[at] >= 0).sum()),
        }
        for at, reader in enumerate(readers, start=1)
    ]
    notes += [
        f"{one['reader']} read {counted(n, 'study', 'studies')} that this run has not"
        for one in about
        if (n := one["n_elsewhere"])
    ]
    if lost := int((is_read & ~is_scored[:, 0]).sum()):
        notes.append(f"studies that were read and that the judge did not score: {lost:,}")
    n_read = int(is_read.sum())
    readings = {
        "signature": _signature(readers, n_read, how, sample_by, patient),
        "runs": about,
        "n_read": n_read,
        "drawn": how,
        "drawn_by": list(sample_by),
        "several_readers": SEVERAL,
        "patient_field": patient,
        "not_corrected": why_not,
        "notes": notes,
    }
    return {**summary, "readings": readings}


def correctable(rubric: Rubric) -> list[Statistic]:
    """Return the statistics that can be corrected: the means and rates that are shown of sets."""
    return [
        one
        for one in rubric.statistics
        if one.kind != "ratio" and one.shown & {"groups", "compare"}
    ]


def _values(runs: LoadedRuns) -> tuple[dict[str, Values], dict[str, Values], dict[str, str]]:
    """Return the judge's values and the means of the readers', and why the others have none."""
    judged, values, why_not = {}, {}, {}
    rubric, *others = [run.rubric for run in runs.runs]
    for statistic in correctable(rubric):
        reasons = [_lacking(statistic, other) for other in others]
        columns = [
            _of_studies(runs, at, statistic) for at, why in enumerate(reasons, start=1) if not why
        ]
        if not columns:
            why_not[statistic.name] = "; ".join(dict.fromkeys(filter(None, reasons)))
            continue
        grid = np.column_stack(columns)
        n = (~np.isnan(grid)).sum(axis=1)
        judged[statistic.name] = _of_studies(runs, 0, statistic)
        values[statistic.name] = np.where(n, np.nansum(grid, axis=1) / np.maximum(n, 1), np.nan)
    return judged, values, why_not


def _of_studies(runs: LoadedRuns, run: int, statistic: Statistic) -> Values:
    """Return what a mean or a rate is the mean of, NaN for a study that has it not."""
    columns = [*runs.numbers(run, statistic.measures).values()]
    if statistic.kind != "rate":
        return summed(columns)
    sizes = summed(columns, sizes=True)
    is_clean: Values = np.where(np.isnan(sizes), np.nan, sizes == 0)
    return is_clean


def _lacking(statistic: Statistic, rubric: Rubric) -> str | None:
    same = {one.name: (one.kind, one.measures, one.is_reciprocal) for one in rubric.statistics}
    wanted = (statistic.kind, statistic.measures, statistic.is_reciprocal)
    if same.get(statistic.name) != wanted:
        return f"{rubric.title} has no such figure"
    measures = (one for one in rubric.measures if one.name in statistic.measures)
    return next((one.undefined for one in measures if one.undefined), None)


def _drawn(
    runs: LoadedRuns, table: pd.DataFrame, *, at_random: bool
) -> tuple[str, tuple[str, ...], Codes]:
    """Return how the studies were drawn, by which fields, and each study's stratum.

    Raises `JudgeError` where the studies that were read are not known to be drawn at random, and
    where the readers' samples are of other studies.
    """
    one_stratum = np.zeros(len(table), np.intp)
    if runs.is_scored[:, 1:].any(axis=1).all():
        return "all", (), one_stratum
    samples = [run.reading.get("sample") if run.reading else None for run in runs.runs[1:]]
    known = [sample for sample in samples if sample]
    if len(known) < len(samples):
        name = runs.names[1 + samples.index(None)]
        if known or not at_random:
            raise JudgeError(
                f"{name} does not say how its studies were drawn, and a corrected figure rests on "
                "studies drawn at random; if they were, say so with --readings-at-random"
                if not known
                else f"{name} does not say how its studies were drawn, and other readings are a "
                "sample that does; correct with the one or the other"
            )
        return "told", (), one_stratum
    by = tuple(known[0]["by"])
    if lacking := [name for name in by if name not in table.columns]:
        raise JudgeError(
            f"the sample was drawn by {lacking[0]!r}, a field that {runs.names[0]} has not"
        )
    keys = list(zip(*(_texts(table[name]) for name in by), strict=True)) or [()] * len(table)
    number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    sizes = Counter(keys)
    codes = np.array([number_of[key] for key in keys], np.intp)
    for name, sample in zip(runs.names[1:], known, strict=True):
        strata = {
            tuple(_texts([stratum["key"].get(field) for field in by])): stratum["n_studies"]
            for stratum in sample["strata"]
        }
        if tuple(sample["by"]) != by or sizes != strata:
            raise JudgeError(
                f"{name} is a sample of other studies than those of {runs.names[0]}, or by other "
                f"fields than {', '.join(by) or 'none'}"
            )
    return "drawn", by, codes


def _is_even(strata: Codes, is_read: NDArray[np.bool_]) -> bool:
    """Whether each stratum was read as often as its share says, to the next whole number."""
    n_all = np.bincount(strata)
    n_read = np.bincount(strata[is_read], minlength=len(n_all))
    return bool((np.abs(n_read - n_all * is_read.sum() / len(strata)) < 1).all())


def _texts(values: Sequence[Any] | pd.Series) -> list[str | None]:
    import pandas as pd

    return [None if pd.isna(value) else as_text(value) for value in values]


def _signature(
    readers: Sequence[Rater], n_read: int, how: str, by: Sequence[str], patient: str | None
) -> str:
    lines = sorted(reader.run.signature for reader in readers)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
    parts = (
        "corrected:1",
        f"readers:{','.join(sorted(reader.name for reader in readers))}",
        f"readings:{n_read}+{digest}",
        f"random:{how}",
        f"strata:{','.join(by) or 'none'}",
        f"several:{SEVERAL}",
        f"patient:{patient or 'none'}",
        f"version:{plugins.version()}",
    )
    return str(Signature(parts))
