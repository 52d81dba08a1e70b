"""Atomic facts: each report's facts, and which of them the other report entails.

Precision is undefined for a candidate without a fact, recall for such a reference.
"""

from __future__ import annotations

import json
from typing import Literal

from judge.rubrics import Facet, Kind, Label, Measure, Order, Rubric, Statistic
from judge.sentences import lines
from judge.types import Annotation, Item, Measures, ReportComparison, Side, Study, UnparsedError

Fact = tuple[str, Literal["entailed", "not_entailed"], int | None]
SIDES: tuple[Side, ...] = ("reference", "candidate")
_VERDICTS = ("entailed", "not_entailed")


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Read `{"reference": [["a fact", "entailed", 0], ...], "candidate": [...]}`.

    The number is that of the fact of the other report that entails it.
    """
    try:
        reply = json.loads(text)
        facts = {side: [(str(f), str(v), at) for f, v, at in reply[side]] for side in SIDES}
    except (ValueError, KeyError, TypeError) as error:
        raise UnparsedError("no facts", str(error)) from error
    first = len(facts["reference"])
    items = []
    for side, other, start in (("reference", "candidate", first), ("candidate", "reference", 0)):
        for fact, verdict, at in facts[side]:
            if verdict not in _VERDICTS:
                raise UnparsedError("no verdict", verdict)
            if (at is None) != (verdict == "not_entailed"):
                raise UnparsedError("link without entailment", fact)
            if at is not None and (type(at) is not int or not 0 <= at < len(facts[other])):
                raise UnparsedError("link to nothing", f"{fact}: {at}")
            links = () if at is None else (start + at,)
            items.append(Item("fact", fact, {"verdict": (verdict,)}, _side(side), links))
    return Annotation(tuple(items))


def _side(name: str) -> Side:
    return "reference" if name == "reference" else "candidate"


def render(annotation: Annotation) -> str:
    """Write the reply that `parse` reads."""
    first = sum(item.side == "reference" for item in annotation.items)
    reply: dict[str, list[list[object]]] = {side: [] for side in SIDES}
    for item in annotation.items:
        start = first if item.side == "reference" else 0
        at = item.links[0] - start if item.links else None
        reply[item.side or "candidate"].append([item.text, item.label("verdict"), at])
    return json.dumps(reply)


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return how many facts there are on each side, how many are entailed, and their share."""
    counts = {}
    for side in SIDES:
        own = [item for item in annotation.items if item.side == side]
        counts[side] = len(own), sum(item.label("verdict") == "entailed" for item in own)
    (n_reference, recalled), (n_candidate, right) = counts["reference"], counts["candidate"]
    return {
        "n_reference_facts": n_reference,
        "n_recalled": recalled,
        "n_candidate_facts": n_candidate,
        "n_right": right,
        "precision": right / n_candidate if n_candidate else None,
        "recall": recalled / n_reference if n_reference else None,
    }


def baseline(comparison: ReportComparison, study: Study) -> Annotation:
    """Take each sentence for a fact, entailed where the rules found its partner and no fault."""
    wrong: dict[str, set[int | None]] = {
        "reference": {one.reference_sentence for one in comparison.discrepancies},
        "candidate": {one.candidate_sentence for one in comparison.discrepancies},
    }
    texts = {"reference": lines(study.reference), "candidate": lines(study.candidate)}
    partner = {
        "reference": dict(comparison.partners),
        "candidate": {ours: theirs for theirs, ours in comparison.partners},
    }
    items = []
    for side, start in (("reference", len(texts["reference"])), ("candidate", 0)):
        for at, text in enumerate(texts[side]):
            found = partner[side].get(at)
            entailed = found is not None and at not in wrong[side]
            items.append(
                Item(
                    "fact",
                    text,
                    {"verdict": ("entailed" if entailed else "not_entailed",)},
                    _side(side),
                    (start + found,) if entailed and found is not None else (),
                )
            )
    return Annotation(tuple(items))


def _share(name: str, label: str, undefined: str) -> Measure:
    return Measure(name, label, (0, 1), higher_is_better=True, role="score", undefined=undefined)


def _count(name: str, label: str) -> Measure:
    return Measure(name, label, higher_is_better=True, is_whole=True)


def _statistic(
    name: str, label: str, over: str, under: str | None = None, scale: tuple[float, float] = (0, 1)
) -> Statistic:
    return Statistic(
        name,
        label,
        "ratio" if under else "mean",
        (over,),
        higher_is_better=True,
        per=(under,) if under else (),
        scale=scale,
        shown=frozenset({"head", "groups", "compare"}),
    )


RUBRIC = Rubric(
    name="toy_facts",
    version=1,
    title="Facts",
    summary="Judge reports by their atomic facts.",
    prompt="toy_facts",
    kinds=(Kind("fact", "fact", "facts", ("verdict",), graded_by="verdict"),),
    facets=(
        Facet(
            "verdict",
            "verdict",
            "verdicts",
            (
                Label("entailed", "entailed", "good"),
                Label("not_entailed", "not entailed", "serious"),
            ),
        ),
    ),
    measures=(
        _share("precision", "precision", "no fact in the candidate"),
        _share("recall", "recall", "no fact in the reference"),
        _count("n_reference_facts", "facts of the reference"),
        _count("n_recalled", "facts of the reference that are entailed"),
        _count("n_candidate_facts", "facts of the candidate"),
        _count("n_right", "facts of the candidate that are entailed"),
    ),
    statistics=(
        _statistic("micro_precision", "precision (micro)", "n_right", "n_candidate_facts"),
        _statistic("micro_recall", "recall (micro)", "n_recalled", "n_reference_facts"),
        _statistic("macro_precision", "precision (macro)", "precision"),
        _statistic("macro_recall", "recall (macro)", "recall"),
    ),
    worst=(
        Order("recall", largest_first=False),
        Order("precision", largest_first=False),
    ),
    parse=parse,
    render=render,
    measure=measure,
    baseline=baseline,
)
