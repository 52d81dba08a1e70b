"""Pairs of reports with the errors that readers found, from any file whose fields are named.

The errors of a pair are a list in one field, rows of a table, or counts in columns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from judge.readers.annotations import (
    CODES,
    FINERADSCORE,
    GREEN,
    NO_CATEGORY,
    NO_EDIT,
    NO_MATCHED,
    AnnotationTable,
    FaultError,
    Key,
    Readings,
)
from judge.readers.pair_fields import (
    ITSELF,
    OF_ERRORS,
    Path,
    list_of,
    path_of,
    readings_at,
    text_of,
    texts_of,
    value_at,
)
from judge.readers.pair_names import NONE, Names, NewName, Rubric
from judge.rubrics.categories import CATEGORY, INSIGNIFICANT, SIGNIFICANT
from judge.rubrics.derived import EDIT
from judge.rubrics.green.parse import MATCHED
from judge.studies.columns import NamedFields, columns_for, join_names, stem_of
from judge.studies.input_table import InputFile
from judge.studies.load import Table, read_table, to_id
from judge.text import counted
from judge.types import JudgeError

LAYOUT = "pairs"
NOT_ASKED = (
    "no error of the file has this category, so readers may not have been asked for it"
)
NOT_COUNTED = "the file has no counts of this level"
_SEVERAL_IDS = ","
_MOST = 999
_STUDY_ROLES = ("reference", "candidate")


@dataclass(frozen=True, kw_only=True)
class PairsOptions:
    """How a file of pairs is read.

    `columns` has the field of each role, `names` what its names mean, `counts` the columns that
    count errors, by category (empty without one) and level. `reader` is the reader's name where the
    file has no field of it.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[NewName] = ()
    counts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    reader: str | None = None
    encoding: str | None = None


@dataclass(frozen=True, kw_only=True)
class FileNames:
    """What was understood of a file: its fields by role, and its names with their meanings."""

    fields: Mapping[str, str]
    names: Sequence[tuple[str, str, str, int]]


@dataclass(slots=True)
class _Found:
    """An error of a reading, with the category and the level of the rubric once they are known."""

    categories: tuple[str, ...]
    level: str | None
    text: str
    count: int = 1


@dataclass(slots=True, kw_only=True)
class _PairReading:
    """What one reader says of one pair, from one place of the file, or why it cannot be read."""

    key: Key
    place: str
    model: str | None
    study: Mapping[str, object]
    fields: Mapping[str, object]
    errors: list[_Found]
    fault: str | None = None


def read(
    source: str, options: PairsOptions
) -> tuple[list[Readings], tuple[InputFile, ...], FileNames]:
    """Read the pairs of a file; return the readings of each reader, the file, and its names.

    Raises `JudgeError` for a field that is not there, for names whose meaning is unknown, and where
    no pair can be read. A pair whose errors cannot be read is left out, with its place.
    """
    given = options.columns.get("id", "").split(_SEVERAL_IDS)[0].split(".")[0]
    fields = NamedFields(id=given or None, encoding=options.encoding)
    table = read_table(source, "readings", fields)
    file = _PairFile(table, options)
    readings = list(file.readings())
    file.check_entries()
    file.names.refuse_unknown(table.name)
    found = _annotations(file, readings)
    role = "readings"
    if found.source:
        role = "both"
    digest = ""
    if table.file:
        digest = table.file.sha256
    understood = FileNames(fields=file.shown_fields(), names=file.names.lines())
    result = [
        replace(one, notes=(*one.notes, *file.notes())) for one in found.readings()
    ]
    return result, (InputFile(source, role, digest, len(table)),), understood


def plain(readings: Sequence[Readings], understood: FileNames) -> dict[str, Any]:
    """Return how a file was understood, as `--dry-run --format json` prints it."""
    readers = []
    for one in readings:
        n_errors = [len(reading.annotation.items) for reading in one.readings]
        readers.append(
            {
                "reader": one.reader,
                "pairs": len(n_errors),
                "without_error": n_errors.count(0),
                "errors": sum(n_errors),
                "left_out": list(one.left_out.values()),
            }
        )
    names = []
    for role, name, meaning, n in understood.names:
        names.append({"role": role, "name": name, "read_as": meaning, "n": n})
    lacking: dict[str, list[str]] = {}
    for what, why in readings[0].lacks.items():
        lacking.setdefault(why, []).append(what)
    undefined = [f"{', '.join(what)}: {why}" for why, what in lacking.items()]
    return {
        "rubric": readings[0].rubric,
        "fields": dict(understood.fields),
        "names": names,
        "undefined": undefined,
        "readers": readers,
    }


class _PairFile:
    """The records of a file, and where the fields of each role are in them."""

    def __init__(self, table: Table, options: PairsOptions) -> None:
        self.table = table
        self.options = options
        self.names = Names.of(options.names)
        self.columns = list(table.columns)
        self.entry_paths: dict[str, tuple[str, ...]] = {}
        self.entry_keys: dict[str, None] = {}
        self.found_roles: set[str] = set()
        self.paths = self._paths()
        self.ids = self._id_paths()
        of_list = {"errors", *OF_ERRORS} & {*self.paths}
        if options.counts and of_list:
            raise JudgeError(f"give --column {min(of_list)} or --count, not both")
        self.counts = {
            key: path_of(name, self.columns, table.name, "--count")
            for key, name in options.counts.items()
        }
        if "reader" in self.paths and options.reader:
            raise JudgeError("give --column reader or --reader, not both")
        each = {path.before_each for path in self.paths.values() if path.each}
        if len(each) > 1:
            listed = ", ".join(".".join(keys) for keys in each)
            raise JudgeError(
                f"{table.name}: the fields with * are below different ones: {listed}"
            )
        self.each = next(iter(each), ())
        if self.each and not ("errors" in self.paths and self.paths["errors"].each):
            raise JudgeError(
                f"{table.name}: --column errors needs the * of the other fields as well"
            )
        if "errors" in self.paths or self.counts:
            return
        if not {"category", "level"} & {*self.paths}:
            there = join_names(self.columns, 30)
            raise JudgeError(
                f"{table.name}: nothing says where the errors are; name the field of the list with "
                "--column errors=FIELD, the columns of a table with a row for each error with "
                f"--column category=FIELD and level=FIELD, or counts with --count; the fields are: "
                f"{there}"
            )

    def _paths(self) -> dict[str, Path]:
        """Return where each role but the id is: as the user names it, else by its usual name."""
        named = dict(self.options.columns)
        named.pop("id", None)
        usual_roles: tuple[str, ...] = (
            "errors",
            "category",
            "level",
            "reader",
            "model",
        )
        if self.options.counts:
            usual_roles = ("reader", "model")
        for role in usual_roles:
            if role in self.columns:
                named.setdefault(role, role)
        usual = {role: role for role in _STUDY_ROLES}
        usual |= {"patient": "patient", "class": "study class"}
        for role, name in usual.items():
            for column in columns_for(self.columns, name)[:1]:
                named.setdefault(role, column)
        if "errors" in named:
            # The fields of an error are below it.
            for role in OF_ERRORS:
                name = named.pop(role, role)
                # What is called `error` may be its text.
                if role in self.options.columns or role != "error":
                    self.entry_paths[role] = self._below(name)
        paths = {}
        for role, name in named.items():
            option = f"--column {role}"
            paths[role] = path_of(name, self.columns, self.table.name, option)
        return paths

    @staticmethod
    def _below(name: str) -> tuple[str, ...]:
        if name == ITSELF:
            return ()
        return tuple(name.split("."))

    def _id_paths(self) -> list[Path]:
        named = self.options.columns.get("id")
        if named is None:
            usual = self.table.usual_ids[:1]
            if not usual:
                there = join_names(self.columns, 30)
                raise JudgeError(
                    f"{self.table.name}: no field has the ids of the pairs by its name; name it "
                    "with --column id=FIELD, or several that make one with --column "
                    f"id=FIELD,FIELD; the fields are: {there}"
                )
            return [Path(usual[0], (usual[0],))]
        where = self.table.name
        return [
            path_of(name.strip(), self.columns, where, "--column id")
            for name in named.split(_SEVERAL_IDS)
        ]

    def rubric(self) -> Rubric:
        """Return the rubric of the levels; raises `JudgeError` as `Names.rubric` does."""
        if not self.counts:
            return self.names.rubric(self.table.name)
        levels = {level for _, level in self.counts}
        if levels <= {SIGNIFICANT, INSIGNIFICANT}:
            return GREEN
        if levels & {SIGNIFICANT, INSIGNIFICANT}:
            raise JudgeError(
                "--count has levels of GREEN and of FineRadScore; give one kind"
            )
        return FINERADSCORE

    def notes(self) -> Iterator[str]:
        """Yield how the names of each role were read."""
        by_role: dict[str, list[str]] = {}
        for role, name, meaning, n in self.names.lines():
            by_role.setdefault(role, []).append(
                f"{name or 'blank'} is {meaning} ({n:,})"
            )
        for role, meanings in by_role.items():
            yield f"{role} in the file: {', '.join(meanings)}"

    def shown_fields(self) -> dict[str, str]:
        """Return the fields by role, those of an error below the list that they are in."""
        shown = {"id": _SEVERAL_IDS.join(path.text for path in self.ids)}
        shown |= {role: path.text for role, path in self.paths.items()}
        if "errors" in self.paths:
            for role, keys in self.entry_paths.items():
                if role in self.found_roles:
                    shown[role] = f"{self.paths['errors'].text}[{'.'.join(keys)}]"
        for (category, level), path in self.counts.items():
            shown[f"count {category}:{level}"] = path.text
        return shown

    def readings(self) -> Iterator[_PairReading]:
        """Yield the readings, in the order of the file."""
        parts = [part for record in self._records() for part in self._parts(record)]
        models = defaultdict(set)
        for part in parts:
            models[part.study_id].add(part.text("model"))
        self._check_nested(parts)
        if "errors" in self.paths or self.counts:
            for part in parts:
                yield self._reading(
                    part, [part], several=len(models[part.study_id]) > 1
                )
            return
        by_key: dict[tuple[str, str, str], list[_Part]] = {}
        for part in parts:
            key = (part.reader, part.study_id, part.text("model"))
            by_key.setdefault(key, []).append(part)
        for rows in by_key.values():
            is_one = len(models[rows[0].study_id]) > 1
            yield self._reading(rows[0], rows, several=is_one)

    def _check_nested(self, parts: Sequence[_Part]) -> None:
        """Raise `JudgeError` for a path that leads to nothing in all records."""
        for role, path in self.paths.items():
            is_nested = len(path.parts) > 1
            if is_nested and all(part.value(role) is None for part in parts):
                raise JudgeError(
                    f"{self.table.name}: no record has {path.text!r}, for --column {role}"
                )

    def check_entries(self) -> None:
        """Raise `JudgeError` for a field that the user names and no error of a list has."""
        for role in self.entry_paths:
            is_named = role in self.options.columns
            if self.entry_keys and is_named and role not in self.found_roles:
                there = join_names(self.entry_keys, 30)
                raise JudgeError(
                    f"{self.table.name}: no error has {self.options.columns[role]!r}, for "
                    f"--column {role}; the fields of an error are: {there}"
                )

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each record with its place, such as `record 3 of pairs.json`."""
        columns = self.table.columns
        for number in range(len(self.table)):
            record = {name: values[number] for name, values in columns.items()}
            yield f"{self.table.name}, record {number + 1}", record

    def _parts(self, record: tuple[str, dict[str, Any]]) -> Iterator[_Part]:
        """Yield a record, or each of the readings that it has below `*`."""
        place, values = record
        ids = [to_id(value_at(values, path.parts)) for path in self.ids]
        if not all(ids):
            names = ", ".join(path.text for path in self.ids)
            raise JudgeError(
                f"{place} has no id in {names}; write one into every record"
            )
        study_id = "/".join(map(str, ids))
        first = str(ids[0])
        if not self.each:
            yield _Part(self, place, values, study_id, first)
            return
        try:
            for key, entry in readings_at(values, self.each):
                yield _Part(self, place, values, study_id, first, key, entry)
        except FaultError as fault:
            raise JudgeError(f"{place}: {'.'.join(self.each)}: {fault}") from fault

    def _reading(
        self, part: _Part, rows: Sequence[_Part], *, several: bool
    ) -> _PairReading:
        model = part.text("model") or None
        study_id = part.study_id
        patient = part.text("patient") or None
        if len(self.ids) > 1:
            patient = patient or part.first_id
        if several:
            patient = patient or study_id
            study_id = f"{study_id}/{model or ''}"
        study = {role: part.text(role) for role in _STUDY_ROLES}
        reading = _PairReading(
            key=(part.reader, study_id),
            place=part.place,
            model=model,
            study={**study, "study_class": part.text("class"), "patient": patient},
            fields=self._further_fields(rows),
            errors=[],
        )
        if several and not model:
            reading.fault = "model is blank, and other records of the study have one"
            return reading
        try:
            reading.errors = self._errors(part, rows)
            self._check_total(part, reading.errors)
        except FaultError as fault:
            reading.fault = str(fault)
        return reading

    def _errors(self, part: _Part, rows: Sequence[_Part]) -> list[_Found]:
        if self.counts:
            return self._counted(part)
        if "errors" not in self.paths:
            return self._of_rows(rows)
        found = []
        entries = list_of(part.value("errors"), self.paths["errors"].text)
        for number, entry in enumerate(entries, start=1):
            is_object = isinstance(entry, Mapping)
            if is_object:
                self.entry_keys |= dict.fromkeys(map(str, entry))
            values = {}
            for role, keys in self.entry_paths.items():
                if is_object != bool(keys):
                    continue
                values[role] = value_at(entry, keys)
                if values[role] is not None:
                    self.found_roles.add(role)
            if not values:
                raise FaultError(
                    f"error {number} is {str(entry)[:40]!r}, and no object with fields; say what "
                    f"it is with --column category={ITSELF} or --column text={ITSELF}"
                )
            found += self._error(values, f"error {number}")
        return found

    def _of_rows(self, rows: Sequence[_Part]) -> list[_Found]:
        found = []
        seen: list[dict[str, Any]] = []
        for row in rows:
            values = {role: row.value(role) for role in OF_ERRORS if role in self.paths}
            errors = self._error(values, row.place)
            # A file that was joined wrongly has an error twice.
            if errors and row.record in seen:
                raise FaultError(f"{row.place} repeats an error of another row")
            seen.append(row.record)
            found += errors
        return found

    def _error(self, values: Mapping[str, Any], place: str) -> list[_Found]:
        """Return the error of an entry or a row, none where it says that there is none."""
        if "error" in values:
            text = text_of(values["error"])
            if not text and ("error", "") not in self.names.new:
                raise FaultError(f"{place}: it is blank whether there is an error")
            if self.names.meaning("error", text) == "no":
                return []
        categories = []
        for text in texts_of(values.get("category")) or ("",):
            if text or ("category", "") in self.names.new:
                categories.append(self.names.meaning("category", text))
        if categories == [NONE]:
            return []
        if NONE in categories:
            raise FaultError(
                f"{place}: one of its categories says that there is no error"
            )
        text = text_of(values.get("level"))
        if not text and ("level", "") not in self.names.new:
            raise FaultError(f"{place}: level is blank")
        level = self.names.meaning("level", text)
        known = tuple(category for category in categories if category)
        return [_Found(known, level, text_of(values.get("text")))]

    def _counted(self, part: _Part) -> list[_Found]:
        found = []
        for (category, level), path in self.counts.items():
            text = text_of(value_at(part.record, path.parts))
            count = {"true": "1", "yes": "1", "false": "0", "no": "0"}.get(
                text.lower(), text
            )
            if not count.isdecimal() or int(count) > _MOST:
                shown = text[:40] or "blank"
                raise FaultError(
                    f"{path.text} is {shown}; a count must be a whole number, or yes or no"
                )
            categories = (category,) if category else ()
            found.append(_Found(categories, level, "", int(count)))
        return found

    def _check_total(self, part: _Part, errors: Sequence[_Found]) -> None:
        if "total" not in self.paths:
            return
        text = text_of(part.value("total"))
        n = sum(error.count for error in errors)
        if text != str(n):
            raise FaultError(
                f"{self.paths['total'].text} is {text or 'blank'}, and it has "
                f"{counted(n, 'error', 'errors')}"
            )

    def _further_fields(self, rows: Sequence[_Part]) -> dict[str, object]:
        """Return the plain fields that have no role and one value in all rows of the reading."""
        used = {path.parts[0] for path in (*self.paths.values(), *self.ids)}
        used |= {path.parts[0] for path in self.counts.values()}
        further: dict[str, object] = {}
        for name, value in rows[0].record.items():
            is_plain = not isinstance(value, list | tuple | Mapping)
            # pandas writes the row numbers in a column without a name.
            is_number = name.startswith(("column_", "Unnamed: "))
            if name in used or value is None or not is_plain or is_number:
                continue
            if all(row.record[name] == value for row in rows):
                further[name] = value
        return further


@dataclass(frozen=True, slots=True)
class _Part:
    """A record of the file, or one of the readings in it, whose `key` and `entry` are below `*`."""

    file: _PairFile
    place: str
    record: dict[str, Any]
    study_id: str
    first_id: str
    key: str = ""
    entry: Any = None

    def value(self, role: str) -> Any:  # noqa: ANN401
        """Return what it has for a role, None without it."""
        path = self.file.paths.get(role)
        if path is None:
            return None
        if path.each:
            return value_at(self.entry, path.parts[path.each + 1 :])
        return value_at(self.record, path.parts)

    def text(self, role: str) -> str:
        """Return the text that it has for a role, empty without it."""
        return text_of(self.value(role))

    @property
    def reader(self) -> str:
        """The reader: of the file, the key below `*`, of the user, else the name of the file."""
        if "reader" in self.file.paths:
            reader = self.text("reader")
            if not reader:
                raise JudgeError(
                    f"{self.place} has no reader; write one into every record"
                )
            return reader
        if self.key and self.file.options.reader:
            raise JudgeError(
                f"{self.file.table.name}: the keys of {'.'.join(self.file.each)} name the readers; "
                "leave out --reader"
            )
        return self.key or self.file.options.reader or stem_of(self.file.table.name)


def _annotations(file: _PairFile, readings: Iterable[_PairReading]) -> AnnotationTable:
    readings = list(readings)
    faults = [f"{one.place}: {one.fault}" for one in readings if one.fault]
    if len(faults) == len(readings):
        raise JudgeError(f"no pair can be read: {faults[0]}")
    rubric = file.rubric()
    table = AnnotationTable(rubric=rubric)
    if "candidate" in file.paths:
        table.source = file.table.name
    has_category = any(error.categories for one in readings for error in one.errors)
    n_places = Counter(reading.key for reading in readings)
    for reading in readings:
        study_id = reading.key[1]
        table.describe(study_id, reading.place, model=reading.model, **reading.study)
        with table.checking(reading.key):
            if reading.fault:
                raise FaultError(f"{reading.place}: {reading.fault}")
            if n_places[reading.key] > 1:
                raise FaultError(
                    f"{reading.place}: the reader has another record of the study; if its id has "
                    "several parts, name them all with --column id=FIELD,FIELD"
                )
            if has_category and not all(error.categories for error in reading.errors):
                raise FaultError(
                    f"{reading.place}: an error has no category, and others have one"
                )
            table.fields[reading.key] = dict(reading.fields)
            table.add(reading.key, count=0)
            for error in reading.errors:
                table.add(
                    reading.key,
                    ",".join(sorted({*error.categories})) or None,
                    error.level,
                    text=error.text,
                    count=error.count,
                )
    table.lacks = _lacks(file, rubric, has_category=has_category)
    return table


def _lacks(file: _PairFile, rubric: Rubric, *, has_category: bool) -> dict[str, str]:
    """Return what the readers were not asked for, with the reason."""
    if rubric == GREEN:
        lacks = {MATCHED: NO_MATCHED}
    else:
        lacks = {EDIT: NO_EDIT}
    if not has_category:
        return {**lacks, CATEGORY.name: NO_CATEGORY}
    unused = file.names.unused_categories()
    if file.counts:
        counted = {category for category, _ in file.counts}
        unused = [code for code in CODES if code not in counted]
        levels = {level for _, level in file.counts}
        if rubric == GREEN:
            missing = {SIGNIFICANT, INSIGNIFICANT} - levels
            lacks |= dict.fromkeys(sorted(missing), NOT_COUNTED)
    return lacks | dict.fromkeys(unused, NOT_ASKED)
