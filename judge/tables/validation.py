"""How far judges agree with readers, as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.stats.metric import MINUS
from judge.tables.document import Cell, Document, Estimate, Fact, Table, columns
from judge.text import number

_METHODS = {"kendall": "Kendall tau-b", "spearman": "Spearman", "pearson": "Pearson"}
_READERS = "readers"
Data = Mapping[str, Any]
Row = tuple[Cell, ...]


def validation_document(validation: Data) -> Document:
    """Return what is printed of judges beside readers."""
    return Document(
        "Judges and readers",
        tuple(fact for fact in facts(validation) if fact[0] != "note"),
        tuple(validation["notes"]),
        tuple(tables(validation)),
        signatures=(("signature", validation["signature"]),),
    )


def facts(validation: Data) -> list[Fact]:
    """Return the facts above the tables, and the notes."""
    judges = ", ".join(f"{judge['name']} ({judge['judge']})" for judge in validation["judges"])
    lines = [
        ("judges", judges),
        ("readers", ", ".join(reader["name"] for reader in validation["readers"])),
        ("studies", f"{validation['n_studies']:,} judged and read"),
    ]
    if "significant" in validation:
        lines.append(("significant", validation["significant"]))
    lines.append(("resampled by", validation["patient_field"] or "study"))
    return lines + [("note", note) for note in validation["notes"]]


def tables(validation: Data) -> list[Table]:
    """Return the tables that have rows."""
    levels = [key for key in validation if key.startswith("no_") and key.endswith("_error")]
    shown = [
        _judges(validation),
        _agreement(validation),
        *(_level(validation, key) for key in levels),
        _limits(validation),
        _alternative(validation),
    ]
    return [table for table in shown if table.rows]


def _judges(validation: Data) -> Table:
    rows = validation["judge_table"]
    label = next((row["label"] for row in rows if row["label"]), "errors")
    head = columns(
        *("judge", f"kendall|Kendall tau-b, {label}|number", "unread||rate"),
        *("dollars_per_1000|price per 1,000 studies|dollars", "seconds|seconds a study|short"),
        "concurrency|at a time|count",
    )
    cells = [
        (
            *_cells(row, "judge", "kendall", "unread"),
            *(_or_reason(row[name]) for name in ("dollars_per_1000", "seconds")),
            "" if row["concurrency"] is None else row["concurrency"],
        )
        for row in rows
    ]
    return Table("judges", "Judges", head, cells)


def _cells(entry: Data, *names: str) -> Row:
    """Return these values of an entry, figures as estimates."""
    values = (entry[name] for name in names)
    return tuple(Estimate.read(v) if isinstance(v, Mapping) else v for v in values)


def _or_reason(figure: Data) -> Estimate:
    """Return a figure, which prints the reason where it has no value."""
    return Estimate.read(
        figure, note="" if figure["value"] is not None else f"({figure['reason']})"
    )


def _agreement(validation: Data) -> Table:
    rows: list[Row] = []
    for ceiling in validation["ceiling_mean"]:
        entries = [
            entry for entry in validation["agreement"] if entry["quantity"] == ceiling["quantity"]
        ]
        if all(entry["kendall"]["value"] is None for entry in (ceiling, *entries)):
            continue
        label = ceiling["label"]
        rows += [(label, _measured(entry), *_cells(entry, "n", *_METHODS)) for entry in entries]
        readers = (_with_range(validation, ceiling, method) for method in _METHODS)
        rows.append((label, f"({_READERS}, each against the others)", ceiling["n"], *readers))
    methods = (f"{name}|{label}|number" for name, label in _METHODS.items())
    head = columns("quantity", "judge", "n|studies|count", *methods)
    return Table("agreement", "Agreement with the mean of the readers", head, rows)


def _measured(entry: Data) -> str:
    judge, measure = entry["judge"], entry["measure"]
    if entry["own"]:
        return str(judge)
    return str(measure) if measure.removeprefix(MINUS) == judge else f"{judge}: {measure}"


def row_name(entry: Data) -> str:
    """Return the name of a judge's measure without the sign of a score that is turned round."""
    return _measured({**entry, "measure": entry["measure"].removeprefix(MINUS)})


def _with_range(validation: Data, ceiling: Data, method: str) -> Estimate:
    """Return the readers' own agreement, with the range over single readers."""
    ends = ceiling["range"][method]
    if ends is None:
        return Estimate.read(ceiling[method])
    single = [
        entry[method]["value"]
        for entry in validation["ceiling"]
        if entry["quantity"] == ceiling["quantity"]
    ]
    n = sum(value is not None for value in single)
    some = f"; {n} of {len(single)} {_READERS}" if n < len(single) else ""
    note = f"({number(ends[0])} to {number(ends[1])}{some})"
    return Estimate.read(ceiling[method], note=note)


def _level(validation: Data, key: str) -> Table:
    level = key.removeprefix("no_").removesuffix("_error").replace("_", " ")
    names = ("sensitivity", "specificity", "kappa", "judge_rate", "reader_rate")
    head = columns(
        *("rater", "study_class|study class", "n|studies|count"),
        *("sensitivity||share", "specificity||share", "kappa||number"),
        f"judge_rate|no {level} error: rater|share",
        f"reader_rate|no {level} error: readers|share",
    )
    rows = [
        (_rater(entry), entry["study_class"] or "all", *_cells(entry, "n", *names))
        for entry in validation[key]
        if entry["n"]
    ]
    article = "an" if level[0] in "aeiou" else "a"
    return Table(key, f"Studies with {article} {level} error, by the readers' majority", head, rows)


def _rater(entry: Data) -> str:
    return f"{entry['reader']} (reader)" if "reader" in entry else str(entry["judge"])


def _limits(validation: Data) -> Table:
    head = columns(
        *("quantity", "judge", "n|studies|count"),
        *("bias||number", "lower|lower limit|number", "upper|upper limit|number"),
    )
    rows = [
        _cells(entry, "label", "judge", "n", "bias", "lower", "upper")
        for entry in validation["limits"]
        if entry["bias"]["value"] is not None
    ]
    title = "Counts per study: judge less the mean of the readers, and limits of agreement"
    return Table("limits", title, head, rows)


def _alternative(validation: Data) -> Table:
    head = columns(
        *("quantity", "judge", "readers_won|readers won|fraction", "omega||number", "rho||number"),
        "passes|may stand in for a reader",
    )
    rows = [
        (
            *(entry["label"], entry["judge"], _won(entry["readers"]), entry["omega"], entry["rho"]),
            "yes" if entry["passes"] else "no",
        )
        for entry in validation["alt_test"]
        if entry["passes"] is not None
    ]
    epsilon = next((entry["epsilon"] for entry in validation["alt_test"]), 0.0)
    title = f"Alternative-annotator test, epsilon {epsilon:g}"
    return Table("alternative_annotator", title, head, rows)


def _won(readers: Sequence[Data]) -> Estimate:
    k, n = sum(reader["won"] for reader in readers), len(readers)
    return Estimate(k / n, k=k, n=n)
