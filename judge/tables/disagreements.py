"""What two raters see differently, as a table of errors."""

from __future__ import annotations

from collections.abc import Sequence

from judge.study.disagreements import (
    AGREED,
    DIFFERENCES,
    HOW_PAIRED,
    HOW_SORTED,
    Disagreements,
    SeenError,
)
from judge.tables.document import Cell, Column, Table
from judge.text import counted

_MOST = 50
"""Errors that are printed; CSV has all."""
_HEAD = (
    Column("judge"),
    Column("other"),
    Column("study_id", "study"),
    Column("difference"),
    Column("category"),
    Column("judge_level", "judge: level"),
    Column("judge_error", "judge: error"),
    Column("other_level", "other: level"),
    Column("other_error", "other: error"),
)
NOT_SEEN = "not seen"
ONLY_COUNTED = "(counted only)"


def disagreements_table(
    of_pairs: Sequence[Disagreements], *, complete: bool = False
) -> Table:
    """Return an error a row, in the order in which they are worth looking at, pair by pair."""
    rows: list[tuple[Cell, ...]] = []
    for of_pair in of_pairs:
        rows += _rows(of_pair)
    title = "Errors that two see differently"
    if not complete and len(rows) > _MOST:
        title += f", the first {_MOST} of {len(rows):,}"
        rows = rows[:_MOST]
    notes = [f"{of_pair.name}: {in_words(of_pair)}" for of_pair in of_pairs]
    notes += [HOW_PAIRED, HOW_SORTED]
    for of_pair in of_pairs:
        notes += of_pair.notes
    return Table("disagreements", title, _HEAD, rows, note="\n".join(notes))


def _rows(of_pair: Disagreements) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for study in of_pair.differing:
        for error in study.differing:
            row: tuple[Cell, ...] = (
                of_pair.a.name,
                of_pair.b.name,
                study.study_id,
                error.difference.label,
                category_texts(of_pair, error.categories),
                _level(error.a),
                error_text(error.a),
                _level(error.b),
                error_text(error.b),
            )
            rows.append(row)
    return rows


def in_words(of_pair: Disagreements) -> str:
    """Return how many errors two raters see differently, in which ways, and alike."""
    studies = counted(of_pair.n_studies, "study", "studies")
    n_differing = len(of_pair.differing)
    counts = []
    for kind in (*DIFFERENCES, AGREED):
        n = of_pair.n_errors(kind)
        if n:
            counts.append(f"{n:,} {kind.label}")
    errors = ", ".join(counts) or "none"
    return (
        f"{studies} scored by both, {n_differing:,} with a difference; errors: {errors}"
    )


def category_texts(of_pair: Disagreements, names: Sequence[str]) -> str:
    """Return the names of categories as they are printed."""
    return ", ".join(category_text(of_pair, name) for name in names)


def category_text(of_pair: Disagreements, name: str) -> str:
    """Return the name of a category, which at least one of the two has, as it is printed."""
    for rater in (of_pair.a, of_pair.b):
        codes = rater.run.rubric.codes
        if codes is not None and name in {label.name for label in codes.labels}:
            return codes.text(name)
    return name


def error_text(error: SeenError | None) -> str:
    """Return what a rater says of an error, or why there is nothing."""
    if error is None:
        return NOT_SEEN
    return error.text or ONLY_COUNTED


def _level(error: SeenError | None) -> str:
    if error is None:
        return ""
    return error.level.label
