"""An annotation's corrections as an edit of the candidate, line by line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge.report.line import Line, Style
from judge.rubrics import Rubric
from judge.sentences import lines
from judge.types import Category


def edits(candidate: str, errors: Sequence[Mapping[str, Any]], rubric: Rubric) -> Iterator[Line]:
    """Yield the candidate's numbered lines with what is taken out (-) and put in (+).

    Below each correction stand its severity, its categories and the judge's comment.
    `errors` are those of a record; each has an edit.
    """
    report = lines(candidate)
    width = len(str(len(report)))
    changed: dict[int, Mapping[str, Any]] = {}
    inserted: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for error in errors:
        edit = error["edit"]
        if edit["kind"] == "insert":
            inserted[len(report) if edit["line"] is None else edit["line"]].append(error)
        else:
            changed[edit["line"]] = error
    for at in range(len(report) + 1):
        for error in inserted[at]:
            yield Line(f"+ {'':{width}}  {error['edit']['corrected']}", "added")
            yield _why(error, rubric, width)
        if at == len(report):
            return
        number = f"{at:{width}}"
        if at not in changed:
            yield Line(f"  {number}  {report[at]}")
            continue
        yield Line(f"- {number}  {report[at]}", "removed")
        if changed[at]["edit"]["kind"] == "change":
            yield Line(f"+ {number}  {changed[at]['edit']['corrected']}", "added")
        yield _why(changed[at], rubric, width)


def _why(error: Mapping[str, Any], rubric: Rubric, width: int) -> Line:
    level = next(level for level in rubric.levels if level.name == error["level"])
    categories = ", ".join(f"({c}) {Category(c).label}" for c in error["categories"])
    style: Style = "significant" if level.significant else "insignificant"
    return Line(f"  {'':{width}}    [{level.label}] {categories}: {error['text']}", style)
