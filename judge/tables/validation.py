"""How far judges agree with readers, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from judge.stats.estimate import Estimate
from judge.stats.metric import MINUS
from judge.tables.document import Column, Document, ShownEstimate, Table, table_of
from judge.tables.kinds import Kind
from judge.text import number

_METHODS = {"kendall": "Kendall tau-b", "spearman": "Spearman", "pearson": "Pearson"}
Data = Mapping[str, Any]
_INTERVALS = {
    "fixed": "for other studies, read by these readers",
    "random": "for other studies, read by other readers like these",
}
_READERS = "readers, each against the others"


def validation_document(validation: Data) -> Document:
    """Return what is printed of judges beside readers."""
    judges = ", ".join(
        f"{judge['name']} ({judge['judge']})" for judge in validation["judges"]
    )
    facts = [
        ("judges", judges),
        ("readers", ", ".join(reader["name"] for reader in validation["readers"])),
        ("studies", f"{validation['n_studies']:,} judged and read"),
    ]
    if "significant" in validation:
        facts.append(("significant", validation["significant"]))
    facts.append(("resampled by", validation["patient_field"] or "study"))
    facts.append(("intervals", _INTERVALS[validation["readers_are"]]))
    levels = []
    for key in validation:
        if key.startswith("no_") and key.endswith("_error"):
            levels.append(key)
    tables = [_judges(validation), _agreement(validation), _ranking(validation)]
    for key in levels:
        tables += [_level(validation, key), _chance_corrected(validation, key)]
    tables += [_severity(validation), _differences(validation)]
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
    head = [
        Column("judge"),
        Column("kendall", f"Kendall tau-b, {label}", kind=Kind.NUMBER),
        Column("unread", kind=Kind.RATE),
    ]
    if has_repeats:
        head.append(Column("same_verdict", "same verdict again", kind=Kind.SHARE))
    head += [
        Column("dollars_per_1000", "$ per 1,000 studies", kind=Kind.SHORT),
        Column("seconds", "seconds a study", kind=Kind.SHORT),
        Column("concurrency", "at a time", kind=Kind.COUNT),
    ]
    entries = []
    for row in rows:
        at_a_time = row["concurrency"]
        if at_a_time is None:
            at_a_time = ""
        entry = {
            "same_verdict": None,
            **row,
            "concurrency": at_a_time,
            "dollars_per_1000": _or_reason(row["dollars_per_1000"]),
            "seconds": _or_reason(row["seconds"]),
        }
        entries.append(entry)
    return table_of("judges", "Judges", head, entries)


def _or_reason(figure: Data) -> ShownEstimate:
    note = ""
    if figure["value"] is None:
        note = f"({figure['reason']})"
    return ShownEstimate(Estimate.read(figure), note=note)


def _agreement(validation: Data) -> Table:
    shown = []
    refused: dict[str, list[str]] = {}
    is_left_out = False
    for ceiling in validation["ceiling_mean"]:
        entries = [
            entry
            for entry in validation["agreement"]
            if entry["quantity"] == ceiling["quantity"]
        ]
        if any(entry["kendall"]["value"] is not None for entry in (ceiling, *entries)):
            for entry in entries:
                is_left_out = is_left_out or entry["n_sets"] > 0
                all_readers = entry["all_readers"]["kendall"]
                shown.append(
                    _labelled(entry, judge=_measured(entry), all_readers=all_readers)
                )
            methods = {method: _with_range(ceiling, method) for method in _METHODS}
            shown.append(
                _labelled(ceiling, **methods, judge=f"({_READERS})", all_readers=None)
            )
            if ceiling["kendall"]["value"] is None:
                refused.setdefault(ceiling["kendall"]["reason"], []).append(
                    ceiling["label"]
                )
    methods_head = [
        Column(name, label, kind=Kind.NUMBER) for name, label in _METHODS.items()
    ]
    head = [
        Column("quantity"),
        Column("judge"),
        Column("n", "studies", kind=Kind.COUNT),
        *methods_head,
        Column("all_readers", "Kendall, all readers", kind=Kind.NUMBER),
    ]
    notes = []
    if is_left_out:
        notes.append(
            "A judge stands in for each reader in turn and is compared with the mean of the "
            "others, as that reader is; the mean over the readers is printed. The last column is "
            "Kendall's against the mean of all readers, as papers report it"
        )
    elif shown:
        notes.append("A judge is compared with the mean of all readers of a study")
    notes += [f"no ceiling for {', '.join(of)}: {why}" for why, of in refused.items()]
    return table_of(
        "agreement", "Agreement with the readers", head, shown, "; ".join(notes)
    )


def _ranking(validation: Data) -> Table:
    pooled = {}
    for entry in validation["agreement"]:
        quantity, judge = entry["quantity"], _measured(entry)
        of_all = entry["all_readers"]
        pooled[quantity, judge, "leave one out"] = entry["preference_accuracy"]
        pooled[quantity, judge, "all readers"] = of_all["preference_accuracy"]
    head = (
        Column("quantity"),
        Column("judge", "rater"),
        Column("against"),
        Column("n_pairs", "pairs", kind=Kind.COUNT),
        Column("n_right", "right", kind=Kind.COUNT),
        Column("n_tied", "tied", kind=Kind.COUNT),
        Column("n_wrong", "wrong", kind=Kind.COUNT),
        Column("n_tied_by_readers", "readers' ties", kind=Kind.COUNT),
        Column("preference_accuracy", "preference accuracy", kind=Kind.SHARE),
        Column("kendall", "Kendall tau-b", kind=Kind.NUMBER),
        Column("pooled", "pooled accuracy", kind=Kind.SHARE),
    )
    counts = ("n_pairs", "n_right", "n_tied", "n_wrong", "n_tied_by_readers")
    entries = []
    for entry in validation["ranking"]:
        if entry["preference_accuracy"]["value"] is None:
            continue
        name, of_all = _rater(entry), None
        if "judge" in entry:
            name = _measured(entry)
            of_all = pooled.get((entry["quantity"], name, entry["against"]))
        # The mean over several sets has no counts of its own.
        own = {count: entry.get(count, "") for count in counts}
        entries.append(_labelled(entry, **own, judge=name, pooled=of_all))
    n = validation["n_references"]
    title = f"Candidates of one reference in the readers' order: {n:,} references with several"
    note = (
        "Pairs that the readers order; a rater's ties count by half in the accuracy, readers' ties "
        "nowhere. Pooled accuracy is over all pairs of studies, whatever their references"
    )
    return table_of("ranking", title, head, entries, note)


def _rater(entry: Data) -> str:
    """Return the name of a row's rater: a judge, a reader or the readers' mean."""
    if "reader" not in entry:
        return str(entry["judge"])
    if entry["reader"]:
        return f"{entry['reader']} (reader)"
    return f"({_READERS})"


def _severity(validation: Data) -> Table:
    head = (
        Column("judge", "rater"),
        Column("n", "studies", kind=Kind.COUNT),
        Column("weighted_kappa", "weighted kappa, quadratic", kind=Kind.NUMBER),
        Column("weighted_kappa_linear", "linear", kind=Kind.NUMBER),
    )
    entries = [
        {**entry, "judge": _rater(entry)}
        for entry in validation["severity"]
        # Against readers one by one: the sets that leave one out have the same mean.
        if entry["against"] != "leave one out" or "reader" in entry
    ]
    levels = ", ".join(name.replace("_", " ") for name in validation["severities"])
    title = f"Highest severity of a study: no such error, {levels}"
    note = "The mean over the readers that a rater is compared with, one by one"
    reasons = [entry["weighted_kappa"].get("reason") for entry in entries]
    return table_of("severity", title, head, entries, _with_reasons(note, reasons))


def _with_reasons(note: str, reasons: Iterable[str | None]) -> str:
    """Return a note followed by the reasons of figures or intervals that are lacking, each once."""
    return "; ".join([note, *dict.fromkeys(reason for reason in reasons if reason)])


def _differences(validation: Data) -> Table:
    head = (
        Column("quantity"),
        Column("figure"),
        Column("judge"),
        Column("other"),
        Column("n", "studies", kind=Kind.COUNT),
        Column("difference", kind=Kind.DIFFERENCE),
    )
    entries = []
    for entry in validation["differences"]:
        if entry["difference"]["value"] is None:
            continue
        figure = _FIGURES[entry["figure"]]
        if entry.get("within_references"):
            figure += ", one reference"
        cells = {
            "figure": figure,
            "judge": _side(entry, "judge", "measure"),
            "other": _side(entry, "other", "other_measure"),
            "n": entry["difference"]["n"],
        }
        entries.append(_labelled(entry, **cells))
    title = "Differences between judges in agreement with the readers, paired by study"
    return table_of("differences", title, head, entries)


_FIGURES = {
    "kendall": "Kendall tau-b",
    "preference_accuracy": "preference accuracy",
    "agreement": "raw agreement",
    "kappa": "kappa",
    "ac1": "AC1",
    "weighted_kappa": "weighted kappa",
}


def _side(entry: Data, judge: str, measure: str) -> str:
    """Return a judge's name, with its score where the quantity itself is not compared."""
    name, of = str(entry[judge]), entry[measure]
    if of is None or of == entry["label"]:
        return name
    if of.removeprefix(MINUS) == name:
        return str(of)
    return f"{name}: {of}"


def _labelled(entry: Data, **cells: object) -> Data:
    return {**entry, "quantity": entry["label"], **cells}


def _measured(entry: Data) -> str:
    judge, measure = entry["judge"], entry["measure"]
    if entry["own"]:
        return str(judge)
    # A metric from a file has one name, as a judge and as a measure.
    if measure.removeprefix(MINUS) == judge:
        return str(measure)
    return f"{judge}: {measure}"


def row_name(entry: Data) -> str:
    """Return the name of a judge's measure without the sign of a score that is turned round."""
    return _measured({**entry, "measure": entry["measure"].removeprefix(MINUS)})


def _with_range(ceiling: Data, method: str) -> ShownEstimate:
    ends = ceiling["range"][method]
    note = ""
    if ends:
        low, high = ends
        note = f"({number(low)} to {number(high)})"
    return ShownEstimate(Estimate.read(ceiling[method]), note=note)


def _level(validation: Data, key: str) -> Table:
    level = _level_name(key)
    head = (
        Column("rater"),
        Column("against"),
        Column("study_class", "study class"),
        Column("n", "studies", kind=Kind.COUNT),
        Column("prevalence", kind=Kind.RATE),
        Column("sensitivity", kind=Kind.RATE),
        Column("specificity", kind=Kind.RATE),
        Column("judge_rate", f"no {level} error: rater", kind=Kind.SHARE),
        Column("reader_rate", f"no {level} error: readers", kind=Kind.SHARE),
    )
    title = f"Studies with any {level} error, by the readers' majority"
    return table_of(key, title, head, _level_entries(validation, key))


def _chance_corrected(validation: Data, key: str) -> Table:
    head = (
        Column("rater"),
        Column("against"),
        Column("study_class", "study class"),
        Column("n", "studies", kind=Kind.COUNT),
        Column("agreement", "raw agreement", kind=Kind.RATE),
        Column("kappa", kind=Kind.NUMBER),
        Column("ac1", "AC1", kind=Kind.NUMBER),
    )
    entries = _level_entries(validation, key)
    title = f"Agreement on studies with any {_level_name(key)} error"
    note = "Kappa is low where nearly all studies are alike, whatever is agreed; AC1 (Gwet) is not"
    reasons = [
        entry["kappa"].get("reason")
        for entry in entries
        if entry["study_class"] == "all"
    ]
    name = key.replace("no_", "agreement_", 1)
    return table_of(name, title, head, entries, _with_reasons(note, reasons))


def _level_name(key: str) -> str:
    return key.removeprefix("no_").removesuffix("_error").replace("_", " ")


def _level_entries(validation: Data, key: str) -> list[dict[str, Any]]:
    entries = []
    for entry in validation[key]:
        if not entry["n"]:
            continue
        against = entry["against"]
        # Of the readers, each against the others, the name says it.
        if entry.get("reader", "") is None:
            against = ""
        cells = {
            "rater": _rater(entry),
            "against": against,
            "study_class": entry["study_class"] or "all",
        }
        for name in ("prevalence", "sensitivity", "specificity", "agreement"):
            figure = entry[name]
            # The mean over several sets is no k of n.
            kind = Kind.SHARE
            if "k" in figure:
                kind = Kind.RATE
            cells[name] = ShownEstimate(Estimate.read(figure), kind)
        entries.append({**entry, **cells})
    return entries


def _limits(validation: Data) -> Table:
    head = (
        Column("quantity"),
        Column("judge"),
        Column("n", "studies", kind=Kind.COUNT),
        Column("bias", kind=Kind.NUMBER),
        Column("lower", "lower limit", kind=Kind.NUMBER),
        Column("upper", "upper limit", kind=Kind.NUMBER),
    )
    entries = [
        _labelled(e) for e in validation["limits"] if e["bias"]["value"] is not None
    ]
    title = (
        "Counts per study: judge less the mean of the readers, and limits of agreement"
    )
    return table_of("limits", title, head, entries)


def _alternative(validation: Data) -> Table:
    head = (
        Column("quantity"),
        Column("judge"),
        Column("readers_won", "readers won", kind=Kind.FRACTION),
        Column("omega", kind=Kind.NUMBER),
        Column("rho", kind=Kind.NUMBER),
        Column("passes", "may stand in for a reader"),
    )
    entries = []
    for entry in validation["alt_test"]:
        if entry["passes"] is None:
            continue
        readers = entry["readers"]
        n = len(readers)
        won = sum(reader["won"] for reader in readers)
        readers_won = Estimate(value=won / n, k=won, n=n)
        passes = "no"
        if entry["passes"]:
            passes = "yes"
        entries.append(_labelled(entry, readers_won=readers_won, passes=passes))
    epsilon = next((entry["epsilon"] for entry in validation["alt_test"]), 0.0)
    title = f"Alternative-annotator test, epsilon {epsilon:g}"
    return table_of("alternative_annotator", title, head, entries)
