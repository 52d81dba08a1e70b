"""What the tests share."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from hypothesis import settings
from support import EXAMPLES, SHARED, TOYS, Invoke

from judge.cli import main

if TYPE_CHECKING:
    from serving import Taught

# Four rubrics that are not made like the real ones stand beside these in every test that runs
# over all, as those of an installed package do: here and in the processes that tests start.
sys.path.append(str(TOYS))
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (os.environ.get("PYTHONPATH"), str(TOYS)))
)

# One thread a process for linear algebra: where other work has the cores, waiting for the second
# thread takes longer than its share of the sums. Read when numpy and torch are imported, here and
# in the processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test is timed: how long an example takes is the machine's affair.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


# Tests of packages that the extra `test` does not bring. The scripts in .ci install them and set
# JUDGE_ALL_TESTS, so that a package that is missing there is an error.
PACKAGES = {
    "api/test_batches_killed.py": "anthropic",
    "api/test_batches_of_providers.py": "anthropic",
    "api/test_providers.py": "anthropic",
    "harnesses": "lighteval",
    "inspect_scorer": "inspect-ai",
    "local": "torch",
    "official/test_official_ids.py": "tokenizers",
    "pack/test_evidence_packs.py": "typst",
    "parity": "radeval",
    "compare/test_challenge.py": "vl-convert-python",
    "figures/test_figure_files.py": "vl-convert-python",
    "figures/test_figure_layout.py": "vl-convert-python",
    "ray_cluster": "ray",
    "reward/test_trl.py": "trl",
    "reward/test_finetuning.py": "trl",
    "reward/test_verl.py": "verl",
    "vllm/test_real_server.py": "vllm",
}


def _is_installed(package: str) -> bool:
    # By its metadata: tests/vllm has the name of a package.
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


collect_ignore = [
    path
    for path, package in PACKAGES.items()
    if not os.environ.get("JUDGE_ALL_TESTS") and not _is_installed(package)
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that open a browser by the fixture that they ask for."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture
def shared() -> Path:
    """The folder of real reports, which is not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("the shared real reports are not here")
    return SHARED


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run the command line in an empty folder: `invoke("green", preds, refs)`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(*args: object, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, list(map(str, args)), input=stdin)

    return call


@pytest.fixture(scope="session")
def judged_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the built-in judge over the example studies. Read it; do not write to it."""
    out = tmp_path_factory.mktemp("examples") / "example-run"
    files = [str(EXAMPLES / "preds.json"), str(EXAMPLES / "refs.json")]
    result = CliRunner().invoke(main, ["green", *files, "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    return out


@pytest.fixture
def example_run(judged_examples: Path, tmp_path: Path) -> Path:
    """A copy of `judged_examples` that the test may change."""
    return shutil.copytree(judged_examples, tmp_path / "example-run")


@pytest.fixture(scope="session")
def taught_model(tmp_path_factory: pytest.TempPathFactory) -> Taught:
    """A model that knows eight studies by heart; needs torch, and a real vLLM to be of use."""
    from serving import taught

    return taught(tmp_path_factory.mktemp("taught"))
