"""The names of fields that are understood, and what text of a report is judged.

Names are compared without regard to case and punctuation: `Study-ID` is `study_id`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

FIELD_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "id": ("study_id", "id", "study", "accession_number", "accession", "exam_id", "uid"),
        "candidate": (
            *("model_prediction", "prediction", "predicted_report", "candidate"),
            *("candidate_report", "generated", "generated_report", "hypothesis"),
            *("pred", "preds", "hyp", "hyps", "model_output", "output", "response"),
        ),
        "findings": ("section_findings", "findings", "findings_section"),
        "impression": ("section_impression", "impression", "impression_section"),
        "report": ("report", "full_report", "report_text", "text"),
        "reference": (
            *("reference", "reference_report", "ground_truth", "ground_truth_report"),
            *("gt_report", "radiologist_report", "gt", "ref", "refs", "target", "targets"),
        ),
        "patient": ("patient", "patient_id", "subject_id", "subject"),
        "study class": ("study_class",),
    }
)
"""What a field is taken for -> the names it may have, the likeliest first."""

MAX_INPUT = 4 * 10**9
"""The most bytes that a file may decode to."""

Columns = Mapping[str, Sequence[object]]

_RESERVED_NAMES = {
    *("study_id", "study_class", "class_inferred", "reference", "candidate", "outcome", "reason"),
    *("warnings", "answer", "green"),
}
_RESERVED_PREFIXES = ("n_", "significant_", "insignificant_")
_ROLE = re.compile(
    r"\A(preds?|predictions?)[-_.](?=.)|(?<=.)[-_.](preds?|predictions?)\Z|\A-\Z", re.IGNORECASE
)
_ENDS = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".gz", ".txt"}
_INT64 = 2**63
_CLASSES = ("normal", "abnormal")


@dataclass(frozen=True, slots=True)
class NamedFields:
    """The fields that the user named, None for the usual names, and how the files are read.

    With `several` studies may have several references, which the field `reference_id` tells apart.
    `max_input` is the most bytes that a file may decode to.
    """

    id: str | None = None
    candidate: str | None = None
    reference: str | None = None
    study_class: str | None = None
    patient: str | None = None
    reference_id: str | None = None
    several: bool = False
    encoding: str | None = None
    max_input: int = MAX_INPUT

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the fields that options name, `id_field` to `patient_field`; "" names none."""
        return cls(
            id=options["id_field"] or None,
            candidate=options["candidate_field"] or None,
            reference=options["reference_field"] or None,
            study_class=options["class_field"] or None,
            patient=options["patient_field"] or None,
            reference_id=options.get("reference_id_field") or None,
            several=options.get("references") is not None,
            encoding=options.get("encoding"),
            max_input=options.get("max_input") or MAX_INPUT,
        )


KNOWN_NAMES = NamedFields()


def plain(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", name.casefold())


def named(columns: Iterable[str], name: str) -> list[str]:
    """Return the columns that a user means by `name`: of that very name, else of its letters."""
    alike = [column for column in columns if plain(column) == plain(name)]
    return [name] if name in alike else alike


def matching(names: Iterable[str], role: str) -> list[str]:
    """Return those of `names` that stand for `role`, the likeliest first."""
    wanted = [plain(name) for name in FIELD_NAMES[role]]
    known = [name for name in names if plain(name) in wanted]
    return sorted(known, key=lambda name: wanted.index(plain(name)))


def the_field(fields: Iterable[str], wanted: str, option: str, where: str = "the studies") -> str:
    """Return the field that a user names with `option`; raises `JudgeError` where there is none."""
    fields = list(fields)
    matches = named(fields, wanted)
    if len(matches) == 1:
        return matches[0]
    wrong, there = "several fields" if matches else "no field", listed(fields, 30) or "none"
    raise JudgeError(f"{where}: {wrong} {wanted!r}, for {option}; the fields are: {there}")


def listed(items: Iterable[str], most: int = 10) -> str:
    """Return the first few items as `a, b, c, ...`."""
    shown = list(items)
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")


# The model that wrote the candidates.


def model_of(path: str) -> str | None:
    """Return the model that a file is named after, `a` of `preds_a.json.gz`, None of `-`."""
    return _ROLE.sub("", stem_of(path)) or None


def stem_of(path: str) -> str:
    """Return the name of a file without its folder and endings, `preds_a` of `preds_a.json.gz`."""
    stem = Path(path)
    while stem.suffix.lower() in _ENDS:
        stem = stem.with_suffix("")
    return stem.name


# The fields beside the reports.


def merge(refs: Columns, preds: Columns) -> dict[str, tuple[object, ...]]:
    """Merge the fields of both sides; where they differ that of PREDS is `candidate_<name>`."""
    merged = {name: tidy_column(column) for name, column in refs.items()}
    for name, values in preds.items():
        column = tidy_column(values)
        if name not in merged:
            merged[name] = column
        elif any(
            theirs is not None and (ours is None or as_text(ours) != as_text(theirs))
            for ours, theirs in zip(merged[name], column, strict=True)
        ):
            merged[free_name(f"candidate_{name}", {*merged, *preds})] = column
    return merged


def renamed(
    fields: Columns, further: Collection[str] = (), patient: str | None = None
) -> dict[str, tuple[object, ...]]:
    """Return the fields, `patient` by that name, and what would hide another as `field_<name>`."""
    reserved = {"", *_RESERVED_NAMES, *further, *(["patient"] if patient else [])}
    columns: dict[str, tuple[object, ...]] = {}
    for name, column in fields.items():
        new = name
        if name == patient:
            new = "patient"
        elif name in reserved or name.startswith(_RESERVED_PREFIXES):
            new = free_name(f"field_{name}", {*fields, *columns})
        columns[new] = tuple(column)
    return columns


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, or the first of `name_2`, `name_3`, ... that isn't taken."""
    names = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(free for free in names if free not in taken)


def tidy_column(values: Sequence[object]) -> tuple[object, ...]:
    """Return a column of one type, nested values as JSON, None where one is missing or empty."""
    tidy = [_tidy(value) for value in values]
    kinds = {type(value) for value in tidy if value is not None}
    if len(kinds) < 2:
        return tuple(tidy)
    if kinds == {int, float}:
        return tuple(None if value is None else float(str(value)) for value in tidy)
    return tuple(None if value is None else as_text(value) for value in tidy)


def as_text(value: object) -> str:
    """Return a value as text: true and false in lower case, a whole fraction as a whole number."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _tidy(value: object) -> object:
    match value:
        case None | bool():
            return value
        case int():
            return value if -_INT64 <= value < _INT64 else str(value)
        case float():
            return None if math.isnan(value) else value if math.isfinite(value) else str(value)
        case str():
            return value.replace("\r\n", "\n").replace("\r", "\n").strip() or None
        case dict() | list() | tuple():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        case _:
            return str(value)


def find_classes(
    fields: Columns, n_studies: int, class_field: str | None
) -> tuple[tuple[str | None, ...], str | None]:
    """Return each study's class, None where it isn't known, and the field that gave it."""
    if class_field:
        name: str | None = the_field(fields, class_field, "--class-field")
    else:
        name = next((name for name in matching(fields, "study class") if any(fields[name])), None)
    if name is None:
        return (None,) * n_studies, None
    texts = [None if value is None else as_text(value) for value in fields[name]]
    return tuple(t.lower() if t and t.lower() in _CLASSES else t for t in texts), name


def without_class(
    fields: Mapping[str, tuple[object, ...]], class_field: str | None
) -> dict[str, tuple[object, ...]]:
    """Return the fields without `study_class` where it is the study class, or says nothing."""
    names = matching(fields, "study class")
    gone = {name for name in names if name == class_field or set(fields[name]) == {None}}
    return {name: column for name, column in fields.items() if name not in gone}


Section = Literal["findings", "impression", "report"]

SECTIONS: tuple[Section, ...] = ("findings", "impression", "report")
"""What of a report can be judged."""

Fields = dict[str, str]
"""The fields of a side's reports, by `findings`, `impression` and `whole`, where there are such."""

TEXT = "text"
"""The column of records that are bare texts."""

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
_LONGEST_HEADING = 80


def known_section(section: str | None) -> Section | None:
    """Return a section as the user names it; raises `JudgeError` for one that is none."""
    known = next((known for known in SECTIONS if known == section), None)
    if known is None and section is not None:
        raise JudgeError(f"unknown section {section!r}; there are: {', '.join(SECTIONS)}")
    return known


def split_report(text: str) -> dict[str, str | None]:
    """Split a report by its headings: `findings`, `impression`, and the `preamble` before them.

    A section is None where it has no heading. A heading is a known name in any case with a
    colon, at the start of a line or of a sentence, or anywhere if capitalised; or a capitalised
    name alone on its line. A heading for something else ("Comparison:", ...) ends a section.
    """
    sections: dict[str, str | None] = {"findings": None, "impression": None}
    if len(text) > _LONGEST_HEADING and ":" not in text and "\n" not in text:
        return {**sections, "preamble": text.strip()}
    headings = [match for match in _HEADING.finditer(text) if _is_heading(text, match)]
    bounds = [*(_before_markup(text, match.start()) for match in headings), len(text)]
    for match, end in zip(headings, bounds[1:], strict=True):
        body = text[match.end() : end].strip()
        for name, before in sections.items():
            if match[name] or match["both"]:
                sections[name] = f"{before}\n{body}".strip() if before else body
    return {**sections, "preamble": text[: bounds[0]].strip()}


def _is_heading(text: str, match: re.Match[str]) -> bool:
    start = _before_markup(text, match.start())
    before = text[start - 1] if start else "\n"
    capitalised = match["name"][0].isupper()
    if not match["colon"]:
        return before == "\n" and capitalised
    return before in "\n.!?;" or capitalised


def _before_markup(text: str, position: int) -> int:
    while position and text[position - 1] in "#*_ \t":
        position -= 1
    return position


def report_fields(
    preds: pd.DataFrame, refs: pd.DataFrame, fields: NamedFields
) -> tuple[Fields, Fields]:
    """Return the fields of the candidates and of the references, which may be in one table."""
    is_one = preds is refs
    candidate = _named(preds, fields.candidate, "candidate")
    reference = _named(refs, fields.reference, "reference")
    if is_one and candidate and candidate == reference:
        raise JudgeError(f"--candidate-field and --reference-field both name {fields.candidate}")
    if not candidate:
        taken = reference.values() if is_one else ()
        candidate = _find(preds, "candidate", {"whole": ("candidate",)}, taken)
    if not reference and (candidate or not is_one):
        taken = candidate.values() if is_one else ()
        reference = _find(refs, "reference", {**_PARTS, "whole": ("report", "reference")}, taken)
    if not candidate and not is_one:  # a section is a candidate's too, in their own file
        candidate = _find(preds, "candidate", {**_PARTS, "whole": ("report",)}, ())
    for side, frame, chosen in (("candidate", preds, candidate), ("reference", refs, reference)):
        if not chosen:
            there = [name for name in (frame.index.name, *frame.columns) if name]
            raise JudgeError(
                f"{frame.attrs['name']} has no field for the {side}s, only: {listed(there)}; name "
                f"it with --{side}-field{', or give two files, PREDS and REFS' if is_one else ''}"
            )
    return candidate, reference


def _named(frame: pd.DataFrame, wanted: str | None, side: str) -> Fields:
    if wanted is None:
        return {}
    name = the_field(frame.columns, wanted, f"--{side}-field", frame.attrs["name"])
    return {next((part for part in _PARTS if matching([name], part)), "whole"): name}


def _find(
    frame: pd.DataFrame, side: str, parts: Mapping[str, Sequence[str]], taken: Collection[str]
) -> Fields:
    fields = {}
    for part, roles in parts.items():
        names = [
            name
            for role in roles
            for name in matching(frame.columns, role)
            # A number may be called `target`; a list is refused with a word about --references.
            if name not in taken
            and (name == TEXT or _may_be_text(frame[name]) or list in map(type, frame[name]))
        ]
        names = [name for name in names if any(frame[name])] or names
        if odd := [name for name in names if list(frame[name]) != list(frame[names[0]])]:
            raise JudgeError(
                f"{frame.attrs['name']}: say by --{side}-field which field holds the {side}: "
                f"{listed([names[0], *odd])}"
            )
        if names:
            fields[part] = names[0]
    return fields


def is_report_field(name: str, column: Iterable[object]) -> bool:
    """Whether a field holds report text, used or not, and so isn't kept beside the study."""
    return any(matching([name], role) for role in _TEXT_ROLES) and _may_be_text(column)


def _may_be_text(column: Iterable[object]) -> bool:
    kinds = set(map(type, column))
    return str in kinds or kinds <= {type(None)}


def read_reports(
    frame: pd.DataFrame, fields: Fields, *, are_candidates: bool = False
) -> pd.DataFrame:
    """Return each study's `findings`, `impression` and `report`.

    Sections are split off a whole report, and put together to one. A candidate without headings
    stands for any section, one with other headings alone for none: it is "". A value is None where
    nothing is said. Raises `JudgeError` for a value that is no text.
    """
    import pandas as pd

    columns = [_texts(frame, fields.get(part)) for part in ("findings", "impression", "whole")]
    rows = []
    for findings, impression, whole in zip(*columns, strict=True):
        texts = {"findings": findings, "impression": impression}
        parts = [f"{name.title()}: {text}" for name, text in texts.items() if text]
        is_missing = (findings, impression, whole) == (None, None, None)
        texts["report"] = None if is_missing else whole or " ".join(parts)
        if whole is not None and not (findings and impression):
            split = split_report(whole)
            has_headings = (split["findings"], split["impression"]) != (None, None)
            others = {"findings": split["preamble"], "impression": ""}
            for name, other in others.items():
                body = split[name]
                if body is None and are_candidates:
                    body = other if has_headings else whole
                texts[name] = texts[name] or (texts[name] if body is None else body)
        rows.append(texts)
    return pd.DataFrame(rows, frame.index, list(SECTIONS), dtype=object)


def _texts(frame: pd.DataFrame, name: str | None) -> list[str | None]:
    if name is None:
        return [None] * len(frame)
    source = frame.attrs["name"]
    for study_id, value in frame[name].items():
        if value is not None and not isinstance(value, str):
            kind = type(value).__name__
            way = "; --references takes several of a study" if kind == "list" else ""
            raise JudgeError(
                f"{source}: {name!r} of study {study_id!r} is not a text but a {kind}{way}"
            )
    return [text and text.replace("\r\n", "\n").replace("\r", "\n").strip() for text in frame[name]]


def usual_section(reports: pd.DataFrame) -> Section:
    """Return the section that is judged by default: findings, if at least half have them."""
    n_findings, n_filled = (sum(map(bool, reports[name])) for name in ("findings", "report"))
    return "findings" if 0 < n_filled <= n_findings * 2 else "report"


def says_nothing(report: str) -> bool:
    """Return whether a reference is none: `___`, say, or a word for a missing value."""
    return not any(map(str.isalnum, report)) or report.strip().lower() in _MISSING
