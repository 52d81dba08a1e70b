"""Studies with several references: judged against each, and the numbers made of all of them.

Every study and reference is one question of one run, so that the cache, the price, batches and
what stops a run are those of any other; its folder is gone when what is made of it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from judge.report.words import counted
from judge.rubrics.combining import Combination, Rule
from judge.running.combining import Combining, End, write
from judge.running.folder import SERVER_LOG, Run
from judge.running.records import outcome_of
from judge.running.run import Finished, default_folder, run, with_classes
from judge.running.session import JudgeSession
from judge.running.writer import claim
from judge.signature import Signature
from judge.stats.table import DEFAULT_BY, TableBuilder, check_fields
from judge.studies import StudySet
from judge.studies.fields import free_name
from judge.types import Study


@dataclass(frozen=True, slots=True)
class Question:
    """A study's row, and the reader, by number, whose report is the reference."""

    row: int
    reference: int


@dataclass(frozen=True)
class Several:
    """Studies with all their references, and the questions that these make.

    `names` are what the references are called, in the order in which they appear.
    """

    studies: StudySet

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the references are called."""
        every = (name for own in self.studies.every_reference for name, _ in own)
        return tuple(dict.fromkeys(every))

    def texts(self, row: int) -> dict[int, str]:
        """Return the references of the study in a row, by the numbers of their readers."""
        return {self._numbers[name]: text for name, text in self.studies.every_reference[row]}

    def questions(self) -> list[Question]:
        """Return what is asked, study by study."""
        return [
            Question(row, self._numbers[name])
            for row, own in enumerate(self.studies.every_reference)
            for name, _ in own
        ]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def asked(self, questions: Sequence[Question] | None = None) -> StudySet:
        """Return the questions as studies, each with an id of its own."""
        questions = self.questions() if questions is None else questions
        studies, names = self.studies, self.names
        texts = [dict(own) for own in studies.every_reference]
        ids = [f"{studies.study_ids[one.row]} ({names[one.reference]})" for one in questions]
        if len(set(ids)) < len(ids):
            ids = [f"{at}: {study_id}" for at, study_id in enumerate(ids, 1)]
        references = tuple(texts[one.row][names[one.reference]] for one in questions)
        bare = replace(studies, every_reference=())
        return replace(
            bare.take([one.row for one in questions], ids),
            references=references,
            full_references=references,
        )


def run_several(
    session: JudgeSession,
    several: Several,
    rule: Rule,
    *,
    out: Path | None = None,
    by: Sequence[str] = DEFAULT_BY,
    **how: Any,  # noqa: ANN401 - as `judge.running.run.run` takes them
) -> Finished:
    """Judge the studies against each of their references, and write what is made of it.

    By `judge.rubrics.combining`. A study is scored where it was scored against all the references
    that it has. Raises as `judge.running.run.run` does.
    """
    studies, class_source = with_classes(several.studies)
    several = replace(several, studies=studies)
    line = session.signature(several.asked(), class_source)
    line = str(Signature.parse(line).adding(f"references:{rule}"))
    path = out or default_folder(session, studies.model, line)
    # What can be wrong with the folder and the fields is found before the work.
    check_fields(by, TableBuilder(session.rubric, list(studies.fields)).columns)
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
        made = _Made(session, several, whole.manifest, class_source, by, judged)
        combining = Combining(session.rubric, Combination("reference", rule, several.names))
        groups = _grouped(whole.records(), several.questions())
        return _write(path, made, line, combining, groups, whole.path / SERVER_LOG)


@dataclass(frozen=True, slots=True)
class _Made:
    session: JudgeSession
    several: Several
    manifest: Mapping[str, Any]
    class_source: str
    by: Sequence[str]
    judged: Finished

    def made_by(self, line: str, notes: Iterable[str]) -> dict[str, Any]:
        names = ("rubric", "model", "judge", "prompt", "section", "omitted", "reply_modes")
        return {
            "signature": line,
            **{name: self.manifest[name] for name in names},
            "class_source": self.class_source,
            "notes": [*notes, *self.manifest["notes"]],
        }

    def rest(self, fields: Sequence[str]) -> dict[str, Any]:
        names = (
            *("repeat", "scale", "samples", "batches", "arguments", "inputs", "read_from"),
            *("omitted_ids", "effort", "spent", "started", "finished", "versions"),
        )
        kept = {name: self.manifest[name] for name in names if name in self.manifest}
        return {**kept, "fields": list(fields)}


_Group = tuple[int, list[dict[str, Any]]]
"""A study's row, and the records of the questions about it."""


def _grouped(records: Iterator[dict[str, Any]], questions: Sequence[Question]) -> Iterator[_Group]:
    for row, asked in groupby(zip(questions, records, strict=True), lambda pair: pair[0].row):
        yield row, [{**record, "reader": one.reference} for one, record in asked]


def _ends(records: Sequence[Mapping[str, Any]]) -> list[End]:
    return [End(one["reader"], outcome_of(one), one["measures"]) for one in records]


def _write(
    path: Path,
    made: _Made,
    line: str,
    combining: Combining,
    groups: Iterable[_Group],
    log: Path,
) -> Finished:
    several, how = made.several, combining.how
    fields = list(several.studies.fields)
    best = free_name("best_reference", fields) if how.rule == "best" else None

    def studies() -> Iterator[tuple[Study, list[End]]]:
        for row, own in groups:
            yield _study(several, row, own, combining, best), _ends(own)

    return write(
        path,
        combining,
        studies(),
        made.made_by(line, _counts(several)),
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
    )


def _study(
    several: Several,
    row: int,
    own: Sequence[Mapping[str, Any]],
    combining: Combining,
    best: str | None,
) -> Study:
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


def _counts(several: Several) -> list[str]:
    n = Counter(len(own) for own in several.studies.every_reference)
    told = (f"{of} for {counted(k, 'study', 'studies')}" for of, k in sorted(n.items()))
    return [f"references of a study: {', '.join(told)}"]


def _line_of(session: JudgeSession, several: Several, class_source: str, at: int) -> str:
    questions = [one for one in several.questions() if one.reference == at]
    ids = [several.studies.study_ids[one.row] for one in questions]
    own = replace(several.asked(questions), study_ids=tuple(ids))
    return session.signature(own, class_source)
