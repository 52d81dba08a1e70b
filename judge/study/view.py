"""One study as a page shows it, in JSON's types; labels are given by their names."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, TypedDict

from judge.rubrics.contract import Kind, Rubric
from judge.sentences import lines
from judge.study.marks import highlights
from judge.types import Measures

_STUDY = ("study_id", "study_class", "class_inferred", "measures", "answer", "attempt")
_END = ("outcome", "reason", "detail")
# Longer lines, and those that share less, are replaced as a whole.
_MAX_WORDS, _LEAST_SHARED = 800, 0.3

Change = Literal["same", "out", "in"]


class Row(TypedDict):
    """A line of the edited candidate, with its number and the index of the error it corrects."""

    kind: Literal["same", "change", "delete", "insert"]
    line: int | None
    error: int | None
    pieces: list[tuple[Change, str]]


def study_view(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return a record as a run's page shows it: `judged_view` with ids, fields and the answer."""
    return {
        **{name: record[name] for name in _STUDY},
        **judged_view(record, rubric),
        "fields": {
            name: value for name, value in record["fields"].items() if value is not None
        },
    }


def judged_view(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return both reports of a record, in segments, with the judge's findings.

    `items` are graded; `lists` holds the others, `differs` the grades whose stated count is not the
    number of items, `edits` the rows of the candidate's edit, None without an editor.
    """
    annotation = record["annotation"]
    items = graded_items(annotation, rubric)
    is_edited = annotation and rubric.editor
    return {
        **{name: record[name] for name in _END},
        **highlights(record["reference"], record["candidate"], items),
        "items": items,
        "lists": _plain_lists(record, rubric),
        "explanation": annotation["explanation"] if annotation else "",
        "warnings": _warnings(annotation) if annotation else [],
        "differs": _stated_otherwise(record, items, rubric),
        "edits": list(edit_rows(record["candidate"], items)) if is_edited else None,
    }


def _warnings(annotation: Mapping[str, Any]) -> list[str]:
    """Return the warnings about an answer, and those about its items with the item's text."""
    said: dict[str, None] = {}
    for item in annotation["items"]:
        for warning in item.get("warnings", ()):
            text = item["text"] or item["edit"]["corrected"]
            said[f"{warning}: {text}"] = None
    return [*annotation["warnings"], *said]


def graded_items(
    annotation: Mapping[str, Any] | None, rubric: Rubric
) -> list[dict[str, Any]]:
    """Return the graded items with their `grade`, `links` and `quotes`, texts linked to them."""
    if annotation is None:
        return []
    graded_by = {kind.name: kind.graded_by for kind in rubric.graded}
    items, graded = annotation["items"], []
    rows = [row for row, item in enumerate(items) if item["kind"] in graded_by]
    for item in (items[row] for row in rows):
        (grade,) = item["labels"][graded_by[item["kind"]]]
        links = [rows.index(link) for link in item["links"] if link in rows]
        texts = [items[link]["text"] for link in item["links"] if link not in rows]
        graded.append({**item, "grade": grade, "links": links, "quotes": texts})
    return graded


def _plain_lists(record: Mapping[str, Any], rubric: Rubric) -> list[dict[str, Any]]:
    """Return for each kind that is not graded the number, as measured, and the texts."""
    if record["annotation"] is None:
        return []
    lists: list[dict[str, Any]] = []
    for kind in rubric.kinds:
        if kind not in rubric.graded:
            items = [i for i in record["annotation"]["items"] if i["kind"] == kind.name]
            texts = [_labelled(item, kind, rubric) for item in items]
            if not kind.is_listed:
                texts = _stated(record["measures"], kind, rubric)
            counts = [
                m
                for m in rubric.counting(kind.name, {})
                if m.counts and not m.counts.labels
            ]
            n = record["measures"][counts[0].name] if counts else len(texts)
            if n is not None or texts:  # else a reader was not asked for them
                lists.append({"kind": kind.name, "n": n, "texts": texts})
    return lists


def _labelled(item: Mapping[str, Any], kind: Kind, rubric: Rubric) -> str:
    labels: list[str] = []
    for facet in map(rubric.facet, kind.facets):
        labels += map(facet.text, item["labels"].get(facet.name, ()))
    return f"{item['text']} ({', '.join(labels)})" if labels else str(item["text"])


def _stated(measures: Measures, kind: Kind, rubric: Rubric) -> list[str]:
    stated = []
    for measure in rubric.measures:
        counts, number = measure.counts, measures[measure.name]
        if counts is None or counts.kind != kind.name or not number:
            continue
        if len(counts.labels) == len(kind.facets):
            stated.append(f"{measure.label}: {number}")
    return stated


def _stated_otherwise(
    record: Mapping[str, Any], items: Sequence[Mapping[str, Any]], rubric: Rubric
) -> list[dict[str, Any]]:
    """Return the grades of which an answer states another number of items than it lists."""
    differing: list[dict[str, Any]] = []
    if record["annotation"] is None or not record["annotation"]["stated_counts"]:
        return differing
    for kind in rubric.graded:
        graded_by = str(kind.graded_by)
        for label in rubric.facet(graded_by).labels:
            listed = sum(
                i["kind"] == kind.name and i["grade"] == label.name for i in items
            )
            counts = rubric.counting(kind.name, {graded_by: label.name})
            stated = sum(record["measures"][measure.name] for measure in counts)
            if counts and stated != listed:
                differing.append(
                    {"grade": label.name, "listed": listed, "stated": stated}
                )
    return differing


def edit_rows(candidate: str, errors: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the candidate's lines in order, with the edits of a record's `errors`."""
    report = lines(candidate)
    changed: dict[int, int] = {}
    inserted: dict[int, list[int]] = defaultdict(list)
    for number, error in enumerate(errors):
        edit = error["edit"]
        if edit and edit["kind"] == "insert":
            inserted[len(report) if edit["line"] is None else edit["line"]].append(
                number
            )
        elif edit:
            changed[edit["line"]] = number
    for place, line in enumerate([*report, None]):
        for number in inserted[place]:
            corrected = errors[number]["edit"]["corrected"]
            yield {
                "kind": "insert",
                "line": None,
                "error": number,
                "pieces": [("in", corrected)],
            }
        if line is None:
            return
        if place not in changed:
            yield {
                "kind": "same",
                "line": place,
                "error": None,
                "pieces": [("same", line)],
            }
            continue
        edit = errors[changed[place]]["edit"]
        pieces = changed_words(line, edit["corrected"])
        yield {
            "kind": edit["kind"],
            "line": place,
            "error": changed[place],
            "pieces": pieces,
        }


def changed_words(old_line: str, new_line: str) -> list[tuple[Change, str]]:
    """Return the words of a changed line in order: the same, taken out or put in."""
    old, new = (re.findall(r"\w+\s*|\W\s*", line) for line in (old_line, new_line))
    whole: list[tuple[Change, str]] = [("out", old_line), ("in", new_line)]
    pieces: list[tuple[Change, str]] = []
    if len(old) <= _MAX_WORDS >= len(new):
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        if matcher.ratio() >= _LEAST_SHARED:
            for kind, i, j, a, b in matcher.get_opcodes():
                if kind == "equal":
                    pieces.append(("same", "".join(old[i:j])))
                else:
                    pieces += [("out", "".join(old[i:j])), ("in", "".join(new[a:b]))]
    return [(change, text) for change, text in pieces or whole if text]


def search_text(record: Mapping[str, Any]) -> str:
    """Return the text of a record that a search looks through."""
    annotation = record["annotation"]
    fields = [
        str(cell(value)) for value in record["fields"].values() if value is not None
    ]
    texts = [record["study_id"], *fields, record["reference"], record["candidate"]]
    if annotation:
        for item in annotation["items"]:
            texts += [item["text"], item["edit"] and item["edit"]["corrected"]]
        texts.append(annotation["explanation"])
    else:
        texts += [record["reason"], record["detail"]]
    return "\n".join(filter(None, texts))


def cell(value: Any) -> str | int | float | None:  # noqa: ANN401 - a cell of any column
    """Return a cell of the table of studies in JSON's types, whole numbers as integers."""
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        return int(value) if value.is_integer() else value
    return value if isinstance(value, int | str) else str(value)
