"""The commands and the Python of the pages run, links lead to files, and the pages stay short."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT

README, FIRST = ROOT / "README.md", ROOT / "docs/index.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), ROOT / "examples/README.md", *DOCS]
# A model or a server that the tests lack.
OUT_OF_REACH = re.compile(r"--judge (?!lexicon|sides|.*--dry-run)|judge prompts fetch")


def blocks(page: Path, language: str) -> list[str]:
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return fence.findall(page.read_text("utf-8"))


def lines_of_shell(page: Path) -> list[str]:
    """Return the lines that run judge, without comments, pip and what serves until Ctrl-C."""
    commands = []
    for line in "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines():
        command = re.sub(r"^pip install \S+ && |\s+#.*", "", line)
        if re.search(r"(^|; do )judge (?!serve)", command) and not OUT_OF_REACH.search(
            command
        ):
            commands.append(command)
    return commands


def write_files(page: Path, folder: Path) -> None:
    """Write the files of a page that begin with their name; a package is on the path of Python."""
    for language in ("yaml", "toml", "python"):
        for block in blocks(page, language):
            if name := re.match(r"# (\S+\.\w+)\n", block):
                (folder / name[1]).parent.mkdir(parents=True, exist_ok=True)
                (folder / name[1]).write_text(block, "utf-8")
    if (project := folder / "parts/pyproject.toml").is_file():
        (folder / "parts/my_parts/__init__.py").touch()
        metadata = folder / "parts/my_parts-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Name: my-parts\nVersion: 1.0\n", "utf-8")
        groups = tomllib.loads(project.read_text("utf-8"))["project"]["entry-points"]
        lines = [
            f"[{group}]\n"
            + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in groups.items()
        ]
        (metadata / "entry_points.txt").write_text("".join(lines), "utf-8")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=() if page == FIRST else pytest.mark.ci)
        for page in PAGES
        if lines_of_shell(page)
    ],
)
def test_the_commands_of_a_page_run_in_their_order(page: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    for name in ("preds.json", "refs.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    write_files(page, tmp_path)
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OPENAI")
    }
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    env["PYTHONPATH"] = str(tmp_path / "parts")
    for line in lines_of_shell(page):
        for run in sorted(tmp_path.glob("tested/runs/*/")):
            line = line.replace("tested/runs/RUN", str(run), 1)
        # Beside the runs there may be folders of experiments.
        runs = sorted(tmp_path.glob("judge-runs/*/manifest.json"))
        line = re.sub(r"\bRUN\b", str(runs[0].parent) if runs else "", line)
        if find_spec("vl_convert") is None:
            line = re.sub(r" --(figures|only) \S+", "", line)
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
            (shown,) = re.findall(
                r"```\n(model .*?)```", README.read_text("utf-8"), re.DOTALL
            )
            printed = [text.rstrip() for text in done.stdout.splitlines()]
            assert printed[: len(shown.splitlines())] == shown.splitlines()


def test_the_python_of_the_readme_runs() -> None:
    effusion = "Large left effusion."
    names = {"references": [effusion] * 2, "candidates": [effusion, "Clear."]}
    for block in blocks(README, "python"):
        exec(
            compile(block.replace('"gpt-4o"', '"lexicon"'), "README.md", "exec"), names
        )


def text_of(page: Path) -> str:
    return re.sub(
        r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings are linked, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        for text in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_of_the_checkout(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_pages_stay_few_and_short() -> None:
    assert len(DOCS) <= 25
    assert len(README.read_text("utf-8").split()) <= 710


def test_the_road_of_a_study_names_what_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    stations = re.findall(r"`([\w/]+\.py): (?:(\w+)\.)?(\w+)`", text)
    assert len(stations) >= 12
    for path, class_name, function in stations:
        source = (ROOT / path).read_text("utf-8")
        assert not class_name or f"\nclass {class_name}" in source, path
        assert re.search(rf"^ *(async )?def {function}\(", source, re.MULTILINE), (
            path,
            function,
        )
    tree = text.partition("## The road")[0]
    for folder in re.findall(r"^    ((?:\w+/)+) ", tree, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder
