"""The tests of this folder use the servers of `tests/api`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "api"))
