"""What judges call a significance, an attribute and its severity. Form is read leniently."""

from __future__ import annotations

import re

from judge.rubrics.crimson.measures import ATTRIBUTES, LEVELS, NEGLIGIBLE

SIGNIFICANT = "significant"
SEVERITIES = (SIGNIFICANT, NEGLIGIBLE)
"""How much an attribute error matters."""
_LONGEST = 80
_APART = re.compile(r"[\s_\-/,]+(?:(?:and|but|or)[\s_\-]+)?")
_SEVERAL = re.compile(r"[|;,/]")
_ALSO = {
    "side": "laterality",
    "bi_rads": "birads",
    "birads_category": "birads",
    "bi_rads_category": "birads",
    "breast_density": "density",
    "calcifications": "calcification",
    "segment": "level",
    "contrast_phase": "phase",
    "extent": "severity",
    "descriptors": "descriptor",
    "morphological_descriptor": "descriptor",
    "morphological_descriptors": "descriptor",
    "measurements": "measurement",
    "comparison": "temporal",
    "nonspecific": "unspecific",
}


def _plain(value: object) -> str | None:
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    return _APART.sub("_", value.strip().lower())


def significance_of(value: object) -> str | None:
    """Return the significance that `value` names, "Actionable, not urgent"; None for any other."""
    name = _plain(value)
    return name if name in LEVELS else None


def severity_of(value: object) -> str | None:
    """Return the severity of an attribute error that `value` names; None for any other."""
    name = _plain(value)
    return name if name in SEVERITIES else None


def attributes_of(value: object) -> list[str] | None:
    """Return the attributes that `value` names, a list of them or one text, each once, in order.

    "location|severity" names two. None where one of them is none that there is.
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list):
        return None
    found = []
    for one in given:
        if not isinstance(one, str):
            return None
        for part in _SEVERAL.split(one):
            name = _plain(part)
            name = _ALSO.get(name or "", name)
            if name not in ATTRIBUTES:
                return None
            found.append(name)
    return sorted(set(found), key=ATTRIBUTES.index)
