"""Errors that recur: those of one category about one finding, in how many studies.

An error that has two categories, or names two findings, is counted for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from judge.backends import lexicon
from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import ComparedRuns, comparison_signature, read_scores
from judge.manifest import RunSummary
from judge.rubrics.contract import Label, Rubric
from judge.running.folder import RunFolder
from judge.sentences import lines
from judge.stats.intervals import USUAL_DRAWS, Codes, rate_interval
from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import FLIPS, FLIPS_A_TEST, Resampling, compare_pairs
from judge.stats.statistic import Rate
from judge.stats.summary import OUTCOMES, patients
from judge.text import counted
from judge.types import Annotated, Edit, Item, JudgeError

_EXAMPLES = 3
_Error = tuple[str, int, bool]
_TONES = (None, "good", "mild", "notable", "serious", "critical")
_USUAL = Resampling(flips=FLIPS)
# In how many studies an error recurs, and in how many, of either of two runs, it is tested: with
# fewer no difference would survive Holm's correction for dozens of tests.
FEWEST, FEWEST_TESTED = 2, 10
_MADE_BY = (
    "signature",
    "model",
    "rubric",
    "judge",
    "prompt",
    "section",
    "omitted",
    "n_studies",
    "n_scored",
    "n_unparsed",
    "n_failed",
)


@dataclass(frozen=True, repr=False)
class Recurring:
    """What recurs in one run, or in two on the same studies, as JSON's types.

    `data` has what made it and `errors`, an entry a group: `n_errors`, the studies with one, `k` of
    the `n` scored with Wilson's interval, by patient where patients have several studies, and
    `examples`, the gravest first. Of two runs that is by
    `models`, with examples of that model alone, beside the `ratio` of shares and the `test`.
    """

    rubric: Rubric
    data: dict[str, Any]
    summary: RunSummary | None = None


class Group(NamedTuple):
    """A kind of item, its category and finding; None where it has none, or names none known."""

    kind: str
    category: str | None
    finding: str | None


def recurring_in(
    choices: Sequence[RunChoice],
    min_studies: int | None = None,
    *,
    without_warnings: bool = False,
    patient_field: str | None = None,
    seed: int = USUAL_DRAWS.seed,
    **options: Any,  # noqa: ANN401
) -> Recurring:
    """Return the errors that recur in one run, or in two; raises as `read_scores` does.

    `without_warnings` leaves out the errors that an answer was read with a warning about.
    `patient_field` names the patient, by default the usual field. `seed` is that of the flips of
    two runs' tests by patient.
    """
    if len(choices) > 2:
        raise JudgeError(
            f"one run or two, not {len(choices)}; judge compare takes any number"
        )
    if len(choices) > 1:
        compared = read_scores(choices, patient_field=patient_field, **options)
        least, how = min_studies or FEWEST_TESTED, replace(_USUAL, seed=seed)
        return _between(compared, least, how, without_warnings=without_warnings)
    run, least = RunFolder.open(choices[0].path), min_studies or FEWEST
    rubric, summary = run.rubric, run.summary()
    if choices[0].model:
        summary = summary.model_copy(update={"model": choices[0].model})
    groups = _grouped(run, rubric, without_warnings=without_warnings)
    in_order = sorted(groups, key=lambda group: _place(group, rubric))
    scored, intervals_by = _scored_studies(run, patient_field)
    summary = summary.model_copy(update={"intervals_by": intervals_by})
    errors = [
        {**_named(group, rubric), **_numbers(groups[group], scored)}
        for group in in_order
    ]
    errors.sort(
        key=lambda error: [-error[name] for name in ("k", "n_grave", "n_errors")]
    )
    made_by = summary.plain()
    data = {
        **{name: made_by.get(name) for name in _MADE_BY},
        "intervals_by": intervals_by,
        "min_studies": least,
        "findings_by": str(lexicon.load().version),
        "without_warnings": without_warnings,
        "notes": [
            *summary.notes,
            *_warned_notes([run], without_warnings=without_warnings),
        ],
        "errors": [error for error in errors if error["k"] >= least],
    }
    return Recurring(rubric, data, summary)


class _Scored(NamedTuple):
    """The scored studies by id, with their row, and the number of each row's patient."""

    rows: Mapping[str, int]
    units: Codes | None


def _scored_studies(
    run: RunFolder, patient_field: str | None
) -> tuple[_Scored, str | None]:
    """Return a run's scored studies, and the field of the patient where some have several."""
    table = run.table()
    is_scored = (table["outcome"] == OUTCOMES[Annotated]).to_numpy(dtype=bool)
    field, units = patients(table, patient_field) or (None, None)
    ids = table["study_id"][is_scored].tolist()
    rows = {study_id: row for row, study_id in enumerate(ids)}
    return _Scored(rows, None if units is None else units[is_scored]), field


def _warned_notes(runs: Sequence[RunFolder], *, without_warnings: bool) -> list[str]:
    n = 0
    for run in runs:
        for record in run.records():
            if record["outcome"] == OUTCOMES[Annotated]:
                n += sum(
                    bool(error.warnings) for error in errors_of(record, run.rubric)
                )
    if not n:
        return []
    errors = counted(n, "error", "errors")
    if without_warnings:
        return [f"left out: {errors} with a warning"]
    return [f"{errors} with a warning among these; --without-warnings leaves them out"]


def _between(
    compared: ComparedRuns, min_studies: int, how: Resampling, *, without_warnings: bool
) -> Recurring:
    runs, names = compared.aligned.runs, " and ".join(compared.aligned.names)
    if len({run.rubric for run in compared.runs}) > 1:
        raise JudgeError(
            f"{names}: errors are compared between runs of one rubric; name two"
        )
    if any(run.reading for run in runs):
        raise JudgeError(
            f"{names}: a reader's errors are not compared; judge errors RUN lists them"
        )
    is_scored = np.asarray(compared.aligned.is_scored.all(axis=1))
    if not is_scored.any():
        why = f"none of {len(is_scored):,} studies was scored in both {names}"
        raise JudgeError(f"{why}; judge audit RUN says why")
    panel = compared.panel.take(is_scored.nonzero()[0])
    rubric, models = runs[0].rubric, [run.model for run in compared.runs]
    n, wanted = len(panel.study_ids), set(panel.study_ids)
    ids_in_order = {study_id: row for row, study_id in enumerate(panel.study_ids)}
    scored = _Scored(ids_in_order, panel.clusters if panel.is_clustered else None)
    first, second = (
        _grouped(run, rubric, wanted, without_warnings=without_warnings) for run in runs
    )
    groups = sorted({*first, *second}, key=lambda group: _place(group, rubric))
    studies = {
        group: tuple(
            {study_id for study_id, _, _ in side.get(group, ())}
            for side in (first, second)
        )
        for group in groups
    }
    tested = [
        group for group in groups if len(set.union(*studies[group])) >= min_studies
    ]
    tests = dict(
        zip(
            tested,
            _tests(panel, [studies[group] for group in tested], how),
            strict=True,
        )
    )
    errors = []
    for group in groups:
        ids, other_ids = studies[group]
        left = _numbers(first.get(group, ()), scored, ids - other_ids)
        right = _numbers(second.get(group, ()), scored, other_ids - ids)
        error = {
            **_named(group, rubric),
            "n_either": len(ids | other_ids),
            "models": dict(zip(models, (left, right), strict=True)),
            "ratio": len(ids) / len(other_ids) if other_ids else None,
            "test": tests.get(group),
        }
        errors.append(error)

    def order(error: dict[str, Any]) -> tuple[object, ...]:
        k, n = (side["k"] for side in error["models"].values())
        return error["test"] is None, -abs(k - n), -error["n_either"]

    version = str(lexicon.load().version)
    signature = (
        f"{comparison_signature(compared, how, ())}|errors:{min_studies}+{version}"
    )
    if without_warnings:
        signature += "+without-warnings"
    data = {
        "signature": signature,
        "rubric": rubric.name,
        "runs": [run.described() for run in compared.runs],
        "patient_field": panel.patient_field if panel.is_clustered else None,
        "n_studies": len(is_scored),
        "n_scored": n,
        "min_studies": min_studies,
        "findings_by": version,
        "n_tested": len(tested),
        "without_warnings": without_warnings,
        "notes": [
            *compared.notes,
            *_warned_notes(runs, without_warnings=without_warnings),
        ],
        "errors": sorted(errors, key=order),
    }
    return Recurring(rubric, data)


def _tests(
    panel: ScoreMatrix, studies: Sequence[Sequence[set[str]]], how: Resampling
) -> list[dict[str, Any]]:
    """Test each group as a rate; Holm's correction is for all of them."""
    if not studies:
        return []
    values = {}
    for number, sides in enumerate(studies):
        has_error = [
            [study_id in side for side in sides] for study_id in panel.study_ids
        ]
        values[f"error group {number}"] = np.array(has_error, float)
    metrics = tuple(
        Metric(
            name=name,
            label=name,
            statistic=Rate(name, name, measures=(name,), higher_is_better=False),
            study_label=name,
        )
        for name in values
    )
    of_groups = replace(panel, metrics=metrics, values=values, per={})
    how = replace(how, flips=max(how.flips or FLIPS, FLIPS_A_TEST * len(studies)))
    tests = [test for (test,) in compare_pairs(of_groups, {}, how).pairs.values()]
    plain = [{**asdict(test), "significant": test.is_significant} for test in tests]
    return [
        {name: test[name] for name in test if name not in ("a", "b")} for test in plain
    ]


def _grouped(
    run: RunFolder,
    rubric: Rubric,
    wanted: Collection[str] | None = None,
    *,
    without_warnings: bool,
) -> dict[Group, list[_Error]]:
    """Return a run's errors by group, each with its study, how grave it is, and if it is grave."""
    if not rubric.graded:
        raise JudgeError(
            f"{rubric.title} grades nothing that it lists: it has no errors to group"
        )
    errors: dict[Group, list[_Error]] = {}
    n = 0
    for record in run.records():
        is_wanted = wanted is None or record["study_id"] in wanted
        if is_wanted and record["outcome"] == OUTCOMES[Annotated]:
            n += 1
            for group, grade in _groups(
                record, rubric, without_warnings=without_warnings
            ):
                error = (record["study_id"], _TONES.index(grade.tone), grade.is_grave)
                errors.setdefault(group, []).append(error)
    if wanted is not None and n != len(wanted):
        raise JudgeError(
            f"the annotations of {run.path} hold {n:,} of {len(wanted):,} studies that its table "
            "has scored; judge its studies again"
        )
    return errors


def _numbers(
    errors: Sequence[_Error], scored: _Scored, among: Collection[str] | None = None
) -> dict[str, Any]:
    """Return a group's numbers of the scored studies, with examples `among` some, or of all."""
    gravest: dict[str, int] = {}
    for study_id, weight, _ in errors:
        gravest[study_id] = max(weight, gravest.get(study_id, 0))
    shown = [study_id for study_id in gravest if among is None or study_id in among]
    shown.sort(key=lambda study_id: -gravest[study_id])
    has_error = np.zeros(len(scored.rows), dtype=bool)
    has_error[[scored.rows[study_id] for study_id in gravest]] = True
    studies = rate_interval(has_error, scored.units)
    return {
        "n_errors": len(errors),
        "n_grave": sum(is_grave for _, _, is_grave in errors),
        **{name: getattr(studies, name) for name in ("k", "n", "value", "low", "high")},
        "examples": shown[:_EXAMPLES],
    }


def _groups(
    record: Mapping[str, Any], rubric: Rubric, *, without_warnings: bool
) -> Iterator[tuple[Group, Label]]:
    """Yield the groups of a record's errors, each with the grade of the error."""
    for item in errors_of(record, rubric):
        if without_warnings and item.warnings:
            continue
        tally = rubric.tally
        has_rows = tally is not None and tally.kind == item.kind
        categories = item.labels.get(tally.rows, ()) if tally and has_rows else ()
        findings = _findings(item, record["candidate"])
        for category in dict.fromkeys(categories or (None,)):
            for finding in dict.fromkeys(findings or (None,)):
                yield Group(item.kind, category, finding), rubric.grade(item)


def errors_of(record: Mapping[str, Any], rubric: Rubric) -> Iterator[Item]:
    """Yield a record's errors: its items that are graded, and as something that is not good."""
    for plain in record["annotation"]["items"]:
        edit = Edit(**plain["edit"]) if plain["edit"] else None
        warnings = tuple(plain.get("warnings", ()))
        item = Item(
            plain["kind"], plain["text"], plain["labels"], edit=edit, warnings=warnings
        )
        if (
            rubric.kind(item.kind).graded_by is not None
            and rubric.grade(item).tone != "good"
        ):
            yield item


def _findings(item: Item, candidate: str) -> Sequence[str]:
    """Return the findings that an error's text names; else those that its edit changes."""
    rules = lexicon.load()
    findings = lexicon.named_findings(item.text, rules)
    if findings or item.edit is None:
        return findings
    is_new = item.edit.kind == "insert" or item.edit.line is None
    before = "" if is_new else lines(candidate)[item.edit.line or 0]
    return lexicon.changed_findings(before, item.edit.corrected, rules)


def _named(group: Group, rubric: Rubric) -> dict[str, str | None]:
    label = rubric.kind(group.kind).label
    if group.category is not None and rubric.codes is not None:
        label = rubric.codes.text(group.category)
    return {
        "category": group.category,
        "category_label": label,
        "finding": group.finding,
    }


def _place(group: Group, rubric: Rubric) -> tuple[int, str, bool, str]:
    names = [label.name for label in rubric.codes.labels] if rubric.codes else []
    place = names.index(group.category) if group.category in names else len(names)
    return place, group.kind, group.finding is None, group.finding or ""
