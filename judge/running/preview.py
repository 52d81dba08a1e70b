"""A preview of a run: which studies and fields would be judged."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

from judge.studies import StudySet
from judge.text import left_out

_SHOWN = 3
_MOST_CLASSES = 10


def described(studies: StudySet) -> dict[str, Any]:
    """Return what was read, from which fields, and the first three studies, ready for JSON."""
    classes = Counter(studies.study_classes) if studies.class_field else None
    return {
        "model": studies.model,
        "read_from": {**studies.read_from, "study_class": studies.class_field},
        "section": studies.section,
        "n_studies": len(studies),
        "study_classes": classes and {name or "none given": n for name, n in classes.most_common()},
        "fields": list(studies.fields),
        "omitted": dict(studies.omitted),
        "n_empty_candidates": sum(not text for text in studies.candidates),
        "notes": list(studies.notes),
        "first": [
            {"study_id": study.study_id, "reference": study.reference, "candidate": study.candidate}
            for study in islice(studies, _SHOWN)
        ],
    }


def facts(checked: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what `described` found as names and words."""
    classes = checked["study_classes"] or {}
    counts = [f"{name} {n:,}" for name, n in classes.items()]
    if len(counts) > _MOST_CLASSES:
        counts[_MOST_CLASSES:] = [f"and {len(counts) - _MOST_CLASSES:,} more"]
    read_from = {role.replace("_", " "): name for role, name in checked["read_from"].items()}
    shown = {
        "model": checked["model"],
        **{f"{role} from": name for role, name in read_from.items()},
        "section": checked["section"],
        "studies": f"{checked['n_studies']:,}",
        "study class": ", ".join(counts) or "inferred by the lexicon when they are judged",
        "other fields": ", ".join(checked["fields"]) or "none",
        "left out": left_out(checked["omitted"]),
        "empty candidates": f"{checked['n_empty_candidates']:,}, judged like any other",
    }
    lines = [(name, value) for name, value in shown.items() if value]
    return lines + [("note", text) for text in checked["notes"]]
