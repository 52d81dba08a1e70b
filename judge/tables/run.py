"""A run's summary as a document: its facts, its rates, and its errors by category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from judge import rubrics
from judge.rubrics.contract import Rubric, Statistic, Tally
from judge.stats.table import by_grouping, fields_of, row_name
from judge.tables.document import (
    Cell,
    Column,
    Document,
    Estimate,
    Fact,
    Kind,
    Table,
    cell_text,
    columns,
    definitions,
    field_columns,
)
from judge.text import NOTHING, counted, group_value, left_out, number, percent

if TYPE_CHECKING:
    from judge.running.folder import Run

_COUNTS = ("studies", "scored", "unparsed", "failed")
_KINDS: dict[str, Kind] = {"rate": "rate", "mean": "number", "ratio": "number"}
Data = Mapping[str, Any]


def run_document(summary: Data, rubric: Rubric, *, complete: bool = False) -> Document:
    """Return what is printed of a run.

    `complete` is for CSV: one table of rates with all counts, and a row for all studies whose
    groups are empty.
    """
    facts = [fact for fact in headline(summary, rubric) if fact[0] != "note"]
    notes = [text for name, text in headline(summary, rubric) if name == "note"]
    signatures = [("signature", summary["signature"])]
    if "readings" in summary:
        signatures.append(("corrected", summary["readings"]["signature"]))
        signatures += [("reader", run["signature"]) for run in summary["readings"]["runs"]]
    return Document(
        run_title(summary, rubric),
        tuple(facts),
        tuple(notes),
        tuple(tables(summary, rubric, complete=complete)),
        tuple(unread_lines(summary, rubric)),
        tuple(signatures),
    )


def run_title(summary: Data, rubric: Rubric) -> str:
    """Return the title of a run: the model, the rubric, and who judges."""
    model = summary.get("model")
    return f"{f'{model}: ' if model else ''}{rubric.title} by {summary['judge']['name']}"


def headline(summary: Data, rubric: Rubric, *, figures: bool = True) -> list[Fact]:
    """Return the facts at the head of a run, with its `figures` or without, and its notes."""
    judge = summary["judge"]
    facts = [
        *([("model", summary["model"])] if summary.get("model") else []),
        ("rubric", rubric.title),
        ("judge", f"{judge['name']} ({judge['note']})" if judge["note"] else judge["name"]),
        *([("prompt", summary["prompt"])] if summary["prompt"] else []),
        ("section", summary["section"]),
        *((name, str(summary[f"n_{name}"])) for name in _COUNTS),
    ]
    if summary["omitted"]:
        facts.append(("left out", left_out(summary["omitted"])))
    facts += class_facts(summary["n_class_inferred"], summary["n_studies"])
    if figures:
        facts += _statistics(summary, rubric.shown("head"))
        facts += [
            ("note", f"{statistic.label} has no interval: {figure.why}")
            for statistic in rubric.shown("head")
            if (figure := _estimate(summary, statistic)).why and figure.value is not None
        ]
    if modes := summary.get("reply_modes"):
        facts.append(
            ("replies asked for by", ", ".join(f"{mode} {n}" for mode, n in modes.items()))
        )
    if by := summary.get("intervals_by"):
        facts.append(("intervals", f"by {by}: some have several studies"))
    facts += [("note", note) for note in summary["notes"]]
    return facts + (_readings_facts(summary["readings"], rubric) if "readings" in summary else [])


def headline_figures(summary: Data, rubric: Rubric) -> list[Fact]:
    """Return the figures that a list of runs shows: labels and texts, for all studies."""
    return _statistics(summary, rubric.shown("groups"))


def _statistics(summary: Data, statistics: Iterable[Statistic]) -> list[Fact]:
    return [
        (statistic.label, cell_text(_estimate(summary, statistic), _column(statistic)))
        for statistic in statistics
    ]


def _estimate(block: Data, statistic: Statistic) -> Estimate:
    data = block["statistics"][statistic.name]
    n_undefined = data.get("n_undefined")
    return Estimate.read(data, note=f"({n_undefined} undefined)" if n_undefined else "")


def _column(statistic: Statistic) -> Column:
    return Column(statistic.name, statistic.label, _KINDS[statistic.kind])


def class_facts(n_inferred: int, n_studies: int) -> list[Fact]:
    """Return for how many studies the lexicon inferred the class, nothing if it did for none."""
    if not n_inferred:
        return []
    of_all = f"{n_inferred} of {counted(n_studies, 'study', 'studies')}"
    return [("study class", f"inferred by the lexicon for {of_all}")]


_DRAWN = {
    "drawn": "at random, as their runs say",
    "told": "at random, by --readings-at-random",
    "all": "all studies were read",
}


def _readings_facts(readings: Data, rubric: Rubric) -> list[Fact]:
    runs = readings["runs"]
    facts = [("readings", f"{run['reader']}: {run['n']:,} ({run['run']})") for run in runs]
    sampling = _DRAWN[readings["drawn"]]
    if readings["drawn_by"]:
        sampling += f", in strata by {', '.join(readings['drawn_by'])}"
    facts.append(("drawn", sampling))
    if len(runs) > 1:
        facts.append(("several readers", f"{readings['several_readers']}, study by study"))
    if readings["patient_field"]:
        facts.append(("studies of one", readings["patient_field"]))
    labels = {statistic.name: statistic.label for statistic in rubric.statistics}
    facts += [
        ("note", f"{labels[name]} is not corrected: {why}")
        for name, why in readings["not_corrected"].items()
    ]
    return facts + [("note", text) for text in readings["notes"]]


def unread_lines(summary: Data, rubric: Rubric) -> list[str]:
    """Say how far unread studies could move the rates."""
    n = summary["n_unparsed"] + summary["n_failed"]
    lines, ends = [], []
    for statistic in rubric.shown("groups"):
        if bounds := summary["statistics"][statistic.name].get("bounds"):
            form = percent if statistic.kind == "rate" else number
            ends.append(f"{statistic.label} {' to '.join(map(form, bounds))}")
    if ends:
        which = "1 unread study were" if n == 1 else f"{n:,} unread studies were all"
        lines.append(f"If the {which} best or worst: {', '.join(ends)}")
    return lines


def tables(summary: Data, rubric: Rubric, *, complete: bool = False) -> list[Table]:
    """Return all tables of a run that have rows."""
    parts = [summary] if complete else by_grouping(summary)
    shown = []
    for part in parts:
        by = f" by {', '.join(part['by'])}" if len(parts) > 1 else ""
        rates = rates_tables(part, rubric, complete=complete)
        shown += [replace(table, title=table.title + by) for table in rates]
    for part in parts:
        shown += _corrected_tables(part, rubric, complete=complete)
    if rubric.tally:
        shown.append(tally_table(summary, rubric, rubric.tally))
    for name, title, key in (
        ("unread", "Not scored", "reasons"),
        ("warnings", "Warnings about answers", "warnings"),
    ):
        if counts := summary[key]:
            head = columns(f"{name}|{title.lower()}", "studies||count")
            shown.append(Table(name, title, head, tuple(counts.items())))
    return shown


def rates_tables(summary: Data, rubric: Rubric, *, complete: bool = False) -> list[Table]:
    """Return the rubric's statistics, a row for each group and one for all studies.

    One table, or two where a rubric has several scores, which do not fit beside the rates.
    """
    fields, groups = _groups(summary)
    counts = [Column(f"n_{name}", name, "count") for name in _COUNTS[: None if complete else 2]]

    def table(title: str, shown: Sequence[Statistic], *, is_first: bool = True) -> Table:
        figures = [*(counts if is_first else []), *map(_column, shown)]
        rows = [
            (
                *keys,
                *(block[count.name] for count in counts if is_first),
                *(_estimate(block, statistic) for statistic in shown),
            )
            for keys, block in groups
        ]
        left = fields
        if complete:
            left = [*columns("row"), *field_columns([field.name for field in fields], figures)]
            names = [row_name(summary["by"], group) for group in summary["rates"]]
            rows = [(name, *row) for name, row in zip([*names, "all"], rows, strict=True)]
            rows[-1] = ("all", *[""] * len(fields), *rows[-1][len(left) :])
        note = definitions((s.label, s.definition) for s in shown if s.kind == "rate")
        return Table("rates", title, [*left, *figures], rows, note)

    shown = rubric.shown("groups")
    rates = [statistic for statistic in shown if statistic.kind == "rate"]
    scores = [statistic for statistic in shown if statistic.kind != "rate"]
    if complete:
        return [table("Rates", shown)]
    if not rates:
        return [table("Scores", scores)]
    if len(scores) <= 1:
        return [table("Rates", [*scores, *rates])]
    return [table("Scores", scores), table("Rates", rates, is_first=False)]


def _groups(summary: Data) -> tuple[list[Column], list[tuple[list[str], Data]]]:
    """Return the columns of the groups' fields, and the values and the figures of each group."""
    by = fields_of(*summary["by"])
    rows = [
        ([group_value(row[name]) if name in row else "" for name in by], row)
        for row in summary["rates"]
    ]
    rows.append((["all", *[""] * len(by)][: len(by)], summary))
    inferred = " (inferred)" if summary["n_class_inferred"] else ""
    labels = [name + (inferred if name == "study_class" else "") for name in by]
    return [Column(name, label) for name, label in zip(by, labels, strict=True)], rows


def _corrected_tables(summary: Data, rubric: Rubric, *, complete: bool) -> list[Table]:
    """Return a table for each statistic that readings correct, a row a group and one for all."""
    groups, blocks = _groups(summary)
    tables = []
    for statistic in rubric.statistics:
        if "corrected" not in summary["statistics"][statistic.name]:
            continue
        kind = "share" if statistic.kind == "rate" else "number"
        figures = [
            *columns(f"judge|judge|{_KINDS[statistic.kind]}", f"corrected||{kind}"),
            *columns(f"readings_alone|readings alone|{kind}", "read||of"),
            Column("worth", "judge is worth", "number", digits=0),
        ]
        rows: list[tuple[Cell, ...]] = [
            (*keys, _estimate(block, statistic), *_corrected(block, statistic))
            for keys, block in blocks
        ]
        left = [*columns("statistic"), *groups] if complete else groups
        if complete:
            rows = [(statistic.name, *row) for row in rows]
        title = f"{statistic.label}, with the judge's bias taken out"
        tables.append(Table("corrected", title, [*left, *figures], rows))
    return tables


def _corrected(block: Data, statistic: Statistic) -> tuple[Cell, ...]:
    fixed = block["statistics"][statistic.name]["corrected"]
    read = Estimate(None, k=fixed["n"], n=fixed["n_studies"])
    if why := fixed["why_not"]:
        return Estimate(None, why=why, note=f"({why})"), None, read, None
    alone = Estimate(fixed["labels"], fixed["labels_low"], fixed["labels_high"])
    worth = Estimate(fixed["worth"], note="reading" if round(fixed["worth"]) == 1 else "readings")
    return Estimate.read(fixed), alone, read, worth


def tally_table(summary: Data, rubric: Rubric, tally: Tally) -> Table:
    """Return the errors by category and grade: how many, and how many for each scored study.

    An error with two categories is counted in both rows, and once in the last row.
    """
    categories, grades = rubric.facet(tally.rows), rubric.facet(tally.columns).labels
    kind = rubric.kind(tally.kind)

    def total(**labels: str) -> Data:
        (measure,) = rubric.counting(kind.name, labels)
        totals: Data = summary["totals"][measure.name]
        return totals

    named = [
        (
            categories.text(category.name),
            [total(**{tally.rows: category.name, tally.columns: grade.name}) for grade in grades],
            category.modality is None,
        )
        for category in categories.labels
    ]
    last = [total(**{tally.columns: grade.name}) for grade in grades]
    named.append((f"all {kind.plural}", last, True))
    is_wide = len(grades) > _MOST_PAIRS
    title = tally.title
    if is_wide:
        title += ": how many (per scored study)"
    head = [Column(tally.rows, categories.label)]
    for grade in grades:
        head.append(Column(grade.name, grade.label, "per_study" if is_wide else "count"))
        if not is_wide:
            head.append(Column(f"{grade.name}_per_study", "per study", "number"))
    rows = [
        (text, *(cell for tally in totals for cell in _tally_cells(tally, is_wide=is_wide)))
        for text, totals, is_shown in named
        if is_shown or any(tally["n"] for tally in totals)
    ]
    return Table("errors", title, head, rows)


# With more columns than this, two for each would not fit.
_MOST_PAIRS = 2


def _tally_cells(total: Data, *, is_wide: bool) -> tuple[Cell, ...]:
    if not is_wide:
        return total["n"], total["per_study"]
    return (None if total["n"] is None else Estimate(total["per_study"], k=total["n"]),)


def worst_table(rows: Sequence[Data], rubric: Rubric) -> Table:
    """Return the studies of `rows` of the table of studies, one a line."""
    measures = {measure.name: measure for measure in rubric.with_role("score")}
    measures |= {
        m.name: m for order in rubric.worst for m in rubric.measures if m.name == order.measure
    }
    codes = columns(rubric.codes.plural) if rubric.codes else []
    head = [
        *columns("study_id|study", "study_class|class"),
        *(
            Column(m.name, m.label, "number", digits=0 if m.is_whole else 3)
            for m in measures.values()
        ),
        *codes,
    ]
    cells = [
        (
            *(row["study_id"], group_value(row["study_class"])),
            *(None if row[name] is None else float(row[name]) for name in measures),
            *(row[column.name] or "none" for column in codes),
        )
        for row in rows
    ]
    return Table("worst", "Worst studies", head, cells)


def described_run(run: Run) -> dict[str, Any]:
    """Return what a list of runs says of one; raises `JudgeError` for a damaged run."""
    from judge.comparing.run_choice import known_model

    summary, rubric = run.summary(), run.rubric
    return {
        "run": str(run.path),
        "model": known_model(run),
        "rubric": rubric.name,
        "judge": summary["judge"]["name"],
        "studies": summary["n_studies"],
        "scored": summary["n_scored"],
        "figures": {s.name: summary["statistics"][s.name] for s in rubric.shown("groups")},
        "finished": run.manifest.get("finished"),
    }


def runs_document(described: Sequence[Data]) -> Document:
    """Return a table of runs for each rubric, a row a run."""
    tables = []
    for name in dict.fromkeys(run["rubric"] for run in described):
        rubric = rubrics.load(name)
        shown = rubric.shown("groups")
        rows = [
            (
                *(run["run"], run["model"] or NOTHING, run["judge"], run["studies"], run["scored"]),
                *(_estimate({"statistics": run["figures"]}, statistic) for statistic in shown),
                str(run["finished"] or NOTHING)[:16],
            )
            for run in described
            if run["rubric"] == name
        ]
        left = columns("run", "model", "judge", "studies||count", "scored||count")
        head = [*left, *map(_column, shown), *columns("finished")]
        tables.append(Table("runs", rubric.title, head, rows))
    return Document(tables=tables)


def readers_document(runs: Sequence[Run], layout: str) -> Document:
    """Return a table of readers' runs with their main figures, a row a reader."""
    rubric = runs[0].rubric
    facts, rows = [("layout", layout), ("rubric", rubric.title)], []
    for run in runs:
        summary = run.summary()
        name = summary["judge"]["name"]
        figures = (_estimate(summary, statistic) for statistic in rubric.shown("groups"))
        rows.append((name, summary["n_studies"], summary["n_scored"], *figures))
        facts += [("note", f"{name}: {text}") for text in summary["notes"]]
    left = columns("judge", "studies||count", "scored||count")
    head = [*left, *map(_column, rubric.shown("groups"))]
    return Document(facts=facts, tables=[Table("readers", "Readers", head, rows)])
