"""What the commands about runs print, and how errors end."""

from __future__ import annotations

import pytest
from golden import GOLDENS, Place, check

NAMES = [
    name
    for name in GOLDENS
    if name in ("compare", "validate", "rates", "panel", "stress", "errors", "exits")
]


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, place: Place) -> None:
    check(name, place)
