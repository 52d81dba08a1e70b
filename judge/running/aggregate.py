"""Several runs of the same studies as one: a panel of judges, or one judge by several references.

The numbers of a study are made of the runs' tables by a rule (`judge.rubrics.aggregated`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from judge.report.words import NOTHING, counted, number
from judge.rubrics.aggregated import Aggregation, Rule, rates, score_of
from judge.rubrics.contract import Rubric
from judge.running.cost import Progress
from judge.running.folder import SERVER_LOG, Run
from judge.running.questions import COMPOSED
from judge.running.records import FORMAT, Judged, outcome_of, study_of
from judge.running.run import Finished, default_folder, versions, with_classes
from judge.running.run import run as run_session
from judge.running.session import JudgeSession, read_today
from judge.running.writer import claim, writing
from judge.signature import Signature
from judge.stats.reliability import krippendorff
from judge.stats.table import (
    DEFAULT_BY,
    OUTCOMES,
    TableBuilder,
    check_fields,
    reserved_names,
    summarise,
)
from judge.studies import StudySet
from judge.studies.names import free_name
from judge.types import Annotated, Failed, JudgeError, Outcome, Study, Unparsed

if TYPE_CHECKING:
    import pandas as pd

RULES: tuple[Rule, ...] = ("majority", "mean")
PROMPT = "prompt"
# What of a signature is the judge's: the rest is of the studies and of this program.
_TOLD = ("context", "prior", "modality")
_OF_JUDGE = ("judge", "prompt", "sampling", "reply", "reask", "repeat", *_TOLD)
_MOST_NAMES = 3
_RULES = {
    "majority": "the middle one of its {}s', a tie the worse: no error where most see none",
    "mean": "the mean of its {0}s', and a rate is the mean of the {0}s' rates",
    "best": "that of the {} that gives the best score",
}
Ends = Sequence[tuple[int, Outcome]]
"""How a study ended in each part that has it, by the part's number."""


def numbers(how: Aggregation, rubric: Rubric, scored: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of the studies, by those of the parts that scored them.

    Args:
        how: The rule, and what the parts are.
        rubric: The one that the parts were judged by.
        scored: One row a study (column `row`) and part (column `part`), in the order of these,
            with the rubric's measures, NaN where undefined.

    Returns:
        One row a study, by its number, with the measures of `how.rubric(rubric)`.
    """
    import pandas as pd

    row, studies = scored["row"], scored.groupby("row")
    picked = best(rubric, scored).set_index("row") if how.rule == "best" else None
    columns: dict[str, pd.Series[Any]] = {}
    for measure in rubric.measures:
        name = measure.name
        if picked is not None:
            columns[name] = picked[name]
        elif how.rule == "mean":
            columns[name] = studies[name].mean()
        else:
            worse = "lower" if measure.higher_is_better else "higher"
            columns[name] = studies[name].quantile(0.5, interpolation=worse)
    columns[how.column("n")] = studies.size()
    minorities = []
    for rate in rates(rubric):
        by_row = _says(rate.measures, scored).groupby(row)
        yes, n = by_row.sum(min_count=1), by_row.count()
        columns[how.column("", rate)] = yes / n if how.rule == "mean" else yes
        if rate in how.outvoted(rubric):
            is_so = 2 * yes > n if rate.higher_is_better else 2 * yes >= n
            columns[how.against(rate)] = (~is_so).astype(float).where(n > 0)
        minorities.append(yes.where(2 * yes <= n, n - yes).where(n > 1))
    if minorities:
        columns[how.column("minority")] = pd.concat(minorities, axis=1).max(axis=1)
    if score := score_of(rubric):
        values = studies[score.name]
        columns[how.column("spread")] = (values.max() - values.min()).where(values.count() > 1)
    for ratio in how.ratios(rubric):
        over, per = (
            scored[list(names)].sum(axis=1, skipna=False) for names in (ratio.measures, ratio.per)
        )
        pairs = pd.DataFrame({"row": row, "value": over / per, "per": per, "over": over})
        pairs = pairs[per.fillna(0) != 0].dropna().sort_values(["row", "value", "per", "over"])
        size = pairs.groupby("row")["row"].transform("size")
        place = pairs.groupby("row").cumcount()
        middle = pairs[place == (size - ratio.higher_is_better) // 2].set_index("row")
        columns |= {how.column(what, ratio): middle[what] for what in ("over", "per")}
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


def agreement(rubric: Rubric, parts: pd.DataFrame) -> list[dict[str, Any]]:
    """Return Krippendorff's alpha between the parts, for each rate and for the score.

    `parts` has a row for each study and part, scored or not.
    """
    said = {(one.name, one.label): _says(one.measures, parts) for one in rates(rubric)}
    levels = ["nominal"] * len(said)
    if score := score_of(rubric):
        said[f"score {score.name}", score.label] = parts[score.name]
        levels.append("interval")
    return [
        {"name": name, "label": label, "level": level}
        | krippendorff(
            column.groupby([parts["row"], parts["part"]]).first().unstack().to_numpy(float)
        ).plain()
        for ((name, label), column), level in zip(said.items(), levels, strict=True)
    ]


class Aggregator:
    """Combines the ends of one study after the other.

    Args:
        how: The rule, and what the parts are.
        rubric: The one that the parts were judged by.
        tables: A row for each study and part, as `numbers` takes it, and the column `outcome`.
        least: How many parts have to have scored a study; None for all that have it.
    """

    def __init__(
        self, how: Aggregation, rubric: Rubric, tables: pd.DataFrame, least: int | None = None
    ) -> None:
        self.how, self.judged_by, self.rubric = how, rubric, how.rubric(rubric)
        self.least = least
        scored = tables[tables["outcome"] == OUTCOMES[Annotated]]
        self._numbers = numbers(how, rubric, scored).to_dict("index")
        is_best = how.rule == "best"
        self._best = dict(best(rubric, scored)[["row", "part"]].to_numpy()) if is_best else {}
        self._lost: Counter[int] = Counter()
        self._n_lost = 0

    def picked(self, row: int, ends: Ends) -> int | None:
        """Return the best part of a scored study, None where there is none by this rule."""
        return self._best.get(row) if self._is_scored(ends) else None

    def judged(self, row: int, study: Study, ends: Ends) -> Judged:
        """Return the end of the study in a row, by those of the parts that have it."""
        if not self._is_scored(ends):
            return Judged(row, study, self._not_scored(ends), None, None)
        scored = [(part, end.annotation) for part, end in ends if isinstance(end, Annotated)]
        if self.how.rule == "best":
            annotation = dict(scored)[self._best[row]]
        else:
            annotation = self.how.annotation(self.judged_by, scored)
        measures = {
            one.name: None if value != value else int(value) if one.is_whole else float(value)
            for one in self.rubric.measures
            for value in [self._numbers[row][one.name]]
        }
        return Judged(row, study, Annotated(annotation), measures, None)

    def _is_scored(self, ends: Ends) -> bool:
        n = sum(isinstance(end, Annotated) for _, end in ends)
        return n >= max(1, len(ends) if self.least is None else self.least)

    def _not_scored(self, ends: Ends) -> Outcome:
        lost = [(part, end) for part, end in ends if isinstance(end, Unparsed | Failed)]
        self._n_lost += 1
        self._lost.update(part for part, _ in lost)
        if len(ends) == 1 and lost:
            return lost[0][1]
        why = f"not scored by all {self.how.of}s"
        if self.how.of == "reference":
            why = "not scored against all references"
        elif self.least is not None:
            why = f"scored by fewer than {self.least} {self.how.of}s"
        each = "; ".join(
            f"{self.how.names[part]}: {type(end).__name__.lower()}, {end.reason}"
            for part, end in lost
        )
        were_answered = lost and all(isinstance(end, Unparsed) for _, end in lost)
        return Unparsed(why, each) if were_answered else Failed(why, each)

    def notes(self, alphas: Sequence[Mapping[str, Any]]) -> list[str]:
        """Say by which rule, how the parts agree, and how many studies were not scored."""
        notes = [f"each number of a study is {_RULES[self.how.rule].format(self.how.of)}"]
        if alphas:
            each = ", ".join(f"{one['label']} {_alpha(one)} ({one['level']})" for one in alphas)
            notes.append(f"Krippendorff's alpha between the {self.how.of}s: {each}")
        if self._n_lost:
            whose = ", ".join(
                f"{self.how.names[part]} {n:,}" for part, n in sorted(self._lost.items())
            )
            many = counted(self._n_lost, "study is", "studies are")
            notes.append(f"{many} not scored by every {self.how.of}: {whose}")
        return notes


def _alpha(one: Mapping[str, Any]) -> str:
    if one["value"] is None:
        return f"{NOTHING}, {one['reason']}"
    low, high = one["low"], one["high"]
    within = "" if low is None else f" [{number(low)}, {number(high)}]"
    return f"{number(one['value'])}{within}"


def _table(run: Run, part: int) -> pd.DataFrame:
    """Return a run's outcomes and numbers, as one of the parts that `numbers` takes."""
    table = run.table()
    measures = table[[measure.name for measure in run.rubric.measures]].astype(float)
    return measures.assign(outcome=table["outcome"], row=range(len(table)), part=part)


def _write(
    out: Path,
    aggregator: Aggregator,
    studies: Iterable[tuple[Study, Ends]],
    made_by: Mapping[str, Any],
    manifest: Mapping[str, Any],
    by: Sequence[str],
    *,
    alphas: Sequence[Mapping[str, Any]] = (),
    progress: Progress | None = None,
    log: Path | None = None,
) -> Finished:
    rubric, how, fields = aggregator.rubric, aggregator.how, list(manifest["fields"])
    if taken := {*reserved_names(rubric)} & {*fields}:
        raise JudgeError(f"the run would have the column {min(taken)!r} twice: rename that field")
    claim(out, made_by["signature"])
    with writing(out, rubric, fields) as writer:
        check_fields(by, writer.columns)
        for row, (study, ends) in enumerate(studies):
            writer.add(aggregator.judged(row, study, ends))
        table = writer.table()
        notes = [*aggregator.notes(alphas), *made_by["notes"]]
        head = {"reply_modes": {}, **made_by, "notes": notes}
        summary = {**head, **summarise(table, rubric, by)}
        whole = {
            "format": FORMAT,
            **head,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            **manifest,
            "combined": {
                "of": how.of,
                "rule": how.rule,
                "least": aggregator.least,
                "agreement": [*alphas],
                "parts": manifest["combined"],
            },
        }
        if log is not None and log.exists():
            writer.keep_log(log)
        writer.finish(table, summary, whole)
    return Finished(out, summary, progress or Progress(total=len(table)))


# Panels


def panel(
    runs: Sequence[Run],
    out: Path,
    rule: Rule,
    *,
    min_judges: int | None = None,
    by: Sequence[str] | None = None,
    allow: Collection[str] = (),
) -> Finished:
    """Make one run out of several judges' runs of the same studies. Nothing is asked.

    Args:
        runs: The judges' runs, in any order.
        out: The folder of the panel's run.
        rule: What a study's numbers become: see `judge.rubrics.aggregated`.
        min_judges: How many judges have to have scored a study; None for all.
        by: The fields that the rates are grouped by, by default as in the run of the judge that is
            first by name.
        allow: With `PROMPT` in it the judges may have read different prompts, or been told
            different things of the patient.

    Raises:
        JudgeError: For fewer than two runs, runs that share answers, of different rubrics,
            sections, studies or reports, of readers, of shards, and of panels, and for an `out`
            that holds another run.
    """
    runs = _checked(runs, allow)
    names, n = _names(runs), len(runs)
    how = Aggregation("judge", rule, tuple(names))
    if min_judges is not None and not 1 <= min_judges <= n:
        raise JudgeError(f"--min-judges {min_judges}: there are {n} judges")
    least = None if min_judges == n else min_judges
    first = runs[0]
    fewer = "" if least is None else f"+least{least}"
    version = f"panel:{rule}({','.join(map(_settings, runs))}){fewer}"
    whose = f"{', '.join(names[:-1])} and {names[-1]}" if n <= _MOST_NAMES else f"{n} judges"
    named = list(zip(runs, names, strict=True))
    notes = [(note, name) for run, name in named for note in run.summary()["notes"]]
    of_judges = [(note, name) for run, name in named if (note := run.manifest["judge"]["note"])]
    prompts = dict.fromkeys(run.manifest["prompt"] for run in runs)
    made_by: dict[str, Any] = {
        "signature": _signature(runs, version),
        "rubric": first.rubric.name,
        "model": first.manifest.get("model"),
        "judge": {
            "name": f"{rule} of {whose}",
            "version": version,
            "note": "; ".join(_whose(of_judges, n)) or None,
        },
        "prompt": ", ".join(filter(None, prompts)) or None,
        "section": first.manifest["section"],
        "class_source": first.manifest.get("class_source"),
        "omitted": first.summary()["omitted"],
        "notes": _whose(notes, n),
    }
    asked = first.manifest["arguments"] or {}
    manifest = {
        "combined": [_described(run, name) for run, name in named],
        # How the files were read: judge compare asks.
        "arguments": {
            **{name: asked[name] for name in ("id_field", "reference_field") if name in asked},
            "runs": [str(run.path) for run in runs],
            "rule": rule,
            "min_judges": min_judges,
        },
        "inputs": first.manifest["inputs"],
        "fields": first.manifest["fields"],
        "omitted_ids": first.manifest.get("omitted_ids", {}),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    import pandas as pd

    tables = pd.concat([_table(run, part) for part, run in enumerate(runs)], ignore_index=True)
    tables = tables.sort_values(["row", "part"], ignore_index=True)
    return _write(
        out,
        Aggregator(how, first.rubric, tables, least),
        _same_studies(runs),
        made_by,
        manifest,
        first.summary()["by"] if by is None else by,
        alphas=agreement(first.rubric, tables),
    )


def rule_called(name: str) -> Rule:
    """Return the rule of that name; raises `JudgeError` where there is none."""
    rule = next((rule for rule in RULES if rule == name), None)
    if rule is None:
        raise JudgeError(f"a panel has no rule {name!r}; there are: {', '.join(RULES)}")
    return rule


def _checked(runs: Sequence[Run], allow: Collection[str]) -> list[Run]:
    if len(runs) < 2:
        raise JudgeError("a panel takes the runs of two judges or more, each on the same studies")
    for run in runs:
        for is_so, what in (
            (run.reading is not None, "a reader, who is no judge: judge validate takes readers"),
            (run.combined is not None, "several judges or references already: name those instead"),
            (run.part is not None, "a shard: join the shards with judge merge"),
        ):
            if is_so:
                raise JudgeError(f"{run.path} is the run of {what}")
    _check_alike("rubric", [(run, Signature.parse(run.signature)["rubric"]) for run in runs])
    _check_alike("section", [(run, run.manifest["section"]) for run in runs])
    if PROMPT not in allow:
        parts = [(run, Signature.parse(run.signature)) for run in runs]
        prompts = [(run, own.get("prompt", "none")) for run, own in parts]
        _check_alike("prompt", [pair for pair in prompts if pair[1] != "none"], PROMPT)
        told = [(run, ", ".join(f"{k} {own.get(k, 'none')}" for k in _TOLD)) for run, own in parts]
        _check_alike("knowledge of the patient", told, PROMPT)
    for at, run in enumerate(runs):
        if other := next((other for other in runs[:at] if other.signature == run.signature), None):
            raise JudgeError(f"{other.path} and {run.path} are the same run: name each judge once")
    return sorted(runs, key=lambda run: (run.manifest["judge"]["name"], run.signature))


def _check_alike(what: str, values: Sequence[tuple[Run, str]], allowed_by: str = "") -> None:
    for run, value in values:
        first, ours = values[0]
        if value != ours:
            allowed = f" (or --allow {allowed_by})" if allowed_by else ""
            raise JudgeError(
                f"the judges of a panel have the same {what}: it is {ours} in {first.path} and "
                f"{value} in {run.path}{allowed}"
            )


def _names(runs: Sequence[Run]) -> list[str]:
    """Return what the judges are called: by their versions, or numbers, where names are alike."""
    judges = [run.manifest["judge"] for run in runs]
    names = Counter(judge["name"] for judge in judges)
    judge_versions = Counter(judge["version"] for judge in judges)
    return [
        judge["name"]
        if names[judge["name"]] == 1
        else judge["version"]
        if judge_versions[judge["version"]] == 1
        else f"{judge['name']} ({at})"
        for at, judge in enumerate(judges, 1)
    ]


def _settings(run: Run) -> str:
    parts = Signature.parse(run.signature)
    return _digest("|".join(f"{name}:{parts[name]}" for name in _OF_JUDGE if name in parts))


def _signature(runs: Sequence[Run], version: str) -> str:
    """Return the first judge's signature with the panel in its place, and a digest of each run.

    What the judges were told is that of each, where it differs.
    """
    parts = [Signature.parse(run.signature) for run in runs]
    known = parts[0]
    prompts = sorted({one.get("prompt", "none") for one in parts} - {"none"}) or ["none"]
    told = {name: sorted({one.get(name, "none") for one in parts}) for name in _TOLD}
    line = [
        *(known["rubric"], f"judge:{version}", f"prompt:{','.join(prompts)}"),
        *([f"section:{known['section']}"] if "section" in known else []),
        *(f"{k}:{','.join(v)}" for k, v in told.items() if v != ["none"] or k in known),
        *(f"{k}:{known[k]}" for k in ("class", "omitted", "studies") if k in known),
        *(f"runs:{','.join(_digest(run.signature) for run in runs)}", "version:"),
    ]
    return str(read_today(str(Signature(line)), runs[0].rubric))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _whose(notes: Iterable[tuple[str, str]], n_judges: int) -> list[str]:
    """Return each note once, with the names of those who have it where that is not all."""
    names: dict[str, list[str]] = {}
    for note, name in notes:
        names.setdefault(note, []).append(name)
    return [
        note if len(own) == n_judges else f"{', '.join(own)}: {note}" for note, own in names.items()
    ]


def _described(run: Run, name: str) -> dict[str, Any]:
    names = ("signature", "judge", "prompt", "spent", "started", "finished", "rescored")
    facts = {name: run.manifest[name] for name in names if name in run.manifest}
    return {"name": name, "folder": run.path.name, **facts}


def _same_studies(runs: Sequence[Run]) -> Iterable[tuple[Study, Ends]]:
    first, *_ = runs
    for records in zip_longest(*(run.records() for run in runs)):
        for run, record in zip(runs, records, strict=True):
            for name in ("study_id", "reference", "candidate", "study_class"):
                ours, theirs = (one and one[name] for one in (records[0], record))
                if ours != theirs:
                    study_id = next(one["study_id"] for one in records if one)
                    raise JudgeError(
                        f"study {study_id!r} has not the same {name} in {run.path} as in "
                        f"{first.path}: the judges of a panel judge the same studies"
                    )
        keys = [
            {part["cache_key"] for part in (*one["earlier"], one)} - {None, COMPOSED}
            for one in records
        ]
        if sum(map(len, keys)) > len(set().union(*keys)):
            raise JudgeError(
                f"{' and '.join(str(run.path) for run in runs)} share answers of one judge, which "
                "would count twice: name one of them, or ask again with another --seed"
            )
        yield study_of(records[0]), [(part, outcome_of(one)) for part, one in enumerate(records)]


# Several references


@dataclass(frozen=True)
class SeveralReferences:
    """Studies with all their references: each of a study's is one question.

    `questions` are a study's row and a reference's number in `names`, study by study.
    """

    studies: StudySet

    @property
    def names(self) -> tuple[str, ...]:
        """What the references are called, in the order in which they appear."""
        every = (name for own in self.studies.every_reference for name, _ in own)
        return tuple(dict.fromkeys(every))

    @property
    def questions(self) -> list[tuple[int, int]]:
        """What is asked, study by study: its row, and the number of the reference."""
        numbers = {name: number for number, name in enumerate(self.names)}
        every = enumerate(self.studies.every_reference)
        return [(row, numbers[name]) for row, own in every for name, _ in own]

    def asked(self, only: int | None = None) -> StudySet:
        """Return the questions as studies, each with an id of its own.

        With `only` those of one reference, with the ids of the studies.
        """
        studies, names = self.studies, self.names
        named = [(row, names[part]) for row, part in self.questions if only in (None, part)]
        ids = [studies.study_ids[row] for row, _ in named]
        if only is None:
            ids = [f"{study_id} ({name})" for study_id, (_, name) in zip(ids, named, strict=True)]
            if len(set(ids)) < len(ids):
                ids = [f"{at}: {study_id}" for at, study_id in enumerate(ids, 1)]
        texts = tuple(dict(studies.every_reference[row])[name] for row, name in named)
        bare = replace(studies, every_reference=()).take([row for row, _ in named], ids)
        return replace(bare, references=texts, full_references=texts)


def run_references(
    session: JudgeSession,
    studies: StudySet,
    rule: Rule,
    *,
    out: Path | None = None,
    by: Sequence[str] = DEFAULT_BY,
    **options: Any,  # noqa: ANN401 - as `judge.running.run.run` takes them
) -> Finished:
    """Judge the studies against each of their references, and write what is made of it.

    A study is scored where it was scored against all the references that it has. Every study and
    reference is one question of one run, so that the cache, the price, batches and what stops a run
    are those of any other; its folder is gone when what is made of it is written. Raises as
    `judge.running.run.run` does.
    """
    studies, class_source = with_classes(studies)
    several = SeveralReferences(studies)
    line = session.signature(several.asked(), class_source)
    line = str(Signature.parse(line).adding(f"references:{rule}"))
    path = out or default_folder(session, studies.model, line)
    # What can be wrong with the folder and the fields is found before the work.
    check_fields(by, TableBuilder(session.rubric, list(studies.fields)).columns)
    claim(path, line)
    how = Aggregation("reference", rule, several.names)
    with TemporaryDirectory(prefix="judge-references-") as place:
        questions = Path(place) / "run"
        finished = run_session(session, several.asked(), out=questions, about=studies, **options)
        judged = Run(questions)
        rows, parts = zip(*several.questions, strict=True)
        tables = _table(judged, 0).assign(row=rows, part=parts)
        aggregator = Aggregator(how, session.rubric, tables)
        fields = list(studies.fields)
        best_field = free_name("best_reference", fields) if rule == "best" else None
        names = ("rubric", "model", "judge", "prompt", "section", "omitted", "reply_modes")
        per_study = Counter(len(own) for own in studies.every_reference)
        each = (f"{n} for {counted(k, 'study', 'studies')}" for n, k in sorted(per_study.items()))
        made_by = {
            "signature": line,
            **{name: judged.manifest[name] for name in names},
            "class_source": class_source,
            "notes": [f"references of a study: {', '.join(each)}", *judged.manifest["notes"]],
        }
        kept = (
            *("repeat", "scale", "batches", "arguments", "inputs", "read_from"),
            *("omitted_ids", "effort", "spent", "started", "finished", "versions"),
        )
        manifest = {
            **{name: judged.manifest[name] for name in kept if name in judged.manifest},
            "fields": [*fields, *([best_field] if best_field else [])],
            "combined": [
                {"name": name, "signature": session.signature(several.asked(at), class_source)}
                for at, name in enumerate(several.names)
            ],
        }
        return _write(
            path,
            aggregator,
            _with_references(several, judged, aggregator, best_field),
            made_by,
            manifest,
            by,
            progress=finished.progress,
            log=judged.path / SERVER_LOG,
        )


def _with_references(
    several: SeveralReferences, judged: Run, aggregator: Aggregator, best_field: str | None
) -> Iterable[tuple[Study, Ends]]:
    pairs = zip(several.questions, judged.records(), strict=True)
    for row, own in groupby(pairs, lambda pair: pair[0][0]):
        ends = [(part, outcome_of(record)) for (_, part), record in own]
        study, texts = several.studies.study(row), several.studies.every_reference[row]
        part = aggregator.picked(row, ends)
        if part is not None and best_field:
            name = several.names[part]
            study = replace(
                study, reference=dict(texts)[name], fields={**study.fields, best_field: name}
            )
        elif len(texts) > 1:
            every = "\n\n".join(f"[{name}]\n{text}" for name, text in texts)
            study = replace(study, reference=every)
        yield study, ends
