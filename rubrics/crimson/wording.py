"""What judges call the attributes of a finding: the names of the lists that prompts have too."""

from __future__ import annotations

import re

from judge.rubrics.crimson.measures import ATTRIBUTES

SIGNIFICANT = "significant"
"""What an attribute error is that is not negligible."""
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
            name = _APART.sub("_", part[:_LONGEST].strip().lower())
            name = _ALSO.get(name, name)
            if name not in ATTRIBUTES:
                return None
            found.append(name)
    return sorted(set(found), key=ATTRIBUTES.index)
