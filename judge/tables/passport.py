"""A judge's passport as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from judge.backends.published import modality_name, statistic_name
from judge.run_files.passport import Passport
from judge.run_files.summary import FigureEntry
from judge.stats.estimate import Estimate
from judge.studies.language import UNKNOWN, language_name
from judge.tables.document import Cell, Column, Document, Fact, ShownEstimate, Table
from judge.tables.kinds import Kind
from judge.tables.run import named_judge
from judge.text import NOTHING, counted

_NUMBERS = (
    "agreement",
    "agreement_within",
    "readers",
    "in_place_of_a_reader",
    "seconds",
)
"""The figures that are no shares."""
_DOLLARS = "dollars_per_1000"


def passport_document(passport: Passport, *, complete: bool = False) -> Document:
    """Return what is printed of a passport.

    `complete` has each run that was left out, and all that is said of published figures.
    """
    tables = [
        _verdicts(passport),
        _criteria(passport),
        _others(passport),
        _published(passport, complete=complete),
        _runs(passport),
        _left_out(passport, complete=complete),
    ]
    return Document(
        f"Passport of {passport.judge.name}",
        facts=tuple(_facts(passport)),
        notes=tuple(passport.notes),
        tables=tuple(table for table in tables if table.rows),
        signatures=(("signature", passport.signature),),
    )


def _facts(passport: Passport) -> Iterator[Fact]:
    yield "judge", named_judge(passport.judge.name, passport.judge.note)
    if passport.judge.version:
        yield "version", passport.judge.version
        prompts = ", ".join(map(str, passport.prompts))
        yield "prompt", prompts or NOTHING
    yield "rubric", f"{passport.rubric}:{passport.rubric_version}"
    if passport.sampling:
        yield "sampling", passport.sampling
    yield "made", passport.made


def _verdicts(passport: Passport) -> Table:
    head = [
        Column("modality"),
        Column("verdict"),
        Column("readers"),
        Column("languages", "languages (references)"),
        Column("runs", kind=Kind.COUNT),
    ]
    rows = []
    for entry in passport.modalities:
        languages = []
        for code, n in entry.languages.items():
            name = language_name(code)
            if code == UNKNOWN:
                name = "unknown"
            languages.append(f"{name} ({n:,})")
        rows.append(
            (
                modality_name(entry.modality),
                entry.verdict,
                ", ".join(entry.readers) or "none",
                ", ".join(languages) or "none",
                entry.n_runs,
            )
        )
    note = (
        "trusted: every criterion is met; not trusted: one is not; unknown: too little is known of "
        "one. A criterion is met if the whole 95% interval is on the good side of its threshold"
    )
    return Table("verdicts", "Verdicts", head, rows, note)


def _criteria(passport: Passport) -> Table:
    head = [
        Column("modality"),
        Column("criterion"),
        Column("threshold"),
        Column("met"),
        Column("why"),
        Column("figure", kind=Kind.NUMBER),
        Column("n", kind=Kind.COUNT),
    ]
    rows = []
    for entry in passport.measured:
        for criterion in entry.criteria:
            rows.append(
                (
                    modality_name(entry.modality),
                    criterion.label,
                    criterion.rule,
                    criterion.answer,
                    criterion.why,
                    _shown(criterion.name, criterion.figure),
                    criterion.figure.n,
                )
            )
    quantities = dict.fromkeys(entry.quantity for entry in passport.measured)
    counted_in = " and ".join(filter(None, quantities)) or "errors"
    note = (
        f"agreement: Kendall's tau-b of the judge's {counted_in} per report and the readers' mean, "
        "over all reports, and over pairs of candidates of one reference alone; known errors found "
        "and false alarms: by judge stress; same verdict again: whether there is such an error"
    )
    return Table("criteria", "Criteria", head, rows, note)


def _others(passport: Passport) -> Table:
    head = [
        Column("modality"),
        Column("figure"),
        Column("of", "of, or why there is none"),
        Column("value", kind=Kind.NUMBER),
        Column("n", kind=Kind.COUNT),
    ]
    rows = []
    for entry in passport.measured:
        for other in entry.others:
            of = other.of
            if other.figure.value is None and other.figure.reason:
                of = other.figure.reason
            rows.append(
                (
                    modality_name(entry.modality),
                    other.label,
                    of,
                    _shown(other.name, other.figure),
                    other.figure.n,
                )
            )
    return Table("others", "Also known, without a threshold", head, rows)


def _shown(name: str, figure: FigureEntry) -> ShownEstimate:
    estimate = Estimate.read(figure.plain())
    if name == _DOLLARS:
        return ShownEstimate(estimate, Kind.SHORT)
    if name in _NUMBERS:
        return ShownEstimate(estimate, Kind.NUMBER)
    return ShownEstimate(estimate, Kind.SHARE)


def _published(passport: Passport, *, complete: bool) -> Table:
    """Return what others published; `complete` also says of what, and where it was read."""
    head = [Column("modality"), Column("statistic"), Column("who"), Column("source")]
    if complete:
        head += [Column("of"), Column("seen", "read in")]
    head += [
        Column("value", kind=Kind.NUMBER, digits=2),
        Column("n", kind=Kind.COUNT),
    ]
    rows: list[tuple[Cell, ...]] = []
    for entry in passport.published:
        row: list[Cell] = [
            modality_name(entry.modality),
            statistic_name(entry.statistic),
            f"{entry.who}, {entry.year}",
            entry.source,
        ]
        if complete:
            row += [entry.of, entry.seen or "the source"]
        rows.append((*row, float(entry.value), entry.n))
    note = (
        "others' reports, readers and ways of counting: it decides no verdict, and different "
        "statistics cannot be compared with each other"
    )
    return Table("published", "Published by others", head, rows, note)


def _runs(passport: Passport) -> Table:
    head = [Column("run"), Column("used as"), Column("modality")]
    rows = []
    for run in passport.runs:
        modality = ""
        if run.role != "reader":
            modality = modality_name(run.modality)
        rows.append((run.path, run.role, modality))
    return Table("runs", "Runs that were used", head, rows)


def _left_out(passport: Passport, *, complete: bool) -> Table:
    """Return the runs that were left out: each where `complete`, else how many for each reason."""
    title = "Runs that were left out"
    if complete:
        head = [Column("run"), Column("reason")]
        listed = [(entry.path, entry.reason) for entry in passport.left_out]
        return Table("left_out", title, head, listed)
    reasons = Counter(entry.reason for entry in passport.left_out)
    first = {entry.reason: entry.path for entry in reversed(passport.left_out)}
    head = [Column("reason"), Column("runs"), Column("run", "such as")]
    rows = []
    for reason, n in reasons.most_common():
        rows.append((reason, counted(n, "run", "runs"), first[reason]))
    return Table("left_out", title, head, rows)
