"""What the page knows: the report, what came of each pair, and the pairs in packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from judge.report.compare_page.data import record_view
from judge.report.highlight import segments
from judge.report.overview import counts, declared
from judge.report.stress import facts, tables
from judge.rubrics import Rubric
from judge.rubrics.categories import CATEGORY

_PACKET = 40
"""Pairs a packet, about those of one study: they share most of their text, and compress well."""

# What may have come of a pair, in the order in which one can choose them.
CAME = {
    "missed": "missed",
    "found": "found",
    "other_category": "found, in no right category",
    "other_significance": "found, not of the right significance",
    "false_alarm": "false alarm",
    "grave_alarm": "false alarm, {level}",
    "quiet": "no error, as it must be",
    "changed": "changed reading",
    "same": "same reading",
    "not_read": "not read",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate: its record in the run, its line of the truth, how many errors the judge found.

    `came` has the names of `CAME` that hold of it; `n_errors` is None where it was not read.
    """

    record: Mapping[str, Any]
    truth: Mapping[str, Any]
    n_errors: int | None
    came: frozenset[str]


@dataclass
class Columns:
    """The list of pairs: a value a pair, and the names that numbers stand for."""

    ids: list[str] = field(default_factory=list)
    studies: dict[str, int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    study: list[int] = field(default_factory=list)
    change: list[int] = field(default_factory=list)
    came: list[list[int]] = field(default_factory=list)
    k: list[int] = field(default_factory=list)
    n_errors: list[int | None] = field(default_factory=list)

    def add(self, pair: Pair) -> None:
        """Take a pair in."""
        truth = pair.truth
        self.ids.append(truth["id"])
        self.study.append(self.studies.setdefault(truth["study"], len(self.studies)))
        self.change.append(self.changes.setdefault(truth["change"], len(self.changes)))
        self.groups[truth["change"]] = truth["group"]
        self.came.append([at for at, name in enumerate(CAME) if name in pair.came])
        self.k.append(truth["k"])
        self.n_errors.append(pair.n_errors)

    def plain(self) -> dict[str, Any]:
        """Return them as JSON's types."""
        return {
            **{name: getattr(self, name) for name in ("ids", "study", "change", "came", "k")},
            "n_errors": self.n_errors,
            "studies": list(self.studies),
            "changes": [{"name": name, "group": self.groups[name]} for name in self.changes],
            "packet": _PACKET,
        }


def overview(report: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return all but the pairs, as JSON's types."""
    level = (report["level"] or {"label": ""})["label"]
    return {
        "format": 1,
        "verdict": report["verdict"],
        "notes": [one for one in (report["judge"]["note"], *report["notes"]) if one],
        "facts": [
            {"name": name, "value": value}
            for name, value in facts(report)
            if name not in ("", "verdict", "note")
        ],
        "tables": [asdict(table) for table in tables(report)],
        "rubric": {"title": rubric.title, **declared(rubric), "counts": counts(rubric)},
        "came": [label.format(level=level) for label in CAME.values()],
        "signature": report["signature"],
    }


def packets(
    report: Mapping[str, Any], rubric: Rubric, pairs: Iterable[Pair], columns: Columns
) -> Iterator[list[dict[str, Any]]]:
    """Yield the pairs a packet at a time, and add each to the `columns`."""
    effects = {one["id"]: one["effect"] for one in report["hostile"]}
    does = {
        one.get("change") or one["class"]: one["does"]
        for key in ("detection", "false_alarms", "hostile_all")
        for one in report[key]
    }
    packet = []
    for pair in pairs:
        columns.add(pair)
        effect, said = effects.get(pair.truth["id"]), does.get(pair.truth["change"])
        packet.append({**view(pair, rubric), "effect": effect, "does": said})
        if len(packet) == _PACKET:
            yield packet
            packet = []
    if packet:
        yield packet


def view(pair: Pair, rubric: Rubric) -> dict[str, Any]:
    """Return what the page shows of a pair: what was put in, and what the judge wrote.

    `words` are what was changed but for white space, `n_blank` how often that alone was. Where
    the whole text was written anew no word is marked.
    """
    truth, record = pair.truth, pair.record
    words = [one for one in truth["words"] if (one["before"] + one["after"]).strip()]
    whole = any(one["at"] == [0, len(truth["before"])] != [0, 0] for one in words)
    answer = record["answer"]
    return {
        "group": truth["group"],
        "change": truth["change"],
        "expected": _expected(truth),
        "base": truth["same_reading_as"],
        "put_in": [
            {
                "finding": one["finding"],
                "categories": [CATEGORY.text(name) for name in one["categories"]],
                "significant": one["significant"],
                "doubtful": one["doubtful"],
            }
            for one in truth["errors"]
        ],
        "words": [] if whole else [[one["before"], one["after"]] for one in words],
        "whole": whole,
        "n_blank": len(truth["words"]) - len(words),
        "marked": {
            side: [asdict(one) for one in segments(truth[text], _places(words, end, whole=whole))]
            for side, text, end in (("reference", "before", "at"), ("candidate", "after", "to"))
        },
        "record": record_view(record, rubric),
        # What could not be read is shown as it was written.
        "answer": answer["text"] if answer and record["annotation"] is None else None,
    }


def _places(
    words: Iterable[Mapping[str, Any]], end: str, *, whole: bool
) -> list[tuple[tuple[int, int], int]]:
    places = [(tuple[int, int](one[end]), number) for number, one in enumerate(words)]
    return [] if whole else [(span, number) for span, number in places if span[0] < span[1]]


def _expected(truth: Mapping[str, Any]) -> str:
    match truth["group"]:
        case "unchanged":
            return "no error"
        case "slip":
            return "no error of a finding; an error of writing may be seen"
        case "hostile":
            return "the same reading as without the text"
        case _:
            k = truth["k"]
            return "no error" if not k else f"{k} error{'' if k == 1 else 's'}"
