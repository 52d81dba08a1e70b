"""The tests of this folder use the servers of `tests/api` and the helpers of `tests/cache`."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("api", "cache"):
    sys.path.append(str(Path(__file__).parents[1] / folder))
