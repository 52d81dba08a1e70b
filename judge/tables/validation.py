"""How far judges agree with readers, as a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.stats.metric import MINUS
from judge.tables.document import Document, Estimate, Table, table_of
from judge.text import number

_METHODS = {"kendall": "Kendall tau-b", "spearman": "Spearman", "pearson": "Pearson"}
Data = Mapping[str, Any]


def validation_document(validation: Data) -> Document:
    """Return what is printed of judges beside readers."""
    judges = ", ".join(f"{judge['name']} ({judge['judge']})" for judge in validation["judges"])
    facts = [
        ("judges", judges),
        ("readers", ", ".join(reader["name"] for reader in validation["readers"])),
        ("studies", f"{validation['n_studies']:,} judged and read"),
        *([("significant", validation["significant"])] if "significant" in validation else []),
        ("resampled by", validation["patient_field"] or "study"),
    ]
    levels = [key for key in validation if key.startswith("no_") and key.endswith("_error")]
    tables = [_judges(validation), _agreement(validation)]
    tables += [_level(validation, key) for key in levels]
    tables += [_limits(validation), _alternative(validation)]
    return Document(
        "Judges and readers",
        tuple(facts),
        tuple(validation["notes"]),
        tuple(table for table in tables if table.rows),
        (("signature", validation["signature"]),),
    )


def _judges(validation: Data) -> Table:
    rows = validation["judge_table"]
    label = next((row["label"] for row in rows if row["label"]), "errors")
    has_repeats = any("same_verdict" in row for row in rows)
    head = (
        *("judge", f"kendall|Kendall tau-b, {label}|number", "unread||rate"),
        *(["same_verdict|same verdict again|share"] if has_repeats else []),
        *("dollars_per_1000|$ per 1,000 studies|short", "seconds|seconds a study|short"),
        "concurrency|at a time|count",
    )
    entries = [
        {"same_verdict": None, **row}
        | {"concurrency": "" if row["concurrency"] is None else row["concurrency"]}
        | {name: _or_reason(row[name]) for name in ("dollars_per_1000", "seconds")}
        for row in rows
    ]
    return table_of("judges", "Judges", head, entries)


def _or_reason(figure: Data) -> Estimate:
    note = "" if figure["value"] is not None else f"({figure['reason']})"
    return Estimate.read(figure, note=note)


def _agreement(validation: Data) -> Table:
    shown = []
    for ceiling in validation["ceiling_mean"]:
        entries = [
            entry for entry in validation["agreement"] if entry["quantity"] == ceiling["quantity"]
        ]
        if any(entry["kendall"]["value"] is not None for entry in (ceiling, *entries)):
            shown += [_labelled(entry, judge=_measured(entry)) for entry in entries]
            methods = {method: _with_range(ceiling, method) for method in _METHODS}
            readers = "(readers, each against the others)"
            shown.append(_labelled(ceiling, **methods, judge=readers))
    kinds = (f"{name}|{label}|number" for name, label in _METHODS.items())
    head = ("quantity", "judge", "n|studies|count", *kinds)
    return table_of("agreement", "Agreement with the mean of the readers", head, shown)


def _labelled(entry: Data, **cells: object) -> Data:
    return {**entry, "quantity": entry["label"], **cells}


def _measured(entry: Data) -> str:
    judge, measure = entry["judge"], entry["measure"]
    if entry["own"]:
        return str(judge)
    return str(measure) if measure.removeprefix(MINUS) == judge else f"{judge}: {measure}"


def row_name(entry: Data) -> str:
    """Return the name of a judge's measure without the sign of a score that is turned round."""
    return _measured({**entry, "measure": entry["measure"].removeprefix(MINUS)})


def _with_range(ceiling: Data, method: str) -> Estimate:
    ends = ceiling["range"][method]
    note = f"({number(ends[0])} to {number(ends[1])})" if ends else ""
    return Estimate.read(ceiling[method], note=note)


def _level(validation: Data, key: str) -> Table:
    level = key.removeprefix("no_").removesuffix("_error").replace("_", " ")
    head = (
        *("rater", "study_class|study class", "n|studies|count"),
        *("sensitivity||share", "specificity||share", "kappa||number"),
        f"judge_rate|no {level} error: rater|share",
        f"reader_rate|no {level} error: readers|share",
    )
    entries = [
        {
            **entry,
            "rater": f"{entry['reader']} (reader)" if "reader" in entry else str(entry["judge"]),
            "study_class": entry["study_class"] or "all",
        }
        for entry in validation[key]
        if entry["n"]
    ]
    return table_of(key, f"Studies with any {level} error, by the readers' majority", head, entries)


def _limits(validation: Data) -> Table:
    head = (
        *("quantity", "judge", "n|studies|count"),
        *("bias||number", "lower|lower limit|number", "upper|upper limit|number"),
    )
    entries = [_labelled(e) for e in validation["limits"] if e["bias"]["value"] is not None]
    title = "Counts per study: judge less the mean of the readers, and limits of agreement"
    return table_of("limits", title, head, entries)


def _alternative(validation: Data) -> Table:
    head = (
        *("quantity", "judge", "readers_won|readers won|fraction"),
        *("omega||number", "rho||number", "passes|may stand in for a reader"),
    )
    entries = []
    for entry in validation["alt_test"]:
        n, won = len(entry["readers"]), sum(reader["won"] for reader in entry["readers"])
        if entry["passes"] is not None:
            cells = {"readers_won": Estimate(won / n, k=won, n=n)}
            entries.append(_labelled(entry, **cells, passes="yes" if entry["passes"] else "no"))
    epsilon = next((entry["epsilon"] for entry in validation["alt_test"]), 0.0)
    title = f"Alternative-annotator test, epsilon {epsilon:g}"
    return table_of("alternative_annotator", title, head, entries)
