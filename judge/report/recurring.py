"""Recurring errors as they are printed: tables, sentences, and what machines take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from judge.comparing.recurring import (
    ErrorDifference,
    ErrorDifferences,
    ErrorGroup,
    RecurringError,
    RecurringErrors,
)
from judge.report.formats import markdown_table, markdown_text, rows_as_csv
from judge.report.leaderboard import p_value, signed
from judge.report.tables import Table, headline, run_title
from judge.report.words import NOTHING, counted, harmless, percent, rate
from judge.rubrics.contract import Rubric

Errors = RecurringErrors | ErrorDifferences
_OTHER = "(other)"
_MOST_SENTENCES = 5
_NEARLY_AS_OFTEN = 1.1
_RUN_COLUMNS = (
    *("category", "category_label", "finding", "n_errors", "n_grave", "k", "n", "value"),
    *("low", "high", "examples", "signature"),
)
_TWO = ("n_errors", "n_grave", "k", "examples")
_PAIR_COLUMNS = (
    *("category", "category_label", "finding", "model", "other", "n", *_TWO),
    *(f"{name}_other" for name in _TWO),
    *("ratio", "difference", "low", "high", "p", "p_holm", "test", "significant", "signature"),
)


def facts(found: Errors) -> list[tuple[str, str]]:
    """Return what is said above the table, a name and a value each."""
    about = f"as {found.findings_by} reads the error's text; {_OTHER}: it names none that is known"
    notes = [("note", note) for note in found.notes]
    if isinstance(found, RecurringErrors):
        return [*headline(found.summary, found.rubric, figures=False), ("finding", about), *notes]
    judges = dict.fromkeys(run["judge"] for run in found.runs)
    return [
        ("models", " and ".join(run["model"] for run in found.runs)),
        ("rubric", found.rubric.title),
        ("judge", ", ".join(judges)),
        ("section", found.runs[0]["section"]),
        ("studies", f"{found.n_studies:,}, {found.n_scored:,} of them scored for both"),
        ("finding", about),
        *([("test", _test_text(found))] if found.tested else []),
        *notes,
    ]


def _test_text(found: ErrorDifferences) -> str:
    method = next(one.test.method for one in found.tested if one.test)
    by = f" by {found.patient_field}" if found.patient_field else ""
    n = counted(len(found.tested), "group", "groups")
    return f"{method}{by}, of {n}, with Holm's correction for all of them"


def signature(found: Errors) -> str:
    """Return the line that names what made the numbers: the run's, or that of the comparison."""
    return str(
        found.summary["signature"] if isinstance(found, RecurringErrors) else found.signature
    )


def table(found: Errors, top: int) -> Table | None:
    """Return the first groups, a row each; None where there is none."""
    if isinstance(found, RecurringErrors):
        return _run_table(found, top) if found.errors else None
    return _pair_table(found, top) if found.tested else None


def _run_table(found: RecurringErrors, top: int) -> Table:
    rubric, shown = found.rubric, found.errors[:top]
    grave = _grave(rubric)
    rows = tuple(
        (
            *_names(one.group, rubric),
            str(one.n_errors),
            *([str(one.n_grave)] if grave else []),
            rate(one.studies.plain()),
            ", ".join(one.examples),
        )
        for one in shown
    )
    title = f"Errors that recur in {counted(found.min_studies, 'study', 'studies')} or more"
    head = (*_head(rubric), "errors", *([grave] if grave else []), "studies", "examples")
    return Table(f"{title}{_part(shown, found.errors)}", head, rows, n_left=2)


def _pair_table(found: ErrorDifferences, top: int) -> Table:
    shown = found.tested[:top]
    rows = tuple(
        (
            *_names(one.group, found.rubric),
            *(_share(side) for side in one.sides),
            _difference(one),
            p_value(one.test.p_holm if one.test else None),
            ", ".join(_ordered(one)[1].examples),
        )
        for one in shown
    )
    models = [run["model"] for run in found.runs]
    title = f"Errors in {counted(found.min_studies, 'study', 'studies')} or more of either model"
    head = (
        *_head(found.rubric),
        *models,
        "difference",
        "p (Holm)",
        "examples (of one model alone)",
    )
    return Table(f"{title}{_part(shown, found.tested)}", head, rows, n_left=2)


def _head(rubric: Rubric) -> tuple[str, str]:
    return rubric.codes.label if rubric.codes else "kind", "finding"


def _names(group: ErrorGroup, rubric: Rubric) -> tuple[str, str]:
    return group.category_text(rubric), group.finding or _OTHER


def _grave(rubric: Rubric) -> str:
    labels = [label for kind in rubric.graded for label in rubric.facet(str(kind.graded_by)).labels]
    return " or ".join(dict.fromkeys(label.label for label in labels if label.is_grave))


def _part(shown: Sequence[object], every: Sequence[object]) -> str:
    return "" if len(shown) == len(every) else f", the first {len(shown)} of {len(every)}"


def _share(side: RecurringError) -> str:
    return f"{side.studies.k}/{side.studies.n} {percent(side.studies.value)}"


def _difference(one: ErrorDifference) -> str:
    test = one.test
    if test is None or test.difference is None:
        return NOTHING
    text = f"{signed(100 * test.difference, 1)} points"
    if test.low is None or test.high is None:
        return text
    return f"{text} [{signed(100 * test.low, 1)}, {signed(100 * test.high, 1)}]"


def _ordered(one: ErrorDifference) -> tuple[int, RecurringError, RecurringError]:
    first, second = one.sides
    if (first.studies.k or 0) >= (second.studies.k or 0):
        return 0, first, second
    return 1, second, first


def sentences(found: Errors) -> list[str]:
    """Return what is to be said in words: what a test supports, or that there is nothing."""
    least = counted(found.min_studies, "study", "studies")
    if isinstance(found, RecurringErrors):
        n = found.summary["n_scored"]
        return [] if found.errors else [f"No error recurs in {least} or more, of {n:,} scored."]
    models = [run["model"] for run in found.runs]
    n_tests = counted(len(found.tested), "test", "tests")
    told = [_told(one, models, found.rubric) for one in found.tested if one.is_significant]
    if told:
        shown = told[:_MOST_SENTENCES]
        more = f", the largest {len(shown)} of {len(told)}" if len(shown) < len(told) else ""
        return [f"Differences that a test supports, of {n_tests}{more}:", *shown]
    text = (
        f"No test supports a difference between {' and '.join(models)}: no p is below 0.05 "
        f"after Holm's correction for {n_tests}."
        if found.tested
        else f"No error is in {least} or more of either model, of {found.n_scored:,} scored for "
        "both: nothing was tested."
    )
    return [text]


def _told(one: ErrorDifference, models: Sequence[str], rubric: Rubric) -> str:
    at, more, less = _ordered(one)
    category, finding = _names(one.group, rubric)
    n = counted(more.studies.n, "study", "studies")
    p = p_value(one.test.p_holm if one.test else None)
    rest = "none"
    if less.studies.k:
        times = (more.studies.k or 0) / less.studies.k
        digits = 1 if times >= _NEARLY_AS_OFTEN else 2
        rest = f"{percent(less.studies.value)}, {times:.{digits}f} times as often"
    return (
        f"{category}, {finding}: {models[at]} in {percent(more.studies.value)} of {n}, "
        f"{models[1 - at]} in {rest} (p {p}, Holm)"
    )


def as_markdown(found: Errors, top: int) -> str:
    """Return the table and what is said of it as Markdown, the signature last."""
    title = "Recurring errors"
    if isinstance(found, RecurringErrors):
        title = run_title(found.summary, found.rubric)
    parts = [Table(title, ("", ""), tuple(facts(found)), n_left=2)]
    shown = table(found, top)
    texts = [markdown_table(one) for one in (*parts, *([shown] if shown else []))]
    texts += [markdown_text(text) for text in sentences(found)]
    line = " ".join(harmless(signature(found)).split())
    return "\n\n".join([*texts, f"Signature: `{line}`"])


def as_data(found: Errors) -> dict[str, Any]:
    """Return all of it as JSON's types, every group; what has no value is null."""
    common = {"min_studies": found.min_studies, "findings_by": found.findings_by}
    if isinstance(found, RecurringErrors):
        made_by = {
            name: found.summary.get(name)
            for name in (
                *("signature", "model", "rubric", "judge", "prompt", "section", "omitted"),
                *("n_studies", "n_scored", "n_unparsed", "n_failed"),
            )
        }
        errors = [{**_group(one.group, found.rubric), **_side(one)} for one in found.errors]
        notes = [*found.summary["notes"], *found.notes]
        return {**made_by, **common, "notes": notes, "errors": errors}
    models = [run["model"] for run in found.runs]
    return {
        "signature": found.signature,
        "rubric": found.rubric.name,
        "runs": [dict(run) for run in found.runs],
        "patient_field": found.patient_field,
        "n_studies": found.n_studies,
        "n_scored": found.n_scored,
        **common,
        "n_tested": len(found.tested),
        "notes": list(found.notes),
        "errors": [
            {
                **_group(one.group, found.rubric),
                "n_either": one.n_either,
                "models": {m: _side(side) for m, side in zip(models, one.sides, strict=True)},
                "ratio": one.ratio,
                "test": _test(one),
            }
            for one in found.errors
        ],
        "told": sentences(found),
    }


def _group(group: ErrorGroup, rubric: Rubric) -> dict[str, Any]:
    label = group.category_text(rubric)
    return {"category": group.category, "category_label": label, "finding": group.finding}


def _side(one: RecurringError) -> dict[str, Any]:
    estimate = {name: getattr(one.studies, name) for name in ("k", "n", "value", "low", "high")}
    counts = {"n_errors": one.n_errors, "n_grave": one.n_grave}
    return {**counts, **estimate, "examples": list(one.examples)}


def _test(one: ErrorDifference) -> dict[str, Any] | None:
    if one.test is None:
        return None
    told = {name: value for name, value in asdict(one.test).items() if name not in ("a", "b")}
    return {**told, "significant": one.is_significant}


def rows(found: Errors) -> list[dict[str, Any]]:
    """Return one row a group, every group, numbers unrounded, the signature in each."""
    line = {"signature": signature(found)}
    if isinstance(found, RecurringErrors):
        return [{**_group(one.group, found.rubric), **_flat(one), **line} for one in found.errors]
    model, other = (run["model"] for run in found.runs)
    flat = []
    for one in found.errors:
        mine, theirs = map(_flat, one.sides)
        row = {**_group(one.group, found.rubric), "model": model, "other": other}
        row |= {name: mine[name] for name in ("n", *_TWO)}
        row |= {f"{name}_other": theirs[name] for name in _TWO}
        test = _test(one) or {}
        row |= {name: test.get(name) for name in ("difference", "low", "high", "p", "p_holm")}
        row |= {"test": test.get("method"), "significant": test.get("significant")}
        flat.append({name: ({"ratio": one.ratio} | row | line)[name] for name in _PAIR_COLUMNS})
    return flat


def _flat(one: RecurringError) -> dict[str, Any]:
    return {**_side(one), "examples": "; ".join(one.examples)}


def as_csv(found: Errors) -> str:
    """Return the rows of `rows` as CSV, with its head alone where there is none."""
    head = _RUN_COLUMNS if isinstance(found, RecurringErrors) else _PAIR_COLUMNS
    return rows_as_csv(rows(found), head)
