"""Judges beside readers as they are printed: tables, and what machines take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from judge.stats.metric import MINUS
from judge.tables.document import markdown_table, markdown_text, rows_as_csv
from judge.tables.latex import latex_table, one_line
from judge.tables.run import Table
from judge.text import NOTHING, number, percent

_METHODS = {"kendall": "Kendall tau-b", "spearman": "Spearman", "pearson": "Pearson"}
_READERS = "readers"
_COLUMNS = (
    *("table", "quantity", "rater", "is_reader", "measure", "study_class", "statistic"),
    *("n", "value", "low", "high", "reason", "signature"),
)


def facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is said above the tables, a name and a value each."""
    return [
        ("judges", ", ".join(f"{one['name']} ({one['judge']})" for one in found["judges"])),
        ("readers", ", ".join(one["name"] for one in found["readers"])),
        ("studies", f"{found['n_studies']:,} judged and read"),
        *([("significant", found["significant"])] if "significant" in found else []),
        ("resampled by", found["patient_field"] or "study"),
        *(("note", note) for note in found["notes"]),
    ]


def tables(found: Mapping[str, Any]) -> list[Table]:
    """Return the tables that have rows."""
    levels = [key for key in found if key.startswith("no_") and key.endswith("_error")]
    every = [
        _judges(found),
        _agreement(found),
        *(_level(found, key) for key in levels),
        _limits(found),
        _errors(found),
        _preference(found),
        _alternative(found),
    ]
    return [table for table in every if table.rows]


def _judges(found: Mapping[str, Any]) -> Table:
    has_repeats = any("same_verdict" in row for row in found["judge_table"])
    rows = tuple(
        (
            *(row["judge"], _figure(row["kendall"]), _share(row["unread"])),
            *([_or_reason(row["same_verdict"], percent)] if has_repeats else []),
            _or_reason(row["dollars_per_1000"], lambda value: f"${_short(value)}"),
            _or_reason(row["seconds"], _short),
            "" if row["concurrency"] is None else f"{row['concurrency']:,}",
        )
        for row in found["judge_table"]
    )
    label = next((row["label"] for row in found["judge_table"] if row["label"]), "errors")
    head = (
        *("judge", f"Kendall tau-b, {label}", "unread"),
        *(["same verdict again"] if has_repeats else []),
        *("price per 1,000 studies", "seconds a study", "at a time"),
    )
    return Table("Judges", head, rows, n_left=1)


def _short(value: float) -> str:
    """Return a number with one decimal, or two digits where it is below 10."""
    return f"{value:,.1f}" if value >= 10 else f"{value:.2g}"


def _or_reason(figure: Mapping[str, Any], write: Callable[[float], str]) -> str:
    """Return a figure, or `n/a` with the reason."""
    if figure["value"] is None:
        return f"{NOTHING} ({figure['reason']})"
    return write(figure["value"])


def _agreement(found: Mapping[str, Any]) -> Table:
    rows = []
    for ceiling in found["ceiling_mean"]:
        of = [one for one in found["agreement"] if one["quantity"] == ceiling["quantity"]]
        if ceiling["kendall"]["value"] is None and all(
            one["kendall"]["value"] is None for one in of
        ):
            continue
        rows += [
            (ceiling["label"], _measured(one), str(one["n"]), *(_figure(one[m]) for m in _METHODS))
            for one in of
        ]
        rows.append(
            (
                *(ceiling["label"], f"({_READERS}, each against the others)", str(ceiling["n"])),
                *(_ranged(found, ceiling, method) for method in _METHODS),
            )
        )
    head = ("quantity", "judge", "studies", *_METHODS.values())
    return Table("Agreement with the mean of the readers", head, tuple(rows), n_left=2)


def _measured(one: Mapping[str, Any]) -> str:
    judge, measure = one["judge"], one["measure"]
    if one["own"]:
        return str(judge)
    return str(measure) if measure.removeprefix(MINUS) == judge else f"{judge}: {measure}"


def row_name(one: Mapping[str, Any]) -> str:
    """Return the same, whichever way round a score is taken."""
    return _measured({**one, "measure": one["measure"].removeprefix(MINUS)})


def _ranged(found: Mapping[str, Any], ceiling: Mapping[str, Any], method: str) -> str:
    ends = ceiling["range"][method]
    value = _figure(ceiling[method])
    if ends is None:
        return value
    each = [one[method] for one in found["ceiling"] if one["quantity"] == ceiling["quantity"]]
    n = sum(one["value"] is not None for one in each)
    some = f"; {n} of {len(each)} {_READERS}" if n < len(each) else ""
    return f"{value} ({number(ends[0])} to {number(ends[1])}{some})"


def _level(found: Mapping[str, Any], key: str) -> Table:
    names = ("sensitivity", "specificity", "kappa", "judge_rate", "reader_rate")
    rows = tuple(
        (
            f"{one['reader']} (reader)" if "reader" in one else one["judge"],
            one["study_class"] or "all",
            str(one["n"]),
            *(_figure(one[name], is_share=name != "kappa") for name in names),
        )
        for one in found[key]
        if one["n"]
    )
    level = key.removeprefix("no_").removesuffix("_error").replace("_", " ")
    head = (
        *("rater", "study class", "studies", "sensitivity", "specificity", "kappa"),
        *(f"no {level} error: rater", f"no {level} error: readers"),
    )
    return Table(f"Studies with a {level} error, by the readers' majority", head, rows, n_left=2)


def _limits(found: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            *(one["label"], one["judge"], str(one["n"])),
            *(_figure(one[name]) for name in ("bias", "lower", "upper")),
        )
        for one in found["limits"]
        if one["bias"]["value"] is not None
    )
    head = ("quantity", "judge", "studies", "bias", "lower limit", "upper limit")
    title = "Counts per study: judge less the mean of the readers, and limits of agreement"
    return Table(title, head, rows, n_left=2)


def _errors(found: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            f"{one['rater']} (reader)" if one["is_reader"] else one["rater"],
            one["label"],
            *(_share(one[name]) for name in ("recall", "precision")),
        )
        for one in found["errors"]
        if not (one["is_reader"] and one["category"])
    )
    head = ("rater", "errors", "of the readers' errors, found", "of its own, a reader's too")
    return Table("Errors matched by category and words", head, rows, n_left=2)


def _preference(found: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            *(one["label"], f"{one['judge']}: {one['measure']}", str(one["n"])),
            *(_figure(one, is_share=True), str(one["n_ties"]), str(one["n_undefined"])),
        )
        for one in found["preference"]
        if one["n"]
    )
    head = ("readers order by", "judge", "pairs", "ordered alike", "tied by judge", "by readers")
    return Table("Two candidates of one study, in the readers' order", head, rows, n_left=2)


def _alternative(found: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            *(one["label"], one["judge"]),
            f"{sum(test['won'] for test in one['readers'])}/{len(one['readers'])}",
            *(number(one[name]) for name in ("omega", "rho")),
            "yes" if one["passes"] else "no",
        )
        for one in found["alt_test"]
        if one["passes"] is not None
    )
    epsilon = next((one["epsilon"] for one in found["alt_test"]), 0.0)
    head = ("quantity", "judge", "readers won", "omega", "rho", "may stand in for a reader")
    title = f"Alternative-annotator test, epsilon {epsilon:g}"
    return Table(title, head, rows, n_left=2)


def _figure(one: Mapping[str, Any], *, is_share: bool = False) -> str:
    """Return a figure with its interval, `0.712 [0.690, 0.734]` or `71.2% [69.0, 73.4]`."""
    value = one["value"]
    if value is None:
        return NOTHING
    if is_share:
        text, ends = percent(value), [f"{100 * one[end]:.1f}" for end in _ends(one)]
    else:
        text, ends = number(value), [number(one[end]) for end in _ends(one)]
    return f"{text} [{', '.join(ends)}]" if ends else text


def _ends(one: Mapping[str, Any]) -> tuple[str, ...]:
    return ("low", "high") if one["low"] is not None else ()


def _share(one: Mapping[str, Any]) -> str:
    return f"{one['k']}/{one['n']} {_figure(one, is_share=True)}"


def as_markdown(found: Mapping[str, Any]) -> str:
    """Return the tables as Markdown, notes and signature last."""
    parts = [markdown_table(table) for table in tables(found)]
    parts += [f"Significant: {found['significant']}."] if "significant" in found else []
    parts += [f"Note: {markdown_text(note)}." for note in found["notes"]]
    return "\n\n".join([*parts, f"Signature: `{one_line(found['signature'])}`"])


def as_latex(found: Mapping[str, Any]) -> str:
    """Return the tables as LaTeX for the package booktabs; the rest are comments."""
    made = [latex_table(table) for table in tables(found)]
    notes = [f"% significant: {found['significant']}"] if "significant" in found else []
    notes += [f"% note {one_line(note)}" for note in found["notes"]]
    return "\n\n".join(
        [
            r"% needs \usepackage{booktabs}",
            *made,
            *notes,
            f"% signature {one_line(found['signature'])}",
        ]
    )


def as_csv(found: Mapping[str, Any]) -> str:
    """Return one row a figure, unrounded; what has no value has a reason."""
    return rows_as_csv(list(rows(found)), _COLUMNS)


def rows(found: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Yield one row a figure: whose it is, of what, `n`, `value`, `low` to `high`, `reason`.

    `table` is the key of the JSON that the figure stands under.
    """
    for key, entries in found.items():
        if not isinstance(entries, list):
            continue
        for entry in entries:
            if not isinstance(entry, Mapping) or "signature" in entry:
                continue
            for statistic, one in _figures(key, entry):
                yield {
                    **dict.fromkeys(_COLUMNS),
                    **_whose(key, entry),
                    "statistic": statistic,
                    **{name: one.get(name) for name in ("n", "value", "low", "high", "reason")},
                    "signature": found["signature"],
                }


def _figures(key: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if key == "preference":
        yield "accuracy", entry
    elif key == "alt_test":
        reason = entry.get("reason")
        for name in ("omega", "rho"):
            yield name, {"value": entry[name], "reason": reason}
    else:
        for name, one in entry.items():
            if isinstance(one, Mapping) and "value" in one:
                yield name, one


def _whose(key: str, entry: Mapping[str, Any]) -> dict[str, object]:
    rater = entry.get("rater") or entry.get("reader") or entry.get("judge")
    is_reader = entry.get("is_reader", "reader" in entry or key.startswith("ceiling"))
    quantity = entry.get("quantity") or entry.get("label") or key
    return {
        "table": key,
        "quantity": quantity,
        "rater": rater,
        "is_reader": is_reader,
        "measure": entry.get("measure") or "",
        "study_class": entry.get("study_class"),
    }
