"""The runs and their signatures; cache keys; digests of prompts."""

from __future__ import annotations

import pytest
from golden import GOLDENS, Place, check

NAMES = [
    name
    for name in GOLDENS
    if name.startswith(("runs-", "asked-")) or name in ("signatures", "keys", "prompts")
]


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, place: Place) -> None:
    check(name, place)
