"""A summary as plain tables: titles, headings and cells of text, whatever they are drawn with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.report.words import NOTHING, group_value, left_out, mean, number, rate
from judge.rubrics import Rubric


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text; each row has as many cells as `head`, numbers from column `n_left` on."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_left: int = 1


def headline(summary: Mapping[str, Any], rubric: Rubric) -> list[tuple[str, str]]:
    """Return the facts at the head of a run, a name and a value each."""
    judge = summary["judge"]
    facts = [
        ("rubric", rubric.title),
        ("judge", f"{judge['name']} ({judge['note']})" if judge["note"] else judge["name"]),
        *([("prompt", summary["prompt"])] if summary["prompt"] else []),
        ("section", summary["section"]),
        ("studies", str(summary["n_studies"])),
        ("scored", str(summary["n_scored"])),
        ("unparsed", str(summary["n_unparsed"])),
        ("failed", str(summary["n_failed"])),
    ]
    if summary["omitted"]:
        facts.append(("left out", left_out(summary["omitted"])))
    if inferred := summary["n_class_inferred"]:
        total = summary["n_studies"]
        facts.append(("study class", f"inferred by the lexicon for {inferred} of {total} studies"))
    facts += [(figure.label, mean(summary["scores"][figure.name])) for figure in rubric.figures]
    facts += [(check.label, mean(summary["checks"][check.name])) for check in rubric.checks]
    if modes := summary.get("reply_modes"):
        asked = ", ".join(f"{mode} {n}" for mode, n in modes.items())
        facts.append(("replies asked for by", asked))
    facts += [("note", note) for note in summary["notes"]]
    return facts


def errors_table(summary: Mapping[str, Any], rubric: Rubric) -> Table:
    """Return the errors by category: how many, and how many a scored study, for each level.

    An error with two categories stands in both rows, and once in the last, for all errors.
    """
    counted = [(f"({row['category']}) {row['label']}", row) for row in summary["errors"]]
    counted.append(("all errors", summary["levels"]))
    if len(rubric.levels) > _MOST_PAIRS:
        title = "Errors by category: how many (a scored study)"
        head = [level.label for level in rubric.levels]
        cells = [[_both(row[level.name]) for level in rubric.levels] for _, row in counted]
    else:
        title = "Errors by category"
        head = [text for level in rubric.levels for text in (level.label, "a study")]
        cells = [
            [text for level in rubric.levels for text in _pair(row[level.name])]
            for _, row in counted
        ]
    rows = tuple((name, *row) for (name, _), row in zip(counted, cells, strict=True))
    return Table(title, ("category", *head), rows)


# With more levels than this, two columns for each would not fit.
_MOST_PAIRS = 2


def _pair(total: Mapping[str, Any]) -> tuple[str, str]:
    return str(total["n"]), number(total["per_study"])


def _both(total: Mapping[str, Any]) -> str:
    return "{} ({})".format(*_pair(total))


_Cells = Callable[[Mapping[str, Any]], list[str]]


def rates_tables(summary: Mapping[str, Any], rubric: Rubric) -> list[Table]:
    """Return a row a group, and one for all: scores and rates with what they rest on.

    One table; two where a rubric has several figures, which would not fit beside the rates.
    """
    scores = ["studies", "scored", *(figure.label for figure in rubric.figures)]
    rates = ["no significant error", "no actionable error"]
    by = summary["by"]
    rows = [([group_value(row[name]) for name in by], row) for row in summary["rates"]]
    rows.append((["all", *[""] * (len(by) - 1)], summary))
    inferred = " (inferred)" if summary["n_class_inferred"] else ""
    groups = [name + (inferred if name == "study_class" else "") for name in by]

    def table(
        title: str, head: list[str], cells: Callable[[Mapping[str, Any]], list[str]]
    ) -> Table:
        body = tuple((*group, *cells(row)) for group, row in rows)
        return Table(title, (*groups, *head), body, n_left=len(by))

    if len(rubric.figures) == 1:
        both = [*scores, *rates]
        return [table("Rates", both, lambda row: _score_cells(row, rubric) + _rate_cells(row))]
    return [
        table("Scores", scores, lambda row: _score_cells(row, rubric)),
        table("Rates", rates, _rate_cells),
    ]


def _score_cells(row: Mapping[str, Any], rubric: Rubric) -> list[str]:
    figures = (mean(row["scores"][figure.name]) for figure in rubric.figures)
    return [str(row["n_studies"]), str(row["n_scored"]), *figures]


def _rate_cells(row: Mapping[str, Any]) -> list[str]:
    return [rate(row["no_significant_error"]), rate(row["no_actionable_error"])]


def counts_table(title: str, counts: Mapping[str, int]) -> Table:
    """Return a table of reasons or remarks and how many studies have them."""
    return Table(title, (title.lower(), "studies"), tuple((k, str(n)) for k, n in counts.items()))


def tables(summary: Mapping[str, Any], rubric: Rubric) -> list[Table]:
    """Return all tables of a run; those with nothing in them are left out."""
    found = [*rates_tables(summary, rubric), errors_table(summary, rubric)]
    for title, key in (("Not scored", "reasons"), ("Remarks on answers", "remarks")):
        if summary[key]:
            found.append(counts_table(title, summary[key]))
    return found


def worst_table(rows: Sequence[Mapping[str, Any]], rubric: Rubric) -> Table:
    """Return the studies of `rows` of the table of studies, one a line."""
    head = ["study", "class", *(score.label for score in rubric.scores)]
    head += ["significant", "insignificant", "categories"]
    body = []
    for row in rows:
        scores = [number(row[score.name]) for score in rubric.scores]
        body.append(
            (
                *(row["study_id"], group_value(row["study_class"]), *scores),
                *(
                    str(row["n_significant"]),
                    str(row["n_insignificant"]),
                    row["categories"] or NOTHING,
                ),
            )
        )
    return Table("Where to look first", tuple(head), tuple(body), n_left=2)
