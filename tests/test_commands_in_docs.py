"""Every command of the README and the docs runs as it is printed, on the examples.

Not run are those that would send reports, start a server for good or ask for keys at a terminal;
each is named here, so that a new one is run unless somebody says why not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "examples/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES.remove(ROOT / "docs/extending.md")  # needs the files that it writes: test_extending has them
NOT_RUN = (
    "vllm:",  # starts vLLM; tests/vllm does
    "ray:",  # needs a cluster; tests/ray_cluster has one
    "prompts fetch",  # asks a network
    "judge serve",  # stays until Ctrl-C; tests/service starts it
    "--next",  # needs a terminal
    "--concurrency 64",  # asks a paid judge
    "--max-cost 100",  # asks a paid judge, in batches
    "batch read",  # needs somebody's answers; tests/api has them
    "my-model",  # asks a server; tests/api has one
)


def _commands() -> list[tuple[str, str]]:
    """Each page with each line of its shell blocks that runs judge, without comment and pip."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                command = re.sub(r"\s+#.*", "", line)
                command = re.sub(r"^pip install \S+ && ", "", command)
                if re.search(r"(^|; do )judge ", command):
                    found.append((str(page.relative_to(ROOT)), command))
    return found


COMMANDS = _commands()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder for each page, as a reader has it who begins there, with files of their own."""

    @cache
    def folder(page: str) -> Path:
        made = tmp_path_factory.mktemp(re.sub(r"\W", "-", page))
        shutil.copytree(ROOT / "examples", made / "examples")
        for name in ("preds.json", "refs.json"):
            shutil.copy(ROOT / "examples" / name, made)
        return made

    return folder


def test_there_are_commands_and_each_that_is_not_run_is_there() -> None:
    assert len(COMMANDS) > 15
    for words in NOT_RUN:
        assert any(words in command for _, command in COMMANDS), words


@pytest.mark.parametrize(
    ("page", "command"),
    [one for one in COMMANDS if not any(words in one[1] for words in NOT_RUN)],
)
def test_a_command_of_the_docs(folders: Callable[[str], Path], page: str, command: str) -> None:
    folder = folders(page)
    run = next(iter(sorted(folder.glob("judge-runs/*"))), folder)
    line = command.replace("STUDY_ID", "ex-008").replace("RUN", str(run))
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", line], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{page}: {line}\n{done.stderr}"
    assert done.stdout.strip() or "--html" in line, line
