"""Recurring errors as they are printed: tables, sentences, and what machines take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.comparing.recurring import Recurring
from judge.rubrics.contract import Rubric
from judge.tables.document import markdown_table, markdown_text, rows_as_csv
from judge.tables.leaderboard import p_value, signed
from judge.tables.run import Table, headline, run_title
from judge.text import NOTHING, counted, harmless, percent, rate

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
_Error = Mapping[str, Any]


def facts(found: Recurring) -> list[tuple[str, str]]:
    """Return what is said above the table, a name and a value each."""
    data = found.data
    about = (
        f"as {data['findings_by']} reads the error's text; {_OTHER}: it names none that is known"
    )
    if found.summary is not None:
        summary = {**found.summary, "notes": data["notes"]}
        return [*headline(summary, found.rubric, figures=False), ("finding", about)]
    judges = dict.fromkeys(run["judge"] for run in data["runs"])
    return [
        ("models", " and ".join(run["model"] for run in data["runs"])),
        ("rubric", found.rubric.title),
        ("judge", ", ".join(judges)),
        ("section", data["runs"][0]["section"]),
        ("studies", f"{data['n_studies']:,}, {data['n_scored']:,} of them scored for both"),
        ("finding", about),
        *([("test", _test_text(found))] if _tested(found) else []),
        *(("note", note) for note in data["notes"]),
    ]


def _tested(found: Recurring) -> list[_Error]:
    return [error for error in found.data["errors"] if error["test"]]


def _test_text(found: Recurring) -> str:
    tested = _tested(found)
    by = f" by {field}" if (field := found.data["patient_field"]) else ""
    n = counted(len(tested), "group", "groups")
    return f"{tested[0]['test']['method']}{by}, of {n}, with Holm's correction for all of them"


def table(found: Recurring, top: int) -> Table | None:
    """Return the first groups, a row each; None where there is none."""
    errors = _tested(found) if found.summary is None else found.data["errors"]
    if not errors:
        return None
    rubric, shown = found.rubric, errors[:top]
    part = "" if len(shown) == len(errors) else f", the first {len(shown)} of {len(errors)}"
    least = counted(found.data["min_studies"], "study", "studies")
    head = [rubric.codes.label if rubric.codes else "kind", "finding"]
    if found.summary is not None:
        grave = _grave(rubric)
        head += ["errors", *([grave] if grave else []), "studies", "examples"]
        rows = [_run_row(error, has_grave=bool(grave)) for error in shown]
        title = f"Errors that recur in {least} or more{part}"
    else:
        models = [run["model"] for run in found.data["runs"]]
        head += [*models, "difference", "p (Holm)", "examples (of one model alone)"]
        rows = [_pair_row(error) for error in shown]
        title = f"Errors in {least} or more of either model{part}"
    return Table(title, tuple(head), tuple(rows), n_left=2)


def _run_row(error: _Error, *, has_grave: bool) -> tuple[str, ...]:
    grave = [str(error["n_grave"])] if has_grave else []
    examples = ", ".join(error["examples"])
    return (*_names(error), str(error["n_errors"]), *grave, rate(error), examples)


def _pair_row(error: _Error) -> tuple[str, ...]:
    sides, test = error["models"].values(), error["test"]
    shares = (f"{side['k']}/{side['n']} {percent(side['value'])}" for side in sides)
    _, more, _ = _ordered(error)
    return (
        *_names(error),
        *shares,
        _difference(test),
        p_value(test["p_holm"]),
        ", ".join(more["examples"]),
    )


def _names(error: _Error) -> tuple[str, str]:
    return error["category_label"], error["finding"] or _OTHER


def _grave(rubric: Rubric) -> str:
    labels = [label for kind in rubric.graded for label in rubric.facet(str(kind.graded_by)).labels]
    return " or ".join(dict.fromkeys(label.label for label in labels if label.is_grave))


def _difference(test: Mapping[str, Any]) -> str:
    if test["difference"] is None:
        return NOTHING
    text = f"{signed(100 * test['difference'], 1)} points"
    if test["low"] is None:
        return text
    return f"{text} [{signed(100 * test['low'], 1)}, {signed(100 * test['high'], 1)}]"


def _ordered(error: _Error) -> tuple[int, _Error, _Error]:
    first, second = error["models"].values()
    return (0, first, second) if first["k"] >= second["k"] else (1, second, first)


def sentences(found: Recurring) -> list[str]:
    """Return what is to be said in words: what a test supports, or that there is nothing."""
    data = found.data
    least, n = counted(data["min_studies"], "study", "studies"), data["n_scored"]
    if found.summary is not None:
        return [] if data["errors"] else [f"No error recurs in {least} or more, of {n:,} scored."]
    models, tested = [run["model"] for run in data["runs"]], _tested(found)
    n_tests = counted(len(tested), "test", "tests")
    told = [_told(error, models) for error in tested if error["test"]["significant"]]
    if told:
        shown = told[:_MOST_SENTENCES]
        more = f", the largest {len(shown)} of {len(told)}" if len(shown) < len(told) else ""
        return [f"Differences that a test supports, of {n_tests}{more}:", *shown]
    text = f"No error is in {least} or more of either model, of {n:,} scored: nothing was tested."
    if tested:
        text = (
            f"No test supports a difference between {' and '.join(models)}: no p is below 0.05 "
            f"after Holm's correction for {n_tests}."
        )
    return [text]


def _told(error: _Error, models: Sequence[str]) -> str:
    at, more, less = _ordered(error)
    category, finding = _names(error)
    n, p = counted(more["n"], "study", "studies"), p_value(error["test"]["p_holm"])
    rest = "none"
    if less["k"]:
        times = more["k"] / less["k"]
        digits = 1 if times >= _NEARLY_AS_OFTEN else 2
        rest = f"{percent(less['value'])}, {times:.{digits}f} times as often"
    return (
        f"{category}, {finding}: {models[at]} in {percent(more['value'])} of {n}, "
        f"{models[1 - at]} in {rest} (p {p}, Holm)"
    )


def as_markdown(found: Recurring, top: int) -> str:
    """Return the table and what is said of it as Markdown, the signature last."""
    title = "Recurring errors"
    if found.summary is not None:
        title = run_title(found.summary, found.rubric)
    parts = [Table(title, ("", ""), tuple(facts(found)), n_left=2)]
    shown = table(found, top)
    texts = [markdown_table(one) for one in (*parts, *([shown] if shown else []))]
    texts += [markdown_text(text) for text in sentences(found)]
    line = " ".join(harmless(found.data["signature"]).split())
    return "\n\n".join([*texts, f"Signature: `{line}`"])


def as_data(found: Recurring) -> dict[str, Any]:
    """Return all of it as JSON's types, every group; what has no value is null."""
    return found.data | ({"told": sentences(found)} if found.summary is None else {})


def rows(found: Recurring) -> list[dict[str, Any]]:
    """Return one row a group, every group, numbers unrounded, the signature in each."""
    line = {"signature": found.data["signature"]}
    if found.summary is not None:
        return [{**_flat(error), **line} for error in found.data["errors"]]
    flat = []
    for error in found.data["errors"]:
        (model, mine), (other, theirs) = (
            (name, _flat(side)) for name, side in error["models"].items()
        )
        test = error["test"] or {}
        row = {**error, **test, "test": test.get("method"), "model": model, "other": other, **line}
        row |= {name: mine[name] for name in ("n", *_TWO)}
        row |= {f"{name}_other": theirs[name] for name in _TWO}
        flat.append({name: row.get(name) for name in _PAIR_COLUMNS})
    return flat


def _flat(one: _Error) -> dict[str, Any]:
    return {**one, "examples": "; ".join(one["examples"])}


def as_csv(found: Recurring) -> str:
    """Return the rows of `rows` as CSV, with its head alone where there is none."""
    return rows_as_csv(rows(found), _RUN_COLUMNS if found.summary else _PAIR_COLUMNS)
