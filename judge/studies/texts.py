"""Which fields hold the reports, and what text of them is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from judge.studies.load import TEXT, Table
from judge.studies.names import FIELD_NAMES, TEXT_ROLES, NamedFields, listed, matching, the_field
from judge.studies.sections import Section, split_report
from judge.types import JudgeError

# Groups of equal roles, the likelier first.
_CANDIDATE_ROLES = (("candidate",), ("candidate, failing these",))
_ANY_REPORT = ("whole report, failing these",)
_REFERENCE_ROLES = (("whole report", "reference"), ("reference, failing these",), _ANY_REPORT)
_REPORT_ROLES = (("whole report",), _ANY_REPORT)
_MISSING = frozenset({"none", "nan", "null", "n/a", "na"})


@dataclass(frozen=True, slots=True)
class ReportFields:
    """The fields that hold a side's reports, None where there is no such field."""

    findings: str | None = None
    impression: str | None = None
    whole: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The fields there are."""
        return tuple(filter(None, (self.findings, self.impression, self.whole)))


Reports = Mapping[str, list[str | None]]
"""Columns `findings`, `impression`, `report` and `whole`, the report as it stands in one field.

A value is None where nothing is said, "" where it is empty.
"""


class Cut(StrEnum):
    """How a candidate was cut to a section, as the notes say it."""

    PREAMBLE = "candidates without a findings heading, cut at their first heading"
    ABSENT = "candidates with headings but none for the section, judged as empty"


def report_fields(
    preds: Table, refs: Table, fields: NamedFields
) -> tuple[ReportFields, ReportFields]:
    """Return the fields of the candidates and of the references, which may be in one table.

    Raises `JudgeError` where a side has none, and where two that could be it differ.
    """
    is_one = preds is refs
    candidate = _named(preds, fields.candidate, "candidate")
    reference = _named(refs, fields.reference, "reference")
    if is_one and candidate.names and candidate == reference:
        raise JudgeError(f"--candidate-field and --reference-field both name {candidate.names[0]}")
    if not candidate.names:
        taken = reference.names if is_one else ()
        candidate = ReportFields(whole=_pick(preds, _CANDIDATE_ROLES, taken, "candidate"))
    if not reference.names and (candidate.names or not is_one):
        reference = _whole_and_sections(
            refs, _REFERENCE_ROLES, candidate.names if is_one else (), "reference"
        )
    if not candidate.names and not is_one:  # a section is a candidate's too, in their own file
        candidate = _whole_and_sections(preds, _REPORT_ROLES, (), "candidate")
    for side, table, found in (("candidate", preds, candidate), ("reference", refs, reference)):
        if not found.names:
            usual = listed(FIELD_NAMES[side], 2)
            two = ", or give two files, PREDS and REFS" if is_one else ""
            raise JudgeError(
                f"{table.name} has no field for the {side}s ({usual}); its fields are: "
                f"{listed(table.all_fields)}; name it with --{side}-field{two}"
            )
    return candidate, reference


def is_reference(name: str) -> bool:
    """Whether a field is called as references and their sections are."""
    roles = ("findings", "impression", *(role for group in _REFERENCE_ROLES for role in group))
    return any(matching([name], role) for role in roles)


def is_report_field(name: str, column: Sequence[object]) -> bool:
    """Whether a field holds report text, used or not, and so isn't kept beside the study."""
    return any(matching([name], role) for role in TEXT_ROLES) and _may_be_text(column)


def read_reports(table: Table, fields: ReportFields) -> Reports:
    """Read each study's report: sections are split off the whole, and put together to a whole.

    Raises `JudgeError` for a value that is no text.
    """
    columns = [_texts(table, name) for name in (fields.findings, fields.impression, fields.whole)]
    rows = []
    for findings, impression, whole in zip(*columns, strict=True):
        if whole and not (findings and impression):
            split = split_report(whole)
            findings = findings or (findings if split.findings is None else split.findings)
            impression = impression or (
                impression if split.impression is None else split.impression
            )
        parts = {"Findings": findings, "Impression": impression}
        report = whole or " ".join(f"{name}: {text}" for name, text in parts.items() if text)
        is_missing = (findings, impression, whole) == (None, None, None)
        rows.append((findings, impression, None if is_missing else report, whole))
    names = ("findings", "impression", "report", "whole")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def cut_candidates(reports: Reports, section: Section) -> list[tuple[str | None, Cut | None]]:
    """Return each study's candidate, a whole text cut to the section where it has headings.

    None where there is no value: an empty text is an empty candidate.
    """
    pairs = zip(reports[section], reports["whole"], strict=True)
    return [
        (text, None) if text or whole is None else _cut(whole, section) for text, whole in pairs
    ]


def _cut(whole: str, section: Section) -> tuple[str, Cut | None]:
    split = split_report(whole)
    if section == "report" or (split.findings is None and split.impression is None):
        return whole, None
    wanted = split.findings if section == "findings" else split.impression
    if wanted is not None:
        return wanted, None
    if section == "findings" and split.preamble:
        return split.preamble, Cut.PREAMBLE
    return "", Cut.ABSENT


def usual_section(reports: Reports) -> Section:
    """Return the section that is judged where none is named: findings, if most reports have them.

    Half of them are most; reports without any text do not count.
    """
    n_findings, n_filled = (sum(map(bool, reports[name])) for name in ("findings", "report"))
    return "findings" if 0 < n_filled <= n_findings * 2 else "report"


def says_nothing(report: str) -> bool:
    """Return whether a reference is none: without letter and digit, or a word for a missing value.

    `___` is what stands where a name was taken out, `None` and `nan` what is left of a missing one.
    """
    return not any(map(str.isalnum, report)) or report.strip().lower() in _MISSING


def _named(table: Table, wanted: str | None, side: str) -> ReportFields:
    if wanted is None:
        return ReportFields()
    name = the_field(table.fields, wanted, f"--{side}-field", table.name)
    role = next((role for role in ("findings", "impression") if matching([name], role)), "whole")
    return ReportFields(**{role: name})


def _whole_and_sections(
    table: Table, roles: tuple[tuple[str, ...], ...], taken: Sequence[str], side: str
) -> ReportFields:
    groups = ((("findings",),), (("impression",),), roles)
    return ReportFields(*(_pick(table, group, taken, side) for group in groups))


def _pick(
    table: Table, groups: tuple[tuple[str, ...], ...], taken: Sequence[str], side: str
) -> str | None:
    there = {name: table.column(name) for name in table.fields if name not in taken}
    for roles in groups:
        names = [name for role in roles for name in matching(there, role)]
        # A number may be called `target`; a list is refused with a word about --references.
        names = [
            name
            for name in names
            if name == TEXT or _may_be_text(there[name]) or list in map(type, there[name])
        ]
        found = [name for name in names if any(there[name])] or names
        if odd := [name for name in found if there[name] != there[found[0]]]:
            raise JudgeError(
                f"{table.name} has more than one field that could be the {side}, and they "
                f"differ: {listed([found[0], *odd])}; say which is meant (--{side}-field)"
            )
        if found:
            return found[0]
    return None


def _may_be_text(column: Sequence[object]) -> bool:
    return any(isinstance(value, str) for value in column) or all(v is None for v in column)


def _texts(table: Table, name: str | None) -> list[str | None]:
    if name is None:
        return [None] * len(table)
    texts: list[str | None] = []
    for study_id, value in zip(table.ids, table.column(name), strict=True):
        if value is not None and not isinstance(value, str):
            kind = type(value).__name__
            way = "; --references takes several of a study" if kind == "list" else ""
            raise JudgeError(
                f"{table.name}: {name!r} of study {study_id!r} is not a text but a {kind}: "
                f"{str(value)[:40]}{way}"
            )
        texts.append(value and _plain(value))
    return texts


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()
