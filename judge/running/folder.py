"""A run on disk.

    manifest.json      what made it: signature, inputs and their hashes, arguments, versions
    annotations.jsonl  one line a study: reports, outcome, annotation, raw answer
    studies.csv        the table of studies
    studies.parquet    the same, with types
    summary.json       what was printed
    server.log         the log of a model server that was started for the run

Files are written in a staging folder by one process and moved in place, the manifest last.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from judge import jsonio, rubrics, sentences
from judge.files import (
    ANOTHER,
    WRITING,
    entries_of,
    open_regular,
    replace_file,
    staging_folder,
)
from judge.rubrics.contract import Rubric
from judge.rubrics.derived import Aggregation, for_prompt, on_scale, restrict
from judge.run_files.checked import RunFileError
from judge.run_files.entries import ReadingEntry
from judge.run_files.manifest import MANIFEST, RunManifest
from judge.run_files.reading import read_manifest, read_summary
from judge.run_files.study_record import (
    ANNOTATIONS,
    EARLIER_SCORED,
    SCORED,
    ItemRecord,
    StudyRecord,
    read_line,
)
from judge.run_files.summary import SUMMARY, RunSummary
from judge.running.records import StudyResult, outcome_of, study_of, to_record
from judge.signature import StudiesDigest
from judge.stats.intervals import USUAL_DRAWS, Draws
from judge.stats.summary import FIXED, OUTCOMES, TableBuilder, summarise
from judge.types import Failed, JudgeError, Outcome, Scored, Study, Unparsed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


TABLE_CSV = "studies.csv"
TABLE_PARQUET = "studies.parquet"
SERVER_LOG = "server.log"
# In the order in which they are moved in place: the manifest makes the folder a run.
_FILES = (SERVER_LOG, ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY, MANIFEST)
_AGAIN = "judge runs rescore writes it anew"
MOST_SENTENCES = 3


class RunFolder:
    """A finished run, opened for reading: `Run.open("judge-runs/green-lexicon-1a2b3c4d")`.

    In Python it prints itself (`judge.results.run`).
    """

    def __init__(self, path: Path, manifest: RunManifest) -> None:
        self.path = path
        self.manifest = manifest
        """What made the run."""

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open the run in a folder.

        Raises `JudgeError` for a folder without a run, for a manifest that is not as judge writes
        it, whose file and field the error names, and for readings that are held out.
        """
        run = cls.open_any(path)
        if run.is_held_out:
            # Whoever tunes a judge would look, tune on what was seen, and report it as unseen.
            raise JudgeError(
                f"{path} is held out: only judge gate --judge NEW --against OLD --readers opens it"
            )
        return run

    @classmethod
    def open_any(cls, path: str | Path) -> Self:
        """Open the run in a folder, also readings that are held out; raises as `open` else does."""
        folder = Path(path)
        return cls(folder, read_manifest(folder))

    def __repr__(self) -> str:
        return f"{type(self).__name__}.open({str(self.path)!r})"

    @property
    def signature(self) -> str:
        """The line that names everything that changes the run's numbers."""
        return self.manifest.signature

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric on the prompt's scale, as a reader or several judges used it."""
        manifest = self.manifest
        try:
            rubric = rubrics.load(manifest.rubric)
            if manifest.scale:
                low, high = manifest.scale
                rubric = on_scale(rubric, (low, high))
            prompt = "none"
            if manifest.prompts:
                prompt = manifest.prompts[0].name
            rubric = for_prompt(rubric, prompt, manifest.judge.version)
            if self.combined is not None:
                return self.combined.rubric(rubric)
            if manifest.reading is None:
                return rubric
            return restrict(rubric, manifest.reading.lacks, manifest.reading.own)
        except ValueError as error:
            # A scale, or parts of a reading, that the rubric cannot have.
            raise RunFileError(self.path / MANIFEST, str(error)) from error
        except JudgeError as error:
            lacks = ""
            is_known = manifest.rubric in rubrics.names()
            if manifest.packages and not is_known:
                packages = ", ".join(manifest.packages)
                lacks = f"; install its package, {packages}"
            raise JudgeError(f"{self.path / MANIFEST}: {error}{lacks}") from error

    @property
    def reading(self) -> ReadingEntry | None:
        """How a reader used the rubric, None for a run of a judge."""
        return self.manifest.reading

    @property
    def is_held_out(self) -> bool:
        """Whether these are readings that only a gate between judges opens."""
        return self.reading is not None and self.reading.held_out

    @property
    def combined(self) -> Aggregation | None:
        """What it is made of, None for the run of one judge against one reference a study."""
        combined = self.manifest.combined
        if combined is None:
            return None
        names = tuple(part.name for part in combined.parts)
        return Aggregation(combined.of, combined.rule, names)

    @property
    def repeat(self) -> int:
        """Which of several runs it is that asked the same, from 0."""
        return self.manifest.repeat

    def table(self) -> pd.DataFrame:
        """Return the table of studies; raises `JudgeError` as `columns` does."""
        import pyarrow as pa

        try:
            frame: pd.DataFrame = self.columns().to_pandas()
        except (
            pa.ArrowException,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
        ) as error:
            raise self._odd_table(f"pandas cannot take it: {error}") from error
        return frame

    def columns(
        self, names: Sequence[str] | None = None, optional: Sequence[str] = ()
    ) -> pa.Table:
        """Return the table of studies with the columns `names` and those of `optional`, or all."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        measures = [measure.name for measure in self.rubric.measures]
        if names is None:
            needed = [*FIXED, *measures]
        else:
            needed = ["study_id", "outcome", "class_inferred", *names]
        path = self.path / TABLE_PARQUET
        try:
            with open_regular(path) as opened, pq.ParquetFile(opened) as file:
                present = file.schema_arrow.names
                wanted = None
                if names is not None:
                    asked = dict.fromkeys([*needed, *optional])
                    wanted = [name for name in asked if name in present]
                table = file.read(columns=wanted)
        except OSError as error:
            reason = error.strerror or error
            raise JudgeError(f"cannot read {path}: {reason}; {_AGAIN}") from error
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise JudgeError(f"cannot read {path}: {error}; {_AGAIN}") from error
        lacking = [name for name in needed if name not in present]
        if lacking:
            raise JudgeError(f"{path} lacks {', '.join(lacking)}; {_AGAIN}")
        table = _with_present_outcomes(table)
        why = _table_fault(table, measures)
        if why is not None:
            raise self._odd_table(why)
        for name, counted in _counts(table).items():
            printed = getattr(self._summary, name)
            if counted != printed:
                raise self._odd_table(
                    f"its {name} is {counted:,}, and {printed:,} in {SUMMARY}"
                )
        return table

    def _odd_table(self, why: str) -> JudgeError:
        return JudgeError(f"{self.path / TABLE_PARQUET} is damaged: {why}; {_AGAIN}")

    @cached_property
    def _summary(self) -> RunSummary:
        return read_summary(self.path)

    def summary(self, *, of_any_version: bool = False) -> RunSummary:
        """Return what was printed at the end of the run."""
        if not of_any_version:
            self.check_version()
            why = self._summary_fault()
            if why is not None:
                raise RunFileError(self.path / SUMMARY, why)
        return self._summary

    def _summary_fault(self) -> str | None:
        """Return what the summary lacks, or has of another run; None where it is this run's."""
        summary = self._summary
        # A run that is read again has another version in its line, and the same studies.
        if f"|studies:{self.manifest.studies_digest}|" not in summary.signature:
            return f"its 'signature' is of other studies than that of {MANIFEST}"
        blocks = (summary.everything, *summary.rates)
        for statistic in self.rubric.statistics:
            for block in blocks:
                if statistic.name not in block.statistics:
                    return f"'statistics' lacks {statistic.name}"
        for measure in self.rubric.measures:
            if measure.is_whole and measure.name not in summary.totals:
                return f"'totals' lacks {measure.name}"
        return None

    def regrouped(
        self,
        by: Sequence[str],
        patient_field: str | None = None,
        draws: Draws = USUAL_DRAWS,
    ) -> RunSummary:
        """Return the summary with the rates grouped by any fields of the studies.

        `patient_field` None is the usual field, `none` takes studies as independent. `draws` are
        those of a ratio's bootstrap.
        """
        counted = summarise(self.table(), self.rubric, by, patient_field, draws)
        return self.summary().regrouped(counted)

    def outcomes(self) -> Iterator[tuple[Study, Outcome]]:
        """Yield each study with its `Scored`, `Unparsed` or `Failed`, as the references come."""
        for record in self.records():
            yield study_of(record), outcome_of(record)

    def records(self, *, of_any_version: bool = False) -> Iterator[dict[str, Any]]:
        """Yield one record a study, in the order of the references.

        Raises `JudgeError` for a line that was changed, that is no record, or that is not this
        run's: its study and its numbers are compared with the table of studies, and at the end the
        reports of all studies with the digest in the signature. `of_any_version` is for what asks
        for reports alone: numbers and items may be those of another version of the rubric.
        """
        if of_any_version:
            return self._records(_Rows(self.columns([]), ()), None)
        self.check_version()
        return self._records(self._table_rows, self._check)

    def records_to_rescore(self) -> Iterator[dict[str, Any]]:
        """Yield the records as `records` does, with their answers, which are to be read again.

        Raises `JudgeError` where an annotation has no answer to read, unless it is a reader's. The
        table of studies is left aside: it is written anew.
        """
        return self._records(None, _RecordCheck(self, is_read_again=True))

    def _records(
        self, rows: _Rows | None, check: _RecordCheck | None
    ) -> Iterator[dict[str, Any]]:
        # What asks for reports of any version compares them itself.
        is_whole = check is not None and self.has_digest
        studies = StudiesDigest()
        n = 0
        for n, line in enumerate(self.lines(), 1):
            record = self._parsed(n, line, check, rows)
            if is_whole:
                studies.add(study_of(record))
            yield record
        n_wanted = self._summary.n_studies
        if n != n_wanted:
            why = f"it holds {n:,} studies, and {SUMMARY} {n_wanted:,}"
            raise damaged(self.path / ANNOTATIONS, why)
        if is_whole and str(studies) != self.manifest.studies_digest:
            why = "its studies are not those that the run's signature is of"
            raise damaged(self.path / ANNOTATIONS, why)

    @property
    def has_digest(self) -> bool:
        """Whether the digest in the signature is of the studies in this folder, and no others.

        A shard has the digest of the whole set. A combined run has fields more than its parts.
        """
        return self.manifest.shard is None and self.manifest.combined is None

    def record(self, study_id: str) -> dict[str, Any]:
        """Return one study's record; raises `JudgeError` as `records` does."""
        for record in self.records():
            if record["study_id"] == study_id:
                return record
        raise JudgeError(
            f"no study {study_id!r} in {self.path}; its ids are in {TABLE_CSV}"
        )

    def parsed(self, n: int, line: bytes) -> dict[str, Any]:
        """Return the record that the `n`-th line of the annotations holds; raises as `records`."""
        return self._parsed(n, line, self._check, self._table_rows)

    def parsed_alone(self, n: int, line: bytes) -> dict[str, Any]:
        """Return the record in a line of a run that has no table yet; raises as `records`."""
        return self._parsed(n, line, self._check, None)

    @cached_property
    def _check(self) -> _RecordCheck:
        return _RecordCheck(self)

    @cached_property
    def _table_rows(self) -> _Rows:
        measures = [measure.name for measure in self.rubric.measures]
        return _Rows(self.columns(measures), measures)

    def _parsed(
        self, n: int, line: bytes, check: _RecordCheck | None, rows: _Rows | None
    ) -> dict[str, Any]:
        path = self.path / ANNOTATIONS
        record = read_line(path, line, n)
        why = None
        if check is not None:
            why = check.fault(record)
        if why is None and rows is not None:
            why = rows.fault(record, n - 1)
        if why is not None:
            raise damaged(path, f"line {n:,}: {why}")
        return dict(record)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the annotations as they lie there; raises `JudgeError`."""
        return lines_of(self.path / ANNOTATIONS)

    def check_version(self) -> None:
        """Raise `JudgeError` for a run of another version of its rubric."""
        made = self.manifest.rubric_and_version
        today = f"{self.rubric.name}:{self.rubric.version}"
        if made != today:
            raise JudgeError(
                f"{self.path} is a run of {made}, not {today}: judge runs rescore brings it up to "
                "date"
            )


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file of a run; raises `JudgeError` where it cannot be read."""
    try:
        with open_regular(path) as file:
            yield from file
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error


def damaged(path: Path, why: str) -> JudgeError:
    """Return the error for a file of a run that is not as it was written."""
    return RunFileError(path, why)


class _Rows:
    """The rows of the table of studies that records are compared with, in columns."""

    def __init__(self, table: pa.Table, measures: Sequence[str]) -> None:
        self.n = table.num_rows
        self.ids = table["study_id"].to_pylist()
        self.outcomes = table["outcome"].to_pylist()
        self.measures = {name: table[name].to_pylist() for name in measures}

    def fault(self, record: StudyRecord, row: int) -> str | None:
        """Return in which way a record is not that of a row, None where it is."""
        if row >= self.n:
            return f"{TABLE_PARQUET} ends with study {self.n:,}"
        study_id = record["study_id"]
        known_id = self.ids[row]
        if study_id != known_id:
            there = f"{TABLE_PARQUET} has {known_id!r:.80} there"
            return f"it is of study {study_id!r:.80}, and {there}"
        outcome = record["outcome"]
        known = self.outcomes[row]
        if outcome != known:
            return (
                f"study {study_id!r:.80} is {outcome}, and {known} in {TABLE_PARQUET}"
            )
        measures = record["measures"]
        # For reports alone the numbers, which may be of another version, are not compared.
        if measures is None or not self.measures:
            return None
        for name, value in measures.items():
            number = self.measures[name][row]
            if value != number:
                there = f"{number} in {TABLE_PARQUET}"
                return f"{name} of study {study_id!r:.80} is {value}, and {there}"
        return None


class _RecordCheck:
    """What the records of a run may hold, by its rubric.

    Where the answers are read again (`is_read_again`), older numbers do not count, and neither do
    items, unless they are a reader's, who gave no answer to read.
    """

    def __init__(self, run: RunFolder, *, is_read_again: bool = False) -> None:
        rubric = run.rubric
        self._title = rubric.title
        self._is_read_again = is_read_again
        self._is_reading = run.reading is not None
        self._measures = {measure.name for measure in rubric.measures}
        self._graded_by = {kind.name: kind.graded_by for kind in rubric.kinds}
        labels_of = {}
        for facet in rubric.facets:
            labels_of[facet.name] = {label.name for label in facet.labels}
        self._labels: dict[str, dict[str, set[str]]] = {}
        for kind in rubric.kinds:
            self._labels[kind.name] = {name: labels_of[name] for name in kind.facets}

    def fault(self, record: StudyRecord) -> str | None:
        """Return what the rubric does not know in a record, None where it knows all."""
        annotation, measures = record["annotation"], record["measures"]
        if annotation is None or measures is None:
            return None
        if self._is_read_again and not self._is_reading:
            if record["answer"] is None:
                return "the study is scored, and its 'answer' is missing"
            return None
        odd = measures.keys() ^ self._measures
        if odd and not self._is_read_again:
            return f"'measures' and those of {self._title} differ in {min(odd)!r:.80}"
        # Finding a report's lines takes time, and few rubrics have edits.
        n_lines = None
        for item in annotation["items"]:
            why = self._item_fault(item)
            if why is not None:
                return f"'annotation.items': {why}"
            edit = item["edit"]
            if edit is None or edit["line"] is None:
                continue
            if n_lines is None:
                n_lines = len(sentences.lines(record["candidate"]))
            last = n_lines - 1
            if edit["kind"] == "insert":
                # What is inserted may come after the last line.
                last = n_lines
            if edit["line"] > last:
                return f"'annotation.items': the candidate has no line {edit['line']}"
        return None

    def _item_fault(self, item: ItemRecord) -> str | None:
        kind, labels = item["kind"], item["labels"]
        known = self._labels.get(kind)
        if known is None:
            return f"{self._title} has no {kind!r:.80}"
        for facet, values in labels.items():
            if facet not in known:
                return f"{self._title} has no {facet!r:.80} of {kind}"
            if not known[facet].issuperset(values):
                return f"{self._title} has no {facet} {values!r:.80}"
        graded_by = self._graded_by[kind]
        if graded_by is None:
            return None
        grades = labels.get(graded_by, ())
        if len(grades) != 1:
            return f"one {kind} needs one {graded_by}"
        return None


def _with_present_outcomes(table: pa.Table) -> pa.Table:
    """Return a table of studies with `scored` where earlier versions wrote `annotated`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    outcomes = table["outcome"]
    form = outcomes.type
    if not (pa.types.is_string(form) or pa.types.is_large_string(form)):
        return table  # what no version wrote is refused by `_table_fault`
    is_earlier = pc.equal(outcomes, pa.scalar(EARLIER_SCORED, form))
    today = pc.if_else(is_earlier, pa.scalar(SCORED, form), outcomes)
    place = table.schema.get_field_index("outcome")
    return table.set_column(place, "outcome", today)


def _counts(table: pa.Table) -> dict[str, int]:
    """Return how many studies a table has, and of which outcome, by their names in a summary."""
    counted = table["outcome"].value_counts().to_pylist()
    outcomes = {row["values"]: row["counts"] for row in counted}
    return {
        "n_studies": table.num_rows,
        "n_scored": outcomes.get(OUTCOMES[Scored], 0),
        "n_unparsed": outcomes.get(OUTCOMES[Unparsed], 0),
        "n_failed": outcomes.get(OUTCOMES[Failed], 0),
    }


def _table_fault(table: pa.Table, measures: Sequence[str]) -> str | None:
    """Return which column of a table of studies has another type, None where none has."""
    import pyarrow as pa

    def is_text(form: pa.DataType) -> bool:
        return bool(pa.types.is_string(form) or pa.types.is_large_string(form))

    def is_number(form: pa.DataType) -> bool:
        return bool(pa.types.is_integer(form) or pa.types.is_floating(form))

    for name, form in zip(table.column_names, table.schema.types, strict=True):
        if name in ("study_id", "outcome") and not is_text(form):
            return f"'{name}' is no column of texts"
        if name == "class_inferred" and not pa.types.is_boolean(form):
            return f"'{name}' is no column of true and false"
        # Where no study has a number the column may have no type at all.
        if name in measures and not (is_number(form) or pa.types.is_null(form)):
            return f"'{name}' is no column of numbers"
    ids = table["study_id"]
    if ids.null_count or len(ids.unique()) != len(ids):
        return "'study_id' has a gap, or a study twice"
    outcomes = set(table["outcome"].unique().to_pylist())
    odd = outcomes - set(OUTCOMES.values())
    if odd:
        return f"'outcome' has {next(iter(odd))!r:.80}"
    return None


# Writing


def claim(path: Path, signature: str) -> None:
    """Raise `JudgeError` unless `path` is new, empty, or holds the run with this signature."""
    entries = entries_of(path)
    if MANIFEST in entries:
        if RunFolder.open(path).signature != signature:
            raise JudgeError(f"{path} holds another run; {ANOTHER}")
        return
    # A command that ended while it moved the files of a run may have left some of them.
    is_begun_run = WRITING in entries and entries <= {WRITING, *_FILES}
    if entries and not is_begun_run:
        raise JudgeError(f"{path} holds files that are no run; {ANOTHER}")


@contextmanager
def writing(path: Path, rubric: Rubric, field_names: list[str]) -> Iterator[RunWriter]:
    """Write a run; leaving the block without `finish` leaves nothing behind."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        for folder in reversed(made):
            folder.mkdir(mode=0o700, exist_ok=True)  # it holds reports
        with (
            staging_folder(path) as staging,
            (staging / ANNOTATIONS).open("w+b") as file,
        ):
            builder = TableBuilder(rubric, field_names)
            yield RunWriter(path, staging, file, rubric, builder)
    except OSError as error:
        reason = error.strerror or error
        raise JudgeError(f"cannot write to {path}: {reason}") from error
    finally:
        for folder in made:
            # It was never made, or there is something in it: a run, for one.
            with suppress(OSError):
                folder.rmdir()


@dataclass(slots=True)
class RunWriter:
    """Writes the files of a run in `staging`; `finish` moves them to its folder, `path`."""

    path: Path
    staging: Path
    _file: IO[bytes]
    rubric: Rubric
    builder: TableBuilder
    # Of each line its place among the studies, and where it begins in the file.
    _rows: list[tuple[int, int]] = field(default_factory=list)
    reply_modes: Counter[str] = field(default_factory=Counter)
    answered_as: Counter[str] = field(default_factory=Counter)
    """How many answers came from which model, as the server calls it."""
    answered_between: list[str] = field(default_factory=list)
    """When the first and the last of the answers were given; empty where that is unknown."""
    _sentences: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The three most frequent sentences about studies that failed, with their reasons."""
        return [
            {"reason": reason, "sentence": sentence, "n": n}
            for (reason, sentence), n in self._sentences.most_common(MOST_SENTENCES)
        ]

    def add(self, judged: StudyResult) -> None:
        """Write one study down; studies may come in any order."""
        self._rows.append((judged.row, self._file.tell()))
        self._file.write(jsonio.to_line(to_record(judged, self.rubric)))
        # Whoever looks at the run meanwhile reads the file.
        self._file.flush()
        self.builder.add(judged.study, judged.outcome, judged.measures)
        self.count_answer(judged)
        if isinstance(judged.outcome, Failed) and judged.outcome.detail:
            self._sentences[judged.outcome.reason, judged.outcome.detail] += 1

    def count_answer(self, judged: StudyResult) -> None:
        """Count how an answer was asked for, which model gave it, and when."""
        completion = judged.completion
        if completion is None:
            return
        if completion.mode:
            self.reply_modes[completion.mode] += 1
        if completion.model:
            self.answered_as[completion.model] += 1
        if completion.created:
            moments = [*self.answered_between, completion.created]
            self.answered_between = [min(moments), max(moments)]

    def table(self) -> pd.DataFrame:
        """Return the table of the studies written so far, in the order of the references."""
        order = sorted(range(len(self._rows)), key=self._rows.__getitem__)
        return self.builder.build().iloc[order].reset_index(drop=True)

    def finish(
        self, table: pd.DataFrame, summary: RunSummary, manifest: RunManifest
    ) -> None:
        """Write the rest and put every file in its place."""
        in_order = self.staging / "sorted"
        with in_order.open("wb") as out:
            for _, start in sorted(self._rows):
                self._file.seek(start)
                out.write(self._file.readline())
        in_order.replace(self.staging / ANNOTATIONS)
        self._file.close()
        table.to_csv(self.staging / TABLE_CSV, index=False)
        table.to_parquet(self.staging / TABLE_PARQUET, index=False)
        for name, data in ((SUMMARY, summary.plain()), (MANIFEST, manifest.plain())):
            text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
            # The name of a file may hold bytes that are no text.
            content = f"{text}\n".encode("utf-8", "replace")
            (self.staging / name).write_bytes(content)
        for name in _FILES:
            staged = self.staging / name
            if staged.exists():
                replace_file(staged, self.path / name)
