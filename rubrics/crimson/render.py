"""From an annotation to the answer that a judge would give."""

from __future__ import annotations

import json
from collections.abc import Iterable

from judge.rubrics.categories import ERROR
from judge.rubrics.crimson.measures import (
    CANDIDATE,
    FALSE,
    MATCH,
    MISSING,
    MODALITY_OF,
    NEGLIGIBLE,
    REFERENCE,
    SIGNIFICANCE,
    TYPE,
)
from judge.rubrics.crimson.parse import parse
from judge.rubrics.crimson.wording import SIGNIFICANT
from judge.types import Annotation, Item, Study, UnparsedError

_Json = dict[str, object]


def render(annotation: Annotation) -> str:
    """Return the annotation as the reply that a judge would give, the inverse of `parse`.

    Raises ValueError for an annotation that no reply expresses, as one with an explanation, or
    one that leaves a finding out.
    """
    reference, candidate = (annotation.of_kind(kind.name) for kind in (REFERENCE, CANDIDATE))
    names = [f"R{at}" for at, _ in enumerate(reference, 1)]
    names += [f"P{at}" for at, _ in enumerate(candidate, 1)]
    errors = annotation.of_kind(ERROR)
    try:
        reply = {
            "reference_findings": _findings(reference, names),
            "predicted_findings": _findings(candidate, names[len(reference) :]),
            "matched_findings": [_pair(one, names) for one in annotation.of_kind(MATCH.name)],
            "errors": {
                "false_findings": [names[one.links[0]] for one in errors if _is(one, FALSE)],
                "missing_findings": [names[one.links[0]] for one in errors if _is(one, MISSING)],
                "attribute_errors": [
                    _attribute(one, names)
                    for one in errors
                    if not _is(one, FALSE) and not _is(one, MISSING)
                ],
            },
        }
        text = json.dumps(reply, indent=1)
        expressed = parse(text, Study("", "", "", modality=_modality(errors)))
    except (IndexError, KeyError, UnparsedError) as error:
        raise ValueError(f"no reply expresses this: {error}") from error
    if expressed != annotation:
        raise ValueError("no reply expresses all of this annotation")
    return text


def _modality(errors: Iterable[Item]) -> str | None:
    types = (name for error in errors for name in error.labels[TYPE.name])
    return next((MODALITY_OF[name] for name in types if name in MODALITY_OF), None)


def _is(error: Item, what: str) -> bool:
    return error.labels[TYPE.name] == (what,)


def _findings(items: tuple[Item, ...], names: list[str]) -> list[_Json]:
    return [
        {"id": name, "finding": one.text, "clinical_significance": one.label(SIGNIFICANCE.name)}
        for name, one in zip(names, items, strict=False)
    ]


def _pair(item: Item, names: list[str]) -> _Json:
    reference, candidate = item.links
    return {"ref_id": names[reference], "pred_id": names[candidate]}


def _attribute(error: Item, names: list[str]) -> _Json:
    is_negligible = error.label(SIGNIFICANCE.name) == NEGLIGIBLE
    return {
        **_pair(error, names),
        "severity": NEGLIGIBLE if is_negligible else SIGNIFICANT,
        "error_types": list(error.labels[TYPE.name]),
        "explanation": error.text,
    }
