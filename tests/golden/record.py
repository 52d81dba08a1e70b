"""Record goldens anew: `python tests/golden/record.py answers-green`, all without a name."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from golden import GOLDENS, RECORDED, place_in, save


def record(names: list[str]) -> None:
    """Compute each golden and write it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        place_in(Path(folder) / "place") as place,
    ):
        for name in names:
            save(RECORDED / f"{name}.json.gz", GOLDENS[name](place))
            print(name, (RECORDED / f"{name}.json.gz").stat().st_size)


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(GOLDENS)
    if unknown := sorted(set(chosen) - GOLDENS.keys()):
        sys.exit(f"no golden is called {unknown[0]}; there are {', '.join(GOLDENS)}")
    record(chosen)
