"""What the wheel holds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from datetime import date
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FOLDERS = ("judge", "cache", "cli", "prompts", "rubrics")
# Of Keep a Changelog.
KINDS_OF_CHANGE = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Build the wheel from a copy of the tree, as a user's pip would, and list its files."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tree / "dist", tree],
        check=True,
        capture_output=True,
    )
    (path,) = (tree / "dist").glob("*.whl")
    return zipfile.ZipFile(path).namelist()


def test_every_source_and_data_file_is_in_the_wheel(wheel: list[str]) -> None:
    expected = set()
    for folder in FOLDERS:
        target = "judge" if folder == "judge" else f"judge/{folder}"
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                expected.add(f"{target}/{path.relative_to(ROOT / folder).as_posix()}")
    packed = {name for name in wheel if ".dist-info/" not in name}
    assert packed == expected


def test_nothing_lands_beside_the_package(wheel: list[str]) -> None:
    assert {name.split("/")[0].split("-")[0] for name in wheel} == {"judge", "radiology_judge"}


def test_a_checkout_works_from_its_own_folder(tmp_path: Path) -> None:
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    code = "import judge, judge.cli; print(judge.cli.__file__, judge.annotate(['a'], ['a']).shape)"
    for line in (["-c", code], ["-m", "judge", "--version"]):
        done = subprocess.run(
            [sys.executable, *line], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        if "-c" in line:
            assert done.stdout.startswith(str(tmp_path / "cli"))


def test_version_change_log_and_citation_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", log, re.MULTILINE)
    assert heads[0] == ("Unreleased", "")
    assert heads[1][0] == project["version"]
    assert all(date.fromisoformat(day) for _, day in heads[1:])
    assert set(re.findall(r"^###? (?!\[)(.+)$", log, re.MULTILINE)) <= KINDS_OF_CHANGE
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
