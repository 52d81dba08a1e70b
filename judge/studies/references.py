"""Several references of a study: a list of texts in a file's cell, or several records of one id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judge.studies.context import CONTEXT_FIELDS
from judge.studies.fields import as_text
from judge.studies.join import first_ids
from judge.studies.names import NamedFields, matching, named, plain
from judge.studies.sections import Section, known_section
from judge.studies.study_set import StudySet
from judge.studies.table import StudyTable
from judge.studies.texts import REFERENCE_ROLES, ReportFields, read_reports
from judge.types import JudgeError

REFERENCE_ID = "reference_id"
_MOST_NAMES = 50
_ROLES = ("findings", "impression", *(role for group in REFERENCE_ROLES for role in group))


@dataclass(frozen=True, slots=True)
class Further:
    """The references of each study by its id, each with what it is called, and what to say."""

    by_id: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def beside(self, studies: StudySet) -> StudySet:
        """Return the studies with all of their references."""
        if not self.by_id:
            return studies
        every = tuple(self.by_id[study_id] for study_id in studies.study_ids)
        return replace(studies, every_reference=every, notes=(*studies.notes, *self.notes))


Tables = tuple[StudyTable, StudyTable]


def one_each(
    tables: Tables,
    fields: NamedFields,
    section: str | None,
    find: Callable[..., tuple[ReportFields, ReportFields]],
) -> tuple[Tables, Further]:
    """Return candidates and references with one reference a study, and beside them all of these.

    The one is a study's first that has the section. The `tables` may be one; `find` finds
    the fields of both in tables. Only with `fields.several`: without, lists of texts and
    ids that repeat are refused where files are joined. Raises `JudgeError` too where no study has
    two, for a list that is no list of texts, for a reader without a name or with two texts, and
    for records of one study that differ in its class or in what they say of the patient.
    """
    preds, refs = tables
    is_one = preds is refs
    if not fields.several:
        return tables, Further()
    lists = _lists(refs, fields)
    refs = _exploded(refs, lists) if lists else refs
    if len(set(refs.ids)) == len(refs):
        raise JudgeError(
            f"each study of {refs.name} has one reference: leave --references out (several are a "
            f"list of texts, or records of one id, which {REFERENCE_ID} may tell apart)"
        )
    names, notes, refs = _named(refs, fields)
    _, found = find(refs if is_one else preds, refs, fields, from_files=True)
    reports = read_reports(refs, found)
    chosen: Section = known_section(section) or (
        "findings" if any(one.findings for one in reports) else "report"
    )
    texts = [report.text(chosen) for report in reports]
    rows: dict[str, list[int]] = {}
    for row, study_id in enumerate(refs.ids):
        rows.setdefault(study_id, []).append(row)
    _check_alike(refs, rows, _of_the_study(refs, fields))
    by_id, kept = {}, []
    for study_id, own in rows.items():
        has = [row for row in own if texts[row]]
        by_id[study_id] = tuple((names[row], str(texts[row])) for row in has)
        kept.append(has[0] if has else own[0])
    if empty := [refs.ids[row] for row, text in enumerate(texts) if not text]:
        notes.append(f"empty references, left out: {len(empty):,} ({first_ids(empty)})")
    first = _picked(refs, kept)
    return (first if is_one else preds, first), Further(by_id, tuple(notes))


def _of_the_study(table: StudyTable, fields: NamedFields) -> list[str]:
    roles = ("study class", "study class, true or false")
    known = [name for role in roles for name in matching(table.columns, role)]
    known += named(table.columns, fields.study_class) if fields.study_class else []
    told = {*map(plain, CONTEXT_FIELDS)}
    return [*dict.fromkeys((*known, *(name for name in table.columns if plain(name) in told)))]


def _check_alike(
    table: StudyTable, rows: Mapping[str, Sequence[int]], columns: Sequence[str]
) -> None:
    for name in columns:
        texts = ["" if one is None else as_text(one).strip() for one in table.columns[name]]
        for study_id, own in rows.items():
            said = {texts[row].lower(): texts[row] for row in own if texts[row]}
            if len(said) > 1:
                raise JudgeError(
                    f"{table.name}: study {study_id!r} has the {name} "
                    f"{' and '.join(said.values())} in its records; give it one"
                )


def _lists(table: StudyTable, fields: NamedFields) -> list[str]:
    known = [name for role in _ROLES for name in matching(table.columns, role)]
    if fields.reference is not None:
        known += named(table.columns, fields.reference)
    return [
        name
        for name in dict.fromkeys(known)
        if plain(name) != plain(fields.candidate or "")
        and any(isinstance(value, list) for value in table.columns[name])
    ]


def _exploded(table: StudyTable, lists: Sequence[str]) -> StudyTable:
    rows: list[int] = []
    columns: dict[str, list[object]] = {name: [] for name in lists}
    for row in range(len(table)):
        cells = {name: table.columns[name][row] for name in lists}
        lengths = {len(cell) for cell in cells.values() if isinstance(cell, list)} or {1}
        odd = [v for c in cells.values() if isinstance(c, list) for v in c if not _is_text(v)]
        if len(lengths) > 1 or odd:
            what = "lists of different lengths" if len(lengths) > 1 else "a list not of texts"
            raise JudgeError(f"{table.name}: study {table.ids[row]!r} has {what} as references")
        n = max(1, *lengths)
        for name, cell in cells.items():
            own = cell if isinstance(cell, list) else [cell] * n
            columns[name] += own or [None]
        rows += [row] * n
    whole = _picked(table, rows)
    return replace(whole, columns={**whole.columns, **columns})


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _named(table: StudyTable, fields: NamedFields) -> tuple[list[str], list[str], StudyTable]:
    """Return what each row's reference is called, what to say, and the table without the names.

    By the field of the names, else by its place among the study's.
    """
    wanted = fields.reference_id or REFERENCE_ID
    column = next(iter(named(table.columns, wanted)), None)
    if column is None and fields.reference_id:
        raise JudgeError(f"{table.name} has no field {wanted!r}, for --reference-id-field")
    seen: Counter[str] = Counter()
    places = []
    for study_id in table.ids:
        seen[study_id] += 1
        places.append(str(seen[study_id]))
    if column is None:
        return places, [], table
    values = table.columns[column]
    rest = {name: of for name, of in table.columns.items() if name != column}
    table = replace(table, columns=rest)
    names = [str(value).strip() if value is not None else "" for value in values]
    if "" in names:
        study_id = table.ids[names.index("")]
        raise JudgeError(f"{table.name}: a reference of study {study_id!r} has no {column}")
    twice = [pair for pair, n in Counter(zip(table.ids, names, strict=True)).items() if n > 1]
    if twice:
        raise JudgeError(
            f"{table.name}: study {twice[0][0]!r} has two references with the {column} "
            f"{twice[0][1]!r}; keep one"
        )
    if (n := len(set(names))) > _MOST_NAMES:
        note = f"the field {column} has {n:,} values: references are called by their place instead"
        return places, [note], table
    return names, [], table


def _picked(table: StudyTable, rows: Sequence[int]) -> StudyTable:
    return replace(
        table,
        ids=tuple(table.ids[row] for row in rows),
        id_kinds=tuple(table.id_kinds[row] for row in rows),
        columns={name: [of[row] for row in rows] for name, of in table.columns.items()},
    )
