"""Several runs of the same studies as one: a panel of judges, or one judge by several references.

Each number of a study is combined by itself:

    majority  the middle one; of an even number the worse of the two in the middle. So a count is 0
              where more than half of the judges say 0, and a tie counts as an error.
    mean      the mean. A rate becomes the mean of the parts' own rates.
    best      all numbers of the one part with the best score, which is the first that the rubric
              declares; ties go by the rubric's order of the worst studies, then to the first part.

A number is combined over the parts that have it. The combined run also counts the parts, counts
those with an error of each rate, and has the spread of the score.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from judge.rubrics.contract import PART_FACETS, Facet, Label, Measure, Rubric, Statistic
from judge.running.folder import MADE_BY, Run, RunWriter, claim
from judge.running.records import StudyResult, result_of
from judge.running.session import with_current_version, write_run
from judge.signature import Signature
from judge.stats.agreement import krippendorff
from judge.stats.table import patients, reserved_names
from judge.studies import StudySet
from judge.studies.columns import free_name
from judge.text import NOTHING, counted, number
from judge.types import Annotated, Annotation, Failed, Item, JudgeError, Outcome, Study, Unparsed

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Rule = Literal["majority", "mean", "best"]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What is combined, `of` what the parts are, by which rule, and how the parts are called."""

    of: Literal["judge", "reference"]
    rule: Rule
    names: tuple[str, ...]

    def column(self, suffix: str) -> str:
        """Return the name of an added number, such as `judges_n`."""
        return f"{self.of}s_{suffix}"

    def rubric(self, rubric: Rubric) -> Rubric:
        """Return `rubric` with the numbers that it has of several parts, and a facet of these."""
        is_whole = self.rule != "mean"
        measures = [
            replace(measure, is_whole=measure.is_whole and is_whole) for measure in rubric.measures
        ]
        parts = f"{self.of}s"
        n = len(self.names)
        added = [Measure(self.column("n"), parts, (0, n), is_whole=True)]
        statistics = list(rubric.statistics)
        for index, rate in enumerate(rubric.statistics):
            if rate.kind != "rate":
                continue
            says = f"{parts} that say {rate.label}"
            added.append(
                Measure(
                    self.column(rate.name),
                    says if is_whole else f"share of the {says}",
                    (0, n if is_whole else 1),
                    higher_is_better=rate.higher_is_better,
                    is_whole=is_whole,
                    undefined=f"no {self.of} has it",
                )
            )
            if not is_whole:
                statistics[index] = replace(
                    rate,
                    kind="mean",
                    measures=(self.column(rate.name),),
                    scale=(0, 1),
                    label=f"{rate.label} (mean of the {parts})",
                    definition=f"{rate.definition or rate.label} (mean of the {parts})",
                    study_label=f"share of the {says}",
                    rexrank=None,
                )
        if score := score_of(rubric):
            low, high = score.scale
            name, label = self.column("spread"), f"spread of {score.label}"
            scale = (0, None if low is None or high is None else high - low)
            undefined = f"fewer than two {parts} have it"
            added.append(Measure(name, label, scale, role="score", undefined=undefined))
            statistics.append(
                Statistic(
                    *(name, f"{label} between the {parts}", "mean", (name,)),
                    higher_is_better=False,
                    scale=scale,
                    shown=frozenset({"head"}),
                )
            )
        changed = replace(
            rubric,
            measures=(*measures, *added),
            statistics=tuple(statistics),
            tally=rubric.tally if is_whole else None,
        )
        if self.rule == "best":
            return changed
        labels = (Label(self._label(part), name) for part, name in enumerate(self.names))
        facet = Facet(PART_FACETS[self.of], self.of, parts, tuple(labels))
        kinds = tuple(replace(kind, facets=(*kind.facets, facet.name)) for kind in rubric.kinds)
        # Two judges change one line in two ways: there is no corrected report.
        return replace(changed, kinds=kinds, facets=(*rubric.facets, facet), editor=None)

    def annotation(self, parts: Sequence[tuple[int, Annotation]]) -> Annotation:
        """Return the items of all parts, each labelled with its part."""
        items: list[Item] = []
        for part, annotation in parts:
            before = len(items)
            items += [
                replace(
                    item,
                    labels={**item.labels, PART_FACETS[self.of]: (self._label(part),)},
                    links=tuple(link + before for link in item.links),
                )
                for item in annotation.items
            ]
        named = [(self.names[part], annotation) for part, annotation in parts]
        explanations = [
            f"[{name}] {annotation.explanation}"
            for name, annotation in named
            if annotation.explanation
        ]
        warnings = (f"{name}: {text}" for name, annotation in named for text in annotation.warnings)
        return Annotation(tuple(items), "\n\n".join(explanations), warnings=tuple(warnings))

    def _label(self, part: int) -> str:
        return f"{self.of}{part + 1}"


def rates(rubric: Rubric) -> list[Statistic]:
    """Return the rates, of which each part of a study says yes or no."""
    return [statistic for statistic in rubric.statistics if statistic.kind == "rate"]


def score_of(rubric: Rubric) -> Measure | None:
    """Return the first score that a rubric declares."""
    return next(iter(rubric.with_role("score")), None)


# What of a signature is the judge's: the rest is of the studies and of this program.
_TOLD = ("context", "prior", "modality")
_OF_JUDGE = ("judge", "prompt", "sampling", "reply", "reask", "repeat", *_TOLD)
_RULES = {
    "majority": "the middle one of its {}s'; ties take the worse value",
    "mean": "the mean of its {0}s', and a rate is the mean of the {0}s' rates",
    "best": "that of the {} that gives the best score",
}
Parts = Sequence[tuple[Study, Sequence[StudyResult]]]
"""Each study with its ends in the parts that have it; `StudyResult.row` is the part's number."""


def numbers(how: Aggregation, rubric: Rubric, scored: pd.DataFrame) -> pd.DataFrame:
    """Return the combined numbers, one row a study, from one row a study and part."""
    import pandas as pd

    studies = scored.groupby("row")
    columns: dict[str, pd.Series[Any]] = {}
    if how.rule == "best":
        picked = best(rubric, scored).set_index("row")
        columns = {name: picked[name] for name in ("part", *(m.name for m in rubric.measures))}
    elif how.rule == "mean":
        columns = {measure.name: studies[measure.name].mean() for measure in rubric.measures}
    else:
        for measure in rubric.measures:
            worse = "lower" if measure.higher_is_better else "higher"
            columns[measure.name] = studies[measure.name].quantile(0.5, interpolation=worse)
    columns[how.column("n")] = studies.size()
    for rate in rates(rubric):
        says = _says(rate.measures, scored).groupby(scored["row"])
        columns[how.column(rate.name)] = (
            says.mean() if how.rule == "mean" else says.sum(min_count=1)
        )
    if score := score_of(rubric):
        values = studies[score.name]
        columns[how.column("spread")] = (values.max() - values.min()).where(values.count() > 1)
    return pd.DataFrame(columns, index=studies.size().index)


def best(rubric: Rubric, scored: pd.DataFrame) -> pd.DataFrame:
    """Return of each study the row of the part with the best score."""
    orders: dict[str, bool] = {}
    if score := score_of(rubric):
        orders[score.name] = not score.higher_is_better
    for order in rubric.worst:
        orders.setdefault(order.measure, order.largest_first)
    # A rubric's order puts the worst first; what is best there is what comes last.
    ranked = scored.sort_values([*orders], ascending=[*orders.values()], kind="stable")
    return ranked.drop_duplicates("row").sort_values("row")


def _says(measures: Sequence[str], scored: pd.DataFrame) -> pd.Series[Any]:
    """Return of each row whether all of a rate's measures are 0, NaN where one is undefined."""
    cells = scored[list(measures)]
    return (cells == 0).all(axis=1).astype(float).where(cells.notna().all(axis=1))


def agreement(
    rubric: Rubric, scored: pd.DataFrame, patients: NDArray[np.intp] | None = None
) -> list[dict[str, Any]]:
    """Return Krippendorff's alpha between the parts, for each rate and for the score."""
    columns = {(rate.name, rate.label): _says(rate.measures, scored) for rate in rates(rubric)}
    levels = ["nominal"] * len(columns)
    if score := score_of(rubric):
        columns[f"score {score.name}", score.label] = scored[score.name]
        levels.append("interval")
    alphas = []
    for ((name, label), column), level in zip(columns.items(), levels, strict=True):
        values = column.groupby([scored["row"], scored["part"]]).first().unstack()
        clusters = None if patients is None else patients[values.index]
        alpha = krippendorff(values.to_numpy(float), clusters)
        alphas.append({"name": name, "label": label, "level": level} | alpha.plain())
    return alphas


def aggregate(
    how: Aggregation,
    rubric: Rubric,
    studies: Parts,
    best_field: str = "",
    patients: NDArray[np.intp] | None = None,
) -> tuple[list[StudyResult], list[dict[str, Any]], list[str]]:
    """Return the combined result of each study, the agreement of the parts, and notes.

    A study is scored if all its parts are; by `best` it has its best part's reference.
    """
    import pandas as pd

    names = [measure.name for measure in rubric.measures]
    cells = [
        (row, end.row, *(end.measures[name] for name in names))
        for row, (_, ends) in enumerate(studies)
        for end in ends
        if end.measures is not None
    ]
    scored = pd.DataFrame(cells, columns=["row", "part", *names]).astype(
        dict.fromkeys(names, float)
    )
    values = numbers(how, rubric, scored).to_dict("index")
    combined = how.rubric(rubric)
    judged, lost, n_lost = [], Counter[int](), 0
    for row, (study, ends) in enumerate(studies):
        annotations = {
            end.row: end.outcome.annotation for end in ends if isinstance(end.outcome, Annotated)
        }
        if len(annotations) < len(ends):
            judged.append(StudyResult(row, study, _not_scored(how, ends), None, None))
            lost.update(end.row for end in ends if end.row not in annotations)
            n_lost += 1
            continue
        if how.rule == "best":
            (picked,) = (end for end in ends if end.row == values[row]["part"])
            annotation = annotations[picked.row]
            fields = {**study.fields, best_field: how.names[picked.row]}
            study = replace(study, reference=picked.study.reference, fields=fields)
        else:
            annotation = how.annotation([*annotations.items()])
        measures = {
            measure.name: None
            if value != value
            else int(value)
            if measure.is_whole
            else float(value)
            for measure in combined.measures
            for value in [values[row][measure.name]]
        }
        judged.append(StudyResult(row, study, Annotated(annotation), measures, None))
    notes = [f"each number of a study is {_RULES[how.rule].format(how.of)}"]
    alphas = agreement(rubric, scored, patients) if how.of == "judge" else []
    if alphas:
        texts = ", ".join(
            f"{alpha['label']} {NOTHING if alpha['value'] is None else number(alpha['value'])} "
            f"({alpha['level']})"
            for alpha in alphas
        )
        notes.append(f"Krippendorff's alpha between the {how.of}s: {texts}")
    if n_lost:
        unscored = ", ".join(f"{how.names[part]} {n:,}" for part, n in sorted(lost.items()))
        many = counted(n_lost, "study is", "studies are")
        notes.append(f"{many} not scored by every {how.of}: {unscored}")
    return judged, alphas, notes


def _not_scored(how: Aggregation, ends: Sequence[StudyResult]) -> Outcome:
    lost = [(end.row, end.outcome) for end in ends if not isinstance(end.outcome, Annotated)]
    if len(ends) == 1:
        return lost[0][1]
    why = "against all references" if how.of == "reference" else "by all judges"
    reasons = "; ".join(
        f"{how.names[part]}: {type(outcome).__name__.lower()}, {outcome.reason}"
        for part, outcome in lost
    )
    kind = Unparsed if all(isinstance(outcome, Unparsed) for _, outcome in lost) else Failed
    return kind(f"not scored {why}", reasons)


def _apart(rubric: Rubric, fields: Iterable[str]) -> Rubric:
    """Return the rubric; raises where its columns have the names of fields."""
    if taken := {*reserved_names(rubric)} & {*fields}:
        raise JudgeError(f"the run would have the column {min(taken)!r} twice: rename that field")
    return rubric


# Panels


def panel(runs: Sequence[Run], out: Path, rule: Rule) -> Run:
    """Combine the runs of several judges on the same studies into one; nothing is asked."""
    if rule not in ("majority", "mean"):
        raise JudgeError(f"a panel has no rule {rule!r}; there are: majority, mean")
    runs = _checked(runs)
    first, n, fields = runs[0], len(runs), runs[0].manifest["fields"]
    how = Aggregation("judge", rule, _names(runs))
    version = f"panel:{rule}({','.join(map(_settings, runs))})"
    line = _signature(runs, version)
    claim(out, line)
    rubric = _apart(how.rubric(first.rubric), fields)
    records = zip(*(run.records() for run in runs), strict=True)
    ends = [[result_of(part, record) for part, record in enumerate(results)] for results in records]
    of_patients = patients(first.table())
    judged, alphas, about = aggregate(
        *(how, first.rubric, [(results[0].study, results) for results in ends]),
        patients=of_patients and of_patients[1],
    )
    named = list(zip(runs, how.names, strict=True))
    of_judges = [(note, name) for run, name in named if (note := run.manifest["judge"]["note"])]
    notes = [(note, name) for run, name in named for note in run.summary()["notes"]]
    prompts = dict.fromkeys(run.manifest["prompt"] for run in runs)
    judges = f"{', '.join(how.names[:-1])} and {how.names[-1]}" if n <= 3 else f"{n} judges"
    made_by = {name: first.manifest.get(name) for name in MADE_BY[:-1]} | {
        "signature": line,
        "judge": {
            "name": f"{rule} of {judges}",
            "version": version,
            "note": "; ".join(_whose(of_judges, n)) or None,
        },
        "prompt": ", ".join(filter(None, prompts)) or None,
        "notes": [*about, *_whose(notes, n)],
    }
    parts = [
        {"name": name, "folder": run.path.name, "signature": run.signature} for run, name in named
    ]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    arguments = {"rule": rule, "runs": [str(run.path) for run in runs]}
    manifest = {
        "inputs": first.manifest["inputs"],
        "fields": fields,
        "omitted_ids": first.manifest.get("omitted_ids", {}),
        # Among them how the files were read, for which judge compare asks.
        "arguments": {**(first.manifest["arguments"] or {}), **arguments},
        "combined": {"of": how.of, "rule": rule, "agreement": alphas, "parts": parts},
        "started": now,
        "finished": now,
    }
    write_run(out, rubric, judged, made_by, manifest, first.summary()["by"])
    return Run(out)


def _checked(runs: Sequence[Run]) -> list[Run]:
    if len(runs) < 2:
        raise JudgeError("a panel takes the runs of two judges or more, each on the same studies")
    runs = sorted(runs, key=lambda run: (run.manifest["judge"]["name"], run.signature))
    first = runs[0]
    judges: dict[str, Run] = {}
    for run in runs:
        if run.reading is not None or run.combined is not None or "shard" in run.manifest:
            raise JudgeError(
                f"{run.path} is a reader's run, a shard or a panel, which no panel takes"
            )
        for part in ("rubric", "section", "class", "studies"):
            ours, theirs = (Signature.parse(judged.signature)[part] for judged in (first, run))
            if ours != theirs:
                if part == "studies":
                    raise JudgeError(
                        f"the runs judge different studies: {first.path} and {run.path}"
                    )
                raise JudgeError(
                    f"{part} is {ours} in {first.path} and {theirs} in {run.path}: a panel "
                    "takes runs of the same files"
                )
        # Answers of one judge would count twice, however often it was asked again.
        other = judges.setdefault(_settings(run, without="reask"), run)
        if other is not run:
            raise JudgeError(
                f"{other.path} and {run.path} are by the same judge: ask it again with another "
                "--body seed=N"
            )
    return runs


def _names(runs: Sequence[Run]) -> tuple[str, ...]:
    names = [run.manifest["judge"]["name"] for run in runs]
    return tuple(
        name if names.count(name) == 1 else f"{name} ({number})"
        for number, name in enumerate(names, 1)
    )


def _settings(run: Run, without: str = "") -> str:
    parts = Signature.parse(run.signature)
    named = (name for name in _OF_JUDGE if name in parts and name != without)
    return _digest("|".join(f"{name}:{parts[name]}" for name in named))


def _signature(runs: Sequence[Run], version: str) -> str:
    parts = [Signature.parse(run.signature) for run in runs]
    known = parts[0]
    prompts = sorted({run_parts.get("prompt", "none") for run_parts in parts} - {"none"}) or [
        "none"
    ]
    context = {name: sorted({run_parts.get(name, "none") for run_parts in parts}) for name in _TOLD}
    line = [
        *(known["rubric"], f"judge:{version}", f"prompt:{','.join(prompts)}"),
        f"section:{known['section']}",
        *(f"{k}:{','.join(v)}" for k, v in context.items() if v != ["none"] or k in known),
        *(f"{k}:{known[k]}" for k in ("class", "omitted", "studies") if k in known),
        *(f"runs:{','.join(_digest(run.signature) for run in runs)}", "version:"),
    ]
    return str(with_current_version(str(Signature(line)), runs[0].rubric))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _whose(notes: Iterable[tuple[str, str]], n_judges: int) -> list[str]:
    """Return each note once, with the names of those who have it where that is not all."""
    names: dict[str, list[str]] = {}
    for note, name in notes:
        names.setdefault(note, []).append(name)
    return [
        note if len(judges) == n_judges else f"{', '.join(judges)}: {note}"
        for note, judges in names.items()
    ]


# Several references


class SeveralReferences:
    """Studies with several references, each asked about as a study of its own in `asked`."""

    def __init__(self, studies: StudySet, rule: Rule) -> None:
        self._studies = studies
        every = enumerate(studies.every_reference)
        questions = [(row, name, text) for row, texts in every for name, text in texts]
        self._questions = [(row, name) for row, name, _ in questions]
        self._names = [*dict.fromkeys(name for _, name in self._questions)]
        self._ends: list[StudyResult] = []
        self.how = Aggregation("reference", rule, tuple(self._names))
        self.fields = [free_name("best_reference", studies.fields)] if rule == "best" else []
        ids = [f"{studies.study_ids[row]} ({name})" for row, name in self._questions]
        if len(set(ids)) < len(ids):
            ids = [f"{number}: {study_id}" for number, study_id in enumerate(ids, 1)]
        texts = tuple(text for *_, text in questions)
        bare = replace(studies, every_reference=()).take([row for row, *_ in questions], ids)
        self.asked = replace(bare, references=texts, full_references=texts)

    @property
    def record(self) -> dict[str, Any]:
        """What a manifest says of it."""
        parts = [{"name": name} for name in self._names]
        return {"of": self.how.of, "rule": self.how.rule, "parts": parts}

    def rubric(self, rubric: Rubric) -> Rubric:
        """Return the rubric of the run that is made of all references."""
        return _apart(self.how.rubric(rubric), [*self._studies.fields, *self.fields])

    def add(self, judged: StudyResult) -> None:
        """Take the end of one question in, in any order."""
        self._ends.append(judged)

    def write(self, writer: RunWriter, rubric: Rubric) -> list[str]:
        """Write the studies, all of whose questions have ended; returns notes."""
        ends = sorted(self._ends, key=lambda end: end.row)
        pairs = zip(self._questions, ends, strict=True)
        parts = []
        for row, group in groupby(pairs, lambda pair: pair[0][0]):
            study, texts = self._studies.study(row), self._studies.every_reference[row]
            if len(texts) > 1:
                every = "\n\n".join(f"[{name}]\n{text}" for name, text in texts)
                study = replace(study, reference=every)
            numbers = [replace(end, row=self._names.index(name)) for (_, name), end in group]
            parts.append((study, numbers))
        judged, _, notes = aggregate(self.how, rubric, parts, best_field="".join(self.fields))
        for end in judged:
            writer.add(end)
        for end in ends:
            writer.count_mode(end)
        per_study = Counter(map(len, self._studies.every_reference))
        counts = (f"{n} for {counted(k, 'study', 'studies')}" for n, k in sorted(per_study.items()))
        return [*notes, f"references of a study: {', '.join(counts)}"]
