"""One study as a page shows it, in JSON's types; labels are given by their names."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, TypedDict

from judge.rubrics.contract import Kind, Measure, Rubric
from judge.sentences import lines
from judge.study.marks import highlights
from judge.text import number as printed_number
from judge.types import Measures

_END = ("outcome", "reason", "detail")
# Lines that share less of their letters are replaced as a whole.
_LEAST_SHARED = 0.3
# White space as a browser knows it, where the search of a file runs.
_GAPS = re.compile(
    "[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"
)
# Longer reports are not compared: the time grows with the square of their words.
_MAX_COMPARED = 1500

Change = Literal["same", "out", "in"]


class Row(TypedDict):
    """A line of the edited candidate, with its number and the index of the error it corrects."""

    kind: Literal["same", "change", "delete", "insert"]
    line: int | None
    error: int | None
    pieces: list[tuple[Change, str]]


def judged_view(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return both reports of a record, in segments, with the judge's findings, in JSON's types.

    `items` are graded; `lists` holds the others, `differs` the grades whose stated count is not the
    number of items, `edits` the rows of the candidate's edit, None without an editor.
    """
    annotation = record["annotation"]
    reference = record["reference"]
    candidate = record["candidate"]
    items = graded_items(annotation, rubric)
    explanation = ""
    warnings: list[str] = []
    edits = None
    if annotation:
        explanation = annotation["explanation"]
        warnings = _warnings(annotation)
        if rubric.editor:
            edits = list(edit_rows(candidate, items))
    view = {name: record[name] for name in _END}
    view |= highlights(reference, candidate, items)
    view["items"] = items
    view["lists"] = _plain_lists(record, rubric)
    view["explanation"] = explanation
    view["warnings"] = warnings
    view["differs"] = _stated_otherwise(record, items, rubric)
    view["edits"] = edits
    return view


def _warnings(annotation: Mapping[str, Any]) -> list[str]:
    """Return the warnings about an answer, and those about its items with the item's text."""
    # A dict, since two items can have one text: each sentence is said once, in order.
    said: dict[str, None] = {}
    for item in annotation["items"]:
        for warning in item.get("warnings", ()):
            text = item["text"]
            if not text:
                text = item["edit"]["corrected"]
            said[f"{warning}: {text}"] = None
    return [*annotation["warnings"], *said]


def graded_items(
    annotation: Mapping[str, Any] | None, rubric: Rubric
) -> list[dict[str, Any]]:
    """Return the graded items with their `grade`, `links` and `quotes`, texts linked to them."""
    if annotation is None:
        return []
    graded_by = {kind.name: kind.graded_by for kind in rubric.graded}
    items = annotation["items"]
    rows = [row for row, item in enumerate(items) if item["kind"] in graded_by]
    graded = []
    for row in rows:
        item = items[row]
        facet = graded_by[item["kind"]]
        (grade,) = item["labels"][facet]
        # Links count all items of the answer; the graded ones are numbered by themselves.
        links = []
        quotes = []
        for link in item["links"]:
            if link in rows:
                links.append(rows.index(link))
            else:
                quotes.append(items[link]["text"])
        graded.append({**item, "grade": grade, "links": links, "quotes": quotes})
    return graded


def _plain_lists(record: Mapping[str, Any], rubric: Rubric) -> list[dict[str, Any]]:
    """Return for each kind that is not graded the number, as measured, and the texts."""
    if record["annotation"] is None:
        return []
    measures = record["measures"]
    lists: list[dict[str, Any]] = []
    for kind in rubric.kinds:
        if kind in rubric.graded:
            continue
        if kind.is_listed:
            items = record["annotation"]["items"]
            of_kind = [item for item in items if item["kind"] == kind.name]
            texts = [_labelled(item, kind, rubric) for item in of_kind]
        else:
            texts = _stated(measures, kind, rubric)
        count = _count_of_all(kind, rubric)
        n: float | None = len(texts)
        if count is not None:
            n = measures[count.name]
        # A reader was not asked for what has neither a number nor a text.
        if n is not None or texts:
            lists.append({"kind": kind.name, "n": n, "texts": texts})
    return lists


def _count_of_all(kind: Kind, rubric: Rubric) -> Measure | None:
    """Return the measure that counts the items of a kind, whatever their labels."""
    for measure in rubric.counting(kind.name, {}):
        if measure.counts and not measure.counts.labels:
            return measure
    return None


def _labelled(item: Mapping[str, Any], kind: Kind, rubric: Rubric) -> str:
    labels: list[str] = []
    for name in kind.facets:
        facet = rubric.facet(name)
        labels += map(facet.text, item["labels"].get(name, ()))
    text = str(item["text"])
    if not labels:
        return text
    return f"{text} ({', '.join(labels)})"


def _stated(measures: Measures, kind: Kind, rubric: Rubric) -> list[str]:
    stated = []
    for measure in rubric.measures:
        number = measures[measure.name]
        counts = measure.counts
        if counts is None or counts.kind != kind.name or not number:
            continue
        # The finest counts only: those that sum over a facet would say the same again.
        if len(counts.labels) == len(kind.facets):
            stated.append(f"{measure.label}: {number}")
    return stated


def _stated_otherwise(
    record: Mapping[str, Any], items: Sequence[Mapping[str, Any]], rubric: Rubric
) -> list[dict[str, Any]]:
    """Return the grades of which an answer states another number of items than it lists."""
    differing: list[dict[str, Any]] = []
    annotation = record["annotation"]
    if annotation is None or not annotation["stated_counts"]:
        return differing
    measures = record["measures"]
    for kind in rubric.graded:
        graded_by = str(kind.graded_by)
        of_kind = [item for item in items if item["kind"] == kind.name]
        for label in rubric.facet(graded_by).labels:
            grade = label.name
            listed = sum(item["grade"] == grade for item in of_kind)
            counts = rubric.counting(kind.name, {graded_by: grade})
            stated = sum(measures[measure.name] for measure in counts)
            if counts and stated != listed:
                row = {"grade": grade, "listed": listed, "stated": stated}
                differing.append(row)
    return differing


def measured_text(value: float | None, measure: Measure) -> str:
    """Return a study's number with its unit, or why it has none."""
    if value is None:
        return f"undefined ({measure.undefined})"
    text = measure_text(value, measure)
    if measure.unit:
        return f"{text} {measure.unit}"
    return text


def measure_text(value: float, measure: Measure) -> str:
    """Return a study's number as tables print it: what is always whole has no decimals."""
    if measure.is_whole:
        return printed_number(value, 0)
    return printed_number(value)


def edit_rows(candidate: str, errors: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the candidate's lines in order, with the edits of a record's `errors`."""
    report = lines(candidate)
    changed: dict[int, int] = {}
    inserted: dict[int, list[int]] = defaultdict(list)
    for number, error in enumerate(errors):
        edit = error["edit"]
        if not edit:
            continue
        place = edit["line"]
        if edit["kind"] != "insert":
            changed[place] = number
        elif place is None:
            inserted[len(report)].append(number)
        else:
            inserted[place].append(number)
    # None stands for the end of the report, where lines can be put in too.
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
        number = changed[place]
        edit = errors[number]["edit"]
        yield {
            "kind": edit["kind"],
            "line": place,
            "error": number,
            "pieces": changed_words(line, edit["corrected"]),
        }


def changed_words(old_line: str, new_line: str) -> list[tuple[Change, str]]:
    """Return the words of a changed line in order: the same, taken out or put in."""
    pieces = word_differences(old_line, new_line)
    if pieces is not None:
        n_same = sum(len(text) for change, text in pieces if change == "same")
        if 2 * n_same >= _LEAST_SHARED * (len(old_line) + len(new_line)):
            return pieces
    whole: list[tuple[Change, str]] = [("out", old_line), ("in", new_line)]
    return [(change, text) for change, text in whole if text]


def word_differences(before: str, after: str) -> list[tuple[Change, str]] | None:
    """Return two texts as one, word by word, None where that is too long.

    White space makes no difference; what stays is as it is in `after`.
    """
    old, new = _words(before), _words(after)
    if max(len(old), len(new)) > _MAX_COMPARED:
        return None
    bare_old = [word.strip() for word in old]
    bare_new = [word.strip() for word in new]
    matcher = SequenceMatcher(None, bare_old, bare_new, autojunk=False)
    pieces: list[tuple[Change, str]] = []
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        new_text = "".join(new[new_start:new_end])
        if kind == "equal":
            pieces.append(("same", new_text))
            continue
        old_text = "".join(old[start:end])
        gap = ""
        if kind == "replace":
            # The space behind a word that is replaced belongs to neither wording.
            bare_text = new_text.rstrip()
            gap = new_text[len(bare_text) :]
            new_text = bare_text
            old_text = old_text.rstrip()
        pieces.append(("out", old_text))
        pieces.append(("in", new_text))
        pieces.append(("same", gap))
    return [(change, text) for change, text in pieces if text]


def _words(line: str) -> list[str]:
    return re.findall(r"\w+\s*|\W\s*", line)


def search_words(text: str) -> list[str]:
    """Return the words that a search looks for, as `search_text` has them."""
    return [word for word in _GAPS.split(text.lower()) if word]


def search_text(record: Mapping[str, Any]) -> str:
    """Return the text of a record that a search looks through, in small letters."""
    texts = [record["study_id"]]
    for value in record["fields"].values():
        if value is not None:
            texts.append(str(cell(value)))
    texts.append(record["reference"])
    texts.append(record["candidate"])
    annotation = record["annotation"]
    if annotation:
        for item in annotation["items"]:
            texts.append(item["text"])
            if item["edit"]:
                texts.append(item["edit"]["corrected"])
        texts.append(annotation["explanation"])
    else:
        texts.append(record["reason"])
        texts.append(record["detail"])
    return "\n".join(filter(None, texts)).lower()


def cell(value: Any) -> str | int | float | None:  # noqa: ANN401 - a cell of any column
    """Return a cell of the table of studies in JSON's types, whole numbers as integers."""
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    # Before int, of which bool is a subclass.
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return str(value)
        if value.is_integer():
            return int(value)
        return value
    if isinstance(value, int | str):
        return value
    return str(value)
