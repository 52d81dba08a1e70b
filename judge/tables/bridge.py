"""A bridge between two judges, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from judge.bridging.bridge import Bridge, Verdict
from judge.bridging.figures import Agreement, Conclusion, Restated, Shift
from judge.stats.estimate import Estimate
from judge.tables.document import Cell, Column, Document, Fact, ShownEstimate, Table
from judge.tables.kinds import Kind, difference_kind, figure_kind
from judge.text import counted, group_value

_ALL = "all"
_MOST_NAMED = 3
_MOST_CHANGES = 20
"""Conclusions that change which are printed; CSV and JSON have every pair."""
_IN_WORDS = {
    "same": "same",
    "lost": "no longer significant",
    "gained": "now significant",
    "reversed": "reversed",
}
_SCOPES = {"all": "all studies", "group": "by {by}"}


def bridge_document(bridge: Bridge, *, complete: bool = False) -> Document:
    """Return what is printed of a bridge; `complete` has every level and every pair of models."""
    tables = [
        _restated(bridge),
        _shifts(bridge),
        _categories(bridge, complete=complete),
        _agreement(bridge),
        _conclusions(bridge, complete=complete),
        _sample(bridge),
    ]
    return Document(
        f"Bridge from {bridge.old_judge} to {bridge.new_judge}",
        facts=tuple(_facts(bridge)),
        notes=bridge.notes,
        tables=[table for table in tables if table.rows],
        signatures=(("signature", bridge.signature),),
    )


def _facts(bridge: Bridge) -> Iterator[Fact]:
    for verdict in bridge.verdicts:
        scope = _SCOPES[verdict.scope].format(by=bridge.by)
        yield f"one table, {scope}", _in_words(verdict, bridge.n_studies)
    margin = f"±{100 * bridge.margin:g} points"
    if bridge.verdicts:
        yield "rule", f"yes if the 95% interval of each rate's shift is within {margin}"
    else:
        yield (
            "one table",
            "no answer: the rubric has no rate to hold against the margin",
        )
    yield "figures that shift", _shifted(bridge) or "none, as far as the intervals tell"
    yield "old judge", bridge.old_judge
    yield "new judge", bridge.new_judge
    yield "rubric", bridge.rubric
    reports = f"{bridge.n_scored:,} of {bridge.n_drawn:,} drawn"
    models = counted(len(bridge.models), "model", "models")
    yield "judged by both", f"{reports}, of {bridge.n_studies:,} studies by {models}"
    yield "intervals", f"by {bridge.patient_field or 'study'}"


def _shifted(bridge: Bridge) -> str:
    """Return the figures of all studies whose shift is not 0, with the models they are of."""
    models: dict[str, list[str]] = {}
    for shift in bridge.shifts:
        if shift.is_shifted and shift.model is not None and not shift.group:
            models.setdefault(shift.label, []).append(shift.model)
    texts = []
    for label, names in models.items():
        of = ", ".join(names)
        if len(names) == len(bridge.models) > _MOST_NAMED:
            of = f"all {len(names)} models"
        elif len(names) > _MOST_NAMED:
            of = f"{len(names)} of {len(bridge.models)} models"
        texts.append(f"{label} ({of})")
    return "; ".join(texts)


def _in_words(verdict: Verdict, n_studies: int) -> str:
    words: str = verdict.answer
    if verdict.why:
        words += f", {verdict.why}"
    if verdict.n_needed is None:
        return words
    if verdict.n_needed > n_studies:
        return f"{words}; the runs have too few studies to tell"
    return (
        f"{words}; --limit {verdict.n_needed} would tell if the shifts stay as they are"
    )


def _restated(bridge: Bridge) -> Table:
    """Return the leaderboard by the old judge and on the scale of the new one."""
    head = [
        Column("metric"),
        Column("group", bridge.by),
        Column("model"),
        Column("old", "old judge", kind=Kind.NUMBER),
        Column("new", "restated", kind=Kind.NUMBER),
        Column("n", "judged by both", kind=Kind.COUNT),
        Column("rank", kind=Kind.COUNT),
        Column("new_rank", "rank restated", kind=Kind.COUNT),
    ]
    rows = [_restated_row(row) for row in bridge.restated]
    note = (
        "restated: the old judge's figure of all studies plus what the new judge's differs from it "
        "in the sample; its interval covers the sample too"
    )
    return Table("restated", "The leaderboard on the new scale", head, rows, note)


def _restated_row(row: Restated) -> tuple[Cell, ...]:
    kind = figure_kind(is_share=row.metric.is_share)
    new = Estimate(
        n=row.new.n,
        value=row.new.value,
        low=row.new.low,
        high=row.new.high,
        reason=row.new.why_not,
    )
    return (
        row.metric.short,
        _group(row.group.values()),
        row.model,
        ShownEstimate(row.old, kind),
        ShownEstimate(new, kind, note=row.new.why_not or ""),
        row.new.n,
        row.rank,
        row.new_rank,
    )


def _shifts(bridge: Bridge) -> Table:
    head = [
        Column("metric"),
        Column("group", bridge.by),
        Column("model"),
        Column("n", "reports", kind=Kind.COUNT),
        Column("old", "old judge", kind=Kind.NUMBER),
        Column("new", "new judge", kind=Kind.NUMBER),
        Column("shift", kind=Kind.DIFFERENCE),
        Column("slope", kind=Kind.NUMBER),
        Column("slopes", "slope if one judge has all the error"),
        Column("within", "within the margin"),
    ]
    rows = [
        (shift.label, _group(shift.group.values()), shift.model or _ALL, *_cells(shift))
        for shift in bridge.shifts
    ]
    note = (
        "shift: new less old, of the same reports; slope: Deming's line of the new values on the "
        "old, both judges erring alike"
    )
    return Table("shift", "Shift and slope", head, rows, note)


def _cells(shift: Shift) -> tuple[Cell, ...]:
    kind = figure_kind(is_share=shift.is_share)
    slopes = ""
    if shift.slopes is not None:
        low, high = shift.slopes
        slopes = f"{low:.2f} to {high:.2f}"
    return (
        shift.n,
        _value(shift.old, kind),
        _value(shift.new, kind),
        _with_reason(shift.shift, difference_kind(is_share=shift.is_share)),
        shift.slope,
        slopes,
        shift.answer or "",
    )


def _value(value: float | None, kind: Kind) -> Cell:
    if value is None:
        return None
    return ShownEstimate(Estimate(value=value), kind)


def _with_reason(estimate: Estimate, kind: Kind) -> ShownEstimate:
    """Return an estimate, with the reason where it has no interval."""
    if estimate.low is None and estimate.reason:
        return ShownEstimate(estimate, kind, note=f"({estimate.reason})")
    return ShownEstimate(estimate, kind)


def _categories(bridge: Bridge, *, complete: bool) -> Table:
    """Return the shifts of the counts; by category, without `complete`, those of all levels."""
    head = [
        Column("category"),
        Column("level"),
        Column("n", "reports", kind=Kind.COUNT),
        Column("old", "old judge", kind=Kind.NUMBER),
        Column("new", "new judge", kind=Kind.NUMBER),
        Column("shift", kind=Kind.DIFFERENCE),
        Column("slope", kind=Kind.NUMBER),
        Column("slopes", "slope if one judge has all the error"),
    ]
    rows = []
    for shift in bridge.categories:
        category, _, level = shift.label.partition(", ")
        if complete or category == _ALL or level == "all levels":
            rows.append((category, level, *_cells(shift)[:-1]))
    title = "Errors per report by category, all models"
    return Table("categories", title, head, rows)


def _agreement(bridge: Bridge) -> Table:
    head = [
        Column("figure"),
        Column("n", "reports", kind=Kind.COUNT),
        Column("old", "old judge", kind=Kind.SHARE),
        Column("new", "new judge", kind=Kind.SHARE),
        Column("agreement", kind=Kind.SHARE),
        Column("kappa", kind=Kind.NUMBER),
        Column("ac1", "AC1", kind=Kind.NUMBER),
    ]
    rows = [_agreement_row(one) for one in bridge.agreement]
    return Table("agreement", "Agreement, report by report", head, rows)


def _agreement_row(one: Agreement) -> tuple[Cell, ...]:
    figures = one.figures
    return (
        one.label,
        one.n,
        one.old,
        one.new,
        figures["agreement"],
        figures["kappa"],
        figures["ac1"],
    )


def _conclusions(bridge: Bridge, *, complete: bool) -> Table:
    """Return the pairs of models, without `complete` those of which the conclusion changes."""
    head = [
        Column("metric"),
        Column("model"),
        Column("other"),
        Column("old", "old difference", kind=Kind.DIFFERENCE),
        Column("p_holm_old", "p (Holm)", kind=Kind.P),
        Column("new", "restated", kind=Kind.DIFFERENCE),
        Column("p_holm_new", "p (Holm) restated", kind=Kind.P),
        Column("conclusion"),
    ]
    found = bridge.conclusions
    changing = [one for one in found if one.changed != "same"]
    title = f"Conclusions that change: {len(changing):,} of {len(found):,}"
    shown = found
    if not complete:
        shown = tuple(changing[:_MOST_CHANGES])
        if len(shown) < len(changing):
            title += f", the first {len(shown)}"
    rows = [_conclusion_row(one) for one in shown]
    if found and not rows:
        rows = [("none of them changes", *[""] * (len(head) - 1))]
    note = (
        "old: the test of judge compare; restated: a test that allows for the sample. A "
        "difference that is no longer significant is not refuted; one is newly significant only if "
        "the test of the restated figures does not find it in the old ones either"
    )
    return Table("conclusions", title, head, rows, note)


def _conclusion_row(one: Conclusion) -> tuple[Cell, ...]:
    kind = difference_kind(is_share=one.metric.is_share)
    old = Estimate(value=one.old.difference, low=one.old.low, high=one.old.high)
    return (
        one.metric.short,
        one.first,
        one.second,
        ShownEstimate(old, kind),
        one.old.p_holm,
        ShownEstimate(one.difference, kind),
        one.p_holm,
        _IN_WORDS[one.changed],
    )


def _sample(bridge: Bridge) -> Table:
    group, outcome = bridge.sample["by"]
    head = [
        Column("model"),
        Column("group", group),
        Column("outcome", "by the old judge"),
        Column("n_studies", "studies", kind=Kind.COUNT),
        Column("n_drawn", "drawn", kind=Kind.COUNT),
    ]
    rows = []
    for stratum in bridge.sample["strata"]:
        key = stratum["key"]
        counts = (stratum["n_studies"], stratum["n_drawn"])
        rows.append((stratum["model"], key[group], key[outcome], *counts))
    title = f"The sample (seed {bridge.sample['seed']})"
    return Table("sample", title, head, rows)


def _group(values: Iterable[object]) -> str:
    return ", ".join(group_value(value) for value in values) or _ALL
