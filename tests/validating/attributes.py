"""What functions give as JSON's types."""

from __future__ import annotations

import json
from types import SimpleNamespace


def named(found: object) -> SimpleNamespace:
    """What a function gave as JSON's types, by attributes."""
    return json.loads(json.dumps(found), object_hook=lambda one: SimpleNamespace(**one))
