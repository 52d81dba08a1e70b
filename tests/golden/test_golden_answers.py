"""Answers of judges: what the parsers make of them."""

from __future__ import annotations

import pytest
from golden import GOLDENS, Place, check

NAMES = [name for name in GOLDENS if name.startswith("answers-")]


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, place: Place) -> None:
    check(name, place)
