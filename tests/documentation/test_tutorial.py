"""The tutorial runs, gives what it shows, and stands in the site."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from sitehelp import parts
from support import EXAMPLES, ROOT

NAME = "tutorial.ipynb"


def outputs(path: Path) -> list[tuple[str, str]]:
    """Each code cell of a notebook with what came out of it as text, blanks made one."""
    found = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            came = "".join(_text(output) for output in cell["outputs"])
            found.append(("".join(cell["source"]), " ".join(came.split())))
    return found


def _text(output: dict[str, Any]) -> str:
    assert output["output_type"] != "error"
    assert output.get("name") != "stderr", output
    return "".join(output.get("text") or output["data"]["text/plain"])


def test_it_gives_what_it_shows(tmp_path: Path) -> None:
    copy = shutil.copytree(EXAMPLES, tmp_path / "examples")
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/notebook.py", copy / NAME],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    committed = outputs(EXAMPLES / NAME)
    assert len(committed) > 8
    assert all("\x1b" not in came for _, came in committed)
    assert outputs(copy / NAME) == committed


def test_the_site_shows_every_cell_and_what_came_out(site: Path) -> None:
    page = parts(site / "tutorial/index.html")
    cells = json.loads((EXAMPLES / NAME).read_text("utf-8"))["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) > 8
    for cell in cells:
        if cell["cell_type"] == "code":
            assert " ".join("".join(cell["source"]).split()) in page.text
    assert "\x1b" not in page.text
    # Of a table and of a command's text.
    assert "ex-015" in page.text
    assert "Clinically significant errors: 1" in page.text
    assert "@inproceedings{ostmeier2024green" in page.text
