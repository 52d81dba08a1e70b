"""A summary as plain tables: titles, headings and cells of text, whatever they are drawn with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge import text
from judge.rubrics.contract import Measure, Rubric, Statistic, Tally
from judge.stats.table import by_grouping
from judge.text import (
    NOTHING,
    counted,
    estimate,
    group_value,
    left_out,
    number,
    percent,
    rate,
)

_COUNTS = ("studies", "scored", "unparsed", "failed")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text; each row has as many cells as `head`, numbers from column `n_left` on.

    `note` is printed once below it.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_left: int = 1
    note: str = ""


def run_title(summary: Mapping[str, Any], rubric: Rubric) -> str:
    """Return what a run is called: the model that is judged, the rubric, and who judges."""
    model = summary.get("model")
    return f"{f'{model}: ' if model else ''}{rubric.title} by {summary['judge']['name']}"


def headline(
    summary: Mapping[str, Any], rubric: Rubric, *, figures: bool = True
) -> list[tuple[str, str]]:
    """Return the facts at the head of a run, a name and a value each, with its `figures` or not."""
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
    facts += [(one.label, _cell(summary, one)) for one in rubric.shown("head") if figures]
    if modes := summary.get("reply_modes"):
        asked = ", ".join(f"{mode} {n}" for mode, n in modes.items())
        facts.append(("replies asked for by", asked))
    if by := summary.get("intervals_by"):
        facts.append(("intervals", f"by {by}: some have several studies"))
    facts += [("note", note) for note in summary["notes"]]
    return facts + (readings_facts(summary["readings"], rubric) if "readings" in summary else [])


def unread_lines(summary: Mapping[str, Any], rubric: Rubric) -> list[str]:
    """Say what unparsed and failed studies could change, and where one class has more of them."""
    n = summary["n_unparsed"] + summary["n_failed"]
    lines, ends = [], []
    for one in rubric.shown("groups"):
        if bounds := summary["statistics"][one.name].get("bounds"):
            form = percent if one.kind == "rate" else number
            ends.append(f"{one.label} {' to '.join(map(form, bounds))}")
    if ends:
        which = "1 unread study were" if n == 1 else f"{n:,} unread studies were all"
        lines.append(f"If the {which} best or worst: {', '.join(ends)}")
    if uneven := summary.get("unread_by_class"):
        others = uneven["others"]
        lines.append(
            f"Unread studies are more frequent in the class {uneven['study_class']}: "
            f"{uneven['n_unread']:,} of {uneven['n_studies']:,}, and {others['n_unread']:,} of "
            f"{others['n_studies']:,} others (Fisher's exact test, p = {uneven['p']:.2g})"
        )
    return lines


def class_facts(n_inferred: int, n_studies: int) -> list[tuple[str, str]]:
    """Return the fact that the lexicon inferred studies' classes, none where all were given."""
    if not n_inferred:
        return []
    of_all = f"{n_inferred} of {counted(n_studies, 'study', 'studies')}"
    return [("study class", f"inferred by the lexicon for {of_all}")]


_DRAWN = {
    "drawn": "at random, as their runs say",
    "told": "at random, as was said with --readings-at-random",
    "all": "all studies were read",
}


def readings_facts(readings: Mapping[str, Any], rubric: Rubric) -> list[tuple[str, str]]:
    """Return whose readings a run was corrected by, and what is to be known of them."""
    runs = readings["runs"]
    facts = [("readings", f"{one['reader']}: {one['n']:,} ({one['run']})") for one in runs]
    drawn = _DRAWN[readings["drawn"]]
    if readings["drawn_by"]:
        drawn += f", in strata by {', '.join(readings['drawn_by'])}"
    facts.append(("drawn", drawn))
    if len(runs) > 1:
        facts.append(("several readers", f"{readings['several_readers']}, study by study"))
    if readings["patient_field"]:
        facts.append(("studies of one", readings["patient_field"]))
    labels = {one.name: one.label for one in rubric.statistics}
    facts += [
        ("note", f"{labels[name]} is not corrected: {why}")
        for name, why in readings["not_corrected"].items()
    ]
    return facts + [("note", text) for text in readings["notes"]]


def headline_figures(summary: Mapping[str, Any], rubric: Rubric) -> list[tuple[str, str]]:
    """Return what a list of runs says of each: the statistics of its groups, for all studies."""
    return [(one.label, _cell(summary, one)) for one in rubric.shown("groups")]


def tally_table(summary: Mapping[str, Any], rubric: Rubric, tally: Tally) -> Table:
    """Return the items by two facets: how many, and how many a scored study.

    An item with two values of the facet of the rows stands in both rows, and once in the last,
    for all items.
    """
    rows_of, columns = rubric.facet(tally.rows), rubric.facet(tally.columns).labels
    kind = rubric.kind(tally.kind)

    def total(**labels: str) -> Mapping[str, Any]:
        (measure,) = rubric.counting(kind.name, labels)
        found: Mapping[str, Any] = summary["totals"][measure.name]
        return found

    named = [
        (
            rows_of.text(row.name),
            [total(**{tally.rows: row.name, tally.columns: column.name}) for column in columns],
        )
        for row in rows_of.labels
    ]
    named = [
        (text, totals)
        for row, (text, totals) in zip(rows_of.labels, named, strict=True)
        if row.modality is None or any(one["n"] for one in totals)
    ]
    named.append((f"all {kind.plural}", [total(**{tally.columns: one.name}) for one in columns]))
    if len(columns) > _MOST_PAIRS:
        title = f"{tally.title}: how many (per scored study)"
        head = [column.label for column in columns]
        cells = [
            [NOTHING if one["n"] is None else "{} ({})".format(*_pair(one)) for one in totals]
            for _, totals in named
        ]
    else:
        title = tally.title
        head = [text for column in columns for text in (column.label, "per study")]
        cells = [[text for one in totals for text in _pair(one)] for _, totals in named]
    rows = tuple((name, *row) for (name, _), row in zip(named, cells, strict=True))
    return Table(title, (rows_of.label, *head), rows)


# With more columns than this, two for each would not fit.
_MOST_PAIRS = 2


def _pair(total: Mapping[str, Any]) -> tuple[str, str]:
    return NOTHING if total["n"] is None else str(total["n"]), number(total["per_study"])


def rates_tables(summary: Mapping[str, Any], rubric: Rubric) -> list[Table]:
    """Return a row a group, and one for all: the rubric's statistics with what they rest on.

    One table; two where a rubric has several scores, which would not fit beside the rates.
    """
    groups, rows = _by_group(summary)

    def table(title: str, shown: Sequence[Statistic], *, counts: bool) -> Table:
        body = tuple(
            (
                *group,
                *((str(row["n_studies"]), str(row["n_scored"])) if counts else ()),
                *(_cell(row, one) for one in shown),
            )
            for group, row in rows
        )
        head = (*groups, *(("studies", "scored") if counts else ()), *(s.label for s in shown))
        note = definitions((one.label, one.definition) for one in shown if one.kind == "rate")
        return Table(title, head, body, len(groups), note)

    shown = rubric.shown("groups")
    rates = [one for one in shown if one.kind == "rate"]
    scores = [one for one in shown if one.kind != "rate"]
    if not rates:
        return [table("Scores", scores, counts=True)]
    if len(scores) <= 1:
        return [table("Rates", [*scores, *rates], counts=True)]
    return [table("Scores", scores, counts=True), table("Rates", rates, counts=False)]


def definitions(named: Iterable[tuple[str, str | None]]) -> str:
    """Return what figures mean, for below a table: a label and its definition each."""
    return "; ".join(f"{label}: {text}" for label, text in named if text)


def tracks_table(summaries: Sequence[Mapping[str, Any]], rubric: Rubric) -> Table:
    """Return the figures of several sections of the same studies side by side, a column each."""
    head = ("all studies", *(summary["section"] for summary in summaries))
    counts = [(name, f"n_{name}") for name in ("studies", "scored")]
    rows = [(label, *(str(one[key]) for one in summaries)) for label, key in counts]
    shown = dict.fromkeys((*rubric.shown("groups"), *rubric.shown("compare")))
    rows += [(one.label, *(_cell(summary, one) for summary in summaries)) for one in shown]
    return Table("Sections side by side", head, tuple(rows))


def _by_group(
    summary: Mapping[str, Any],
) -> tuple[list[str], list[tuple[list[str], Mapping[str, Any]]]]:
    by = summary["by"]
    rows = [([group_value(row[name]) for name in by], row) for row in summary["rates"]]
    rows.append((["all", *[""] * (len(by) - 1)], summary))
    inferred = " (inferred)" if summary["n_class_inferred"] else ""
    return [name + (inferred if name == "study_class" else "") for name in by], rows


CORRECTED = ("judge", "corrected", "readings alone", "read", "judge is worth")


def corrected_tables(summary: Mapping[str, Any], rubric: Rubric) -> list[Table]:
    """Return a table for each statistic that readings correct, a row a group and one for all."""
    groups, rows = _by_group(summary)
    return [
        Table(
            f"{one.label}, with the judge's bias taken out",
            (*groups, *CORRECTED),
            tuple(
                (*group, *corrected_cells(row["statistics"][one.name], one)) for group, row in rows
            ),
            n_left=len(groups),
        )
        for one in rubric.statistics
        if "corrected" in summary["statistics"][one.name]
    ]


def corrected_cells(found: Mapping[str, Any], statistic: Statistic) -> tuple[str, ...]:
    """Return the cells of `CORRECTED` of a statistic, or what is said where too few are read."""
    fixed, is_rate = found["corrected"], statistic.kind == "rate"
    judge = estimate(found, is_rate=is_rate)
    read = f"{fixed['n']:,} of {fixed['n_studies']:,}"
    if fixed["why_not"]:
        return judge, fixed["why_not"], NOTHING, read, NOTHING
    written = text.share if is_rate else estimate
    labels = {end: fixed[f"labels_{end}"] for end in ("low", "high")}
    alone = written({"value": fixed["labels"], **labels})
    worth = f"{counted(round(fixed['worth']), 'reading', 'readings')}"
    return judge, written(fixed), alone, read, worth


def _cell(block: Mapping[str, Any], statistic: Statistic) -> str:
    return estimate(block["statistics"][statistic.name], is_rate=statistic.kind == "rate")


def tables(summary: Mapping[str, Any], rubric: Rubric) -> list[Table]:
    """Return all tables of a run; those with nothing in them are left out."""
    parts = by_grouping(summary)
    found = [table for part in parts for table in rates_tables(part, rubric)]
    found += [table for part in parts for table in corrected_tables(part, rubric)]
    if rubric.tally:
        found.append(tally_table(summary, rubric, rubric.tally))
    for title, key in (("Not scored", "reasons"), ("Warnings about answers", "warnings")):
        if counts := summary[key]:
            rows = tuple((name, str(n)) for name, n in counts.items())
            found.append(Table(title, (title.lower(), "studies"), rows))
    return found


def worst_table(rows: Sequence[Mapping[str, Any]], rubric: Rubric) -> Table:
    """Return the studies of `rows` of the table of studies, one a line."""
    measures = {measure.name: measure for measure in rubric.with_role("score")}
    measures |= {
        m.name: m for order in rubric.worst for m in rubric.measures if m.name == order.measure
    }
    codes = [rubric.codes.plural] if rubric.codes else []
    head = ("study", "class", *(measure.label for measure in measures.values()), *codes)
    body = tuple(
        (
            *(row["study_id"], group_value(row["study_class"])),
            *(_number(row[name], measure) for name, measure in measures.items()),
            *(row[name] or "none" for name in codes),
        )
        for row in rows
    )
    return Table("Worst studies", head, body, n_left=2)


def _number(value: float | None, measure: Measure) -> str:
    return number(value, 0 if measure.is_whole else 3)


def review_tables(measured: Mapping[str, Any], rubric: Rubric) -> list[Table]:
    """Return the judge's precision by category, and any two readers' agreement."""
    from judge.stats.review import ALL

    codes = rubric.codes
    names = [
        codes.text(of["code"]) if codes and of["code"] != ALL else of["code"]
        for of in measured["precision"]
    ]
    columns = ([rate(of) for of in measured[key]] for key in ("precision", "finding_precision"))
    rows = zip(names, *columns, strict=True)
    readers = ", ".join(measured["readers"]) or "nobody"
    title = (
        f"{counted(measured['n_reviewed_errors'], 'error', 'errors')} of "
        f"{counted(measured['n_studies'], 'study', 'studies')}, reviewed by {readers}; "
        f"{counted(measured['missed'], 'missed error', 'missed errors')} added, "
        f"{counted(measured['stale'], 'review', 'reviews')} stale"
    )
    head = (codes.label if codes else "", "precision", "finding precision")
    found = [Table(title, head, tuple(rows))]
    if measured["kappa"]:
        pairs = tuple(
            (" and ".join(of["readers"]), str(of["n"]), str(of["agreed"]), number(of["kappa"]))
            for of in measured["kappa"]
        )
        found.append(
            Table("Agreement", ("readers", "errors of both", "agreed", "Cohen's kappa"), pairs)
        )
    return found


def signatures(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines that name what made the numbers: the run's, and those of its readings."""
    found = [("signature", summary["signature"])]
    if "readings" in summary:
        found.append(("corrected", summary["readings"]["signature"]))
        found += [("reader", one["signature"]) for one in summary["readings"]["runs"]]
    return found
