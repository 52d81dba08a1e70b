"""Errors that recur: those of one category about one finding, in how many studies.

An error that has two categories, or names two findings, is counted for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from judge.backends import lexicon
from judge.backends.lexicon.data import Lexicon
from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import ComparedRuns, comparison_signature, read_scores
from judge.rubrics.contract import Label, Rubric
from judge.run_files.summary import RunSummary
from judge.running.folder import RunFolder
from judge.sentences import lines
from judge.stats.intervals import USUAL_DRAWS, Codes, rate_interval
from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import FLIPS, FLIPS_A_TEST, Resampling, compare_pairs
from judge.stats.statistic import Rate
from judge.stats.summary import OUTCOMES, patients
from judge.text import counted
from judge.types import Edit, Item, JudgeError, Scored

_EXAMPLES = 3
_Error = tuple[str, int, bool]
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
        least = min_studies or FEWEST_TESTED
        how = replace(_USUAL, seed=seed)
        return _between(compared, least, how, without_warnings=without_warnings)
    choice = choices[0]
    run = RunFolder.open(choice.path)
    least = min_studies or FEWEST
    rubric = run.rubric
    summary = run.summary()
    if choice.model:
        summary = summary.model_copy(update={"model": choice.model})
    groups = _grouped(run, rubric, without_warnings=without_warnings)
    scored, intervals_by = _scored_studies(run, patient_field)
    summary = summary.model_copy(update={"intervals_by": intervals_by})
    errors = _by_frequency(groups, rubric, scored)
    made_by = summary.plain()
    warned = _warned_notes([run], without_warnings=without_warnings)
    data = {
        **{name: made_by.get(name) for name in _MADE_BY},
        "intervals_by": intervals_by,
        "min_studies": least,
        "findings_by": str(lexicon.load().version),
        "without_warnings": without_warnings,
        "notes": [*summary.notes, *warned],
        "errors": [error for error in errors if error["k"] >= least],
    }
    return Recurring(rubric, data, summary)


def most_frequent(
    run: RunFolder, scored: ScoredStudies, top: int
) -> list[dict[str, Any]]:
    """Return the errors that most of the `scored` studies of a run have, the `top` of them.

    They are the entries of `errors` in `Recurring.data`, also of errors in one study alone. Ties
    go to the group with more grave errors, then with more errors, then in the rubric's order.
    Raises `JudgeError` for a rubric that lists no errors.
    """
    rubric = run.rubric
    groups = _grouped(run, rubric, scored.rows, without_warnings=False)
    return _by_frequency(groups, rubric, scored)[:top]


def _by_frequency(
    groups: Mapping[Group, Sequence[_Error]], rubric: Rubric, scored: ScoredStudies
) -> list[dict[str, Any]]:
    errors = []
    # Ties below stay in the rubric's order.
    for group in sorted(groups, key=lambda group: _place(group, rubric)):
        numbers = _numbers(groups[group], scored)
        errors.append({**_named(group, rubric), **numbers})
    errors.sort(
        key=lambda error: (-error["k"], -error["n_grave"], -error["n_errors"]),
    )
    return errors


class ScoredStudies(NamedTuple):
    """The scored studies by id, with their row, and the number of each row's patient."""

    rows: Mapping[str, int]
    units: Codes | None


def _scored_studies(
    run: RunFolder, patient_field: str | None
) -> tuple[ScoredStudies, str | None]:
    """Return a run's scored studies, and the field of the patient where some have several."""
    table = run.table()
    is_scored = (table["outcome"] == OUTCOMES[Scored]).to_numpy(dtype=bool)
    field, units = patients(table, patient_field) or (None, None)
    ids = table["study_id"][is_scored].tolist()
    rows = {study_id: row for row, study_id in enumerate(ids)}
    if units is not None:
        units = units[is_scored]
    return ScoredStudies(rows, units), field


def _warned_notes(runs: Sequence[RunFolder], *, without_warnings: bool) -> list[str]:
    n = 0
    for run in runs:
        for record in run.records():
            if record["outcome"] != OUTCOMES[Scored]:
                continue
            for error in errors_of(record, run.rubric):
                if error.warnings:
                    n += 1
    if not n:
        return []
    errors = counted(n, "error", "errors")
    if without_warnings:
        return [f"left out: {errors} with a warning"]
    return [f"{errors} with a warning among these; --without-warnings leaves them out"]


def _between(
    compared: ComparedRuns, min_studies: int, how: Resampling, *, without_warnings: bool
) -> Recurring:
    runs = compared.aligned.runs
    names = " and ".join(compared.aligned.names)
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
    clusters = patient_field = None
    if panel.is_clustered:
        clusters, patient_field = panel.clusters, panel.patient_field
    rows = {study_id: row for row, study_id in enumerate(panel.study_ids)}
    scored = ScoredStudies(rows, clusters)
    rubric = runs[0].rubric
    first_run, second_run = runs
    first = _grouped(first_run, rubric, rows, without_warnings=without_warnings)
    second = _grouped(second_run, rubric, rows, without_warnings=without_warnings)
    groups = sorted({*first, *second}, key=lambda group: _place(group, rubric))
    # The studies of each group in the first run and in the second.
    studies: dict[Group, tuple[set[str], set[str]]] = {}
    tested = []
    for group in groups:
        in_first = {study_id for study_id, _, _ in first.get(group, ())}
        in_second = {study_id for study_id, _, _ in second.get(group, ())}
        studies[group] = (in_first, in_second)
        if len(in_first | in_second) >= min_studies:
            tested.append(group)
    results = _tests(panel, [studies[group] for group in tested], how)
    tests = dict(zip(tested, results, strict=True))
    models = [run.model for run in compared.runs]
    errors = []
    for group in groups:
        in_first, in_second = studies[group]
        only_first, only_second = in_first - in_second, in_second - in_first
        of_first = _numbers(first.get(group, ()), scored, only_first)
        of_second = _numbers(second.get(group, ()), scored, only_second)
        ratio = None
        if in_second:
            ratio = len(in_first) / len(in_second)
        error = {
            **_named(group, rubric),
            "n_either": len(in_first | in_second),
            "models": dict(zip(models, (of_first, of_second), strict=True)),
            "ratio": ratio,
            "test": tests.get(group),
        }
        errors.append(error)

    def order(error: dict[str, Any]) -> tuple[object, ...]:
        k, other_k = (side["k"] for side in error["models"].values())
        return error["test"] is None, -abs(k - other_k), -error["n_either"]

    version = str(lexicon.load().version)
    of_comparison = comparison_signature(compared, how, ())
    signature = f"{of_comparison}|errors:{min_studies}+{version}"
    if without_warnings:
        signature += "+without-warnings"
    warned = _warned_notes(runs, without_warnings=without_warnings)
    data = {
        "signature": signature,
        "rubric": rubric.name,
        "runs": [run.described() for run in compared.runs],
        "patient_field": patient_field,
        "n_studies": len(is_scored),
        "n_scored": len(panel.study_ids),
        "min_studies": min_studies,
        "findings_by": version,
        "n_tested": len(tested),
        "without_warnings": without_warnings,
        "notes": [*compared.notes, *warned],
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
    metrics = []
    for number, sides in enumerate(studies):
        name = f"error group {number}"
        # Studies by models: 1 where the model's report has such an error.
        has_error = np.zeros((len(panel.study_ids), len(sides)))
        for model, side in enumerate(sides):
            has_error[:, model] = [study_id in side for study_id in panel.study_ids]
        values[name] = has_error
        metric = Metric(
            name=name,
            label=name,
            statistic=Rate(name, name, measures=(name,), higher_is_better=False),
            study_label=name,
        )
        metrics.append(metric)
    of_groups = replace(panel, metrics=tuple(metrics), values=values, per={})
    flips = max(how.flips or FLIPS, FLIPS_A_TEST * len(studies))
    tests = compare_pairs(of_groups, {}, replace(how, flips=flips))
    plain = []
    for (test,) in tests.pairs.values():
        data = {**asdict(test), "significant": test.is_significant}
        # The two models are named beside it.
        del data["a"], data["b"]
        plain.append(data)
    return plain


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
    # Read once: it is a file, and there may be many errors.
    rules = lexicon.load()
    n = 0
    for record in run.records():
        study_id = record["study_id"]
        is_wanted = wanted is None or study_id in wanted
        if not is_wanted or record["outcome"] != OUTCOMES[Scored]:
            continue
        n += 1
        graded = _groups(record, rubric, rules, without_warnings=without_warnings)
        for group, grade in graded:
            error = (study_id, grade.weight, grade.is_grave)
            errors.setdefault(group, []).append(error)
    if wanted is not None and n != len(wanted):
        raise JudgeError(
            f"the annotations of {run.path} hold {n:,} of {len(wanted):,} studies that its table "
            "has scored; judge its studies again"
        )
    return errors


def _numbers(
    errors: Sequence[_Error],
    scored: ScoredStudies,
    among: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return a group's numbers of the scored studies, with examples `among` some, or of all."""
    gravest: dict[str, int] = {}
    for study_id, weight, _ in errors:
        gravest[study_id] = max(weight, gravest.get(study_id, weight))
    shown = [study_id for study_id in gravest if among is None or study_id in among]
    shown.sort(key=lambda study_id: -gravest[study_id])
    has_error = np.zeros(len(scored.rows), dtype=bool)
    rows = [scored.rows[study_id] for study_id in gravest]
    has_error[rows] = True
    share = rate_interval(has_error, scored.units)
    return {
        "n_errors": len(errors),
        "n_grave": sum(is_grave for _, _, is_grave in errors),
        "k": share.k,
        "n": share.n,
        "value": share.value,
        "low": share.low,
        "high": share.high,
        "examples": shown[:_EXAMPLES],
    }


def _groups(
    record: Mapping[str, Any], rubric: Rubric, rules: Lexicon, *, without_warnings: bool
) -> Iterator[tuple[Group, Label]]:
    """Yield the groups of a record's errors, each with the grade of the error."""
    for item in errors_of(record, rubric):
        if without_warnings and item.warnings:
            continue
        tally = rubric.tally
        categories: Sequence[str] = ()
        if tally is not None and tally.kind == item.kind:
            categories = item.labels.get(tally.rows, ())
        findings = _findings(item, record["candidate"], rules)
        grade = rubric.grade(item)
        # An error without a category, or about no finding that is known, is a group too.
        for category in dict.fromkeys(categories or (None,)):
            for finding in dict.fromkeys(findings or (None,)):
                yield Group(item.kind, category, finding), grade


def errors_of(record: Mapping[str, Any], rubric: Rubric) -> Iterator[Item]:
    """Yield a record's errors: its items that are graded, and as something that is not good."""
    for plain in record["annotation"]["items"]:
        edit = None
        if plain["edit"]:
            edit = Edit(**plain["edit"])
        item = Item(
            plain["kind"],
            plain["text"],
            plain["labels"],
            edit=edit,
            warnings=tuple(plain.get("warnings", ())),
        )
        is_graded = rubric.kind(item.kind).graded_by is not None
        if is_graded and rubric.grade(item).tone != "good":
            yield item


def _findings(item: Item, candidate: str, rules: Lexicon) -> Sequence[str]:
    """Return the findings that an error's text names; else those that its edit changes."""
    findings = lexicon.named_findings(item.text, rules)
    if findings or item.edit is None:
        return findings
    before = ""
    if item.edit.kind != "insert" and item.edit.line is not None:
        before = lines(candidate)[item.edit.line]
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
    """Return what groups are sorted by: the rubric's categories, kinds, and findings by name."""
    names = []
    if rubric.codes:
        names = [label.name for label in rubric.codes.labels]
    place = len(names)
    if group.category in names:
        place = names.index(group.category)
    return place, group.kind, group.finding is None, group.finding or ""
