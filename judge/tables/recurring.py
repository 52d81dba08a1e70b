"""Errors that recur, as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.comparing.recurring import Recurring
from judge.rubrics.contract import Rubric
from judge.stats.estimate import Estimate
from judge.tables.document import Column, Document, Fact, table_of
from judge.tables.kinds import Kind
from judge.tables.run import run_document
from judge.text import counted

_OTHER = "(other)"
_Error = Mapping[str, Any]


def recurring_document(
    recurring: Recurring, top: int | None = None, *, complete: bool = False
) -> Document:
    """Return the errors that recur, the first `top` groups; `complete` has all, for CSV."""
    data, summary, rubric = recurring.data, recurring.summary, recurring.rubric
    n, of = (
        counted(data["min_studies"], "study", "studies"),
        f"of {data['n_scored']:,} scored",
    )
    read = f"as {data['findings_by']} reads the error's text; {_OTHER}: no known finding named"
    codes = rubric.codes.label if rubric.codes else "kind"
    head = [Column("category", codes), Column("finding")]
    if summary is not None:
        run, named = run_document(summary, rubric), f"Errors that recur in {n} or more"
        title, facts = run.title, run.facts
        errors, none = data["errors"], f"No error recurs in {n} or more, {of}."
        head += _run_columns(rubric)
        entries = map(_of_run, errors)
    else:
        models = [run["model"] for run in data["runs"]]
        title, named = "Recurring errors", f"Errors in {n} or more of either model"
        facts = _pair_facts(data, rubric)
        errors = [error for error in data["errors"] if complete or error["test"]]
        none = f"No error is in {n} or more of either model, {of}: no tests."
        head += _pair_columns(models, complete=complete)
        entries = map(_of_pair, errors)
    shown = [*entries][: None if complete else top]
    if len(shown) < len(errors):
        named += f", the first {len(shown)} of {len(errors)}"
    table = table_of("recurring", named, head, shown)
    notes = [*data["notes"]]
    if not errors:
        notes.append(none)
    return Document(
        title,
        (*facts, ("finding", read)),
        tuple(notes),
        (table,) if shown or complete else (),
        (("signature", data["signature"]),),
    )


def _pair_facts(data: Mapping[str, Any], rubric: Rubric) -> list[Fact]:
    facts = [
        ("models", " and ".join(run["model"] for run in data["runs"])),
        ("rubric", rubric.title),
        ("judge", ", ".join(dict.fromkeys(run["judge"] for run in data["runs"]))),
        ("section", data["runs"][0]["section"]),
        (
            "studies",
            f"{data['n_studies']:,}, {data['n_scored']:,} of them scored for both",
        ),
    ]
    tests = [error["test"] for error in data["errors"] if error["test"]]
    if tests:
        field = data["patient_field"]
        by = f" by {field}" if field else ""
        n = counted(len(tests), "group", "groups")
        supported = sum(test["significant"] for test in tests)
        facts.append(
            ("test", f"{tests[0]['method']}{by}, of {n}, with Holm's correction")
        )
        facts.append(
            ("differences", f"{supported:,} that a test supports: p (Holm) below 0.05")
        )
    return facts


def _run_columns(rubric: Rubric) -> list[Column]:
    grave: dict[str, None] = {}
    for kind in rubric.graded:
        for label in rubric.facet(str(kind.graded_by)).labels:
            if label.is_grave:
                grave[label.label] = None
    head = [Column("n_errors", "errors", kind=Kind.COUNT)]
    if grave:
        head.append(Column("n_grave", " or ".join(grave), kind=Kind.COUNT))
    return [*head, Column("studies", kind=Kind.RATE), Column("examples")]


def _of_run(error: _Error) -> _Error:
    return {**_named(error), "studies": error, "examples": ", ".join(error["examples"])}


def _pair_columns(models: Sequence[str], *, complete: bool) -> list[Column]:
    head = [
        *(Column(model, kind=Kind.RATE) for model in models),
        Column("difference", kind=Kind.POINTS),
        Column("p_holm", "p (Holm)", kind=Kind.P),
        Column("examples", "examples (of one model alone)"),
    ]
    if complete:
        head += [Column(name) for name in ("ratio", "p", "test", "significant")]
    return head


def _of_pair(error: _Error) -> _Error:
    sides = error["models"]
    test = error["test"] or dict.fromkeys(
        ("difference", "low", "high", "p_holm", "p", "method")
    )
    more = max(sides.values(), key=lambda side: side["k"])
    figures = {
        name: Estimate(value=one["value"], k=one["k"], n=one["n"])
        for name, one in sides.items()
    }
    return {
        **figures,
        **_named(error),
        **{name: test.get(name) for name in ("p", "p_holm", "significant")},
        "difference": Estimate(
            value=test["difference"], low=test["low"], high=test["high"]
        ),
        "examples": ", ".join(more["examples"]),
        "test": test["method"],
    }


def _named(error: _Error) -> dict[str, Any]:
    finding = error["finding"] or _OTHER
    return {**error, "category": error["category_label"], "finding": finding}
