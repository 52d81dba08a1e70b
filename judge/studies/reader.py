"""From a source to a table: the form is decided by the content, the name is only a hint."""

from __future__ import annotations

import re
from os.path import isdir
from pathlib import PurePath

from judge.studies.dataset import check_no_part, read_dataset
from judge.studies.delimited import has_header, read_delimited
from judge.studies.forms import FLAT_TEXT, looks_like_json, read_json
from judge.studies.names import NamedFields
from judge.studies.parquet import MAGIC, read_parquet
from judge.studies.source import Content, decode, read_content
from judge.studies.study_set import InputFile
from judge.studies.table import StudyTable, cleaned, to_table
from judge.types import JudgeError

_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_TABLE_SUFFIXES = (".csv", ".tsv")
_LINE_END = re.compile(r"\r\n|\r|\n")


def read_file(source: str, role: str, fields: NamedFields) -> tuple[StudyTable, InputFile]:
    """Read a source, `-` for standard input, in any of the forms that are understood.

    `role` is what the file is to the run: `preds`, `refs` or `both`. Raises `JudgeError`.
    """
    # Not Path.is_dir: where it cannot be looked at, reading it says why.
    if isdir(source):  # noqa: PTH112
        table, sha256 = read_dataset(source, fields.id)
    else:
        check_no_part(source)
        content = read_content(source, fields.encoding)
        table, sha256 = _read_table(content, fields), content.sha256
    return table, InputFile(source, role, sha256, len(table))


def _read_table(content: Content, fields: NamedFields) -> StudyTable:
    name = content.name
    if content.data.startswith(MAGIC):
        return read_parquet(name, content.data, fields.id)
    text = decode(content)
    if not text.strip():
        raise JudgeError(f"{name} is empty")
    suffix = _suffix(name)
    if looks_like_json(text) or (suffix in _JSON_SUFFIXES and not has_header(text, fields)):
        lines = suffix in (".jsonl", ".ndjson")
        return read_json(name, text, lines=lines, id_field=fields.id, several=fields.several)
    if suffix == ".txt" and not has_header(text, fields):
        reports: list[object] = [cleaned(line) for line in _LINE_END.split(text)]
        if not reports[-1]:
            reports.pop()
        return to_table(name, {FLAT_TEXT: reports}, id_field=fields.id)
    return read_delimited(name, text, fields, is_table=suffix in _TABLE_SUFFIXES)


def _suffix(name: str) -> str:
    return PurePath(name.lower().removesuffix(".gz")).suffix
