"""The field names that are understood, as data: one table for the code and the README.

Names are compared without regard to case and punctuation, so that `Study-ID`, `studyid`
and `study_id` are one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

FIELD_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "id": ("study_id", "id", "study", "accession_number", "accession", "exam_id", "uid"),
        "candidate": (
            "model_prediction",
            "prediction",
            "predicted_report",
            "candidate",
            "candidate_report",
            "generated",
            "generated_report",
            "hypothesis",
        ),
        "candidate, failing these": ("pred", "hyp", "model_output", "output", "response"),
        "findings": ("section_findings", "findings", "findings_section"),
        "impression": ("section_impression", "impression", "impression_section"),
        "whole report": ("report", "full_report", "report_text"),
        "reference": (
            "reference",
            "reference_report",
            "ground_truth",
            "ground_truth_report",
            "gt_report",
            "radiologist_report",
        ),
        "whole report, failing these": ("text",),
        "study class": ("study_class", "class", "normal_abnormal", "normality", "abnormality"),
        "study class, true or false": ("abnormal", "is_abnormal", "normal", "is_normal"),
    }
)
"""What a field is taken for -> the names it may have, the likeliest first."""

TEXT_ROLES = ("candidate", "findings", "impression", "whole report", "reference")
"""The roles of `FIELD_NAMES` that hold report text and nothing else."""

FALLBACK_ROLES = ("candidate, failing these", "whole report, failing these")
"""The roles whose names often stand for something else, and are taken where nothing better is."""

_RESERVED_NAMES = frozenset(
    {
        "study_id",
        "study_class",
        "class_inferred",
        "reference",
        "candidate",
        "outcome",
        "reason",
        "warnings",
        "answer",
        "green",
    }
)
_RESERVED_PREFIXES = ("n_", "significant_", "insignificant_")


def plain(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", name.casefold())


def matching(names: Iterable[str], role: str) -> list[str]:
    """Return those of `names` that stand for `role`, the likeliest first."""
    wanted = [plain(name) for name in FIELD_NAMES[role]]
    found = [name for name in names if plain(name) in wanted]
    return sorted(found, key=lambda name: wanted.index(plain(name)))


def is_reserved(name: str, further: Iterable[str] = ()) -> bool:
    """Whether a field of this name would hide a column of the table of studies."""
    return (
        not name
        or name in _RESERVED_NAMES
        or name.startswith(_RESERVED_PREFIXES)
        or name in set(further)
    )


def listed(items: Iterable[str], most: int = 10) -> str:
    """Return the first few items as `a, b, c, ...`."""
    shown = list(items)
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")
