"""The sections of reports: the columns that hold them, and headings within a text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import pandas as pd

from judge.studies.columns import TEXT, NamedFields, columns_for, find_column, join_names
from judge.types import JudgeError

Section = Literal["findings", "impression", "report"]

SECTIONS: tuple[Section, ...] = ("findings", "impression", "report")
"""The sections that can be judged."""

Fields = dict[str, str]
"""The fields of a side's reports, by `findings`, `impression` and `whole`, where there are such."""

_TEXT_ROLES = ("candidate", "reference", "findings", "impression", "report")
_PARTS = {"findings": ("findings",), "impression": ("impression",)}
_MISSING = frozenset({"none", "nan", "null", "n/a", "na"})
_FINDINGS = r"findings?"
_IMPRESSION = r"impressions?|conclusions?|opinion"
_BOTH = rf"(?:{_FINDINGS})\s?(?:/|&|and)\s?(?:{_IMPRESSION})"
_OTHER = (
    r"(?:clinical |brief )?(?:indications?|history|information)|reason for (?:the )?"
    r"(?:exam(?:ination)?|study)|comparisons?(?: study)?|technique|procedure|protocol|views?|"
    r"exam(?:ination)?|recommendations?|addendum|notification|final report|context|"
    r"(?:electronically )?signed(?: by)?|dictated by"
)
_HEADING = re.compile(
    rf"""
    (?<![^\W_])(?P<name>
        (?P<both>{_BOTH.replace(" ", "[ ]")})
      | (?P<findings>{_FINDINGS})
      | (?P<impression>{_IMPRESSION})
      | (?P<other>{_OTHER.replace(" ", "[ ]")})
    )
    [*_ \t]*
    (?: (?P<colon>:)[*_]* | $ )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def known_section(section: str | None) -> Section | None:
    """Return the section with this name; raises `JudgeError` for an unknown name."""
    known = next((known for known in SECTIONS if known == section), None)
    if known == section:
        return known
    raise JudgeError(f"unknown section {section!r}; there are: {', '.join(SECTIONS)}")


def split_report(text: str) -> dict[str, str | None]:
    """Split a report by its headings: `findings`, `impression`, and the `preamble` before them.

    A section is None where it has no heading. A heading is a known name in any case with a
    colon, at the start of a line or of a sentence, or anywhere if capitalised; or a capitalised
    name alone on its line. A heading for something else ("Comparison:", ...) ends a section.
    """
    sections: dict[str, str | None] = {"findings": None, "impression": None}
    headings = [match for match in _HEADING.finditer(text) if _is_heading(text, match)]
    bounds = [*(_before_markup(text, match.start()) for match in headings), len(text)]
    for match, end in zip(headings, bounds[1:], strict=True):
        body = text[match.end() : end].strip()
        for name, before in sections.items():
            if match[name] or match["both"]:
                sections[name] = f"{before}\n{body}".strip() if before else body
    return {**sections, "preamble": text[: bounds[0]].strip()}


def _is_heading(text: str, match: re.Match[str]) -> bool:
    before = text[: _before_markup(text, match.start())][-1:] or "\n"
    capitalised = match["name"][0].isupper()
    if not match["colon"]:
        return before == "\n" and capitalised
    return before in "\n.!?;" or capitalised


def _before_markup(text: str, position: int) -> int:
    return len(text[:position].rstrip("#*_ \t"))


def report_fields(
    preds: pd.DataFrame, refs: pd.DataFrame, fields: NamedFields
) -> tuple[Fields, Fields]:
    """Return the fields of the candidates and of the references, which may be in one table."""
    is_one = preds is refs
    candidate = _named_fields(preds, fields.candidate, "candidate")
    reference = _named_fields(refs, fields.reference, "reference")
    if is_one and candidate and candidate == reference:
        raise JudgeError(f"--column candidate and --column reference both name {fields.candidate}")
    if not candidate:
        taken = reference.values() if is_one else ()
        candidate = _find_fields(preds, "candidate", {"whole": ("candidate",)}, taken)
    if not reference and (candidate or not is_one):
        taken = candidate.values() if is_one else ()
        parts = _PARTS | {"whole": ("report", "reference")}
        reference = _find_fields(refs, "reference", parts, taken)
    if not candidate and not is_one:  # a section is a candidate's too, in their own file
        candidate = _find_fields(preds, "candidate", _PARTS | {"whole": ("report",)}, ())
    for side, frame, chosen in (("candidate", preds, candidate), ("reference", refs, reference)):
        if not chosen:
            names = join_names(name for name in (frame.index.name, *frame.columns) if name)
            raise JudgeError(
                f"{frame.attrs['name']} has no text field for the {side}s, only: {names}; name it "
                f"with --column {side}, or give two files, PREDS and REFS"
            )
    return candidate, reference


def _named_fields(frame: pd.DataFrame, wanted: str | None, side: str) -> Fields:
    if wanted is None:
        return {}
    name = find_column(frame.columns, wanted, f"--column {side}", frame.attrs["name"])
    return {next((part for part in _PARTS if columns_for([name], part)), "whole"): name}


def _find_fields(
    frame: pd.DataFrame, side: str, parts: Mapping[str, Sequence[str]], taken: Collection[str]
) -> Fields:
    fields = {}
    for part, roles in parts.items():
        names = [name for role in roles for name in columns_for(frame.columns, role)]
        # A number may be called `target`; a list is refused with a word about --references.
        names = [
            name
            for name in names
            if name not in taken
            and (name == TEXT or _may_be_text(frame[name]) or list in map(type, frame[name]))
        ]
        names = [name for name in names if any(frame[name])] or names
        if odd := [name for name in names if list(frame[name]) != list(frame[names[0]])]:
            which = f"say by --column {side} which field holds the {side}"
            raise JudgeError(f"{frame.attrs['name']}: {which}: {join_names([names[0], *odd])}")
        if names:
            fields[part] = names[0]
    return fields


def is_report_field(name: str, column: Iterable[object]) -> bool:
    """Return whether a field holds report text, which is not kept beside the study."""
    return any(columns_for([name], role) for role in _TEXT_ROLES) and _may_be_text(column)


def _may_be_text(column: Iterable[object]) -> bool:
    kinds = set(map(type, column))
    return str in kinds or kinds <= {type(None)}


def read_reports(
    frame: pd.DataFrame, fields: Fields, *, are_candidates: bool = False
) -> pd.DataFrame:
    """Return each study's `findings`, `impression` and `report`, None for a missing text.

    A candidate without headings is taken for any section; one that has only other headings is "".
    """
    columns = [_texts(frame, fields.get(part)) for part in ("findings", "impression", "whole")]
    rows = []
    for findings, impression, whole in zip(*columns, strict=True):
        texts = {"findings": findings, "impression": impression}
        parts = [f"{name.title()}: {text}" for name, text in texts.items() if text]
        is_missing = (findings, impression, whole) == (None, None, None)
        report = None if is_missing else whole or " ".join(parts)
        split = split_report(whole or "")
        if are_candidates and whole is not None:
            is_plain = split["findings"] is split["impression"] is None
            for name, other in (("findings", split["preamble"]), ("impression", "")):
                if split[name] is None:
                    split[name] = whole if is_plain else other
        for name in _PARTS:
            if not texts[name] and split[name] is not None:
                texts[name] = split[name]
        rows.append({**texts, "report": report})
    return pd.DataFrame(rows, frame.index, list(SECTIONS), dtype=object)


def _texts(frame: pd.DataFrame, name: str | None) -> list[str | None]:
    if name is None:
        return [None] * len(frame)
    for study_id, value in frame[name].items():
        if value is not None and not isinstance(value, str):
            kind, source = type(value).__name__, frame.attrs["name"]
            way = "; --references takes several of a study" if kind == "list" else ""
            raise JudgeError(f"{source}: {name!r} of study {study_id!r} is a {kind}, no text{way}")
    return [text and text.replace("\r\n", "\n").replace("\r", "\n").strip() for text in frame[name]]


def usual_section(reports: pd.DataFrame) -> Section:
    """Return the section that is judged by default: findings, if at least half have them."""
    n_findings, n_filled = (sum(map(bool, reports[name])) for name in ("findings", "report"))
    return "findings" if 0 < n_filled <= n_findings * 2 else "report"


def says_nothing(report: str) -> bool:
    """Return whether a reference is blank: `___` or a word for a missing value."""
    return not any(map(str.isalnum, report)) or report.strip().lower() in _MISSING
