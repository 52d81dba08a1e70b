"""Errors that recur, as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.comparing.recurring import Recurring
from judge.rubrics.contract import Rubric
from judge.tables.document import Cell, Column, Document, Estimate, Fact, Table, p_value
from judge.tables.run import headline, run_title
from judge.text import counted, percent

_OTHER = "(other)"
_MOST_SENTENCES = 5
_NEARLY_AS_OFTEN = 1.1
_Error = Mapping[str, Any]


def recurring_document(
    recurring: Recurring, top: int | None = None, *, complete: bool = False
) -> Document:
    """Return the errors that recur, the first `top` groups of them.

    `complete` is for CSV: every group, with all counts, the tests, and the models' names.
    """
    summary, rubric = recurring.summary, recurring.rubric
    title = "Recurring errors" if summary is None else run_title(summary, rubric)
    errors = recurring.data["errors"] if summary or complete else _tested(recurring)
    table = _table(recurring, errors, None if complete else top, complete=complete)
    return Document(
        title,
        tuple(_facts(recurring)),
        tuple(recurring.data["notes"]),
        (table,) if errors or complete else (),
        tuple(sentences(recurring)),
        (("signature", recurring.data["signature"]),),
    )


def _facts(recurring: Recurring) -> list[Fact]:
    data = recurring.data
    finding = (
        "finding",
        f"as {data['findings_by']} reads the error's text; {_OTHER}: no known finding named",
    )
    if recurring.summary is not None:
        summary = {**recurring.summary, "notes": []}
        return [*headline(summary, recurring.rubric, figures=False), finding]
    judges = dict.fromkeys(run["judge"] for run in data["runs"])
    facts = [
        ("models", " and ".join(run["model"] for run in data["runs"])),
        ("rubric", recurring.rubric.title),
        ("judge", ", ".join(judges)),
        ("section", data["runs"][0]["section"]),
        ("studies", f"{data['n_studies']:,}, {data['n_scored']:,} of them scored for both"),
        finding,
    ]
    if tested := _tested(recurring):
        by = f" by {field}" if (field := data["patient_field"]) else ""
        n = counted(len(tested), "group", "groups")
        method = tested[0]["test"]["method"]
        facts.append(("test", f"{method}{by}, of {n}, with Holm's correction for all of them"))
    return facts


def _tested(recurring: Recurring) -> list[_Error]:
    return [error for error in recurring.data["errors"] if error["test"]]


def _table(
    recurring: Recurring, errors: Sequence[_Error], top: int | None, *, complete: bool
) -> Table:
    rubric, shown = recurring.rubric, errors[:top]
    part = "" if len(shown) == len(errors) else f", the first {len(shown)} of {len(errors)}"
    least = counted(recurring.data["min_studies"], "study", "studies")
    columns = [
        Column("category", rubric.codes.label if rubric.codes else "kind"),
        Column("finding", "finding"),
    ]
    if recurring.summary is not None:
        title = f"Errors that recur in {least} or more{part}"
        grave = _grave(rubric)
        columns += [
            Column("n_errors", "errors", "count"),
            *([Column("n_grave", grave, "count")] if grave else []),
            Column("studies", "studies", "rate"),
            Column("examples", "examples"),
        ]
        rows = [_run_row(error, has_grave=bool(grave)) for error in shown]
        return Table("recurring", title, tuple(columns), tuple(rows))
    title = f"Errors in {least} or more of either model{part}"
    models = [run["model"] for run in recurring.data["runs"]]
    columns += [
        *(Column(model, model, "rate") for model in models),
        Column("difference", "difference", "points"),
        Column("p_holm", "p (Holm)", "p"),
        Column("examples", "examples (of one model alone)"),
    ]
    if complete:
        columns += [Column(name, name) for name in ("ratio", "p", "test", "significant")]
    rows = [_pair_row(error, complete=complete) for error in shown]
    return Table("recurring", title, tuple(columns), tuple(rows))


def _run_row(error: _Error, *, has_grave: bool) -> tuple[Cell, ...]:
    grave = [error["n_grave"]] if has_grave else []
    examples = ", ".join(error["examples"])
    return (*_names(error), error["n_errors"], *grave, Estimate.read(error), examples)


def _pair_row(error: _Error, *, complete: bool) -> tuple[Cell, ...]:
    sides, test = error["models"].values(), error["test"] or {}
    _, more, _ = _ordered(error)
    row: tuple[Cell, ...] = (
        *_names(error),
        *(Estimate(side["value"], k=side["k"], n=side["n"]) for side in sides),
        Estimate(test.get("difference"), test.get("low"), test.get("high")),
        test.get("p_holm"),
        ", ".join(more["examples"]),
    )
    if not complete:
        return row
    return (*row, error["ratio"], test.get("p"), test.get("method"), test.get("significant"))


def _names(error: _Error) -> tuple[str, str]:
    return error["category_label"], error["finding"] or _OTHER


def _grave(rubric: Rubric) -> str:
    labels = [label for kind in rubric.graded for label in rubric.facet(str(kind.graded_by)).labels]
    return " or ".join(dict.fromkeys(label.label for label in labels if label.is_grave))


def _ordered(error: _Error) -> tuple[int, _Error, _Error]:
    first, second = error["models"].values()
    return (0, first, second) if first["k"] >= second["k"] else (1, second, first)


def sentences(recurring: Recurring) -> list[str]:
    """Return the differences that a test supports, as sentences, or that there are none."""
    data = recurring.data
    least, n = counted(data["min_studies"], "study", "studies"), data["n_scored"]
    if recurring.summary is not None:
        return [] if data["errors"] else [f"No error recurs in {least} or more, of {n:,} scored."]
    models, tested = [run["model"] for run in data["runs"]], _tested(recurring)
    n_tests = counted(len(tested), "test", "tests")
    supported = [_sentence(error, models) for error in tested if error["test"]["significant"]]
    if supported:
        shown = supported[:_MOST_SENTENCES]
        is_cut = len(shown) < len(supported)
        more = f", the largest {len(shown)} of {len(supported)}" if is_cut else ""
        return [f"Differences that a test supports, of {n_tests}{more}:", *shown]
    if not tested:
        return [f"No error is in {least} or more of either model, of {n:,} scored: no tests."]
    text = (
        f"No test supports a difference between {' and '.join(models)}: no p is below 0.05 "
        f"after Holm's correction for {n_tests}."
    )
    return [text]


def _sentence(error: _Error, models: Sequence[str]) -> str:
    index, more, less = _ordered(error)
    category, finding = _names(error)
    n, p = counted(more["n"], "study", "studies"), p_value(error["test"]["p_holm"])
    rest = "none"
    if less["k"]:
        times = more["k"] / less["k"]
        digits = 1 if times >= _NEARLY_AS_OFTEN else 2
        rest = f"{percent(less['value'])}, {times:.{digits}f} times as often"
    return (
        f"{category}, {finding}: {models[index]} in {percent(more['value'])} of {n}, "
        f"{models[1 - index]} in {rest} (p {p}, Holm)"
    )


def as_data(recurring: Recurring) -> dict[str, Any]:
    """Return all of it as JSON's types, every group."""
    sides = {"sentences": sentences(recurring)} if recurring.summary is None else {}
    return recurring.data | sides
