"""A plan, as a document."""

from __future__ import annotations

from collections.abc import Iterator

from judge.planning.agreements import ReadersRow
from judge.planning.drops import DropRow, PairedRow
from judge.planning.plan import Plan
from judge.planning.readings import ReadingsRow
from judge.planning.widths import CandidatesRow, StudiesRow
from judge.stats.metric import Metric
from judge.stats.sample_size import MOST, UNKNOWN, Need
from judge.tables.document import Cell, Column, Document, Fact, ShownEstimate, Table
from judge.tables.kinds import Kind, difference_kind, figure_kind

_BEYOND = f"over {MOST:,}"
_CAUTIOUS = "cautious: by the upper 90% limit of the pilot's variance"


def plan_document(plan: Plan) -> Document:
    """Return what is printed of a plan: a table for each kind of result."""
    tables = [
        _studies(plan),
        _candidates(plan),
        _differences(plan),
        _drops(plan),
        _readings(plan),
        _readers(plan),
    ]
    return Document(
        "Plan",
        facts=tuple(_facts(plan)),
        notes=plan.notes,
        tables=[table for table in tables if table.rows],
        signatures=(("signature", plan.signature),),
    )


def _facts(plan: Plan) -> Iterator[Fact]:
    goal = plan.goal
    if goal.width is not None:
        yield (
            "wanted",
            f"95% intervals {goal.width:g} wide in all, upper end less lower end",
        )
    if goal.margin is not None:
        text = (
            f"judge gate --non-inferior --max-drop {goal.margin:g} passes with a chance of "
            f"{goal.power:.0%} if the true difference is {goal.difference:g}"
        )
        yield "wanted", text
    scored = f"{plan.n_scored:,} of {plan.n_studies:,} studies scored"
    if plan.patient_field is not None:
        scored += f", of {plan.n_units:,} patients (by {plan.patient_field})"
    yield "pilot", scored
    if plan.n_scored < plan.n_studies:
        share = plan.n_scored / plan.n_studies
        yield (
            "studies planned",
            f"more than must be scored, since {share:.1%} of the pilot's were scored",
        )
    if plan.dollars is not None:
        yield "price", f"${plan.dollars:.4g} per study, as in the pilot"
    else:
        yield "price", "unknown: the pilot has no recorded price"
    if plan.candidates_reason:
        yield "candidates per reference", plan.candidates_reason
    if goal.width is not None and not plan.readers and not plan.differences:
        yield "readings and readers", "unknown: the pilot has no readings (--readers)"


def _needs(label: str, block: str = "", name: str = "") -> list[Column]:
    """Return the two columns of a number: by the pilot's variance, and cautiously."""
    name = name or label
    return [
        Column(name, label, kind=Kind.COUNT, block=block),
        Column(f"{name}_cautious", "cautious", kind=Kind.COUNT, block=block),
    ]


def _cells(need: Need | None, reason: str = "") -> tuple[Cell, Cell]:
    """Return the cells of a number; one that is too large is said in words."""
    if need is None:
        return None, None
    beyond = None if reason else _BEYOND
    n: Cell = need.n
    cautious: Cell = need.cautious
    if need.n is None:
        n = beyond
    if need.cautious is None:
        cautious = beyond
    return n, cautious


def _figure(metric: Metric, row: StudiesRow | ReadingsRow) -> ShownEstimate:
    return ShownEstimate(row.pilot, figure_kind(is_share=metric.is_share))


def _studies(plan: Plan) -> Table:
    has_patients = plan.patient_field is not None
    columns = [
        Column("metric"),
        Column("pilot", kind=Kind.NUMBER),
        *_needs("studies"),
    ]
    if has_patients:
        columns += [
            *_needs("patients"),
            Column("design_effect", "design effect", kind=Kind.NUMBER, digits=2),
            Column("correlation", "within patients", kind=Kind.NUMBER, digits=2),
        ]
    columns += _needs("to be scored", name="scored")
    columns += _ends(plan)
    rows = [_studies_row(plan, row, has_patients=has_patients) for row in plan.studies]
    note = f"studies: to judge, scored or not; {_CAUTIOUS}"
    if has_patients:
        note += (
            "; within patients: the correlation of the studies of a patient, who have as many "
            "studies each as in the pilot"
        )
    title = "Studies for an interval of this width"
    return Table("studies", title, columns, rows, note)


def _ends(plan: Plan) -> list[Column]:
    """Return the last columns: the price where it is known, and the reason."""
    columns = []
    if plan.dollars is not None:
        columns.append(Column("dollars", "price, $", kind=Kind.NUMBER, digits=2))
    columns.append(Column("reason", "unknown why"))
    return columns


def _end_cells(plan: Plan, row: StudiesRow | PairedRow) -> tuple[Cell, ...]:
    if plan.dollars is None:
        return (row.reason,)
    return row.dollars, row.reason


def _studies_row(
    plan: Plan, row: StudiesRow, *, has_patients: bool
) -> tuple[Cell, ...]:
    cells: list[Cell] = [row.metric.short, _figure(row.metric, row)]
    cells += _cells(row.studies, row.reason)
    if has_patients:
        cells += _cells(row.patients or UNKNOWN, row.reason)
        cells += [row.design_effect, row.correlation]
    cells += _cells(row.scored, row.reason)
    return (*cells, *_end_cells(plan, row))


def _candidates(plan: Plan) -> Table:
    columns = [
        Column("metric"),
        Column("k", "candidates per reference", kind=Kind.COUNT),
        Column("references", kind=Kind.COUNT),
        Column("candidates", kind=Kind.COUNT),
        Column("correlation", "within references", kind=Kind.NUMBER, digits=2),
        Column("within", "for one reference", kind=Kind.COUNT),
    ]
    rows = [_candidates_row(row) for row in plan.candidates]
    note = (
        "within references: the correlation of the candidates of a reference; for one reference: "
        "candidates of it that give its own figure this width. The references must be named as "
        "patients are (--patient-field), or candidates count as independent"
    )
    title = "Candidates per reference for an interval of this width"
    return Table("candidates", title, columns, rows, note)


def _candidates_row(row: CandidatesRow) -> tuple[Cell, ...]:
    return (
        row.metric.short,
        row.k,
        row.references,
        row.candidates,
        row.correlation,
        row.within,
    )


def _paired_columns(plan: Plan) -> list[Column]:
    columns = [
        Column("metric"),
        Column("n", "pilot", kind=Kind.COUNT),
        Column("difference", kind=Kind.DIFFERENCE),
        Column("variation", "differ", kind=Kind.NUMBER),
        *_needs("studies"),
    ]
    if plan.patient_field is not None:
        columns += _needs("patients")
    return columns


def _paired_cells(plan: Plan, row: PairedRow) -> list[Cell]:
    kind = difference_kind(is_share=row.metric.is_share)
    cells: list[Cell] = [
        row.metric.short,
        row.n,
        ShownEstimate(row.pilot, kind),
        row.variation,
        *_cells(row.studies, row.reason),
    ]
    if plan.patient_field is not None:
        cells += _cells(row.patients or UNKNOWN, row.reason)
    return cells


_DIFFER = (
    "differ: the share of the pilot's studies on which the two differ, of other metrics than rates "
    "the standard deviation of the differences"
)


def _differences(plan: Plan) -> Table:
    columns = [*_paired_columns(plan), *_ends(plan)]
    rows = []
    for row in plan.differences:
        rows.append((*_paired_cells(plan, row), *_end_cells(plan, row)))
    title = "Studies for an interval of the difference of this width"
    return Table("differences", title, columns, rows, f"{_DIFFER}; {_CAUTIOUS}")


def _drops(plan: Plan) -> Table:
    columns = [
        *_paired_columns(plan),
        Column("power_at_half", "power if worse by half", kind=Kind.SHARE),
        *_ends(plan),
    ]
    rows = [_drops_row(plan, row) for row in plan.drops]
    note = (
        f"power if worse by half: the chance to pass with these studies if RUN is worse by half "
        f"the margin than assumed; {_DIFFER}; {_CAUTIOUS}"
    )
    title = "Studies to show that RUN is no worse by more than the margin"
    return Table("gate", title, columns, rows, note)


def _drops_row(plan: Plan, row: DropRow) -> tuple[Cell, ...]:
    cells = _paired_cells(plan, row)
    return (*cells, row.power_at_half, *_end_cells(plan, row))


def _readings(plan: Plan) -> Table:
    columns = [
        Column("metric"),
        Column("pilot", "pilot, corrected", kind=Kind.NUMBER),
        Column("n_read", "read", kind=Kind.COUNT),
        Column("correlation", "judge and readers", kind=Kind.NUMBER, digits=2),
        Column("n_judged", "judged", kind=Kind.COUNT),
        *_needs("readings"),
        *_needs("without a judge", name="alone"),
        Column("reason", "unknown why"),
    ]
    rows = [_readings_row(row) for row in plan.readings]
    note = (
        "readings: studies that radiologists read, drawn at random from those judged; judge and "
        f"readers: their correlation in the pilot; {_CAUTIOUS}"
    )
    title = "Readings for a corrected figure with an interval of this width"
    return Table("readings", title, columns, rows, note)


def _readings_row(row: ReadingsRow) -> tuple[Cell, ...]:
    beyond = row.reason
    readings = list(_cells(row.readings, beyond))
    if not beyond and row.readings.cautious is None:
        readings[1] = "more than are judged"
    return (
        row.metric.short,
        _figure(row.metric, row),
        row.n_read,
        row.correlation,
        row.n_judged,
        *readings,
        *_cells(row.alone, beyond),
        row.reason,
    )


def _readers(plan: Plan) -> Table:
    columns = [
        Column("figure"),
        Column("pilot", kind=Kind.NUMBER),
        Column("share_of_readers", "variance by readers", kind=Kind.SHARE),
        Column("readers"),
        *_needs("studies each reads", name="studies"),
        *_needs("readings in all", name="readings"),
        Column("reason", "unknown why"),
    ]
    rows = [_readers_row(row) for row in plan.readers]
    note = (
        "for a number of readers the interval covers the choice of the readers too (judge validate "
        f"--random-readers); {_CAUTIOUS}, of studies and of readers"
    )
    title = "Readers for an interval of the agreement of this width"
    return Table("readers", title, columns, rows, note)


def _readers_row(row: ReadersRow) -> tuple[Cell, ...]:
    readers: Cell = "those of the pilot"
    if row.readers is not None:
        readers = f"any {row.readers}"
    elif row.reason:
        readers = "others"
    cells = [*_cells(row.studies, row.reason), *_cells(row.readings, row.reason)]
    if not row.reason and row.studies.cautious is None:
        cells[1] = cells[3] = "more readers"
    return (
        row.figure,
        ShownEstimate(row.pilot, Kind.NUMBER),
        row.share_of_readers,
        readers,
        *cells,
        row.reason,
    )
