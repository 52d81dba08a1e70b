"""The candidates one after the other, for a page: what was changed, what was said, what came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from judge import jsonio
from judge.report.stress_page.data import Pair
from judge.running.forms import fault
from judge.stress.figures import in_right_category, on_right_side
from judge.stress.reading import Bools
from judge.stress.report import StressReport
from judge.stress.truth import lines_of
from judge.types import JudgeError


class _Words(TypedDict):
    before: str
    after: str
    at: list[int]
    to: list[int]


class _Error(TypedDict):
    finding: str


class _Line(TypedDict):
    """What a page shows of a line of truth.jsonl beside what figures are made of."""

    id: str
    words: list[_Words]
    errors: list[_Error]


def pairs(report: StressReport) -> Iterator[Pair]:
    """Yield the candidates that the report's figures are of, in the order of the run.

    Both files are read line by line; what the truth has before a candidate of the run waits.
    Raises `JudgeError` where either is damaged, or the truth has changed meanwhile.
    """
    truth, reading = report.truth, report.first
    row_of = {name: row for row, name in enumerate(truth.ids)}
    came = came_of(report)
    lines = _lines(report)
    waiting: dict[str, Mapping[str, Any]] = {}
    for record in reading.run.records():
        name = record["study_id"]
        while name not in waiting:
            line = next(lines, None)
            if line is None:
                raise JudgeError(f"{truth.path} has changed: {name!r} is not there; try again")
            waiting[line["id"]] = line
        row = row_of[name]
        n = None if reading.errors is None or not reading.is_read[row] else reading.errors[row]
        yield Pair(
            record,
            waiting.pop(name),
            None if n is None else int(n),
            frozenset(one for one, holds in came.items() if holds[row]),
        )


def _lines(report: StressReport) -> Iterator[Mapping[str, Any]]:
    path = report.truth.path
    for n, raw in enumerate(lines_of(path), 1):
        line: dict[str, Any] = jsonio.read(raw)
        wrong = fault(line, _Line) or next(
            (
                f"{end!r} is no place"
                for one in line["words"]
                for end, text in (("at", line["before"]), ("to", line["after"]))
                if len(one[end]) != 2 or not 0 <= one[end][0] <= one[end][1] <= len(text)
            ),
            None,
        )
        if wrong:
            raise JudgeError(
                f"{path} is damaged: in line {n:,}, {wrong}; make the candidates again with judge "
                "stress make"
            )
        yield line


def came_of(report: StressReport) -> dict[str, Bools]:
    """Return of which candidates each of `stress_page.data.CAME` holds, as the figures count it."""
    truth, reading = report.truth, report.first
    rows = np.arange(len(truth.ids))
    read = reading.is_read
    group = np.array(truth.groups, dtype=str)[truth.changes]
    errors, nothing = reading.errors, np.zeros(len(rows), dtype=bool)
    single, plain = (group == "error") & read, np.isin(group, ("unchanged", "slip")) & read
    says = reading.errors is not None or reading.score is not None
    hostile = (group == "hostile") & read & read[truth.bases] & says
    changed = np.isin(truth.ids, [one["id"] for one in report.data["hostile"]])
    has = nothing if errors is None else np.nan_to_num(errors) > 0
    known = nothing if errors is None else read
    level = nothing if reading.level is None else np.nan_to_num(reading.level) > 0
    right = in_right_category(truth, reading, rows) if reading.scale.is_shared else has
    sided = (
        on_right_side(truth, reading, rows)
        if reading.scale.is_shared and reading.level is not None
        else right
    )
    return {
        "missed": single & known & ~has,
        "found": single & has,
        "other_category": single & has & ~right,
        "other_significance": single & right & ~sided & ~truth.is_doubtful,
        "false_alarm": plain & has,
        "grave_alarm": plain & level,
        "quiet": plain & known & ~has,
        "changed": changed,
        "same": hostile & ~changed,
        "not_read": ~read,
    }
