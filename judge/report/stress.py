"""What a judge made of known errors, as it is printed: tables, and what machines take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge.report import words
from judge.report.formats import markdown_table, rows_as_csv
from judge.report.latex import one_line
from judge.report.tables import Table
from judge.report.words import NOTHING, counted, number, percent

_COLUMNS = (
    *("table", "name", "figure", "k", "n", "value", "low", "high", "made", "unparsed", "failed"),
    *("undefined", "signature"),
)
_MOST_LISTED = 20
"""Readings that a hostile text changed which are listed; all are in the JSON."""


def facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is said above the tables, a name and a value each."""
    judge, made = found["judge"], found["candidates"]
    runs, seen = found["runs"], found["detection_all"]["found"]
    alarms = found["false_alarms_all"]["any"]
    n_changed = sum(one["changed"]["k"] for one in found["hostile_all"])
    n_hostile = sum(one["changed"]["n"] for one in found["hostile_all"])
    return [
        *([("errors found", rate(seen))] if seen else []),
        *([("false alarms", rate(alarms))] if alarms else []),
        *([("changed by hostile texts", f"{n_changed:,} of {n_hostile:,}")] if n_hostile else []),
        ("judge", f"{judge['name']} ({judge['note']})" if judge["note"] else judge["name"]),
        ("rubric", found["rubric"]),
        *([("prompts", ", ".join(found["prompts"]))] if found["prompts"] else []),
        (
            "candidates",
            f"{made['n_candidates']:,} of {counted(made['n_studies'], 'study', 'studies')}",
        ),
        *([("runs", f"{len(runs)}; figures are of {runs[0]['path']}")] if len(runs) > 1 else []),
    ]


def tables(found: Mapping[str, Any]) -> list[Table]:
    """Return the tables that have rows."""
    every = [
        _detection(found),
        _matrix(found),
        _alarms(found),
        _by_k(found),
        _wrong_way(found),
        _stability(found),
        _hostile(found),
        _changed(found),
        _reasons(found),
    ]
    return [table for table in every if table and table.rows]


def rate(one: Mapping[str, Any] | None) -> str:
    """Return a rate of the report with counts and interval, `153/177 86.4% [80.6, 90.7]`."""
    return NOTHING if one is None else words.rate({**one, "value": one["rate"]})


def mean(one: Mapping[str, Any] | None) -> str:
    """Return a mean of the report with its interval."""
    return NOTHING if one is None else words.estimate({**one, "value": one["mean"]})


def name_of(change: str) -> str:
    """Return a change as it is printed, `side swapped`."""
    return change.replace("_", " ")


def _lost(one: Mapping[str, Any]) -> str:
    return f"{sum(one['lost'].values()):,}"


def _detection(found: Mapping[str, Any]) -> Table:
    names = {"found": "found", "right_category": "right category"}
    names["right_significance"] = "right significance"
    every = found["detection_all"]
    names = {name: label for name, label in names.items() if every[name] is not None}
    rows = [
        (
            name_of(one["class"]),
            *(rate(one[name]) for name in names),
            _lost(one),
        )
        for one in found["detection"]
    ]
    if rows and names:
        rows.append(("all", *(rate(every[name]) for name in names), _lost(every)))
    head = ("one error", *names.values(), "not read")
    return Table("One error that was put in", head, tuple(rows) if names else ())


def _matrix(found: Mapping[str, Any]) -> Table:
    names = [one["name"] for one in found["categories"]]
    labels = ", ".join(one["label"] for one in found["categories"])
    rows = tuple(
        (
            name_of(one["class"]),
            f"{one['n']:,}",
            *(f"{one['categories'][name]:,}" for name in names),
            f"{one['none']:,}",
        )
        for one in found["matrix"]
        if one["n"]
    )
    title = f"What it was taken for: candidates with an error of {labels}"
    return Table(title, ("one error", "read", *names, "none"), rows)


def _alarms(found: Mapping[str, Any]) -> Table:
    score, level = found["score"], found["level"]
    heads = [
        *([level["label"]] if level else []),
        *(["any error"] if found["false_alarms_all"]["any"] else []),
        *([f"change of {score['label']}"] if score else []),
    ]

    def cells(one: Mapping[str, Any]) -> list[str]:
        shown = [rate(one["significant"])] if level else []
        shown += [rate(one["any"])] if one["any"] else []
        return [*shown, *([mean(one["score_change"])] if score else []), _lost(one)]

    rows = [(name_of(one["change"]), *cells(one)) for one in found["false_alarms"]]
    if found["false_alarms_all"]["made"]:
        rows.append(("all but identical", *cells(found["false_alarms_all"])))
    head = ("nothing changed but", *heads, "not read")
    return Table("Reports without an error of a finding", head, tuple(rows))


def _by_k(found: Mapping[str, Any]) -> Table:
    score = found["score"]
    rows = tuple(
        (
            *(str(one["k"]), f"{one['n']:,}", mean(one["count"])),
            *([mean(one["score"])] if score else []),
            f"{one['n_both']:,}" if one["k"] else "",
            *((mean(one["step_count"]),) if one["k"] else ("",)),
            *(([mean(one["step_score"])] if one["k"] else [""]) if score else []),
        )
        for one in found["monotone"]["by_k"]
    )
    head = (
        *("put in", "read", "errors found"),
        *([score["label"]] if score else []),
        *("steps", "errors a step"),
        *([f"{score['label']} a step"] if score else []),
    )
    title = "By the number of errors put in: fewer studies bear more; steps are of the same studies"
    return Table(title, head, rows)


def _wrong_way(found: Mapping[str, Any]) -> Table:
    wrong = found["monotone"]["wrong_way"]
    labels = {"count": "fewer errors found", "score": "a better score"}
    rows = tuple(
        (label, rate(wrong[name])) for name, label in labels.items() if wrong[name] is not None
    )
    has_steps = any(wrong[name] and wrong[name]["n"] for name in labels)
    title = "Studies that move the wrong way with one more error"
    return Table(title, ("wrong way", "studies"), rows if has_steps else ())


def _stability(found: Mapping[str, Any]) -> Table:
    level = found["level"]["label"] if found["level"] else "errors"
    rows = []
    for name in ("repeats", "prompts"):
        one = found["stability"][name]
        if one is None:
            continue
        icc, again = one["icc"], one["rate"]
        rows += [
            (name, "compared", ", ".join(one["of"])),
            (name, "candidates read in all", f"{one['n']:,} ({one['lost']:,} not)"),
            (name, f'flip between "no {level}" and some', rate(one["flips"])),
            *((name, f"no {level}: {each['of']}", rate(each)) for each in one["rates"]),
            (name, "SD of the score within a candidate", number(one["score_sd"])),
            (
                name,
                "ICC(1,1) of the number of errors",
                NOTHING if icc is None else words.estimate(icc),
            ),
        ]
        if again:
            rows += [
                (name, "the rate, read again, within", f"± {100 * again['again']:.1f} points"),
                (name, "part of the rate's variance", percent(again["share"])),
            ]
    return Table("Asked again", ("between", "figure", "value"), tuple(rows), n_left=2)


def _hostile(found: Mapping[str, Any]) -> Table:
    names = ("fewer", "more", "other", "unreadable")
    rows = tuple(
        (name_of(one["change"]), rate(one["changed"]), *(f"{one[name]:,}" for name in names))
        for one in found["hostile_all"]
    )
    return Table("Hostile texts", ("the text", "changed a reading", *names), rows)


def _changed(found: Mapping[str, Any]) -> Table:
    listed = found["hostile"]
    rows = tuple(
        (
            *(one["id"], one["effect"]),
            *(reading(one[side], found["level"]) for side in ("before", "after")),
        )
        for one in _mixed(listed)[:_MOST_LISTED]
    )
    title = "Readings that a hostile text changed"
    if len(listed) > _MOST_LISTED:
        title += f": {_MOST_LISTED} of {len(listed):,}, all with --format json"
    return Table(title, ("candidate", "effect", "without the text", "with it"), rows, n_left=4)


def _mixed(listed: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    seen: Counter[str] = Counter()
    turns = []
    for one in listed:
        turns.append(seen[one["change"]])
        seen[one["change"]] += 1
    return [one for _, one in sorted(zip(turns, listed, strict=True), key=lambda pair: pair[0])]


def reading(one: Mapping[str, Any] | None, level: Mapping[str, Any] | None) -> str:
    """Return a reading in short: `2 errors (1a 1d), 1 significant, score 0.500`.

    Categories that are words and no letters stand as `1 missing finding, 1 location`.
    """
    if one is None:
        return NOTHING
    parts = [] if one["errors"] is None else [counted(one["errors"], "error", "errors")]
    if found := one["categories"]:
        are_codes = all(len(name) == 1 for name in found)
        words = [f"{n}{'' if are_codes else ' '}{name}" for name, n in found.items()]
        parts[-1] += f" ({(' ' if are_codes else ', ').join(words).replace('_', ' ')})"
    if level and one["errors"]:
        parts.append(f"{one['level']:,} {level['name']}")
    return ", ".join([*parts, *([] if one["score"] is None else [f"score {number(one['score'])}"])])


def _reasons(found: Mapping[str, Any]) -> Table:
    counts = found["runs"][0]["reasons"]
    rows = tuple((name, f"{n:,}") for name, n in counts.items())
    return Table("Not scored", ("not scored", "candidates"), rows)


def as_markdown(found: Mapping[str, Any]) -> str:
    """Return the tables as Markdown, the signature last."""
    parts = [markdown_table(table) for table in tables(found)]
    return "\n\n".join([*parts, f"Signature: `{one_line(found['signature'])}`"])


def as_csv(found: Mapping[str, Any]) -> str:
    """Return one row a figure, unrounded."""
    return rows_as_csv(rows(found), _COLUMNS)


def rows(found: Mapping[str, Any]) -> list[dict[str, object]]:
    """Return one row a figure: the key of the JSON that it stands under, of what, which, and it."""
    made = [
        (table, name, figure, one, about)
        for table, name, about in _entries(found)
        for figure, one in figures(table, about)
    ]
    return [
        {
            **dict.fromkeys(_COLUMNS),
            "table": table,
            "name": name,
            "figure": figure,
            **{key: one.get(key) for key in ("k", "n", "low", "high")},
            "value": next((one[key] for key in ("rate", "mean", "value") if key in one), None),
            "made": about.get("made"),
            **_lost_of(about),
            "signature": found["signature"],
        }
        for table, name, figure, one, about in made
    ]


def _lost_of(about: Mapping[str, Any]) -> dict[str, object]:
    lost = about.get("lost")
    return dict(lost) if isinstance(lost, Mapping) else {}


def _entries(found: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for table, key in (("detection", "class"), ("false_alarms", "change")):
        yield from ((table, one[key], one) for one in found[table])
        yield table, "all", found[f"{table}_all"]
    for row in found["monotone"]["by_k"]:
        yield "monotone", str(row["k"]), row
    yield "wrong_way", "all", found["monotone"]["wrong_way"]
    for name in ("repeats", "prompts"):
        if found["stability"][name]:
            yield "stability", name, found["stability"][name]
    yield from (("hostile", one["change"], one) for one in found["hostile_all"])


def figures(table: str, about: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the figures of an entry of a `table`, by name."""
    is_number = (int, float, type(None))
    for name, one in about.items():
        if isinstance(one, Mapping) and {"low", "high"} <= one.keys():
            yield name, one
        elif table == "stability" and name == "score_sd" and isinstance(one, is_number):
            yield name, {"value": one, "n": about["n"]}
    if table == "stability" and about["rate"]:
        again: Sequence[str] = ("again", "share")
        yield from ((name, {"value": about["rate"][name], "n": about["n"]}) for name in again)
