"""The sections of reports: the columns that hold them, and the texts of each study."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from judge.studies.columns import (
    TEXT,
    NamedFields,
    columns_for,
    find_column,
    join_names,
)
from judge.studies.headings import SplitReport, split_report, without_blank_sections
from judge.text import says_nothing
from judge.types import JudgeError

Section = Literal["findings", "impression", "report"]

SECTIONS: tuple[Section, ...] = ("findings", "impression", "report")
"""The sections that can be judged."""

Fields = dict[str, str]
"""The fields of a side's reports, by `findings`, `impression` and `whole`, where there are such."""

_TEXT_ROLES = ("candidate", "reference", "findings", "impression", "report")
_PARTS = {"findings": ("findings",), "impression": ("impression",)}


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of one side: a table of their sections, and what the headings did to them.

    `table` has `findings`, `impression` and `report` by study id, None for a missing text. `split`
    has the parts of each report that was split at headings; `n_whole` counts the reports that have
    a text in one piece.
    """

    table: pd.DataFrame
    split: Mapping[str, SplitReport]
    n_whole: int


def known_section(section: str | None) -> Section | None:
    """Return the section with this name; raises `JudgeError` for an unknown name."""
    known = next((known for known in SECTIONS if known == section), None)
    if known == section:
        return known
    raise JudgeError(f"unknown section {section!r}; there are: {', '.join(SECTIONS)}")


def report_fields(
    preds: pd.DataFrame, refs: pd.DataFrame, fields: NamedFields
) -> tuple[Fields, Fields]:
    """Return the fields of the candidates and of the references, which may be in one table."""
    is_one = preds is refs
    candidate = _named_fields(preds, fields.candidate, "candidate")
    reference = _named_fields(refs, fields.reference, "reference")
    if is_one and candidate and candidate == reference:
        raise JudgeError(
            f"--column candidate and --column reference both name {fields.candidate}"
        )
    if not candidate:
        taken = reference.values() if is_one else ()
        candidate = _find_fields(preds, "candidate", {"whole": ("candidate",)}, taken)
    if not reference and (candidate or not is_one):
        taken = candidate.values() if is_one else ()
        parts = _PARTS | {"whole": ("report", "reference")}
        reference = _find_fields(refs, "reference", parts, taken)
    if (
        not candidate and not is_one
    ):  # a section is a candidate's too, in their own file
        candidate = _find_fields(
            preds, "candidate", _PARTS | {"whole": ("report",)}, ()
        )
    for side, frame, chosen in (
        ("candidate", preds, candidate),
        ("reference", refs, reference),
    ):
        if not chosen:
            raise JudgeError(_no_text(side, frame, preds, refs))
    return candidate, reference


def _no_text(
    side: str, frame: pd.DataFrame, preds: pd.DataFrame, refs: pd.DataFrame
) -> str:
    """Return why a table has no reports of a side, and what to do."""
    names = join_names(str(name) for name in (frame.index.name, *frame.columns) if name)
    what = f"{frame.attrs['name']} has no field of {side}s, only: {names}"
    if preds is not refs and _are_swapped(preds, refs):
        return f"{what}. Are PREDS and REFS swapped? PREDS, the candidates, comes first"
    say = f"say which field has them, --column {side}=FIELD"
    return (
        f"{what}; {say}, or give two files, PREDS and REFS"
        if preds is refs
        else f"{what}; {say}"
    )


def _are_swapped(preds: pd.DataFrame, refs: pd.DataFrame) -> bool:
    """Return whether the names of fields say that PREDS has references and REFS candidates."""
    has_candidates = bool(columns_for(refs.columns, "candidate"))
    return has_candidates and not columns_for(preds.columns, "candidate")


def _named_fields(frame: pd.DataFrame, wanted: str | None, side: str) -> Fields:
    if wanted is None:
        return {}
    name = find_column(frame.columns, wanted, f"--column {side}", frame.attrs["name"])
    return {next((part for part in _PARTS if columns_for([name], part)), "whole"): name}


def _find_fields(
    frame: pd.DataFrame,
    side: str,
    parts: Mapping[str, Sequence[str]],
    taken: Collection[str],
) -> Fields:
    fields = {}
    for part, roles in parts.items():
        names = [name for role in roles for name in columns_for(frame.columns, role)]
        # A number may be called `target`; a list is refused with a word about --references.
        names = [
            name
            for name in names
            if name not in taken
            and (
                name == TEXT
                or _may_be_text(frame[name])
                or list in map(type, frame[name])
            )
        ]
        names = [name for name in names if _has_reports(frame[name])] or names
        if odd := [
            name for name in names if list(frame[name]) != list(frame[names[0]])
        ]:
            which = f"say by --column {side} which field holds the {side}"
            raise JudgeError(
                f"{frame.attrs['name']}: {which}: {join_names([names[0], *odd])}"
            )
        if names:
            fields[part] = names[0]
    return fields


def is_report_field(name: str, column: Iterable[object]) -> bool:
    """Return whether a field holds report text, which is not kept beside the study."""
    return any(columns_for([name], role) for role in _TEXT_ROLES) and _may_be_text(
        column
    )


def _has_reports(column: Iterable[object]) -> bool:
    """Return whether any value says something."""
    return any(
        not isinstance(value, str | None) or not says_nothing(value) for value in column
    )


def _may_be_text(column: Iterable[object]) -> bool:
    kinds = set(map(type, column))
    return str in kinds or kinds <= {type(None)}


def read_reports(
    frame: pd.DataFrame,
    fields: Fields,
    *,
    are_candidates: bool = False,
    null_is_missing: bool = False,
) -> Reports:
    """Return each study's sections and whole report.

    A text that says nothing (`says_nothing`) is missing as a reference. As a candidate it is empty:
    the model wrote nothing; a null too, unless `null_is_missing`. A candidate without headings is
    taken for any section. One that has only an impression has what stands before it as findings,
    and one that lacks a section otherwise is "" there. Blank sections of a whole report are left
    out of it.
    """
    sides = {
        part: _texts(frame, fields.get(part))
        for part in ("findings", "impression", "whole")
    }
    rows: list[dict[str, str | None]] = []
    split: dict[str, SplitReport] = {}
    for place, study_id in enumerate(frame.index):
        texts = {part: column[place] for part, column in sides.items()}
        whole = texts["whole"]
        parts = None if says_nothing(whole) else split_report(str(whole))
        if parts is not None and parts.has_headings:
            split[study_id] = parts
        row: dict[str, str | None] = {}
        for name in _PARTS:
            text = texts[name] if not says_nothing(texts[name]) else None
            if text is None and parts is not None:
                text = _from_whole(parts, name, are_candidates=are_candidates)
            row[name] = text
        row["report"] = _whole_report(whole, row)
        if are_candidates:
            is_null = null_is_missing and all(text is None for text in texts.values())
            for name in () if is_null else SECTIONS:
                has_field = "whole" in fields or name in fields or name == "report"
                if row[name] is None and has_field:
                    row[name] = ""
        rows.append(row)
    n_whole = sum(not says_nothing(whole) for whole in sides["whole"])
    return Reports(
        pd.DataFrame(rows, frame.index, list(SECTIONS), dtype=object), split, n_whole
    )


def _from_whole(parts: SplitReport, name: str, *, are_candidates: bool) -> str | None:
    """Return a section of a report in one piece, None where it is missing or blank."""
    text = parts.section(name)
    if text is None and are_candidates:
        if not parts.has_headings:
            text = parts.preamble
        elif name == "findings":
            # What a model writes before "Impression:" are findings, with or without a heading.
            text = parts.preamble
    return None if says_nothing(text) else text


def _whole_report(whole: str | None, sections: Mapping[str, str | None]) -> str | None:
    """Return a whole report without its blank sections, or one made of its sections."""
    if not says_nothing(whole):
        report = without_blank_sections(str(whole))
        return None if says_nothing(report) else report
    filled = [f"{name.title()}: {text}" for name, text in sections.items() if text]
    return " ".join(filled) or None


def _texts(frame: pd.DataFrame, name: str | None) -> list[str | None]:
    """Return a column of reports, each as a text or None; a list of one text is that text."""
    if name is None:
        return [None] * len(frame)
    texts = []
    for study_id, value in frame[name].items():
        if isinstance(value, list | tuple) and len(value) < 2:
            value = value[0] if value else None
        if value is not None and not isinstance(value, str):
            raise JudgeError(_not_a_text(frame, name, study_id, value))
        text = (
            None
            if value is None
            else value.replace("\r\n", "\n").replace("\r", "\n").strip()
        )
        texts.append(text)
    return texts


def _not_a_text(frame: pd.DataFrame, name: str, study_id: object, value: object) -> str:
    which = f"{frame.attrs['name']}: {name!r} of study {study_id!r}"
    if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return f"{which} has {len(value)} texts; --references best or mean takes several references"
    return f"{which} is not a text but a {type(value).__name__}"


def usual_section(references: pd.DataFrame) -> Section:
    """Return the section that is judged by default: findings, if at least half have them."""
    n_findings = int(references["findings"].notna().sum())
    n_filled = int(references["report"].notna().sum())
    return "findings" if 0 < n_filled <= n_findings * 2 else "report"
