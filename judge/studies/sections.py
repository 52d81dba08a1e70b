"""The sections of reports: the columns that hold them, and the texts of each study."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from judge.report_sections import (
    FINDINGS,
    JUDGED_SECTIONS,
    SECTION_NAMES,
    WHOLE_REPORT,
)
from judge.studies.columns import (
    REPORT_ROLES,
    TEXT,
    NamedFields,
    columns_for,
    find_column,
    join_names,
)
from judge.studies.headings import SplitReport, split_report, without_blank_sections
from judge.studies.input_table import InputPair, InputTable
from judge.text import says_nothing
from judge.types import JudgeError

Fields = dict[str, str]
"""The fields of a side's reports: by the name of a section, or by `WHOLE`."""

WHOLE = "whole"
"""The field of reports in one piece, whose sections are found by their headings."""

_SECTION_ROLES = {section.name: (section.name,) for section in JUDGED_SECTIONS}


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of one side: a table of their sections, and what the headings did to them.

    `table` has a column for each of `SECTION_NAMES` by study id, None for a missing text. `split`
    has the parts of each report that was split at headings; `n_whole` counts the reports that have
    a text in one piece.
    """

    table: pd.DataFrame
    split: Mapping[str, SplitReport]
    n_whole: int


def known_section(section: str | None) -> str | None:
    """Return the section; raises `JudgeError` for a name that is not in `SECTION_NAMES`."""
    if section is None or section in SECTION_NAMES:
        return section
    raise JudgeError(
        f"unknown section {section!r}; there are: {', '.join(SECTION_NAMES)}"
    )


def report_fields(pair: InputPair, fields: NamedFields) -> tuple[Fields, Fields]:
    """Return the fields of the candidates and of the references.

    Raises `JudgeError` where a side has none, or several that differ.
    """
    candidate = _named_fields(pair.preds, fields.candidate, "candidate")
    reference = _named_fields(pair.refs, fields.reference, "reference")
    if pair.is_one_table and candidate and candidate == reference:
        raise JudgeError(
            f"--column candidate and --column reference both name {fields.candidate}"
        )
    if not candidate:
        candidate = _find_fields(
            pair.preds,
            "candidate",
            parts={WHOLE: ("candidate",)},
            taken=_taken(pair, reference),
        )
    if not reference and (candidate or not pair.is_one_table):
        reference = _find_fields(
            pair.refs,
            "reference",
            parts=_SECTION_ROLES | {WHOLE: (WHOLE_REPORT, "reference")},
            taken=_taken(pair, candidate),
        )
    # In a file of their own, candidates may be in columns of sections too.
    if not candidate and not pair.is_one_table:
        candidate = _find_fields(
            pair.preds,
            "candidate",
            parts=_SECTION_ROLES | {WHOLE: (WHOLE_REPORT,)},
            taken=(),
        )
    if not candidate:
        raise JudgeError(_no_text("candidate", pair.preds, pair))
    if not reference:
        raise JudgeError(_no_text("reference", pair.refs, pair))
    return candidate, reference


def _taken(pair: InputPair, fields: Fields) -> Collection[str]:
    """Return the columns that the other side has in the same table."""
    if not pair.is_one_table:
        return ()
    return fields.values()


def _no_text(side: str, table: InputTable, pair: InputPair) -> str:
    """Return why a table has no reports of a side, and what to do."""
    columns = [table.frame.index.name, *table.frame.columns]
    names = join_names(str(name) for name in columns if name)
    what = f"{table.name} has no field of {side}s, only: {names}"
    if not pair.is_one_table and _are_swapped(pair):
        return f"{what}. Are PREDS and REFS swapped? PREDS, the candidates, comes first"
    advice = f"{what}; say which field has them, --column {side}=FIELD"
    if pair.is_one_table:
        return f"{advice}, or give two files, PREDS and REFS"
    return advice


def _are_swapped(pair: InputPair) -> bool:
    """Return whether the names of fields say that PREDS has references and REFS candidates."""
    in_refs = columns_for(pair.refs.frame.columns, "candidate")
    in_preds = columns_for(pair.preds.frame.columns, "candidate")
    return bool(in_refs) and not in_preds


def _named_fields(table: InputTable, wanted: str | None, side: str) -> Fields:
    """Return the field that the user names, by the section that its name says."""
    if wanted is None:
        return {}
    name = find_column(table.frame.columns, wanted, f"--column {side}", table.name)
    for section in JUDGED_SECTIONS:
        if columns_for([name], section.name):
            return {section.name: name}
    return {WHOLE: name}


def _find_fields(
    table: InputTable,
    side: str,
    *,
    parts: Mapping[str, Sequence[str]],
    taken: Collection[str],
) -> Fields:
    """Return the first column of each part's roles that has reports.

    Raises `JudgeError` where two columns of a part have other texts.
    """
    frame = table.frame
    fields = {}
    for part, roles in parts.items():
        names: list[str] = []
        for role in roles:
            names += columns_for(frame.columns, role)
        free = [name for name in names if name not in taken]
        likely = [name for name in free if _may_be_reports(frame, name)]
        # Blank columns count only where all are blank.
        filled = [name for name in likely if _has_reports(frame[name])]
        candidates = filled or likely
        if not candidates:
            continue
        first = candidates[0]
        texts = list(frame[first])
        odd = [name for name in candidates if list(frame[name]) != texts]
        if odd:
            raise JudgeError(
                f"{table.name}: say by --column {side} which field holds the {side}: "
                f"{join_names([first, *odd])}"
            )
        fields[part] = first
    return fields


def _may_be_reports(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a column with a known name may hold reports.

    A number may be called `target`; a list is refused later, with a word about --references.
    """
    if name == TEXT:
        return True
    column = frame[name]
    return _may_be_text(column) or list in map(type, column)


def is_report_field(name: str, column: Iterable[object]) -> bool:
    """Return whether a field holds report text, which is not kept beside the study."""
    has_known_name = any(columns_for([name], role) for role in REPORT_ROLES)
    return has_known_name and _may_be_text(column)


def _has_reports(column: Iterable[object]) -> bool:
    """Return whether any value says something."""
    return any(
        not isinstance(value, str | None) or not says_nothing(value) for value in column
    )


def _may_be_text(column: Iterable[object]) -> bool:
    kinds = set(map(type, column))
    return str in kinds or kinds <= {type(None)}


def read_reports(
    table: InputTable,
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
    out of it. Raises `JudgeError` for a value that is no text.
    """
    columns: dict[str, list[str | None]] = {}
    for part in (*_SECTION_ROLES, WHOLE):
        columns[part] = _texts(table, fields.get(part))
    rows: list[dict[str, str | None]] = []
    split: dict[str, SplitReport] = {}
    for at, study_id in enumerate(table.frame.index):
        texts = {part: column[at] for part, column in columns.items()}
        parts = _split(texts[WHOLE])
        if parts is not None and parts.has_headings:
            split[study_id] = parts
        row = _row(texts, parts, are_candidates=are_candidates)
        is_null = null_is_missing and all(text is None for text in texts.values())
        if are_candidates and not is_null:
            _fill_with_empty(row, fields)
        rows.append(row)
    n_whole = sum(not says_nothing(whole) for whole in columns[WHOLE])
    sections = pd.DataFrame(
        rows, index=table.frame.index, columns=list(SECTION_NAMES), dtype=object
    )
    return Reports(sections, split, n_whole)


def judged_text(report: str, section: str, *, is_candidate: bool = False) -> str | None:
    """Return what is judged of a report in one piece, by the rules of `read_reports`.

    None for a reference that lacks the section, or says nothing; such a candidate is empty.
    """
    texts: dict[str, str | None] = dict.fromkeys(_SECTION_ROLES)
    texts[WHOLE] = _tidy(report)
    row = _row(texts, _split(texts[WHOLE]), are_candidates=is_candidate)
    if is_candidate:
        _fill_with_empty(row, {WHOLE: "candidate"})
    return row[section]


def _split(whole: str | None) -> SplitReport | None:
    """Return the parts of a report in one piece; None where it says nothing."""
    if says_nothing(whole):
        return None
    return split_report(str(whole))


def _row(
    texts: Mapping[str, str | None], parts: SplitReport | None, *, are_candidates: bool
) -> dict[str, str | None]:
    """Return the sections of one report, and the whole of it, by their names."""
    row = _sections_of(texts, parts, are_candidates=are_candidates)
    row[WHOLE_REPORT] = _whole_report(texts[WHOLE], row)
    return row


def _sections_of(
    texts: Mapping[str, str | None], parts: SplitReport | None, *, are_candidates: bool
) -> dict[str, str | None]:
    """Return each section from its own column, else from the report in one piece."""
    sections: dict[str, str | None] = {}
    for name in _SECTION_ROLES:
        text = texts[name]
        if not says_nothing(text):
            sections[name] = text
        elif parts is not None:
            sections[name] = _from_whole(parts, name, are_candidates=are_candidates)
        else:
            sections[name] = None
    return sections


def _fill_with_empty(row: dict[str, str | None], fields: Fields) -> None:
    """Make a candidate's missing texts empty, where its table has a field for them."""
    for name in SECTION_NAMES:
        has_field = WHOLE in fields or name in fields or name == WHOLE_REPORT
        if row[name] is None and has_field:
            row[name] = ""


def _from_whole(parts: SplitReport, name: str, *, are_candidates: bool) -> str | None:
    """Return a section of a report in one piece, None where it is missing or blank."""
    text = parts.section(name)
    # What a model writes before "Impression:" are findings, with or without a heading.
    is_before_headings = not parts.has_headings or name == FINDINGS
    if text is None and are_candidates and is_before_headings:
        text = parts.preamble
    if says_nothing(text):
        return None
    return text


def _whole_report(whole: str | None, sections: Mapping[str, str | None]) -> str | None:
    """Return a whole report without its blank sections, or one made of its sections."""
    if not says_nothing(whole):
        report = without_blank_sections(str(whole))
        if says_nothing(report):
            return None
        return report
    filled: list[str] = []
    for section in JUDGED_SECTIONS:
        text = sections[section.name]
        if text:
            filled.append(f"{section.label}: {text}")
    return " ".join(filled) or None


def _texts(table: InputTable, name: str | None) -> list[str | None]:
    """Return a column of reports, each as a text or None; a list of one text is that text."""
    if name is None:
        return [None] * len(table.frame)
    texts: list[str | None] = []
    for study_id, cell in table.frame[name].items():
        value = cell
        if isinstance(value, list | tuple) and len(value) < 2:
            value = next(iter(value), None)
        if value is None:
            texts.append(None)
        elif isinstance(value, str):
            texts.append(_tidy(value))
        else:
            which = f"{table.name}: {name!r} of study {study_id!r}"
            raise JudgeError(f"{which} {_not_a_text(value)}")
    return texts


def _tidy(text: str) -> str:
    """Return a report with one kind of line ends, and nothing blank around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _not_a_text(value: object) -> str:
    if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return f"has {len(value)} texts; --references best or mean takes several references"
    return f"is not a text but a {type(value).__name__}"


def usual_section(references: pd.DataFrame) -> str:
    """Return the section that is judged by default: findings, if at least half have them."""
    n_findings = int(references[FINDINGS].notna().sum())
    n_filled = int(references[WHOLE_REPORT].notna().sum())
    if 0 < n_filled <= n_findings * 2:
        return FINDINGS
    return WHOLE_REPORT
