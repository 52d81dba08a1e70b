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

OTHER = "(other)"
_Error = Mapping[str, Any]


def recurring_document(
    recurring: Recurring, top: int | None = None, *, complete: bool = False
) -> Document:
    """Return the errors that recur, the first `top` groups; `complete` has all, for CSV."""
    data = recurring.data
    summary = recurring.summary
    rubric = recurring.rubric
    n = counted(data["min_studies"], "study", "studies")
    of_scored = f"of {data['n_scored']:,} scored"
    read = f"as {data['findings_by']} reads the error's text; {OTHER}: no known finding named"
    codes = "kind"
    if rubric.codes:
        codes = rubric.codes.label
    head = [Column("category", codes), Column("finding")]
    if summary is not None:
        run = run_document(summary, rubric)
        title = run.title
        facts = run.facts
        named = f"Errors that recur in {n} or more"
        none = f"No error recurs in {n} or more, {of_scored}."
        errors = data["errors"]
        head += _run_columns(rubric)
        entries = [_of_run(error) for error in errors]
    else:
        title = "Recurring errors"
        facts = _pair_facts(data, rubric)
        named = f"Errors in {n} or more of either model"
        none = f"No error is in {n} or more of either model, {of_scored}: no tests."
        # Too rare errors have no test: they are listed in CSV only.
        errors = [error for error in data["errors"] if complete or error["test"]]
        models = [run["model"] for run in data["runs"]]
        head += _pair_columns(models, complete=complete)
        entries = [_of_pair(error) for error in errors]
    if not complete:
        entries = entries[:top]
    if len(entries) < len(errors):
        named += f", the first {len(entries)} of {len(errors)}"
    tables = []
    if entries or complete:
        tables.append(table_of("recurring", named, head, entries))
    notes = list(data["notes"])
    if not errors:
        notes.append(none)
    return Document(
        title=title,
        facts=(*facts, ("finding", read)),
        notes=tuple(notes),
        tables=tuple(tables),
        signatures=(("signature", data["signature"]),),
    )


def _pair_facts(data: Mapping[str, Any], rubric: Rubric) -> list[Fact]:
    runs = data["runs"]
    models = " and ".join(run["model"] for run in runs)
    judges = ", ".join(dict.fromkeys(run["judge"] for run in runs))
    n_studies = f"{data['n_studies']:,}, {data['n_scored']:,} of them scored for both"
    facts = [
        ("models", models),
        ("rubric", rubric.title),
        ("judge", judges),
        ("section", runs[0]["section"]),
        ("studies", n_studies),
    ]
    tests = [error["test"] for error in data["errors"] if error["test"]]
    if tests:
        method = tests[0]["method"]
        if data["patient_field"]:
            method += f" by {data['patient_field']}"
        n = counted(len(tests), "group", "groups")
        facts.append(("test", f"{method}, of {n}, with Holm's correction"))
        supported = sum(test["significant"] for test in tests)
        text = f"{supported:,} that a test supports: p (Holm) below 0.05"
        facts.append(("differences", text))
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
    test = error["test"] or {}
    difference = Estimate(
        value=test.get("difference"),
        low=test.get("low"),
        high=test.get("high"),
    )
    more = max(sides.values(), key=lambda side: side["k"])
    entry: dict[str, Any] = {}
    for name, side in sides.items():
        entry[name] = Estimate(value=side["value"], k=side["k"], n=side["n"])
    # After the models, of which one may be called "p".
    entry |= _named(error)
    entry["p"] = test.get("p")
    entry["p_holm"] = test.get("p_holm")
    entry["significant"] = test.get("significant")
    entry["difference"] = difference
    entry["examples"] = ", ".join(more["examples"])
    entry["test"] = test.get("method")
    return entry


def _named(error: _Error) -> dict[str, Any]:
    finding = error["finding"] or OTHER
    return {**error, "category": error["category_label"], "finding": finding}
