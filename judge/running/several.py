"""Studies with several references: judged against each, and the numbers made of all of them.

Every study and reference is one question of one run, so that the cache, the price, batches and
what stops a run are those of any other; its folder is gone when what is made of it is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from judge.report.words import counted, number, percent
from judge.rubrics.combining import Combination, Rule
from judge.running.combining import Combining, End, write
from judge.running.folder import SERVER_LOG, Run, line_of
from judge.running.records import outcome_of, study_of
from judge.running.run import Finished, default_folder, run, with_classes
from judge.running.session import JudgeSession
from judge.running.writer import claim, writing
from judge.stats.table import DEFAULT_BY, TableBuilder, check_fields, summarise
from judge.studies import StudySet
from judge.studies.fields import free_name
from judge.types import JudgeError, Study


@dataclass(frozen=True, slots=True)
class Question:
    """A study's row, the reader whose report is the reference, and whose is the candidate.

    Readers by number; `candidate` is None for the model's own.
    """

    row: int
    reference: int
    candidate: int | None = None


@dataclass(frozen=True)
class Several:
    """Studies with all their references, and the questions that these make.

    `names` are what the references are called, in the order in which they appear; with `between`
    each reader's report is judged against the others', too.
    """

    studies: StudySet
    between: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the references are called."""
        every = (name for own in self.studies.every_reference for name, _ in own)
        return tuple(dict.fromkeys(every))

    def texts(self, row: int) -> dict[int, str]:
        """Return the references of the study in a row, by the numbers of their readers."""
        return {self._numbers[name]: text for name, text in self.studies.every_reference[row]}

    def of_model(self) -> list[Question]:
        """Return what is asked about the model's candidates, study by study."""
        rows = range(len(self.studies))
        return [Question(row, reader) for row in rows for reader in self._readers[row]]

    def of_readers(self) -> list[Question]:
        """Return what is asked about the readers' reports, study by study and reader by reader."""
        return [
            Question(row, other, reader)
            for row, own in enumerate(self._readers)
            for reader in own
            for other in own
            if other != reader
        ]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    @cached_property
    def _readers(self) -> list[list[int]]:
        return [[self._numbers[name] for name, _ in own] for own in self.studies.every_reference]

    def questions(self) -> list[Question]:
        """Return all that is asked, the model's candidates first."""
        return [*self.of_model(), *(self.of_readers() if self.between else [])]

    def asked(self, questions: Sequence[Question] | None = None) -> StudySet:
        """Return the questions as studies, each with an id of its own."""
        questions = self.questions() if questions is None else questions
        studies, names = self.studies, self.names
        texts = [dict(own) for own in studies.every_reference]

        def told(one: Question) -> str:
            by = "" if one.candidate is None else f"{names[one.candidate]} against "
            return f"{studies.study_ids[one.row]} ({by}{names[one.reference]})"

        ids = [told(one) for one in questions]
        if len(set(ids)) < len(ids):
            ids = [f"{at}: {study_id}" for at, study_id in enumerate(ids, 1)]
        references = tuple(texts[one.row][names[one.reference]] for one in questions)
        candidates = tuple(
            studies.candidates[one.row]
            if one.candidate is None
            else texts[one.row][names[one.candidate]]
            for one in questions
        )
        bare = replace(studies, every_reference=())
        return replace(
            bare.take([one.row for one in questions], ids),
            references=references,
            full_references=references,
            candidates=candidates,
        )


def run_several(
    session: JudgeSession,
    several: Several,
    rule: str,
    *,
    out: Path | None = None,
    by: Sequence[str] = DEFAULT_BY,
    **how: Any,  # noqa: ANN401 - as `judge.running.run.run` takes them
) -> Finished:
    """Judge the studies against each of their references, and write what is made of it.

    `best` and `mean` are a run, by `judge.rubrics.combining`; `all` is a folder with a run for each
    reader. A study is scored where it was scored against all the references that it has. Raises
    as `judge.running.run.run` does.
    """
    studies, class_source = with_classes(several.studies)
    several = replace(several, studies=studies)
    line = session.signature(several.asked(several.of_model()), class_source)
    *head, version = line.split("|")
    line = "|".join([*head, f"references:{rule}", version])
    path = out or default_folder(session, studies.model, line)
    # What can be wrong with the folder and the fields is found before the work.
    check_fields(by, TableBuilder(session.rubric, list(studies.fields)).columns)
    folders = _folders(path, several.names) if rule == "all" else {}
    lines = {at: _line_of(session, several, class_source, at) for at in folders}
    for at, folder in folders.items():
        claim(folder, lines[at])
    if not folders:
        claim(path, line)
    with TemporaryDirectory(prefix="judge-references-") as place:
        judged = run(
            *(session, several.asked()),
            out=Path(place) / "run",
            by=DEFAULT_BY,
            about=several.studies,
            **how,
        )
        whole = Run(judged.path)
        records = whole.records()
        of_model = _grouped(records, several.of_model())
        made = _Made(session, several, whole.manifest, class_source, by, judged)
        if folders:
            every = list(of_model)
            parts = {
                several.names[at]: _write_reader(folder, made, at, lines[at], every)
                for at, folder in folders.items()
            }
            between = _between(session, several, "mean", records)
            notes = [*_counts(several), *_between_notes(session, between)]
            return Finished(path, {"notes": notes}, judged.progress, parts)
        combining = Combining(session.rubric, Combination("reference", _rule(rule), several.names))
        log = whole.path / SERVER_LOG
        return _write(path, made, line, combining, of_model, records, log)


def _rule(named: str) -> Rule:
    return "best" if named == "best" else "mean"


@dataclass(frozen=True, slots=True)
class _Made:
    """What the runs that are made have from the one of all questions."""

    session: JudgeSession
    several: Several
    manifest: Mapping[str, Any]
    class_source: str
    by: Sequence[str]
    judged: Finished

    def made_by(self, line: str, notes: Iterable[str]) -> dict[str, Any]:
        """Return what the manifest and the summary say of who made a run."""
        names = ("rubric", "model", "judge", "prompt", "section", "omitted", "reply_modes")
        return {
            "signature": line,
            **{name: self.manifest[name] for name in names},
            "class_source": self.class_source,
            "notes": [*notes, *self.manifest["notes"]],
        }

    def rest(self, fields: Sequence[str]) -> dict[str, Any]:
        """Return the rest of the manifest."""
        names = (
            *("repeat", "scale", "samples", "batches", "arguments", "inputs", "read_from"),
            *("omitted_ids", "effort", "spent", "started", "finished", "versions"),
        )
        kept = {name: self.manifest[name] for name in names if name in self.manifest}
        return {**kept, "fields": list(fields)}


_Group = tuple[int, int | None, list[dict[str, Any]]]
"""A study's row, whose report is the candidate, and the records of the questions about it."""


def _grouped(records: Iterator[dict[str, Any]], questions: Sequence[Question]) -> Iterator[_Group]:
    """Yield the records of the questions about one report together."""
    own: list[dict[str, Any]] = []
    for one, after in zip(questions, [*questions[1:], None], strict=True):
        own += [{**record, "reader": one.reference} for record in islice(records, 1)]
        if after is None or (after.row, after.candidate) != (one.row, one.candidate):
            yield one.row, one.candidate, own
            own = []


def _ends(records: Sequence[Mapping[str, Any]]) -> list[End]:
    return [End(one["reader"], outcome_of(one), one["measures"]) for one in records]


def _write(
    path: Path,
    made: _Made,
    line: str,
    combining: Combining,
    of_model: Iterable[_Group],
    records: Iterator[dict[str, Any]],
    log: Path,
) -> Finished:
    """Write the run of the best reference or of the mean."""
    several, how = made.several, combining.how
    fields = list(several.studies.fields)
    best = free_name("best_reference", fields) if how.rule == "best" else None
    between: list[dict[str, Any]] = []

    def studies() -> Iterator[tuple[Study, list[End]]]:
        for row, _, own in of_model:
            yield _study(several, row, own, combining, best), _ends(own)
        # The questions about the readers come after those about the model.
        between.extend(_between(made.session, several, how.rule, records))

    def notes() -> list[str]:
        return [*_counts(several), *_between_notes(made.session, between)]

    return write(
        path,
        combining,
        studies(),
        made.made_by(line, ()),
        {
            **made.rest([*fields, *([best] if best else [])]),
            "combined": {
                "parts": [
                    {
                        "name": name,
                        "signature": _line_of(made.session, several, made.class_source, at),
                    }
                    for at, name in enumerate(how.names)
                ]
            },
        },
        made.by,
        progress=made.judged.progress,
        log=log,
        further=lambda: (notes(), {"between": between} if between else {}),
    )


def _study(
    several: Several,
    row: int,
    own: Sequence[Mapping[str, Any]],
    combining: Combining,
    best: str | None,
) -> Study:
    """Return a study with the reference that it is shown with: the best one's, else all of them."""
    study = several.studies.study(row)
    texts = several.texts(row)
    found = [one["measures"] for one in own]
    if best and None not in found:
        reader = own[combining.how.picked(combining.rubric, found)]["reader"]
        fields = {**study.fields, best: several.names[reader]}
        return replace(study, reference=texts[reader], fields=fields)
    if len(texts) == 1:
        return study
    every = "\n\n".join(f"[{several.names[at]}]\n{text}" for at, text in texts.items())
    return replace(study, reference=every)


def _between(
    session: JudgeSession, several: Several, rule: str, records: Iterator[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return what is said of the readers' own reports, each judged against the other readers'.

    One block for all of them, with how many studies they are of; empty where none was judged.
    """
    if not several.between or not several.of_readers():
        return []
    combining = Combining(session.rubric, Combination("reference", _rule(rule), several.names))
    rubric = combining.how.rubric(session.rubric)
    table, rows = TableBuilder(rubric, []), set()
    for at, (row, _, own) in enumerate(_grouped(records, several.of_readers())):
        study = replace(several.studies.study(row), study_id=f"{at}", fields={})
        judged = combining.judged(at, study, _ends(own))
        table.add(study, judged.outcome, judged.measures)
        rows.add(row)
    block = summarise(table.build(), rubric, ("study_class",))
    kept = ("n_studies", "n_scored", "n_unparsed", "n_failed", "statistics")
    found = {name: block[name] for name in kept}
    # Reports of one study are no independent studies, so that there is no interval.
    for one in found["statistics"].values():
        one |= {"low": None, "high": None}
    return [{"rule": combining.how.rule, "n_of": len(rows), **found}]


def _between_notes(session: JudgeSession, between: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = []
    for block in between:
        told = []
        for one in session.rubric.shown("groups"):
            value = block["statistics"][one.name]["value"]
            shown = percent(value) if one.kind == "rate" else number(value)
            told.append(f"{one.label} {shown}")
        scored = f"{block['n_scored']:,} of {block['n_studies']:,} reports"
        notes.append(
            f"the readers' own reports against those of the others ({block['rule']}): "
            f"{', '.join(told)}; {scored}, of {counted(block['n_of'], 'study', 'studies')}"
        )
    return notes


def _counts(several: Several) -> list[str]:
    """Say how many references studies have."""
    n = Counter(len(own) for own in several.studies.every_reference)
    told = (f"{of} for {counted(k, 'study', 'studies')}" for of, k in sorted(n.items()))
    return [f"references of a study: {', '.join(told)}"]


def _folders(path: Path, names: Sequence[str]) -> dict[int, Path]:
    """Return the folder of each reader's run; raises `JudgeError` where two would share one."""
    found: dict[int, Path] = {}
    for at, name in enumerate(names):
        folder = "reference-" + re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:60]
        if any(folder.casefold() == other.name.casefold() for other in found.values()):
            raise JudgeError(f"two references would share the folder {folder}: rename {name!r}")
        found[at] = path / folder
    return found


def _rows_of(several: Several, at: int) -> list[Question]:
    return [one for one in several.of_model() if one.reference == at]


def _line_of(session: JudgeSession, several: Several, class_source: str, at: int) -> str:
    """Return the signature of one reader's run: that of a run with these references alone."""
    questions = _rows_of(several, at)
    ids = [several.studies.study_ids[one.row] for one in questions]
    own = replace(several.asked(questions), study_ids=tuple(ids))
    return session.signature(own, class_source)


def _write_reader(
    path: Path, made: _Made, at: int, line: str, of_model: Sequence[_Group]
) -> Finished:
    """Write the run against the references of one reader."""
    rubric, several = made.session.rubric, made.several
    name = several.names[at]
    lacking = len(several.studies) - len(_rows_of(several, at))
    notes = [f"against the references of {name}"]
    if lacking:
        notes.append(f"{counted(lacking, 'study has', 'studies have')} no reference of {name}")
    with writing(path, rubric, list(several.studies.fields)) as writer:
        for row, _, own in of_model:
            for record in own:
                if record["reader"] == at:
                    kept = {k: v for k, v in record.items() if k != "reader"}
                    kept["study_id"] = several.studies.study_ids[row]
                    mode = (kept["answer"] or {}).get("mode")
                    ended = study_of(kept), outcome_of(kept), kept["measures"]
                    writer.copy(row, line_of(kept) + b"\n", *ended, mode)
        table = writer.table()
        made_by = made.made_by(line, notes)
        made_by["reply_modes"] = dict(sorted(writer.modes.items()))
        summary = {**made_by, **summarise(table, rubric, made.by)}
        manifest = {"format": made.manifest["format"], **made_by}
        manifest |= made.rest(list(several.studies.fields))
        writer.finish(table, summary, manifest)
    return Finished(path, summary, made.judged.progress)
