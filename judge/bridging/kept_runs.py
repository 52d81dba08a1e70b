"""The kept runs of an old judge, and the sample of their studies for a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import ComparedRuns, read_scores
from judge.readers.sample import Sample, draw
from judge.rubrics.contract import Rubric
from judge.run_settings import DEFAULT_BY, RunSettings
from judge.running.settings import read_reports, with_context
from judge.stats.intervals import Bools, Codes
from judge.stats.scores import ScoreMatrix
from judge.stats.summary import check_fields, fields_of, reserved_names
from judge.studies import StudySet
from judge.studies.input_table import InputFile
from judge.text import group_value
from judge.types import JudgeError

LEAST = 10
"""The studies of each stratum that are drawn at least, if it has as many."""
MODEL = "model"
"""The field of the new run that names the model whose report was judged."""
_OUTCOME = "outcome"
_OTHERS, _ANY, _OTHERWISE = "others", "any", "otherwise"


@dataclass(frozen=True)
class KeptRuns:
    """Runs of one judge and one rubric on the same studies, one for each model.

    `by` is the field, or several with commas between them, whose groups are drawn from and
    reported by themselves.
    """

    compared: ComparedRuns
    rubric: Rubric
    by: str

    @property
    def panel(self) -> ScoreMatrix:
        """The old judge's values."""
        return self.compared.panel

    @property
    def is_scored(self) -> Bools:
        """Which studies the old judge scored, studies by models."""
        return np.asarray(self.compared.aligned.is_scored)

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in the order of the runs."""
        return self.panel.models


def kept_runs(
    choices: Sequence[RunChoice],
    *,
    by: str = DEFAULT_BY[0],
    allow: Collection[str] = (),
    common: bool = False,
    patient_field: str | None = None,
) -> KeptRuns:
    """Open runs as `judge compare` does; raises `JudgeError` for those that no bridge can use.

    These are readers' runs, panels and runs of several references: they do not say how one judge
    was asked about each study once.
    """
    compared = read_scores(
        choices, by=[by], allow=allow, patient_field=patient_field, common=common
    )
    fields = compared.runs[0].run.manifest.fields
    check_fields([by], ["study_class", *fields])
    for name in fields_of(by):
        if name not in compared.panel.fields:
            raise JudgeError(f"the runs disagree about {name!r}: name other --strata")
    names = dict.fromkeys(run.rubric for run in compared.runs)
    if len(names) > 1:
        raise JudgeError(
            f"the runs are of {' and '.join(names)}: a bridge is of one rubric"
        )
    for run in compared.runs:
        manifest = run.run.manifest
        if manifest.reading is not None:
            raise JudgeError(
                f"{run.shown} is a reader's run: a bridge is between two judges; judge validate "
                "compares a judge with readers"
            )
        if manifest.combined is not None or manifest.settings is None:
            raise JudgeError(
                f"{run.shown} does not say how one judge was asked about each study once: it is a "
                "panel, of several references, or from Python by an earlier version"
            )
    return KeptRuns(compared, compared.runs[0].run.rubric, by)


# The sample


@dataclass(frozen=True)
class DrawnStudies:
    """The studies of each model that were drawn, by the models' names, and how.

    `strata` numbers the stratum of each study and model, -1 where the old judge gave no score: what
    it did not score is in none of its figures, and is not drawn.
    """

    samples: Mapping[str, Sample]
    strata: Codes


def drawn_studies(
    panel: ScoreMatrix, is_scored: Bools, *, by: str, n: int, seed: int
) -> DrawnStudies:
    """Draw `n` studies of each model, or all if there are fewer.

    `is_scored` are the studies that the old judge scored, studies by models. The strata are the
    groups of `by`, each divided by whether the old judge found what the first rate of the rubric
    counts; without a rate by the median of its first metric. A stratum of fewer than ten studies
    joins the other of its group, and groups of fewer than ten are one. Ten studies of each stratum
    are drawn at least, and the others in proportion. Seed and study id decide the draw, so models
    have the same studies as far as their strata allow.

    Raises `JudgeError` where `n` is too small for the strata.
    """
    codes = np.full(is_scored.shape, -1, np.intp)
    samples = {}
    for model, name in enumerate(panel.models):
        rows = np.flatnonzero(is_scored[:, model])
        if not len(rows):
            raise JudgeError(f"no study of {name} has a score by the old judge")
        keys = _strata(panel, model, rows, by)
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        codes[rows, model] = [numbers[key] for key in keys]
        sizes = Counter(keys).values()
        needed = sum(min(LEAST, size) for size in sizes)
        if n < needed:
            raise JudgeError(
                f"{n} studies of {name} are too few for {LEAST} of each of the {len(sizes)} groups "
                f"by {by} and by the old judge's outcome: give --limit {needed} or more"
            )
        groups, outcomes = zip(*keys, strict=True)
        columns = {
            "study_id": [panel.study_ids[row] for row in rows],
            by: groups,
            _OUTCOME: outcomes,
        }
        samples[name] = draw(columns, n, by=(by, _OUTCOME), seed=seed, least=LEAST)
    return DrawnStudies(samples, codes)


def _strata(
    panel: ScoreMatrix, model: int, rows: Codes, by: str
) -> list[tuple[str, str]]:
    """Return the stratum of each study that the old judge scored: its group and the outcome."""
    columns = [panel.fields[name] for name in fields_of(by)]
    groups = []
    for row in rows:
        groups.append(", ".join(group_value(column[row]) for column in columns))
    outcomes = _outcomes(panel, model, rows)
    keys = list(zip(groups, outcomes, strict=True))
    small_groups = [group for group, n in Counter(groups).items() if n < LEAST]
    undivided = {group for (group, _), n in Counter(keys).items() if n < LEAST}
    strata = []
    for group, outcome in keys:
        # One small group alone has no other to join.
        if group in small_groups and len(small_groups) > 1:
            strata.append((_OTHERS, _ANY))
        elif group in undivided:
            strata.append((group, _ANY))
        else:
            strata.append((group, outcome))
    return strata


def _outcomes(panel: ScoreMatrix, model: int, rows: Codes) -> list[str]:
    rates = [metric for metric in panel.metrics if metric.what == "rate"]
    if rates:
        first = rates[0]
        values = panel.values[first.name][rows, model]
        return [first.short if value == 1 else _OTHERWISE for value in values]
    first = panel.metrics[0]
    values = panel.study_values(first.name)[rows, model]
    above = f"{first.short} above its median"
    is_above = values > float(np.nanmedian(values))
    return [above if is_high else _OTHERWISE for is_high in is_above]


# Their reports


def new_id(model: str, study_id: str) -> str:
    """Return the id of a report in the run of the new judge: several models have the same study."""
    return f"{model}/{study_id}"


def new_judge_settings(runs: KeptRuns, judge_values: Mapping[str, Any]) -> RunSettings:
    """Return the settings under which the new judge is asked about the old runs' reports."""
    first = runs.compared.runs[0]
    recorded = first.run.manifest.settings
    assert recorded is not None
    folder = None
    if len(runs.compared.runs) == 1:
        folder = str(first.run.path)
    by = dict.fromkeys((MODEL, runs.by))
    return recorded.by_new_judge(folder, judge_values, by)


def sampled_reports(
    runs: KeptRuns, drawn: DrawnStudies, settings: RunSettings, rubric: Rubric
) -> StudySet:
    """Return the reports of all drawn studies as one set, each under an id with its model."""
    parts = []
    for run in runs.compared.runs:
        parts.append(_reports(run.run.path, run.model, drawn, settings, rubric))
    return _joined(parts)


def _reports(
    path: Path,
    model: str,
    drawn: DrawnStudies,
    settings: RunSettings,
    rubric: Rubric,
) -> StudySet:
    of_run = settings.model_copy(update={"preds": str(path), "refs": None})
    studies = read_reports(of_run, str(path), None, reserved_names(rubric))
    studies = with_context(studies, of_run, rubric)
    wanted = set(drawn.samples[model].order)
    rows = [row for row, name in enumerate(studies.study_ids) if name in wanted]
    ids = [new_id(model, studies.study_ids[row]) for row in rows]
    part = studies.take(rows, ids)
    fields = {**part.fields, MODEL: (model,) * len(part)}
    return replace(part, fields=fields, model=None)


def _joined(parts: Sequence[StudySet]) -> StudySet:
    """Return the studies of several sets one after the other; a field that one lacks is empty."""
    first = parts[0]
    if len(parts) == 1:
        return first
    names: dict[str, None] = {}
    for part in parts:
        names |= dict.fromkeys(part.fields)
    fields: dict[str, tuple[object, ...]] = {}
    for name in names:
        column: list[object] = []
        for part in parts:
            column += part.fields.get(name, (None,) * len(part))
        fields[name] = tuple(column)
    notes: list[str] = []
    inputs: list[InputFile] = []
    for part in parts:
        notes += part.notes
        inputs += part.inputs
    return replace(
        first,
        study_ids=_chained(parts, "study_ids"),
        references=_chained(parts, "references"),
        candidates=_chained(parts, "candidates"),
        study_classes=_chained(parts, "study_classes"),
        class_inferred=_chained(parts, "class_inferred"),
        full_references=_chained(parts, "full_references"),
        fields=fields,
        of_candidates=frozenset(),
        inputs=tuple(inputs),
        notes=tuple(dict.fromkeys(notes)),
    )


def _chained(parts: Sequence[StudySet], name: str) -> tuple[Any, ...]:
    column: list[Any] = []
    for part in parts:
        column += getattr(part, name)
    return tuple(column)
