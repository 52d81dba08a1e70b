"""From a source to a table: the form is decided by the content, the name is only a hint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from judge.studies.delimited import header_has_id, read_delimited
from judge.studies.forms import looks_like_json, read_json
from judge.studies.parquet import MAGIC, read_parquet
from judge.studies.source import Content, decode, read_content
from judge.studies.study_set import InputFile
from judge.studies.table import StudyTable
from judge.types import JudgeError

_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


def read_file(source: str, role: str, *, id_field: str | None) -> tuple[StudyTable, InputFile]:
    """Read a source, `-` for standard input, in any of the forms that are understood.

    `role` is what the file is to the run: `preds`, `refs` or `both`. Raises `JudgeError`.
    """
    content = read_content(source)
    table = _read_table(content, id_field)
    return table, InputFile(source, role, content.sha256, len(table))


def _read_table(content: Content, id_field: str | None) -> StudyTable:
    name = content.name
    if content.data.startswith(MAGIC):
        return read_parquet(name, content.data, id_field=id_field)
    text, note = decode(name, content.data)
    if not text.strip():
        raise JudgeError(f"{name} is empty")
    suffix = _suffix(name)
    if looks_like_json(text) or (suffix in _JSON_SUFFIXES and not header_has_id(text, id_field)):
        lines = suffix in (".jsonl", ".ndjson")
        table = read_json(name, text, lines=lines, id_field=id_field)
    else:
        table = read_delimited(name, text, id_field=id_field)
    if note is None:
        return table
    return replace(table, notes=(note, *table.notes))


def _suffix(name: str) -> str:
    """Return what a name promises, `.gz` set aside."""
    return PurePath(name.lower().removesuffix(".gz")).suffix
