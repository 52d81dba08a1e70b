"""Which fields hold the reports, and what text of them is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from judge.studies.names import TEXT_ROLES, listed, matching, named
from judge.studies.sections import Section, split_report
from judge.studies.table import StudyTable
from judge.types import JudgeError

CANDIDATE_ROLES = (("candidate",), ("candidate, failing these",))
"""The roles that a field of candidates can have: groups of equals, the likelier first."""

_ANY_REPORT = ("whole report, failing these",)
REFERENCE_ROLES = (("whole report", "reference"), ("reference, failing these",), _ANY_REPORT)
"""The roles that a field of whole reference reports can have, likewise."""

_REPORT_ROLES = (("whole report",), _ANY_REPORT)

_MISSING = frozenset({"none", "nan", "null", "n/a", "na"})


@dataclass(frozen=True, slots=True)
class ReportFields:
    """The names of the fields that hold a side's reports, None where there is no such field."""

    findings: str | None = None
    impression: str | None = None
    whole: str | None = None

    def __bool__(self) -> bool:
        return bool(self.names)

    @property
    def first(self) -> str | None:
        """One of the fields, None where there is none."""
        return next(iter(self.names), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields there are."""
        return tuple(filter(None, (self.findings, self.impression, self.whole)))


@dataclass(frozen=True, slots=True)
class Report:
    """What a file says of one study's report: None where it says nothing, "" where it is empty."""

    findings: str | None
    impression: str | None
    whole: str | None

    def text(self, section: Section) -> str | None:
        """Return the section; a whole report is put together from its sections if need be."""
        if section != "report":
            return self.findings if section == "findings" else self.impression
        if self.whole:
            return self.whole
        parts = [("Findings", self.findings), ("Impression", self.impression)]
        joined = " ".join(f"{heading}: {text}" for heading, text in parts if text)
        nothing = None if (self.whole, self.findings, self.impression) == (None,) * 3 else ""
        return joined or nothing


class Cut(StrEnum):
    """How a candidate was cut to a section, as it is said in the notes."""

    PREAMBLE = "candidates without a findings heading, cut at their first heading"
    ABSENT = "candidates with headings but none for the section, judged as empty"


def reference_fields(table: StudyTable, taken: str | None = None) -> ReportFields:
    """Find the fields that hold whole reference reports or their sections, `taken` set aside."""
    return _report_fields(table, REFERENCE_ROLES, taken, "--reference-field")


def candidate_report_fields(table: StudyTable) -> ReportFields:
    """Find the same for candidates: a field called a reference isn't one."""
    return _report_fields(table, _REPORT_ROLES, None, "--candidate-field")


def candidate_field(table: StudyTable, taken: str | None = None) -> ReportFields:
    """Find the field that is called a candidate, `taken` set aside."""
    return ReportFields(whole=_pick(table, CANDIDATE_ROLES, taken, "--candidate-field"))


def named_field(table: StudyTable, name: str, option: str) -> ReportFields:
    """Return the field of reports that the user named with `option`.

    One that is known as a section is that section. Raises `JudgeError` where there is no such
    field, and where several differ in case and punctuation alone.
    """
    found = named(table.columns, name)
    if len(found) != 1:
        wrong = f"has no field {name!r}" if not found else f"has several: {listed(found)}"
        raise JudgeError(
            f"{table.name} {wrong}, for {option}; its fields are: {listed(table.columns)}"
        )
    if matching(found, "findings"):
        return ReportFields(findings=found[0])
    if matching(found, "impression"):
        return ReportFields(impression=found[0])
    return ReportFields(whole=found[0])


def is_report_field(name: str, column: list[object]) -> bool:
    """Whether a field holds report text, used or not, and so isn't kept beside the study."""
    return any(matching([name], role) for role in TEXT_ROLES) and (
        any(isinstance(value, str) for value in column) or all(value is None for value in column)
    )


def read_reports(table: StudyTable, fields: ReportFields) -> list[Report]:
    """Read each study's report; a section without a field of its own is split off the whole."""
    reports = []
    for row in range(len(table)):
        findings = text_of(table, fields.findings, row)
        impression = text_of(table, fields.impression, row)
        whole = text_of(table, fields.whole, row)
        if whole and not (findings and impression):
            split = split_report(whole)
            findings = findings or _first(split.findings, findings)
            impression = impression or _first(split.impression, impression)
        reports.append(Report(findings, impression, whole))
    return reports


def cut_candidates(
    reports: Sequence[Report], section: Section
) -> list[tuple[str | None, Cut | None]]:
    """Return each study's candidate, a whole text cut to the section where it has headings.

    None where the file has no value: an empty text is an empty candidate.
    """
    found: list[tuple[str | None, Cut | None]] = []
    for report in reports:
        text = report.text(section)
        whole = report.whole
        found.append((text, None) if text or whole is None else _cut(whole, section))
    return found


def _cut(text: str | None, section: Section) -> tuple[str | None, Cut | None]:
    if not text or section == "report":
        return text, None
    split = split_report(text)
    if split.findings is None and split.impression is None:
        return text, None
    wanted = split.findings if section == "findings" else split.impression
    if wanted is not None:
        return wanted, None
    if section == "findings" and split.preamble:
        return split.preamble, Cut.PREAMBLE
    return "", Cut.ABSENT


def _first(text: str | None, otherwise: str | None) -> str | None:
    return otherwise if text is None else text


def _report_fields(
    table: StudyTable, whole: tuple[tuple[str, ...], ...], taken: str | None, option: str
) -> ReportFields:
    return ReportFields(
        _pick(table, (("findings",),), taken, option),
        _pick(table, (("impression",),), taken, option),
        _pick(table, whole, taken, option),
    )


def _pick(
    table: StudyTable, groups: tuple[tuple[str, ...], ...], taken: str | None, option: str
) -> str | None:
    there = [name for name in table.columns if name != taken]
    for roles in groups:
        fields = [name for role in roles for name in matching(there, role)]
        found = [name for name in fields if _has_text(table.columns, name)] or [
            name for name in fields if all(value is None for value in table.columns[name])
        ]
        differing = [n for n in found[1:] if table.columns[n] != table.columns[found[0]]]
        if differing:
            raise JudgeError(
                f"{table.name} has more than one field that could be the {_side(roles)}, and they "
                f"differ: {listed([found[0], *differing])}; say which is meant ({option}), or "
                "rename the others"
            )
        if found:
            return found[0]
    return None


def _side(roles: tuple[str, ...]) -> str:
    return roles[-1].partition(",")[0]


def _has_text(columns: Mapping[str, list[object]], name: str) -> bool:
    return any(isinstance(value, str) for value in columns[name])


def says_nothing(report: str) -> bool:
    """Return whether a reference is none: without letter and digit, or a word for a missing value.

    `___` is what stands where a name was taken out, `None` and `nan` what is left of a missing one.
    """
    return not any(map(str.isalnum, report)) or report.strip().lower() in _MISSING


def text_of(table: StudyTable, field: str | None, row: int) -> str | None:
    """Return a text with line feeds for line ends and no space around it, None for none.

    Raises `JudgeError` for a value that is no text.
    """
    value = None if field is None else table.columns[field][row]
    if value is None:
        return None
    if not isinstance(value, str):
        kind = type(value).__name__
        raise JudgeError(
            f"{table.name}: {field!r} of study {table.ids[row]!r} is not a text but a {kind}: "
            f"{str(value)[:40]}"
            + ("; --references takes several references of a study" if kind == "list" else "")
        )
    return value.replace("\r\n", "\n").replace("\r", "\n").strip()
