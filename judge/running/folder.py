"""A run on disk.

    manifest.json      what made it: signature, inputs and their hashes, arguments, versions
    annotations.jsonl  one line a study: reports, outcome, annotation, raw answer
    studies.csv        the table of studies
    studies.parquet    the same, with types
    summary.json       what was printed
    server.log         what a model server wrote that was started for the run

Files are written to one side, by one process at a time, and moved in place when all of them
are whole (`judge.running.writer`); the manifest comes last, so a folder without one is no run.
They are readable by their owner alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import jsonio, rubrics
from judge.report.formats import rate_rows
from judge.rubrics.asking import asked_by, on_scale, sampled
from judge.rubrics.combining import Combination
from judge.rubrics.contract import Rubric
from judge.rubrics.reading import as_read
from judge.running import forms
from judge.running.columns import read_columns, read_frame
from judge.running.files import LONGEST_LINE, no_run, open_file, read_file
from judge.running.records import outcome_of, study_of
from judge.running.shards import Part
from judge.signature import Signature
from judge.stats.table import DEFAULT_BY, summarise
from judge.types import JudgeError, Outcome, Study

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MANIFEST = "manifest.json"
ANNOTATIONS = "annotations.jsonl"
TABLE_CSV = "studies.csv"
TABLE_PARQUET = "studies.parquet"
SUMMARY = "summary.json"
SERVER_LOG = "server.log"
MADE_BY = (
    *("signature", "rubric", "model", "judge", "prompt", "section", "class_source", "omitted"),
    *("notes", "reply_modes", "reading"),
)


class Run:
    """A finished run, opened for reading: `Run("judge-runs/green-lexicon-1a2b3c4d")`.

    Raises `JudgeError` where the folder holds none, or one whose manifest is damaged or of
    another program's form.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path = Path(path)
        try:
            if not path.exists():
                raise JudgeError(f"no such run: {path}")
            if not (path / MANIFEST).is_file():
                raise JudgeError(no_run(path, MANIFEST))
        except OSError as error:
            raise JudgeError(f"cannot read the run {path}: {error.strerror}") from error
        self.manifest = _read_manifest(path / MANIFEST)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def __str__(self) -> str:
        n_scored, n_studies = (self._summary[name] for name in ("n_scored", "n_studies"))
        return f"{self.path}: {n_scored} of {n_studies} studies scored, {self.signature}"

    def _repr_html_(self) -> str:
        """Show the rates by class in a notebook."""
        return f"<p>{escape(str(self))}</p>{self.rates().to_html(index=False)}"

    @property
    def signature(self) -> str:
        """The line that names everything that changes the run's numbers."""
        return str(self.manifest["signature"])

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric on the prompt's scale, as a reader or several judges used it.

        Raises `JudgeError` as `load`.
        """
        name = self.manifest["rubric"]
        try:
            found = rubrics.load(name)
            if scale := self.manifest.get("scale"):
                found = on_scale(found, (scale[0], scale[1]))
            parts = Signature.parse(self.signature)
            asked = parts.get("prompt", "").partition("@")[0], parts.get("judge", "")
            found = sampled(asked_by(found, *asked), self.manifest.get("samples", 1))
        except JudgeError as error:
            package = Signature.parse(self.signature).get("package")
            is_gone = package and name not in rubrics.names()
            lacks = f"; the run was made with its package {package}: install that"
            told = f"{error}{lacks if is_gone else ''}"
            raise JudgeError(f"{self.path / MANIFEST}: {told}") from error
        try:
            if self.combined is not None:
                return self.combined.rubric(found)
            if self.reading is None:
                return found
            return as_read(found, self.reading["lacks"], self.reading["own"])
        except ValueError as error:
            raise damaged(self.path / MANIFEST, str(error)) from error

    @property
    def reading(self) -> forms.Reading | None:
        """How a reader used the rubric, None for a run of a judge."""
        found: forms.Reading | None = self.manifest.get("reading")
        return found

    @property
    def combined(self) -> Combination | None:
        """What it is made of, None for the run of one judge against one reference a study."""
        found: forms.CombinedRecord | None = self.manifest.get("combined")
        names = [part["name"] for part in found["parts"]] if found else []
        return Combination(found["of"], found["rule"], tuple(names)) if found else None

    @property
    def repeat(self) -> int:
        """Which of several runs it is that asked the same, from 0."""
        return int(self.manifest.get("repeat", 0))

    @property
    def part(self) -> Part | None:
        """Which shard of a set it is, None for a run of all; raises `JudgeError`."""
        found = self.manifest.get("shard")
        try:
            return Part.read(found) if found else None
        except ValueError as error:
            raise damaged(self.path / MANIFEST, str(error)) from error

    def table(self) -> pd.DataFrame:
        """Return the table of studies; raises `JudgeError` as `columns` does."""
        return read_frame(self.path / TABLE_PARQUET, self.rubric, self._summary)

    def columns(self, names: Sequence[str] | None = None, optional: Sequence[str] = ()) -> pa.Table:
        """Return the table of studies or some of its columns, as `read_columns` does."""
        path = self.path / TABLE_PARQUET
        return read_columns(path, self.rubric, self._summary, names, optional)

    @property
    def _summary(self) -> dict[str, Any]:
        path = self.path / SUMMARY
        found = _checked(path, _read_json(path), forms.Summary)
        if lacking := [name for row in found["rates"] for name in found["by"] if name not in row]:
            raise damaged(path, f"a group has no {lacking[0]!r}")
        return found

    def regrouped(self, by: Sequence[str]) -> dict[str, Any]:
        """Return the summary with the rates grouped by any fields of the studies.

        Raises `JudgeError` for a field that the run has not, and as `table` does.
        """
        return {**self.summary(), **summarise(self.table(), self.rubric, by)}

    def rates(self, by: Sequence[str] = DEFAULT_BY) -> pd.DataFrame:
        """Return the rates and figures by group, as `judge rates --format csv` prints them.

        One row a group of the fields `by`, and a last one for all studies (`row` tells which).
        `n_scored` is the denominator of the figures; each has its 95% interval beside it.
        Raises `JudgeError` as `regrouped` does.
        """
        import pandas as pd

        by = [by] if isinstance(by, str) else by
        return pd.DataFrame(rate_rows(self.regrouped(by), self.rubric))

    def outcomes(self) -> Iterator[tuple[Study, Outcome]]:
        """Yield each study with its outcome, in the order of the references.

        That is `Annotated`, `Unparsed` or `Failed`. Raises `JudgeError` as `records` does.
        """
        for record in self.records():
            yield study_of(record), outcome_of(record)

    def summary(self) -> dict[str, Any]:
        """Return what was printed at the end of the run; raises `JudgeError` for a damaged one.

        One that lacks what the rubric says today is made anew of the table of studies.
        """
        found = self._summary
        if not forms.says_all(found, self.rubric):
            made_by = {name: found[name] for name in MADE_BY if name in found}
            found = {**made_by, **summarise(self.table(), self.rubric, found["by"])}
        return found

    def records(self, *, of_any_version: bool = False) -> Iterator[dict[str, Any]]:
        """Yield one record a study, in the order of the references.

        Raises `JudgeError` for a damaged one, for one that lacks what today's rubric has
        unless it may be `of_any_version`, and at the end where there were not as many as
        the summary says.
        """
        n = 0
        for n, line in enumerate(self.lines(), 1):
            yield self.parsed(n, line, of_any_version=of_any_version)
        if n != (wanted := self._summary["n_studies"]):
            raise damaged(
                self.path / ANNOTATIONS,
                f"it holds {n:,} studies, {SUMMARY} {wanted:,}: they do not fit together",
            )

    def record(self, study_id: str) -> dict[str, Any]:
        """Return one study's record.

        Raises `JudgeError` where the run has no such study, and for a damaged record.
        """
        # A record begins with its id, so all others are passed over unread.
        start = line_of({"study_id": study_id})[:-1] + b","
        for n, line in enumerate(self.lines(), 1):
            if line.startswith(start):
                return self.parsed(n, line)
        for why, ids in self.manifest.get("omitted_ids", {}).items():
            if study_id in ids:
                raise JudgeError(f"{self.path} left study {study_id!r} out: {why}")
        raise JudgeError(f"no study {study_id!r} in {self.path}; its ids are in {TABLE_CSV}")

    def parsed(self, n: int, line: bytes, *, of_any_version: bool = False) -> dict[str, Any]:
        """Return the record that the `n`-th line of the annotations, from 1, holds.

        Raises `JudgeError` as `records` does.
        """
        path = self.path / ANNOTATIONS
        try:
            found: dict[str, Any] = jsonio.read(line)
            wrong = forms.record_fault(found)
        except jsonio.JsonError as error:
            wrong = str(error)
        if wrong:
            raise damaged(path, f"in line {n:,}, {wrong}")
        if not of_any_version and (lacking := forms.outdated(found, self.rubric)):
            raise JudgeError(
                f"{path} is not of today's {self.rubric.title}: in line {n:,}, {lacking}; "
                "judge rescore brings it up to date"
            )
        return found

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the annotations as they lie there; raises `JudgeError`."""
        path = self.path / ANNOTATIONS
        try:
            with open_file(path) as file:
                while line := file.readline(LONGEST_LINE):
                    if len(line) == LONGEST_LINE:
                        raise damaged(path, f"it has a line of over {LONGEST_LINE:,} bytes")
                    yield line
        except OSError as error:
            raise JudgeError(f"cannot read {path}: {error.strerror}") from error


def line_of(record: dict[str, Any]) -> bytes:
    """Return a record as it stands in a run's annotations, without the end of its line."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")


def _read_manifest(path: Path) -> dict[str, Any]:
    found = _read_json(path)
    if isinstance(found, dict):
        found = {"inputs": [], "arguments": {}, **found}
        if (form := found.get("format")) != forms.FORMAT:
            raise JudgeError(
                f"{path.parent} is a run of format {form!r}, and this version of judge reads "
                f"format {forms.FORMAT}; use the version that wrote it"
            )
    return _checked(path, found, forms.Manifest)


def _checked(path: Path, data: object, form: type) -> dict[str, Any]:
    if wrong := forms.fault(data, form):
        raise damaged(path, wrong)
    assert isinstance(data, dict)
    return data


def _read_json(path: Path) -> object:
    try:
        data: object = jsonio.read(read_file(path))
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise damaged(path, str(error)) from error
    return data


def damaged(path: Path, why: str) -> JudgeError:
    """Return the error for a file of a run that is not as it was written."""
    return JudgeError(
        f"{path} is damaged: {why}; move {path.parent} away and judge its studies again "
        "(answers in the cache are not paid for twice)"
    )
