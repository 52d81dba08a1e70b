"""What the wheel holds, and what stands in several files at once."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from judge.plugins import install, version

ROOT = Path(__file__).parents[1]
FOLDERS = ("judge", "cache", "cli", "examples", "prompts", "rubrics")


def _copy_tree(tree: Path) -> None:
    for name in ("pyproject.toml", "PACKAGE.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name,
            tree / name,
            ignore=shutil.ignore_patterns("__pycache__"),
            symlinks=True,
        )


def _lose_links(tree: Path) -> None:
    """Make of each link what Windows makes of it: a file with the path of its target."""
    links = [path for path in (tree / "judge").iterdir() if path.is_symlink()]
    assert {link.name for link in links} == set(FOLDERS) - {"judge"}
    for link in links:
        target = link.readlink()
        link.unlink()
        link.write_text(target.as_posix())


def _build(tree: Path) -> list[str]:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
    command += ["--no-build-isolation", "-w", str(tree / "dist"), str(tree)]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = (tree / "dist").glob("*.whl")
    return zipfile.ZipFile(path).namelist()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Build the wheel from a copy of the tree, as a user's pip would, and list its files."""
    tree = tmp_path_factory.mktemp("tree")
    _copy_tree(tree)
    return _build(tree)


@pytest.mark.parametrize("has_links", [True, False])
def test_a_checkout_is_imported_with_its_links_and_without_them(
    tmp_path: Path, has_links: bool
) -> None:
    _copy_tree(tmp_path)
    if not has_links:
        _lose_links(tmp_path)
    program = (
        "import judge.cli, judge.rubrics.green, judge.cache.store, judge.prompts;"
        "print(judge.cli.__file__, judge.rubrics.names())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    place = "judge/cli" if has_links else "cli"
    assert done.stdout.startswith(str(tmp_path / place / "__init__.py"))
    assert "'green'" in done.stdout


@pytest.mark.ci
def test_the_wheel_of_a_checkout_without_links_is_the_same(
    wheel: list[str], tmp_path: Path
) -> None:
    _copy_tree(tmp_path)
    _lose_links(tmp_path)
    assert sorted(_build(tmp_path)) == sorted(wheel)


def test_every_source_and_data_file_is_in_the_wheel(wheel: list[str]) -> None:
    expected = set()
    for folder in FOLDERS:
        target = "judge" if folder == "judge" else f"judge/{folder}"
        for path in (ROOT / folder).rglob("*"):
            is_source_of_scripts = (ROOT / "judge/pages/web") in path.parents
            if is_source_of_scripts or "__pycache__" in path.parts:
                continue
            if path.is_file():
                expected.add(f"{target}/{path.relative_to(ROOT / folder).as_posix()}")
    packed = {name for name in wheel if ".dist-info/" not in name}
    assert packed == expected

    assert {name.split("/")[0].split("-")[0] for name in wheel} == {
        "judge",
        "radiology_judge",
    }


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", log, re.MULTILINE)
    assert heads[0] == ("Unreleased", "")
    assert heads[1][0] == project["version"] == version()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == project["version"]
    assert str(citation["date-released"]) == heads[1][1]
    assert citation["license"] == project["license"]
    cluster = (ROOT / "examples/cluster/kubernetes.yaml").read_text("utf-8")
    assert f"image: judge:{project['version']}\n" in cluster


def test_the_container_is_for_a_user_without_rights_and_asks_for_a_token() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    (user,) = re.findall(r"^USER (\d+):\1$", dockerfile, re.MULTILINE)
    assert int(user) > 0
    service = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"][
        "judge"
    ]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["environment"]["JUDGE_TOKEN"].startswith("${JUDGE_TOKEN:?")
    assert service["cap_drop"] == ["ALL"]
    kept = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {f"!{folder}" for folder in FOLDERS} <= {*kept}


def test_a_message_names_a_package_with_its_bounds_and_its_extra() -> None:
    command = "pip install 'vl-convert-python>=1.9' (the extra figures)"
    assert install("vl-convert-python") == command
    two = install("torch", "tokenizers")
    assert two == "pip install 'torch>=2.4' 'tokenizers>=0.21' (the extra hf)"
    both = install("torch", "vl-convert-python")
    assert both.endswith("'vl-convert-python>=1.9'"), "no extra has both"
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", "") == "install"
                ):
                    for one in node.args:
                        if isinstance(one, ast.Constant):
                            assert "(the extra " in install(one.value), path
