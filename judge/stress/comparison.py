"""Several judges on the same candidates: what each finds, and whether they differ."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from judge.distribution import version
from judge.running.folder import MANIFEST, Run
from judge.stats.agreement import clustered_error
from judge.stats.estimate import Z_95
from judge.stats.paired import holm, mcnemar
from judge.stats.resample import ModelPairs
from judge.stress.figures import Rows
from judge.stress.folder import TRUTH
from judge.stress.reading import Bools, Reading
from judge.stress.report import (
    FORMAT,
    StressReport,
    is_stress_run,
    opened_runs,
    report_of,
    settings_of,
)
from judge.stress.runs import RUNS
from judge.stress.truth import Truth
from judge.types import JudgeError


@dataclass(frozen=True)
class StressComparison:
    """Reports of several judges on the same candidates, by the names of the judges.

    The first is the one that the others are compared with.
    """

    reports: Mapping[str, StressReport]
    data: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return all of it as JSON's types, as `judge compare --format json` prints it."""
        return dict(self.data)


def is_stress(path: Path) -> bool:
    """Whether a path is a folder of `judge stress`, or a run of its candidates."""
    try:
        if (path / MANIFEST).exists():
            return is_stress_run(Run(path))
        return (path / RUNS).is_dir() and (path / TRUTH).is_file()
    except (JudgeError, OSError):  # what is wrong with it is said where it is read
        return False


def compare_judges(given: Sequence[tuple[str | None, Run | str | Path]]) -> StressComparison:
    """Compare judges by their runs on the same candidates, each with the name it is to have.

    A folder of `judge stress` stands for each judge that has runs in it. Without a name a judge
    has its own, with the prompt where several have that. Raises `JudgeError` for fewer than two,
    where two have one name, where they are of other candidates or rubrics, and as `report_of`.
    """
    named: dict[str, StressReport] = {}
    found = [(name, report) for name, path in given for report in _reports(name, path)]
    _check_alike([report for _, report in found])
    own = [report.data["judge"]["name"] for _, report in found]
    for (name, report), judge in zip(found, own, strict=True):
        prompts = report.data["prompts"]
        with_prompt = f"{judge}, {prompts[0]}" if prompts and own.count(judge) > 1 else judge
        name = name or with_prompt
        if name in named:
            where = [_shown(one) for one in (named[name], report)]
            raise JudgeError(
                f"{where[0]} and {where[1]} are both of {name!r}; name them: NAME={where[1]}"
            )
        named[name] = report
    if len(named) < 2:
        raise JudgeError("a comparison needs the runs of two judges or more")
    return StressComparison(named, _data(named))


def _reports(name: str | None, given: Run | str | Path) -> list[StressReport]:
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in opened_runs(given):
        groups.setdefault(settings_of(run), []).append(run)
    if name and len(groups) > 1:
        raise JudgeError(
            f"{given} has runs of {len(groups)} judges, which cannot all be {name!r}; name a run "
            "of each"
        )
    return [report_of(runs) for runs in groups.values()]


def _shown(report: StressReport) -> str:
    return str(report.first.run.path)


def _check_alike(reports: Sequence[StressReport]) -> None:
    first, *others = reports
    seen: dict[str, StressReport] = {}
    for report in reports:
        if (same := seen.setdefault(report.data["signature"], report)) is not report:
            raise JudgeError(
                f"{_shown(same)} and {_shown(report)} are the same answers of one judge; give one "
                "of them"
            )
    for other in others:
        where = f"{_shown(first)} and {_shown(other)}"
        if other.truth.sha256 != first.truth.sha256:
            raise JudgeError(
                f"{where} are of other candidates ({first.truth.path} and {other.truth.path}); "
                "judge the same ones with both"
            )
        rubrics = [one.first.run.signature.split("|")[0] for one in (first, other)]
        if rubrics[0] != rubrics[1]:
            raise JudgeError(f"{where} are of two rubrics, {' and '.join(rubrics)}")
        if other.data["level"] != first.data["level"] or other.data["score"] != first.data["score"]:
            raise JudgeError(f"{where} do not count the same: a reader was not asked for all of it")


def _data(named: Mapping[str, StressReport]) -> dict[str, Any]:
    first = next(iter(named.values()))
    truth = first.truth
    of = {name: report.data for name, report in named.items()}

    def beside(key: str, at: int | None = None) -> list[dict[str, Any]]:
        rows = {name: data[key] if at is None else data[key][at] for name, data in of.items()}
        return [{"name": name} | _without_head(row) for name, row in rows.items()]

    def table(key: str, head: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {name: row[name] for name in head} | {"judges": beside(key, at)}
            for at, row in enumerate(first.data[key])
        ]

    detection = table("detection", ("class", "does", "made"))
    for row in detection:
        row["differences"] = _differences(named, truth.rows_of(row["class"]))
    _adjust([test for row in detection for test in row["differences"]])
    lines = sorted(f"{name}\t{data['signature']}" for name, data in of.items())
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:8]
    return {
        "format": FORMAT,
        **{key: first.data[key] for key in ("rubric", "level", "score", "categories")},
        "candidates": first.data["candidates"],
        "judges": [
            {
                "name": name,
                **{key: data[key] for key in ("judge", "prompts", "repeats", "runs", "verdict")},
            }
            for name, data in of.items()
        ],
        "notes": list(dict.fromkeys(note for data in of.values() for note in data["notes"])),
        "detection": detection,
        "detection_all": {
            "judges": beside("detection_all"),
            "differences": _differences_all(truth, named),
        },
        "false_alarms": table("false_alarms", ("change", "does", "group", "made")),
        "false_alarms_all": {"judges": beside("false_alarms_all")},
        "wrong_way": [{"name": name, **data["monotone"]["wrong_way"]} for name, data in of.items()],
        "stability": [{"name": name, **data["stability"]} for name, data in of.items()],
        "hostile": table("hostile_all", ("change", "does", "made")),
        "signature": "|".join(
            [
                f"stress-compare:{FORMAT}",
                f"judges:{len(named)}+{digest}",
                f"truth:{truth.sha256[:8]}",
                f"version:{version()}",
            ]
        ),
    }


def _without_head(row: Mapping[str, Any]) -> dict[str, Any]:
    head = ("class", "change", "does", "group", "made", "not_made")
    return {key: value for key, value in row.items() if key not in head}


def _pairs(named: Mapping[str, StressReport], rows: Rows) -> list[tuple[str, Rows, Bools, Bools]]:
    (_, first), *others = named.items()
    found = []
    for name, report in others:
        one, other = report.first, first.first
        if one.errors is None or other.errors is None:
            return []
        both = rows[one.is_read[rows] & other.is_read[rows]]
        found.append((name, both, _found(one, both), _found(other, both)))
    return found


def _found(reading: Reading, rows: Rows) -> Bools:
    assert reading.errors is not None
    return np.asarray(reading.errors[rows] > 0)


def _differences(named: Mapping[str, StressReport], rows: Rows) -> list[dict[str, Any]]:
    """Return how often each judge found an error of one class where the first did not.

    `n` candidates were read by both; of these `alone` were found by this judge alone and
    `first_alone` by the first. `difference` is the rate of this one less that of the first. `p`
    is McNemar's mid-p value, None for no pair; a class has one candidate a study, so that they
    are independent.
    """
    found = []
    for name, both, one, other in _pairs(named, rows):
        p = mcnemar(np.column_stack([one, other]).astype(float), ModelPairs(2))[0]
        found.append(
            {
                "name": name,
                "n": len(both),
                "alone": int((one & ~other).sum()),
                "first_alone": int((other & ~one).sum()),
                "difference": float(one.mean() - other.mean()) if len(both) else None,
                "p": float(p) if len(both) else None,
                "p_holm": None,
            }
        )
    return found


def _adjust(tests: Sequence[dict[str, Any]]) -> None:
    """Correct the p-values of all classes and judges together [Holm 1979]."""
    for test, p in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p_holm"] = p


def _differences_all(truth: Truth, named: Mapping[str, StressReport]) -> list[dict[str, Any]]:
    """Return the difference over all classes; the interval is of studies, whose candidates go
    together: the difference ± 1.96 clustered standard errors.
    """
    found = []
    for name, both, one, other in _pairs(named, truth.rows_of(*truth.in_group("error"))):
        moved = one.astype(float) - other
        line: dict[str, Any] = {"name": name, "n": len(both), "difference": None}
        line |= {"low": None, "high": None}
        if len(both):
            value, (error, n_units) = (
                float(moved.mean()),
                clustered_error(moved, truth.units[both]),
            )
            line["difference"] = value
            if n_units > 1 and np.ptp(moved) > 0:
                line |= {"low": value - Z_95 * error, "high": value + Z_95 * error}
        found.append(line)
    return found
