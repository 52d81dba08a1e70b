"""Whether a reference report is of a normal study."""

from __future__ import annotations

from typing import Literal

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import read


def study_class(reference: str, lexicon: Lexicon) -> Literal["normal", "abnormal"]:
    """Return `abnormal` where the report has any finding, a minor or possible one included.

    A report that says nothing of a finding is `normal`; one without any letter or digit
    raises `ValueError`, since it says nothing at all.
    """
    if not any(map(str.isalnum, reference)):
        raise ValueError("an empty report has no class")
    found = any(
        placed.mention.positive and lexicon.findings[placed.mention.finding].abnormal
        for placed in read(reference, lexicon)
    )
    return "abnormal" if found else "normal"
