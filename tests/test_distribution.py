"""The packages that messages name are those of our own metadata, with their bounds."""

import ast
import tomllib
from pathlib import Path

import pytest

from judge.distribution import NAME, install

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_distribution_is_not_called_as_another_one_is() -> None:
    assert PROJECT["name"] == NAME == "radiology-judge"


def test_a_package_comes_with_its_bounds() -> None:
    assert install("matplotlib") == "pip install 'matplotlib>=3.8' (the extra plots)"
    assert (
        install("torch", "tokenizers")
        == "pip install 'torch>=2.4' 'tokenizers>=0.21' (the extra hf)"
    )
    assert install("pandas") == "pip install 'pandas>=2.2'", "it is always there"
    assert install("torch", "matplotlib").endswith("'matplotlib>=3.8'"), "no extra has both"
    with pytest.raises(KeyError):
        install("no-such-package")


def _named() -> list[tuple[str, str]]:
    """Each package that a message names, and where."""
    found = []
    for folder in ("judge", "cli", "cache", "rubrics", "prompts"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "install":
                    found += [
                        (one.value, str(path.relative_to(ROOT)))
                        for one in node.args
                        if isinstance(one, ast.Constant)
                    ]
    return found


@pytest.mark.parametrize(("package", "where"), _named())
def test_every_package_that_a_message_names_is_of_an_extra(package: str, where: str) -> None:
    assert "(the extra " in install(package), where


def test_no_message_names_an_extra() -> None:
    for folder in ("judge", "cli", "docs"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".py", ".js", ".md") and "static/figures" not in str(path):
                assert "'judge[" not in path.read_text("utf-8"), path


def test_the_page_names_the_bounds_that_we_have() -> None:
    static = ROOT / "judge/report/compare_page/static"
    texts = "".join(path.read_text("utf-8") for path in static.glob("*.js"))
    assert f": {install('matplotlib')}." in texts
