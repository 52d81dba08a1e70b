"""The commands and the Python of the README and of the first page run; links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT

README, FIRST = ROOT / "README.md", ROOT / "docs/index.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
MADE_BY_THE_SITE = ("reference/", "tutorial.md")


def blocks(page: Path, language: str) -> list[str]:
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return fence.findall(page.read_text("utf-8"))


def lines_of_shell(page: Path) -> list[str]:
    """Return the lines that run judge, without comments, pip and what serves until Ctrl-C."""
    found = []
    for line in "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines():
        command = re.sub(r"^pip install \S+ && |\s+#.*", "", line)
        if re.search(r"(^|; do )judge (?!serve)", command):
            found.append(command)
    return found


@pytest.mark.parametrize("page", [README, FIRST], ids=lambda page: page.name)
def test_the_commands_of_a_page_run_in_their_order(page: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    for name in ("preds.json", "refs.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    commands = lines_of_shell(page)
    assert len(commands) > 5
    for command in commands:
        run = next(iter(sorted(tmp_path.glob("judge-runs/*"))), tmp_path)
        line = command.replace("STUDY_ID", "ex-008").replace("RUN", str(run))
        if find_spec("vl_convert") is None:
            line = re.sub(r" --figures \S+", "", line)
        done = subprocess.run(
            ["bash", "-euc", line],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stdout.strip() or re.search(r"--html|^judge page ", line), line
        if page == README and line.startswith("judge green examples/preds.json"):
            (shown,) = re.findall(r"```\n(model .*?)```", README.read_text("utf-8"), re.DOTALL)
            printed = [text.rstrip() for text in done.stdout.splitlines()]
            assert printed[: len(shown.splitlines())] == shown.splitlines()


def test_the_python_of_the_readme_runs() -> None:
    effusion = "Large left effusion."
    names = {"references": [effusion] * 2, "candidates": [effusion, "Clear."]}
    for block in blocks(README, "python"):
        exec(compile(block.replace('"gpt-4o"', '"lexicon"'), "README.md", "exec"), names)


def text_of(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings are linked, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"\w+:", target) or target.startswith(MADE_BY_THE_SITE):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target
