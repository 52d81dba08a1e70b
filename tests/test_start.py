"""What the smallest run loads: few modules of ours, and no library that it does not use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support import EXAMPLES

MOST = 50
UNUSED = {"aiohttp", "diskcache", "instructor", "openai", "tenacity", "torch", "transformers"}
PROGRAM = """
import json, sys
from judge.cli import main
main(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def test_the_smallest_run_loads_little(tmp_path: Path) -> None:
    files = [str(EXAMPLES / name) for name in ("preds.json", "refs.json")]
    command = [sys.executable, "-c", PROGRAM, "green", *files]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stderr.splitlines()[-1])
    ours = [name for name in loaded if name.partition(".")[0] == "judge"]
    assert len(ours) <= MOST, ours
    assert not UNUSED.intersection(loaded)
