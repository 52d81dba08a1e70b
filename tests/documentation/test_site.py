"""The documentation site builds without a network, and the notebook gives what it shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLES, ROOT

import judge

pytestmark = pytest.mark.ci

NO_NETWORK = """
import socket

def refused(self, address, *rest):
    raise ConnectionRefusedError(f"the site asked for {address}")

socket.socket.connect = socket.socket.connect_ex = refused
"""
NOTEBOOK = "tutorial.ipynb"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as it is published, built where no connection can be made.

    A link or an anchor that leads nowhere, and a field of a run's files that nobody describes, ends
    the build.
    """
    work = tmp_path_factory.mktemp("documentation")
    (work / "sitecustomize.py").write_text(NO_NETWORK, "utf-8")
    # Without the tests' own rubrics, which the reference must not have.
    env = {**os.environ, "PYTHONPATH": str(work), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--site-dir",
            work / "site",
        ],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return work / "site"


def test_every_page_and_every_public_name_is_in_the_site(site: Path) -> None:
    for source in (ROOT / "docs").rglob("*.md"):
        name = source.relative_to(ROOT / "docs").with_suffix("")
        place = name.parent if name.name == "index" else name
        assert (site / place / "index.html").is_file(), name
    for command in ("rubric", "compare", "stress-make"):
        assert (site / "reference/commands" / command / "index.html").is_file()
    python = (site / "reference/python/index.html").read_text("utf-8")
    assert not [name for name in judge.__all__ if name not in python]


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="?(?:https?:)?//'
    )
    for page in site.rglob("*.html"):
        assert not loaded.search(page.read_text("utf-8")), page


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


def test_the_notebook_gives_what_it_shows(tmp_path: Path) -> None:
    copy = shutil.copytree(EXAMPLES, tmp_path / "examples")
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/notebook.py", copy / NOTEBOOK],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    committed = outputs(EXAMPLES / NOTEBOOK)
    assert len(committed) > 8
    assert outputs(copy / NOTEBOOK) == committed
