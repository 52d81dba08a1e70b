"""The rubric that CONTRIBUTING writes down works as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support import EXAMPLES, ROOT

_BLOCK = re.compile(r"^```\w+\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_METADATA = "Metadata-Version: 2.1\nName: walk-through\nVersion: 1\n"


def test_the_walk_through_is_all_that_a_new_rubric_needs(tmp_path: Path) -> None:
    blocks = dict(_BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8")))
    assert set(blocks) == {"rubrics/swaps/__init__.py", "prompts/swaps.yaml"}
    # A package's folder is as one below rubrics/, with its prompt inside.
    packages = tmp_path / "packages"
    folder = packages / "swaps"
    (folder / "prompts").mkdir(parents=True)
    (folder / "__init__.py").write_text(blocks["rubrics/swaps/__init__.py"], "utf-8")
    (folder / "prompts" / "swaps.yaml").write_text(blocks["prompts/swaps.yaml"], "utf-8")
    info = packages / "walk_through-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(_METADATA)
    (info / "entry_points.txt").write_text("[judge.rubrics]\nswaps = swaps:RUBRIC\n")

    def judge(*args: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "judge", *map(str, args)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(packages)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Findings" not in judge("prompts", "show", "swaps")
    told = judge("swaps", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", "run")
    assert re.search(r"all +15 +15 +\d\.\d{3} \[.*\] +1[0-4]/15 ", told), told
    assert "swap" in judge("audit", "run", "--worst", 3)
    judge("audit", "run", "--html", "page.html")
    assert "no swap" in judge("compare", "A=run", "--format", "md")
