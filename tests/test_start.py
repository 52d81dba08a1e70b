"""What the smallest run loads: few modules of ours, and no library that it does not use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support import EXAMPLES

MOST = 96
UNUSED = {
    "aiohttp",
    "diskcache",
    "instructor",
    "openai",
    "tenacity",
    "torch",
    "transformers",
}
PROGRAM = """
import json, sys
from judge.cli import main
main(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def test_the_smallest_run_loads_little(tmp_path: Path) -> None:
    files = [str(EXAMPLES / name) for name in ("preds.json", "refs.json")]
    command = [sys.executable, "-c", PROGRAM, "green", *files]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stderr.splitlines()[-1])
    ours = [name for name in loaded if name.partition(".")[0] == "judge"]
    assert len(ours) <= MOST, ours
    assert not UNUSED.intersection(loaded)


HELP = """
import json, sys
from click.testing import CliRunner
from judge.cli import main
for name in main.list_commands(None):
    assert CliRunner().invoke(main, [name, "--help"]).exit_code == 0, name
print(json.dumps(sorted(sys.modules)))
"""


def test_the_help_of_no_command_loads_a_library_of_numbers_or_requests() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & (UNUSED | {"numpy", "pandas", "scipy", "pyarrow", "fastapi"})
