"""The feed of a monitor: drafts and signed reports with dates, in a file or a folder that grows.

Each study is one record, the latest of its id: that with the later date, and of one date the one
that is read later. A study stays in the week of its earliest date, so that an addendum moves no
study to another week.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from judge.report_sections import WHOLE_REPORT
from judge.studies import NamedFields, StudySet
from judge.studies.columns import (
    KNOWN_NAMES,
    as_text,
    find_column,
    find_columns,
    free_name,
)
from judge.studies.input_table import InputFile, InputPair, InputTable
from judge.studies.join import JoinOptions, join_tables
from judge.studies.load import load, read_content
from judge.studies.sections import (
    known_section,
    read_reports,
    report_fields,
    usual_section,
)
from judge.types import JudgeError

DATE, VERSION, SITE, READER = "date", "version", "site", "reader"
RECORD = "feed_record"
"""The field with the digest of a study's record, by which a changed one is known."""
ROLE_NAMES: Mapping[str, tuple[str, ...]] = {
    DATE: (
        "date",
        "study_date",
        "exam_date",
        "examination_date",
        "acquisition_date",
        "draft_date",
        "report_date",
        "timestamp",
    ),
    VERSION: ("version", "model_version", "model"),
    SITE: ("site", "hospital", "institution", "location"),
    READER: ("reader", "radiologist", "signed_by"),
}
"""The names that a column of each role may have, the likeliest first."""
DRAFTS = ("draft", "draft_report")
SIGNED = ("signed", "signed_report", "final_report")
"""Further names of the fields of candidates and references, which come first in a feed."""
ENDS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".xlsx")
"""The ends of the files that are read in a folder, which `.gz` may follow."""
_EMPTY = (b"", b"[]", b"{}")


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How a feed is read: the fields of roles, None for the usual names, and the section.

    `until` is the last day that counts.
    """

    until: date
    fields: NamedFields = KNOWN_NAMES
    roles: Mapping[str, str] = field(default_factory=dict)
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """The records of a feed, one per study, indexed by id.

    `records` has the columns `date`, `RECORD`, and those of the feed. `files` are those that were
    read. `n_replaced` records of the feed were replaced by later ones of their ids; the ids of
    `no_date` have no date that can be read, those of `later` one after the last day.
    """

    name: str
    records: pd.DataFrame
    files: tuple[InputFile, ...]
    roles: Mapping[str, str]
    n_replaced: int = 0
    no_date: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStudies:
    """What of a feed is to be judged: `studies`, None where there are none.

    The others are ids: `unsigned` lack a signed report, or the section of it; `undrafted` are
    signed, and have no draft.
    """

    studies: StudySet | None
    unsigned: tuple[str, ...] = ()
    undrafted: tuple[str, ...] = ()


def read_feed(source: str, settings: FeedSettings, known: Mapping[str, str]) -> Feed:
    """Read a table, or all tables of a folder in the order of their names.

    `known` has the date of each study that was judged before, which stays where it is earlier.
    Raises `JudgeError` for what cannot be read, where no field has dates, and where none of them
    can be read.
    """
    tables = [load(str(path), "both", settings.fields) for path in _files(Path(source))]
    records = _together(tables)
    roles = _roles(records, settings.roles, source)
    records = _renamed(records, roles)
    days = [parsed_date(value) for value in records[DATE]]
    if not any(days):
        example = next((value for value in records[DATE] if value is not None), None)
        raise JudgeError(
            f"{source}: the field {roles[DATE]} has no date that can be read, such as "
            f"{example!r:.40}; write 2026-05-31, or name another field with --column date=FIELD"
        )
    records[DATE] = _objects(days, records.index)
    no_date = _ids(records[records[DATE].isna()])
    dated = records[records[DATE].notna()]
    is_later = [day > settings.until for day in dated[DATE]]
    later = _ids(dated[is_later])
    due = dated[[not is_after for is_after in is_later]]
    latest = _latest(due, known)
    return Feed(
        name=source,
        records=latest,
        files=tuple(table.file for table in tables if table.file is not None),
        roles=roles,
        n_replaced=len(due) - len(latest),
        no_date=no_date,
        later=later,
    )


def new_studies(
    feed: Feed,
    settings: FeedSettings,
    judged: Mapping[str, str],
    reserved: Sequence[str] = (),
) -> NewStudies:
    """Return the studies that have a draft and a signed report, and are to be judged.

    `judged` has the digest of the record of each study that was judged. `reserved` are names that
    no field may have. Raises `JudgeError` where no field has drafts or signed reports.
    """
    records = feed.records
    is_new = [
        judged.get(study_id) != digest
        for study_id, digest in zip(records.index, records[RECORD], strict=True)
    ]
    records = records[is_new]
    if records.empty:
        return NewStudies(studies=None)
    pair = InputPair.of_one(InputTable(name=feed.name, frame=records))
    fields = _with_usual_names(records, settings.fields)
    candidate, reference = report_fields(pair, fields)
    signed = read_reports(pair.refs, reference)
    drafts = read_reports(
        pair.preds, candidate, are_candidates=True, null_is_missing=True
    )
    section = known_section(settings.section) or usual_section(signed.table)
    has_report = signed.table[section].notna().to_numpy()
    whole = drafts.table[WHOLE_REPORT]
    has_draft = whole.fillna("").ne("").to_numpy()
    complete = records[has_report & has_draft]
    studies = None
    if len(complete):
        table = InputTable(name=feed.name, frame=complete)
        options = JoinOptions(fields=fields, section=section, reserved=reserved)
        studies = join_tables(InputPair.of_one(table), options)
        # The model is each record's own: a version is a field.
        studies = replace(studies, inputs=feed.files, model=None)
    return NewStudies(
        studies=studies,
        unsigned=_ids(records[~has_report]),
        undrafted=_ids(records[has_report & ~has_draft]),
    )


def parsed_date(value: object) -> date | None:
    """Return the day of a value as ISO 8601 writes it, None for any other form."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if value is None or isinstance(value, bool):
        return None
    text = as_text(value).strip()
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        return None


def _files(source: Path) -> list[Path]:
    """Return the files of a feed: itself, or those of a folder and of its folders by name."""
    if not source.is_dir():
        return [source]
    found = []
    for path in sorted(source.rglob("*")):
        parts = path.relative_to(source).parts
        is_hidden = any(part.startswith(".") for part in parts)
        name = path.name.lower().removesuffix(".gz")
        is_table = name.endswith(ENDS) and path.is_file()
        if not is_hidden and is_table and _has_records(path):
            found.append(path)
    if not found:
        raise JudgeError(
            f"{source} has no file with a record; those that are read end in {', '.join(ENDS)}"
        )
    return found


def _has_records(path: Path) -> bool:
    """Return whether a file has more than a header: a quiet day may have exported none."""
    name, data, _ = read_content(str(path))
    text = data.removeprefix(codecs.BOM_UTF8).strip()
    if text in _EMPTY:
        return False
    is_delimited = ".csv" in name.lower() or ".tsv" in name.lower()
    return not is_delimited or b"\n" in text or b"\r" in text


def _together(tables: Iterable[InputTable]) -> pd.DataFrame:
    """Return the records of all tables one below the other; a field that one lacks is None."""
    frames = [table.frame for table in tables]
    names = {frame.index.name for frame in frames}
    records = pd.concat(frames).astype(object)
    if len(names) == 1:
        records.index.name = names.pop()
    else:
        records.index.name = "study_id"
    return records.where(records.notna(), None)


def _roles(
    records: pd.DataFrame, named: Mapping[str, str], source: str
) -> dict[str, str]:
    """Return the field of each role that the feed has; raises `JudgeError` without dates."""
    roles: dict[str, str] = {}
    for role, usual in ROLE_NAMES.items():
        if role in named:
            option = f"--column {role}"
            roles[role] = find_column(records.columns, named[role], option, source)
            continue
        for name in usual:
            found = find_columns(records.columns, name)
            if found and found[0] not in roles.values():
                roles[role] = found[0]
                break
    if DATE not in roles:
        there = ", ".join(map(str, records.columns))
        raise JudgeError(
            f"{source} has no field of dates, only: {there}; name it with --column date=FIELD"
        )
    return roles


def _renamed(records: pd.DataFrame, roles: Mapping[str, str]) -> pd.DataFrame:
    """Return the records with the fields of roles under the names of the roles, as texts."""
    columns = {role: list(records[name]) for role, name in roles.items()}
    others = records.drop(columns=list(roles.values()))
    renamed = {}
    for name in others.columns:
        if name in (*ROLE_NAMES, RECORD):
            renamed[name] = free_name(f"field_{name}", others.columns)
    others = others.rename(columns=renamed)
    for role, values in columns.items():
        if role != DATE:
            values = [_text_or_none(value) for value in values]
        others[role] = _objects(values, others.index)
    return others


def _objects(values: Sequence[object], index: pd.Index) -> pd.Series:
    """Return a column as it is: pandas itself would make NaN of None beside texts."""
    return pd.Series(values, index=index, dtype=object)


def _text_or_none(value: object) -> str | None:
    if value is None:
        return None
    return as_text(value).strip() or None


def _latest(records: pd.DataFrame, known: Mapping[str, str]) -> pd.DataFrame:
    """Return the latest record of each id with its digest, under the earliest date of the id."""
    by_date = records.sort_values(DATE, kind="stable")
    first_days = by_date[DATE][~by_date.index.duplicated(keep="first")]
    latest = by_date[~by_date.index.duplicated(keep="last")].copy()
    rows = latest.drop(columns=DATE).to_dict("records")
    latest[RECORD] = _objects([_digest(row) for row in rows], latest.index)
    days = []
    for study_id in latest.index:
        day = first_days[study_id].isoformat()
        days.append(min(day, known.get(study_id, day)))
    latest[DATE] = _objects(days, latest.index)
    # Where money ends before the studies do, the oldest have been judged.
    return latest.sort_values(DATE, kind="stable")


def _digest(record: Mapping[Any, Any]) -> str:
    """Return a digest of all that a record says, in whatever order and beside empty fields."""
    said = {str(name): value for name, value in record.items() if value is not None}
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _with_usual_names(records: pd.DataFrame, fields: NamedFields) -> NamedFields:
    """Return the fields with those of drafts and signed reports by the names of a feed."""
    candidate = fields.candidate or _first_of(records, DRAFTS)
    reference = fields.reference or _first_of(records, SIGNED)
    return replace(fields, candidate=candidate, reference=reference)


def _first_of(records: pd.DataFrame, names: Sequence[str]) -> str | None:
    """Return the first field that has one of some names, None without one."""
    for name in names:
        columns = find_columns(records.columns, name)
        if columns:
            return columns[0]
    return None


def _ids(records: pd.DataFrame) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, records.index)))
