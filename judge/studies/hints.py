"""What a user is told whose files may not be what they are taken for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from judge.studies.forms import FLAT_TEXT
from judge.studies.names import FIELD_NAMES, listed, matching
from judge.studies.parquet import INDEX
from judge.studies.table import StudyTable
from judge.types import JudgeError

_USUAL = 2
"""How many names of a role a message shows."""


def shown_fields(table: StudyTable) -> str:
    """Return the fields of a table as messages list them, that of the ids first."""
    own = table.id_field not in (None, INDEX) and table.id_field not in table.columns
    return listed([*([str(table.id_field)] if own else []), *table.columns])


def no_field(
    table: StudyTable,
    side: str,
    roles: Iterable[str],
    *,
    taken: Sequence[str] = (),
    is_one: bool,
    from_files: bool,
) -> JudgeError:
    """Return what to say where no field of `table` is known to hold the `side`s.

    `roles` are those that such a field can have, `taken` the fields of the other side, and
    `is_one` says that the table is to hold both.
    """
    roles = list(roles)
    names = [name for role in roles for name in FIELD_NAMES[role][:_USUAL]]
    usual = f"(usual names: {', '.join(names)}, ...)"
    two = "give two files, PREDS and REFS"
    if is_one and table.is_numbered and list(table.columns) == [FLAT_TEXT]:
        return JudgeError(f"{table.name} holds one unnamed text a study, so one side alone; {two}")
    odd = [name for role in roles for name in matching(table.columns, role) if name not in taken]
    found = f"{table.name} has no field for the {side}s; its fields are: {shown_fields(table)}. "
    if lists := [name for name in odd if isinstance(_first_value(table, name), list)]:
        more = "; --references takes several of a study" if side == "reference" else ""
        what = f"The field {lists[0]} holds lists, not texts: one text a record"
        return JudgeError(f"{found}{what}{more}")
    if not from_files:
        return JudgeError(f"{found}Rename the one that holds them {usual}")
    way = f"Name the one that holds them: --{side}-field FIELD"
    return JudgeError(f"{found}{way}{f', or {two}' if is_one else ''} {usual}")


def _first_value(table: StudyTable, name: str) -> object:
    return next((value for value in table.columns[name] if value is not None), None)
