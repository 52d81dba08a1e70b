"""docs/extending.md, followed to the letter in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT

PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")
FILES = dict(re.findall(r"^```\w+\n# (\S+\.\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
# The registry is not asked, and this environment is left as it is.
_OFFLINE = "-q --no-deps --no-index --no-build-isolation --target site"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command of the page printed, in a folder that holds the examples alone."""
    folder = tmp_path_factory.mktemp("extending")
    shutil.copytree(EXAMPLES, folder / "examples")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "parts" / "my_parts" / "__init__.py").touch()  # the page asks for an empty one
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("OPENAI")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "site"),
    }
    found = {}
    for line in COMMANDS:
        command = line.replace("pip install", f"{sys.executable} -m pip install {_OFFLINE}")
        shell = ["bash", "-euc", command]
        done = subprocess.run(
            shell, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        found[line] = done.stdout
    found["page"] = (folder / "swaps.html").read_text("utf-8")
    return found


def test_the_page_has_the_files_and_commands_that_this_test_follows() -> None:
    assert set(FILES) == {
        "strict.yaml",
        "parts/pyproject.toml",
        "parts/my_parts/swaps/__init__.py",
        "parts/my_parts/swaps/prompts/swaps.yaml",
        "parts/my_parts/sides.py",
        "parts/my_parts/lengths.py",
    }
    assert len(COMMANDS) == 9


def _of(told: dict[str, str], words: str) -> str:
    (found,) = (text for line, text in told.items() if line.startswith(words))
    return found


def test_a_prompt_is_shown_and_its_cost_is_known(told: dict[str, str]) -> None:
    assert "sentence by" in _of(told, "judge prompts show")
    forecast = _of(told, "judge green")
    assert re.search(r"requests +15 ", forecast), forecast
    assert re.search(r"worst .*\$\d", forecast), forecast


def test_the_rubric_is_a_command_like_any_other(told: dict[str, str]) -> None:
    judged = _of(told, "judge swaps examples/preds.json examples/refs.json --out swaps-run")
    assert re.search(r"all +15 +15 +\d\.\d{3} \[.*\] +1[0-4]/15 ", judged), judged
    assert "swaps:1|package:my-parts@1.0|judge:lexicon" in judged
    assert "swap" in told["judge audit swaps-run"]
    assert "Swaps" in told["page"]


def test_the_judge_answers_the_rubric(told: dict[str, str]) -> None:
    judged = _of(told, "judge swaps examples/preds.json examples/refs.json --judge")
    # Of the examples ex-008 alone differs in the side and nothing else.
    assert "14/15" in judged
    assert "judge:sides-1" in judged
    compared = _of(told, "judge compare")
    assert "rules" in compared
    assert "sides" in compared


def test_the_metric_is_computed(told: dict[str, str]) -> None:
    assert "length ratio" in _of(told, "judge metrics")
