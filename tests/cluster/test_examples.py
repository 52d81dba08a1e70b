"""The files in examples/cluster, each started as a cluster starts it, and merged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from cluster.clusterhelp import judged, manifest, same_files
from support import EXAMPLES

from judge.studies import read_pair

SLURM = EXAMPLES / "cluster" / "slurm.sh"
KUBERNETES = EXAMPLES / "cluster" / "kubernetes.yaml"
# The oldest release that has backoffLimitPerIndex for good.
OLDEST_KUBERNETES = "1.33"


def environment(**more: str) -> dict[str, str]:
    """That of a task: judge is on the path, and no key is set."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "OPENAI"))
    }
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | more


def run(
    words: list[str], folder: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        check=False,
    )


def merged_is_whole(folder: Path, out: str) -> None:
    """The command in both files' heads merges what was made to the run of the whole set."""
    for path in (SLURM, KUBERNETES):
        (command,) = re.findall(r"(judge runs merge .*)", path.read_text("utf-8"))
        line = command.replace("my-run", out) + f"-{path.suffix[1:]}"
        done = run(["bash", "-euc", line], folder)
        assert done.returncode == 0, done.stderr
        whole = judged(
            read_pair(str(folder / "preds.json"), str(folder / "refs.json")),
            folder / path.stem,
        )
        assert same_files(whole.path, folder / out / f"whole-{path.suffix[1:]}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("preds.json", "refs.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path


def tasks() -> range:
    """The tasks that `sbatch` would start by the script's own line."""
    first, last = re.findall(
        r"^#SBATCH --array=(\d+)-(\d+)$", SLURM.read_text("utf-8"), re.M
    )[0]
    return range(int(first), int(last) + 1)


@pytest.mark.ci
def test_slurm_each_task_then_merged(folder: Path) -> None:
    files = ("preds.json", "refs.json", "my run")
    for task in tasks():
        done = run(
            ["bash", str(SLURM), *files, "--by", "site"],
            folder,
            SLURM_ARRAY_TASK_ID=str(task),
        )
        assert done.returncode == 0, done.stderr
    made = [manifest(folder / "my run" / f"shard-{task}") for task in tasks()]
    assert [one["shard"]["count"] for one in made] == [len(tasks())] * len(tasks())
    assert made[0]["settings"]["by"] == ["site"]
    shutil.move(folder / "my run", folder / "run")
    for task in tasks():  # a task that is started again has its folder again
        words = ["bash", str(SLURM), "preds.json", "refs.json", "run"]
        # As of sbatch --array=3, whose count of tasks is 1.
        more = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": "1"}
        assert run(words, folder, **more).returncode == 0
    merged_is_whole(folder, "run")


@pytest.mark.ci
def test_kubernetes_by_its_schema() -> None:
    import kubernetes_validate as schema

    job = yaml.safe_load(KUBERNETES.read_text("utf-8"))
    schema.validate(job, OLDEST_KUBERNETES, strict=True)
    job["spec"]["completion"] = 4
    with pytest.raises(schema.ValidationError):
        schema.validate(job, OLDEST_KUBERNETES, strict=True)
