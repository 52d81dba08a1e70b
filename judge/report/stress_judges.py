"""Several judges on the same candidates as they are printed: tables, and what machines take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from judge.report import stress
from judge.report.formats import markdown_table, markdown_text, rows_as_csv
from judge.report.latex import one_line
from judge.report.leaderboard import p_value
from judge.report.stress import mean, name_of, rate
from judge.report.tables import Table
from judge.report.words import NOTHING, counted, estimate, number

_COLUMNS = (
    *("table", "name", "judge", "figure", "k", "n", "value", "low", "high"),
    *("alone", "first_alone", "p", "p_holm", "signature"),
)


def facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is said above the tables, a name and a value each."""
    made = found["candidates"]
    return [
        ("rubric", found["rubric"]),
        (
            "candidates",
            f"{made['n_candidates']:,} of {counted(made['n_studies'], 'study', 'studies')}",
        ),
        *((one["name"], _of_judge(one)) for one in found["judges"]),
        *(("note", note) for note in found["notes"]),
    ]


def _of_judge(one: Mapping[str, Any]) -> str:
    judge, run = one["judge"], one["runs"][0]
    lost = run["n_studies"] - run["n_scored"] + run["n_undefined"] + run["n_absent"]
    parts = [judge["name"]]
    parts += [f"prompt {', '.join(one['prompts'])}"] if one["prompts"] else []
    parts += [f"{lost:,} not read"] if lost else []
    parts += [judge["note"]] if judge["note"] else []
    return "; ".join(parts)


def tables(found: Mapping[str, Any]) -> list[Table]:
    """Return the tables that have rows."""
    every = [_classes(found), _differences(found), _alarms(found), _others(found)]
    return [table for table in every if table.rows]


def _names(found: Mapping[str, Any]) -> list[str]:
    return [one["name"] for one in found["judges"]]


def _classes(found: Mapping[str, Any]) -> Table:
    rows = [
        (name_of(one["class"]), *(rate(judge["found"]) for judge in one["judges"]))
        for one in found["detection"]
        if one["made"]
    ]
    every = found["detection_all"]["judges"]
    labels = {"found": "all", "right_category": "all: right category"}
    labels["right_significance"] = "all: right significance"
    if rows:
        rows += [
            (label, *(rate(judge[key]) for judge in every))
            for key, label in labels.items()
            if any(judge[key] for judge in every)
        ]
    return Table("One error that was put in: found", ("one error", *_names(found)), tuple(rows))


def _differences(found: Mapping[str, Any]) -> Table:
    first = _names(found)[0]
    rows = [
        (
            *(name_of(one["class"]), test["name"], f"{test['n']:,}"),
            f"{100 * test['difference']:+.1f}",
            f"{test['alone']:,}, {test['first_alone']:,}",
            p_value(test["p_holm"]),
        )
        for one in found["detection"]
        for test in one["differences"]
        if test["n"]
    ]
    rows += [
        ("all", test["name"], f"{test['n']:,}", _points(test), "", "")
        for test in found["detection_all"]["differences"]
        if test["n"]
    ]
    head = ("one error", "judge", "both read", "difference", "by it alone, by the first alone", "p")
    title = (
        f"Found, less what {first} found, in percentage points; p by McNemar's test (mid-p), "
        "corrected by Holm's method over all classes"
    )
    return Table(title, head, tuple(rows), n_left=2)


def _points(test: Mapping[str, Any]) -> str:
    text = f"{100 * test['difference']:+.1f}"
    if test["low"] is None:
        return text
    return f"{text} [{100 * test['low']:+.1f}, {100 * test['high']:+.1f}]"


def _alarms(found: Mapping[str, Any]) -> Table:
    rows = [
        (name_of(one["change"]), *(rate(judge["any"]) for judge in one["judges"]))
        for one in found["false_alarms"]
        if one["made"]
    ]
    head = ("nothing changed but", *_names(found))
    return Table("Reports without an error of a finding: given an error", head, tuple(rows))


def _others(found: Mapping[str, Any]) -> Table:
    level, score = found["level"], found["score"]
    rows: list[tuple[str, ...]] = []

    def add(
        label: str,
        judges: Sequence[Mapping[str, Any]],
        of: Callable[[Mapping[str, Any]], Any],
        written: Callable[[Any], str],
    ) -> None:
        values = [of(judge) for judge in judges]
        if any(value is not None for value in values):
            texts = (NOTHING if value is None else written(value) for value in values)
            rows.append((label, *texts))

    alarms = found["false_alarms_all"]["judges"]
    add("other words: any error", alarms, lambda one: one["any"], rate)
    if level:
        add(f"other words: {level['label']}", alarms, lambda one: one["significant"], rate)
    if score:
        label = f"other words: change of {score['label']}"
        add(label, alarms, lambda one: one["score_change"], mean)
    wrong = found["wrong_way"]
    add("one error more: fewer found", wrong, lambda one: one["count"], rate)
    add("one error more: a better score", wrong, lambda one: one["score"], rate)
    for key, text in (("repeats", "asked again"), ("prompts", "another prompt")):
        of = [one[key] or {} for one in found["stability"]]
        add(f"{text}: flips", of, lambda one: one.get("flips"), rate)
        add(f"{text}: SD of the score", of, lambda one: one.get("score_sd"), number)
        add(f"{text}: ICC of counts", of, lambda one: one.get("icc"), estimate)
    for one in found["hostile"]:
        label = f"changed by {name_of(one['change'])}"
        add(label, one["judges"], lambda judge: judge["changed"], rate)
    return Table("All else", ("figure", *_names(found)), tuple(rows))


def as_markdown(found: Mapping[str, Any]) -> str:
    """Return the tables as Markdown, notes and signature last."""
    parts = [markdown_table(table) for table in tables(found)]
    parts += [f"Note: {markdown_text(note)}." for note in found["notes"]]
    return "\n\n".join([*parts, f"Signature: `{one_line(found['signature'])}`"])


def _stable(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    judges = [{**one[key], "name": one["name"]} for one in found["stability"] if one[key]]
    return {"judges": judges}


def as_csv(found: Mapping[str, Any]) -> str:
    """Return one row a figure and judge, unrounded; differences have the figure `difference`."""
    return rows_as_csv(rows(found), _COLUMNS)


def rows(found: Mapping[str, Any]) -> list[dict[str, object]]:
    """Return one row a figure and judge."""
    made: list[dict[str, object]] = []

    def add(table: str, name: str, judge: str, figure: str, one: Mapping[str, Any]) -> None:
        value = next((one[k] for k in ("rate", "mean", "value", "difference") if k in one), None)
        kept = {key: one.get(key) for key in _COLUMNS if key in one and key != "name"}
        made.append(
            {
                **dict.fromkeys(_COLUMNS),
                **kept,
                "table": table,
                "name": name,
                "judge": judge,
                "figure": figure,
                "value": value,
                "signature": found["signature"],
            }
        )

    entries = [
        *(("detection", one["class"], one) for one in found["detection"]),
        ("detection", "all", found["detection_all"]),
        *(("false_alarms", one["change"], one) for one in found["false_alarms"]),
        ("false_alarms", "all", found["false_alarms_all"]),
        *(("hostile", one["change"], one) for one in found["hostile"]),
        ("wrong_way", "all", {"judges": found["wrong_way"]}),
        *(("stability", key, _stable(found, key)) for key in ("repeats", "prompts")),
    ]
    for table, name, entry in entries:
        for judge in entry["judges"]:
            for figure, one in stress.figures(table, judge):
                add(table, name, judge["name"], figure, one)
        for test in entry.get("differences", ()):
            add(table, name, test["name"], "difference", test)
    return made
