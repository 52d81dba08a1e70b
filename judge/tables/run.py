"""A run's summary as a document: its facts, its rates, and its errors by category."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from judge import rubrics
from judge.rubrics.contract import Rubric, Tally
from judge.run_files.entries import recognised_text
from judge.run_files.summary import RunSummary, SummaryBlock
from judge.running.evidence import NOT_ABOUT
from judge.signature import with_parts
from judge.stats.estimate import Estimate
from judge.stats.intervals import Draws
from judge.stats.statistic import Statistic
from judge.stats.summary import by_grouping, estimate_of, fields_of, row_name
from judge.tables.document import (
    Cell,
    Column,
    Document,
    Fact,
    ShownEstimate,
    Table,
    cell_text,
    definitions,
    field_columns,
    table_of,
)
from judge.tables.kinds import Kind, figure_kind, printed
from judge.text import NOTHING, counted, group_value, left_out

if TYPE_CHECKING:
    from judge.running.folder import RunFolder

_DRAWN = {
    "drawn": "at random, as their runs say",
    "told": "at random, by --drawn-at-random",
    "all": "all studies were read",
}
_LONGEST_DETAIL = 200
_MOST_PAIRS = 2  # with more columns two for each would not fit
_COUNTS: Sequence[str] = ("studies", "scored", "unparsed", "failed")
Data = Mapping[str, Any]


def run_document(
    summary: RunSummary,
    rubric: Rubric,
    *,
    complete: bool = False,
    also: Collection[str] = (),
) -> Document:
    """Return what is printed of a run; `complete` is for CSV: all counts, in one table of rates.

    Tables without rows are left out, but those that `also` names.
    """
    judge = summary.judge
    model = summary.model
    readings = summary.readings
    understood = recognised_text(summary.recognised)
    title = f"{rubric.title} by {judge.name}"
    facts: list[Fact] = []
    if model:
        title = f"{model}: {title}"
        facts.append(("model", model))
    facts.append(("rubric", rubric.title))
    facts.append(("judge", named_judge(judge.name, judge.note)))
    if understood:
        facts.append(("statements recognised", understood))
    if summary.prompt:
        facts.append(("prompt", summary.prompt))
    facts.append(("section", summary.section))
    for name in _COUNTS:
        n = getattr(summary, f"n_{name}")
        facts.append((name, str(n)))
    if summary.omitted:
        facts.append(("left out", left_out(summary.omitted)))
    facts += class_facts(summary.n_class_inferred, summary.n_studies)
    notes = list(summary.notes)
    notes += _bounds_notes(summary, rubric)
    notes += _evidence_notes(summary)
    facts += headline_figures(summary, rubric, "head")
    if summary.intervals_by:
        by = f"by {summary.intervals_by}: some have several studies"
        facts.append(("intervals", by))
    signatures = [("signature", figures_signature(summary))]
    if readings:
        signatures.append(("corrected", readings["signature"]))
        for run in readings["runs"]:
            facts.append(("readings", f"{run['reader']}: {run['n']:,} ({run['run']})"))
        drawn = _DRAWN[readings["drawn"]]
        strata = ", ".join(readings["drawn_by"])
        if strata:
            drawn += f", in strata by {strata}"
        facts.append(("drawn", drawn))
        labels = {statistic.name: statistic.label for statistic in rubric.statistics}
        for name, why in readings["not_corrected"].items():
            notes.append(f"{labels[name]} is not corrected: {why}")
        notes += readings["notes"]
    return Document(
        title=title,
        facts=facts,
        notes=tuple(notes),
        tables=_tables(summary, rubric, complete=complete, also=also),
        signatures=tuple(signatures),
    )


def named_judge(name: str, note: str | None) -> str:
    """Return the name of a judge, with what must be said of it in brackets."""
    if note:
        return f"{name} ({note})"
    return name


def figures_signature(summary: RunSummary) -> str:
    """Return the run's signature, with the seed and the resamples of a ratio's bootstrap."""
    if summary.resampling is None:
        return summary.signature
    draws = Draws(summary.resampling.seed, summary.resampling.resamples)
    return with_parts(summary.signature, draws.parts)


def headline_figures(
    summary: RunSummary, rubric: Rubric, where: Literal["head", "groups"] = "groups"
) -> list[Fact]:
    """Return the labels and texts of a run's main figures, for all studies."""
    facts = []
    for statistic in rubric.shown(where):
        estimate = _estimate(summary, statistic)
        text = cell_text(estimate, _column(statistic))
        facts.append((statistic.label, text))
    return facts


def _estimate(block: RunSummary | SummaryBlock, statistic: Statistic) -> ShownEstimate:
    return _shown(estimate_of(block, statistic), statistic)


def _shown(estimate: Estimate, statistic: Statistic) -> ShownEstimate:
    note = ""
    if estimate.n_undefined:
        note = f"({estimate.n_undefined} undefined)"
    return ShownEstimate(estimate, _kind(statistic), note)


def _column(statistic: Statistic) -> Column:
    return Column(statistic.name, statistic.label, kind=_kind(statistic))


def _kind(statistic: Statistic) -> Kind:
    if statistic.is_share:
        return Kind.RATE
    return Kind.NUMBER


def class_facts(n_inferred: int, n_studies: int) -> list[Fact]:
    """Return for how many studies the lexicon inferred the class, nothing if it did for none."""
    if not n_inferred:
        return []
    of_all = f"{n_inferred} of {counted(n_studies, 'study', 'studies')}"
    return [("study class", f"inferred by the lexicon for {of_all}")]


def _bounds_notes(summary: RunSummary, rubric: Rubric) -> list[str]:
    """Say how far studies without a score could move the rates."""
    ends = []
    for statistic in rubric.shown("groups"):
        estimate = estimate_of(summary, statistic)
        if estimate.bounds is None:
            continue
        low, high = estimate.bounds
        kind = figure_kind(is_share=statistic.is_share)
        text = printed(replace(estimate, low=low, high=high), kind)
        ends.append(f"{statistic.label} {text.ends(with_unit=True)}")
    if not ends:
        return []
    n_unscored = summary.n_unparsed + summary.n_failed
    studies = counted(n_unscored, "study has no score", "studies have no score")
    which = "it" if n_unscored == 1 else "them"
    return [f"{studies}; with {which} at the worst and at the best: {', '.join(ends)}"]


def _evidence_notes(summary: RunSummary) -> list[str]:
    """Say how many entries share no word with either report."""
    n_studies = summary.warnings.get(NOT_ABOUT)
    if not n_studies:
        return []
    entries = counted(summary.n_warnings[NOT_ABOUT], "entry", "entries")
    studies = counted(n_studies, "study", "studies")
    share = (
        f"{entries} in {studies} share no word with either report and may be no errors"
    )
    how = "judge audit RUN STUDY_ID lists them, judge errors RUN --without-warnings leaves them out"
    return [f"{share}: {how}"]


def _tables(
    summary: RunSummary, rubric: Rubric, *, complete: bool, also: Collection[str]
) -> list[Table]:
    parts = [summary]
    if not complete:
        parts = by_grouping(summary)
    shown = []
    for part in parts:
        table = _rates_table(part, rubric, complete=complete)
        if len(parts) > 1:
            table = replace(table, title=f"Rates by {', '.join(part.by)}")
        shown.append(table)
    if summary.readings is not None:
        shown += [_corrected_table(part, rubric) for part in parts]
    if rubric.tally:
        shown.append(_tally_table(summary, rubric, rubric.tally))
    for table in _reason_tables(summary):
        if table.rows or table.name in also:
            shown.append(table)
    return shown


def _reason_tables(summary: RunSummary) -> list[Table]:
    """Return why studies were not scored, what answers were warned about, and why some failed."""
    reasons = Table(
        "unread",
        "Not scored",
        [Column("unread", "not scored"), Column("studies", kind=Kind.COUNT)],
        tuple(summary.reasons.items()),
    )
    head = [
        Column("warnings", "warnings about answers"),
        Column("studies", kind=Kind.COUNT),
        Column("times", kind=Kind.COUNT),
    ]
    rows = []
    for text, n in summary.warnings.items():
        rows.append((text, n, summary.n_warnings[text]))
    warnings = Table("warnings", "Warnings about answers", head, rows)
    head = [
        Column("reason", "failed"),
        Column("sentence", "why"),
        Column("studies", kind=Kind.COUNT),
    ]
    of_each = []
    for each in summary.failures:
        of_each.append((each.reason, each.sentence, each.n))
    title = "Why studies failed, the most frequent"
    return [reasons, warnings, Table("failures", title, head, of_each)]


def _rates_table(summary: RunSummary, rubric: Rubric, *, complete: bool) -> Table:
    """Return the rubric's statistics, a row for each group and one for all studies."""
    left, groups = _groups(summary)
    shown = rubric.shown("groups")
    counted_names = _COUNTS
    if not complete:
        counted_names = _COUNTS[:2]
    counts = [Column(f"n_{name}", name, kind=Kind.COUNT) for name in counted_names]
    figures = [*counts, *map(_column, shown)]
    rows: list[tuple[Cell, ...]] = []
    for keys, block in groups:
        numbers = [getattr(block, count.name) for count in counts]
        estimates = [_estimate(block, statistic) for statistic in shown]
        rows.append((*keys, *numbers, *estimates))
    if complete:
        fields = [field.name for field in left]
        names = [row_name(summary.by, block.group) for block in summary.rates]
        names.append("all")
        rows = [(name, *row) for name, row in zip(names, rows, strict=True)]
        # In CSV "all" stands under `row` alone: under a field it would be one of its values.
        own = rows[-1][len(fields) + 1 :]
        empty = [""] * len(fields)
        rows[-1] = ("all", *empty, *own)
        left = [Column("row"), *field_columns(fields, figures)]
    note = definitions((s.label, s.definition) for s in shown if s.is_share)
    return Table("rates", "Rates", columns=[*left, *figures], rows=rows, note=note)


def _groups(
    summary: RunSummary,
) -> tuple[list[Column], list[tuple[list[str], SummaryBlock]]]:
    """Return the columns of the groups' fields, and the values and the figures of each group."""
    by = fields_of(*summary.by)
    rows = []
    for block in summary.rates:
        values = []
        for name in by:
            # A group of `site` alone has no value of the other fields.
            value = ""
            if name in block.group:
                value = group_value(block.group[name])
            values.append(value)
        rows.append((values, block))
    of_all = [""] * len(by)
    if by:
        of_all[0] = "all"
    rows.append((of_all, summary.everything))
    columns = []
    for name in by:
        label = name
        if name == "study_class" and summary.n_class_inferred:
            label += " (inferred)"
        columns.append(Column(name, label))
    return columns, rows


def _corrected_table(summary: RunSummary, rubric: Rubric) -> Table:
    """Return each statistic that readings correct, a row a group and one for all."""
    groups, blocks = _groups(summary)
    rows: list[tuple[Cell, ...]] = []
    for statistic in rubric.statistics:
        kind = figure_kind(is_share=statistic.is_share)
        for keys, block in blocks:
            fixed = block.statistics[statistic.name].corrected
            if fixed is None:
                continue
            read = Estimate(k=fixed["n"], n=fixed["n_studies"])
            by_judge = _estimate(block, statistic)
            cells: tuple[Cell, ...]
            why = fixed["why_not"]
            if why:
                none = ShownEstimate(Estimate(reason=why), note=f"({why})")
                cells = (by_judge, none, None, read, None)
            else:
                both = Estimate.read(fixed)
                alone = Estimate(
                    value=fixed["labels"],
                    low=fixed["labels_low"],
                    high=fixed["labels_high"],
                )
                cells = (
                    by_judge,
                    ShownEstimate(both, kind),
                    ShownEstimate(alone, kind),
                    read,
                    Estimate(value=fixed["worth"]),
                )
            rows.append((statistic.name, *keys, *cells))
    head = [
        Column("statistic"),
        *groups,
        Column("judge", kind=Kind.NUMBER),
        Column("corrected", kind=Kind.NUMBER),
        Column("readings_alone", "readings alone", kind=Kind.NUMBER),
        Column("read", kind=Kind.FRACTION),
        Column("worth", "judge is worth (readings)", kind=Kind.NUMBER, digits=0),
    ]
    return Table("corrected", "With the judge's bias taken out", head, rows)


def _tally_table(summary: RunSummary, rubric: Rubric, tally: Tally) -> Table:
    """Return how many errors of each category and grade there are, and per scored study."""
    categories = rubric.facet(tally.rows)
    grades = rubric.facet(tally.columns).labels
    kind = rubric.kind(tally.kind)
    is_wide = len(grades) > _MOST_PAIRS
    head = [Column(tally.rows, categories.label)]
    for grade in grades:
        if is_wide:
            head.append(Column(grade.name, grade.label, kind=Kind.PER_STUDY))
            continue
        head.append(Column(grade.name, grade.label, kind=Kind.COUNT))
        name = f"{grade.name}_per_study"
        head.append(Column(name, "per study", kind=Kind.NUMBER))
    rows: list[tuple[Cell, ...]] = []
    for category in (*categories.labels, None):
        row: list[Cell] = [f"all {kind.plural}"]
        of_category: dict[str, str] = {}
        if category:
            row = [categories.text(category.name)]
            of_category[tally.rows] = category.name
        n_items = 0
        for grade in grades:
            labels = {tally.columns: grade.name, **of_category}
            (measure,) = rubric.counting(kind.name, labels)
            total = summary.totals[measure.name]
            n, per_study = total.n, total.per_study
            n_items += n or 0
            if not is_wide:
                row += [n, per_study]
            elif n is None:
                row.append(None)
            else:
                row.append(Estimate(value=per_study, k=n))
        # A category of another modality is shown where it was found.
        if n_items or category is None or category.modality is None:
            rows.append(tuple(row))
    title = tally.title
    if is_wide:
        title += ": how many (per scored study)"
    return Table("errors", title, head, rows)


def worst_table(rows: Sequence[Data], rubric: Rubric) -> Table:
    """Return the studies of `rows` of the table of studies, one a line."""
    orders = {order.measure for order in rubric.worst}
    measures = []
    for measure in rubric.measures:
        if measure.role == "score" or measure.name in orders:
            measures.append(measure)
    head = [
        Column("study_id", "study"),
        Column("study_class", "class"),
    ]
    for measure in measures:
        digits = 3
        if measure.is_whole:
            digits = 0
        column = Column(
            measure.name,
            measure.label,
            kind=Kind.NUMBER,
            digits=digits,
        )
        head.append(column)
    if rubric.codes:
        head.append(Column(rubric.codes.plural))
    names = [measure.name for measure in measures]
    entries = [_worst_entry(row, names) for row in rows]
    return table_of("worst", "Worst studies", head, entries)


def _worst_entry(row: Data, measures: Iterable[str]) -> dict[str, Any]:
    """Return a row as it is printed: numbers with decimals, and no empty text."""
    entry = {**row, "study_class": group_value(row["study_class"])}
    for name, value in row.items():
        if value == "":
            entry[name] = "none"
    for name in measures:
        if row[name] is not None:
            entry[name] = float(row[name])
    return entry


def unscored_table(records: Iterable[Data]) -> Table:
    """Return why studies have no score, one a line."""
    head = (
        Column("study_id", "study"),
        Column("study_class", "class"),
        Column("outcome"),
        Column("reason"),
        Column("detail", "why"),
    )
    entries = []
    for record in records:
        detail = " ".join(str(record["detail"]).split())
        if len(detail) > _LONGEST_DETAIL:
            detail = f"{detail[:_LONGEST_DETAIL]} ..."
        entry = {
            "study_id": record["study_id"],
            "study_class": group_value(record["study_class"]),
            "outcome": record["outcome"],
            "reason": record["reason"],
            "detail": detail,
        }
        entries.append(entry)
    return table_of("unscored", "Studies without a score", head, entries)


def described_run(run: RunFolder) -> dict[str, Any]:
    """Return what a list of runs says of one; raises `JudgeError` for a damaged run."""
    from judge.comparing.alignment import known_model

    summary = run.summary()
    rubric = run.rubric
    figures = {}
    for statistic in rubric.shown("groups"):
        figure = summary.statistics[statistic.name]
        figures[statistic.name] = figure.plain()
    return {
        "run": str(run.path),
        "model": known_model(run),
        "rubric": rubric.name,
        "judge": summary.judge.name,
        "studies": summary.n_studies,
        "scored": summary.n_scored,
        "figures": figures,
        "finished": run.manifest.finished,
    }


def runs_document(described: Sequence[Data]) -> Document:
    """Return a table of runs for each rubric, a row a run."""
    tables = []
    by_rubric: dict[str, list[Data]] = {}
    for run in described:
        by_rubric.setdefault(run["rubric"], []).append(run)
    for name, runs in by_rubric.items():
        rubric = rubrics.load(name)
        shown = rubric.shown("groups")
        entries = [_run_entry(run, shown) for run in runs]
        head = [
            Column("run"),
            Column("model"),
            Column("judge"),
            Column("studies", kind=Kind.COUNT),
            Column("scored", kind=Kind.COUNT),
            *map(_column, shown),
            Column("finished"),
        ]
        tables.append(table_of("runs", rubric.title, head, entries))
    return Document(tables=tables)


def _run_entry(run: Data, shown: Iterable[Statistic]) -> dict[str, Any]:
    entry = {**run, "model": run["model"] or NOTHING}
    for statistic in shown:
        estimate = Estimate.read(run["figures"][statistic.name])
        entry[statistic.name] = _shown(estimate, statistic)
    finished = str(run["finished"] or NOTHING)
    entry["finished"] = finished[:16]  # to the minute
    return entry


def readers_document(runs: Sequence[RunFolder], layout: str) -> Document:
    """Return a table of readers' runs with their main figures, a row a reader."""
    rubric = runs[0].rubric
    shown = rubric.shown("groups")
    facts = [("layout", layout), ("rubric", rubric.title)]
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        summary = run.summary()
        name = summary.judge.name
        figures = [_estimate(summary, statistic) for statistic in shown]
        rows.append((name, summary.n_studies, summary.n_scored, *figures))
        facts += [("note", f"{name}: {text}") for text in summary.notes]
    head = [
        Column("judge"),
        Column("studies", kind=Kind.COUNT),
        Column("scored", kind=Kind.COUNT),
        *map(_column, shown),
    ]
    return Document(facts=facts, tables=[Table("readers", "Readers", head, rows)])


def pairs_document(data: Data) -> Document:
    """Return what was understood of a file of pairs: its readers, its fields and its names."""
    facts = [("rubric", data["rubric"])]
    facts += [("field", f"{role}: {name}") for role, name in data["fields"].items()]
    facts += [("undefined", text) for text in data["undefined"]]
    for reader in data["readers"]:
        facts += [("left out", text) for text in reader["left_out"][:_MOST_LEFT_OUT]]
    readers = []
    for reader in data["readers"]:
        counts = (reader["pairs"], reader["without_error"], reader["errors"])
        readers.append((reader["reader"], *counts, len(reader["left_out"])))
    head = [
        Column("reader"),
        Column("pairs", kind=Kind.COUNT),
        Column("without_error", "without an error", kind=Kind.COUNT),
        Column("errors", kind=Kind.COUNT),
        Column("left_out", "left out", kind=Kind.COUNT),
    ]
    names = []
    for name in data["names"]:
        names.append((name["role"], name["name"], name["read_as"], name["n"]))
    of_names = [
        Column("role"),
        Column("name", "in the file"),
        Column("read_as", "read as"),
        Column("n", "times", kind=Kind.COUNT),
    ]
    return Document(
        facts=facts,
        tables=[
            Table("readers", "Readers", head, readers),
            Table("names", "Names", of_names, names),
        ],
    )


_MOST_LEFT_OUT = 5
"""Pairs of a reader that are left out and shown with the reason; JSON has all."""


def sample_document(data: Data) -> Document:
    """Return what was drawn for readers, a row a stratum, and how much each has read."""
    drawn = f"{data['n_drawn']:,} of {data['n_studies']:,} studies"
    facts = [
        ("drawn", drawn),
        ("by", ", ".join(data["by"])),
        ("seed", str(data["seed"])),
    ]
    for reader, n in sorted(data["read"].items()):
        text = f"{n:,} by {reader}"
        unjudged = data["not_judged"][reader]
        if unjudged:
            text += f", {unjudged:,} not judged"
        facts.append(("read", text))
    rows = []
    for stratum in data["strata"]:
        values = map(group_value, stratum["key"].values())
        rows.append((*values, stratum["n_studies"], stratum["n_drawn"]))
    head = [Column(field) for field in data["by"]]
    head += [Column("studies", kind=Kind.COUNT), Column("drawn", kind=Kind.COUNT)]
    return Document(facts=facts, tables=[Table("sample", "Sample", head, rows)])


def checks_document(checks: Sequence[Data]) -> Document:
    """Return what was checked of runs and packs, a row a check."""
    rows = []
    for check in checks:
        result = "holds"
        if not check["holds"]:
            result = "FAILS"
        rows.append((check["of"], check["check"], result, check["found"]))
    head = [Column("of"), Column("check"), Column("result"), Column("found")]
    return Document(tables=[Table("checks", "Checks", head, rows)])
