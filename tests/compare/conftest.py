"""What the tests of comparisons share."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged_runs import as_written, judged, texts
from support import Invoke


@pytest.fixture
def two(invoke: Invoke) -> tuple[Path, Path]:
    """Runs of GREEN: `good` copies the references, `bad` is the example predictions."""
    return judged(invoke, "good", as_written()), judged(invoke, "bad", texts())
