"""A run's summary as a document: its facts, its rates, and its errors by category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from judge import rubrics
from judge.manifest import RunSummary, SummaryBlock, recognised_text
from judge.rubrics.contract import Rubric, Tally
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
    "told": "at random, by --readings-at-random",
    "all": "all studies were read",
}
_MOST_PAIRS = 2  # with more columns two for each would not fit
_COUNTS = ("studies", "scored", "unparsed", "failed")
Data = Mapping[str, Any]


def run_document(
    summary: RunSummary, rubric: Rubric, *, complete: bool = False
) -> Document:
    """Return what is printed of a run; `complete` is for CSV: all counts, in one table of rates."""
    judge, model, readings = summary.judge, summary.model, summary.readings
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
        facts.append((name, str(getattr(summary, f"n_{name}"))))
    if summary.omitted:
        facts.append(("left out", left_out(summary.omitted)))
    facts += class_facts(summary.n_class_inferred, summary.n_studies)
    notes = [
        *summary.notes,
        *_unread_notes(summary, rubric),
        *_evidence_notes(summary),
    ]
    facts += headline_figures(summary, rubric, "head")
    if summary.intervals_by:
        by = f"by {summary.intervals_by}: some have several studies"
        facts.append(("intervals", by))
    signatures = [("signature", figures_signature(summary))]
    if readings:
        signatures.append(("corrected", readings["signature"]))
        for run in readings["runs"]:
            facts.append(("readings", f"{run['reader']}: {run['n']:,} ({run['run']})"))
        strata = ", ".join(readings["drawn_by"])
        by_strata = f", in strata by {strata}" if strata else ""
        facts.append(("drawn", f"{_DRAWN[readings['drawn']]}{by_strata}"))
        labels = {statistic.name: statistic.label for statistic in rubric.statistics}
        not_corrected = readings["not_corrected"].items()
        notes += [
            f"{labels[name]} is not corrected: {why}" for name, why in not_corrected
        ]
        notes += readings["notes"]
    return Document(
        title,
        facts,
        tuple(notes),
        _tables(summary, rubric, complete=complete),
        tuple(signatures),
    )


def named_judge(name: str, note: str | None) -> str:
    """Return the name of a judge, with what must be said of it in brackets."""
    return f"{name} ({note})" if note else name


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
    return [
        (
            statistic.label,
            cell_text(_estimate(summary, statistic), _column(statistic)),
        )
        for statistic in rubric.shown(where)
    ]


def _estimate(block: RunSummary | SummaryBlock, statistic: Statistic) -> ShownEstimate:
    return _shown(estimate_of(block, statistic), statistic)


def _shown(estimate: Estimate, statistic: Statistic) -> ShownEstimate:
    n_undefined = estimate.n_undefined
    note = f"({n_undefined} undefined)" if n_undefined else ""
    return ShownEstimate(estimate, _kind(statistic), note)


def _column(statistic: Statistic) -> Column:
    return Column(statistic.name, statistic.label, kind=_kind(statistic))


def _kind(statistic: Statistic) -> Kind:
    return Kind.RATE if statistic.is_share else Kind.NUMBER


def class_facts(n_inferred: int, n_studies: int) -> list[Fact]:
    """Return for how many studies the lexicon inferred the class, nothing if it did for none."""
    if not n_inferred:
        return []
    of_all = f"{n_inferred} of {counted(n_studies, 'study', 'studies')}"
    return [("study class", f"inferred by the lexicon for {of_all}")]


def _unread_notes(summary: RunSummary, rubric: Rubric) -> list[str]:
    """Say how far unread studies could move the rates."""
    ends = []
    for statistic in rubric.shown("groups"):
        estimate = estimate_of(summary, statistic)
        if estimate.bounds is not None:
            low, high = estimate.bounds
            kind = figure_kind(is_share=statistic.is_share)
            text = printed(replace(estimate, low=low, high=high), kind)
            ends.append(f"{statistic.label} {text.ends(with_unit=True)}")
    n_unread = summary.n_unparsed + summary.n_failed
    n = counted(n_unread, "unread study", "unread studies")
    return [f"If the {n} were all best or worst: {', '.join(ends)}"] if ends else []


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


def _tables(summary: RunSummary, rubric: Rubric, *, complete: bool) -> list[Table]:
    parts = [summary] if complete else by_grouping(summary)
    titles = [f" by {', '.join(part.by)}" if len(parts) > 1 else "" for part in parts]
    shown = [
        replace(_rates_table(part, rubric, complete=complete), title=f"Rates{by}")
        for part, by in zip(parts, titles, strict=True)
    ]
    if summary.readings is not None:
        shown += [_corrected_table(part, rubric) for part in parts]
    if rubric.tally:
        shown.append(_tally_table(summary, rubric, rubric.tally))
    if summary.reasons:
        head = [Column("unread", "not scored"), Column("studies", kind=Kind.COUNT)]
        reasons = tuple(summary.reasons.items())
        shown.append(Table("unread", "Not scored", head, reasons))
    warnings = summary.warnings
    if warnings:
        head = [
            Column("warnings", "warnings about answers"),
            Column("studies", kind=Kind.COUNT),
            Column("times", kind=Kind.COUNT),
        ]
        rows = tuple(
            (text, n, summary.n_warnings[text]) for text, n in warnings.items()
        )
        shown.append(Table("warnings", "Warnings about answers", head, rows))
    if summary.failures:
        head = [
            Column("reason", "failed"),
            Column("sentence", "why"),
            Column("studies", kind=Kind.COUNT),
        ]
        of_each = tuple(
            (each.reason, each.sentence, each.n) for each in summary.failures
        )
        title = "Why studies failed, the most frequent"
        shown.append(Table("failures", title, head, of_each))
    return shown


def _rates_table(summary: RunSummary, rubric: Rubric, *, complete: bool) -> Table:
    """Return the rubric's statistics, a row for each group and one for all studies."""
    left, groups = _groups(summary)
    shown = rubric.shown("groups")
    counts = [
        Column(f"n_{name}", name, kind=Kind.COUNT)
        for name in (_COUNTS if complete else _COUNTS[:2])
    ]
    figures = [*counts, *map(_column, shown)]
    rows: list[tuple[Cell, ...]] = []
    for keys, block in groups:
        numbers = (getattr(block, count.name) for count in counts)
        estimates = (_estimate(block, statistic) for statistic in shown)
        rows.append((*keys, *numbers, *estimates))
    if complete:
        names = [row_name(summary.by, block.group) for block in summary.rates]
        rows = [(name, *row) for name, row in zip([*names, "all"], rows, strict=True)]
        rows[-1] = ("all", *[""] * len(left), *rows[-1][len(left) + 1 :])
        left = [
            Column("row"),
            *field_columns([field.name for field in left], figures),
        ]
    note = definitions((s.label, s.definition) for s in shown if s.is_share)
    return Table("rates", "Rates", [*left, *figures], rows, note)


def _groups(
    summary: RunSummary,
) -> tuple[list[Column], list[tuple[list[str], SummaryBlock]]]:
    """Return the columns of the groups' fields, and the values and the figures of each group."""
    by = fields_of(*summary.by)
    rows = []
    for block in summary.rates:
        key = block.group
        values = [group_value(key[name]) if name in key else "" for name in by]
        rows.append((values, block))
    rows.append((["all", *[""] * len(by)][: len(by)], summary.everything))
    inferred = " (inferred)" if summary.n_class_inferred else ""
    labels = [name + (inferred if name == "study_class" else "") for name in by]
    return [Column(name, label) for name, label in zip(by, labels, strict=True)], rows


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
    categories, grades = rubric.facet(tally.rows), rubric.facet(tally.columns).labels
    kind, is_wide = rubric.kind(tally.kind), len(grades) > _MOST_PAIRS
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
        if n_items or category is None or category.modality is None:
            rows.append(tuple(row))
    title = tally.title
    if is_wide:
        title += ": how many (per scored study)"
    return Table("errors", title, head, rows)


def worst_table(rows: Sequence[Data], rubric: Rubric) -> Table:
    """Return the studies of `rows` of the table of studies, one a line."""
    orders = {order.measure for order in rubric.worst}
    measures = {
        m.name: m for m in rubric.measures if m.role == "score" or m.name in orders
    }
    head = [
        Column("study_id", "study"),
        Column("study_class", "class"),
    ]
    for m in measures.values():
        digits = 0 if m.is_whole else 3
        head.append(Column(m.name, m.label, kind=Kind.NUMBER, digits=digits))
    if rubric.codes:
        head.append(Column(rubric.codes.plural))
    entries = [_worst_entry(row, measures) for row in rows]
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


def described_run(run: RunFolder) -> dict[str, Any]:
    """Return what a list of runs says of one; raises `JudgeError` for a damaged run."""
    from judge.comparing.alignment import known_model

    summary, rubric = run.summary(), run.rubric
    return {
        "run": str(run.path),
        "model": known_model(run),
        "rubric": rubric.name,
        "judge": summary.judge.name,
        "studies": summary.n_studies,
        "scored": summary.n_scored,
        "figures": {
            statistic.name: summary.statistics[statistic.name].plain()
            for statistic in rubric.shown("groups")
        },
        "finished": run.manifest.finished,
    }


def runs_document(described: Sequence[Data]) -> Document:
    """Return a table of runs for each rubric, a row a run."""
    tables = []
    for name in dict.fromkeys(run["rubric"] for run in described):
        rubric = rubrics.load(name)
        shown = rubric.shown("groups")
        entries = [
            {**run, "model": run["model"] or NOTHING}
            | {s.name: _shown(Estimate.read(run["figures"][s.name]), s) for s in shown}
            | {"finished": str(run["finished"] or NOTHING)[:16]}
            for run in described
            if run["rubric"] == name
        ]
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


def readers_document(runs: Sequence[RunFolder], layout: str) -> Document:
    """Return a table of readers' runs with their main figures, a row a reader."""
    rubric = runs[0].rubric
    facts = [("layout", layout), ("rubric", rubric.title)]
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        summary = run.summary()
        name = summary.judge.name
        figures = (
            _estimate(summary, statistic) for statistic in rubric.shown("groups")
        )
        rows.append((name, summary.n_studies, summary.n_scored, *figures))
        facts += [("note", f"{name}: {text}") for text in summary.notes]
    head = [
        Column("judge"),
        Column("studies", kind=Kind.COUNT),
        Column("scored", kind=Kind.COUNT),
        *map(_column, rubric.shown("groups")),
    ]
    return Document(facts=facts, tables=[Table("readers", "Readers", head, rows)])


def sample_document(data: Data) -> Document:
    """Return what was drawn for readers, a row a stratum, and how much each has read."""
    drawn = f"{data['n_drawn']:,} of {data['n_studies']:,} studies"
    facts = [
        ("drawn", drawn),
        ("by", ", ".join(data["by"])),
        ("seed", str(data["seed"])),
    ]
    for reader, n in sorted(data["read"].items()):
        unjudged = data["not_judged"][reader]
        more = f", {unjudged:,} not judged" if unjudged else ""
        facts.append(("read", f"{n:,} by {reader}{more}"))
    rows = [
        (
            *map(group_value, stratum["key"].values()),
            stratum["n_studies"],
            stratum["n_drawn"],
        )
        for stratum in data["strata"]
    ]
    head = [Column(field) for field in data["by"]]
    head += [Column("studies", kind=Kind.COUNT), Column("drawn", kind=Kind.COUNT)]
    return Document(facts=facts, tables=[Table("sample", "Sample", head, rows)])
