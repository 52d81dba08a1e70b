"""What packages of others add: one that works, built and installed, and some that do not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from support import EXAMPLES, ROOT, Invoke

from judge import JudgeError, backends, metrics, plugins, rubrics

ANSWER = ROOT / "tests" / "plugin" / "answer.txt"  # in the toy rubric's form
PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
Package = Callable[[str, str, str], None]
Judge = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of tests/plugin, built and installed into a folder of its own, offline."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(ROOT / "tests" / "plugin", folder / "source")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--target", str(folder / "site"), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "site"


@pytest.fixture
def judge(installed: Path, tmp_path: Path) -> Judge:
    """The command line where that package is installed, in an empty folder."""

    def call(*words: object) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            *(["-m", "judge"] if words[0] != "-c" else []),
            *map(str, words),
        ]
        paths = os.pathsep.join(
            filter(None, (str(installed), os.environ.get("PYTHONPATH")))
        )
        environ = {**os.environ, "PYTHONPATH": paths}
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_what_is_added_is_used_like_anything_built_in(
    judge: Judge, invoke: Invoke, tmp_path: Path
) -> None:
    assert "toy A rubric of judge-toy 1.0." in " ".join(judge("--help").stdout.split())
    done = judge("toy", PREDS, REFS, "--judge", f"echo:{ANSWER}", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "signature  toy:1|package:judge-toy@1.0|judge:echo-1+" in done.stdout
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["versions"]["judge-toy"] == "1.0"
    assert judge("runs", "rescore", "run").returncode == 0
    assert "What is wrong with the candidate?" in judge("prompts", "show", "toy").stdout
    lost = judge("green", PREDS, REFS, "--judge", "echo:nothing.txt")
    assert (lost.returncode, lost.stderr.count("\n")) == (2, 1)
    assert "nothing.txt" in lost.stderr
    done = judge(
        "metrics", PREDS, REFS, "--metric", "bleu2,length_ratio", "--out", "m.csv"
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "m.csv")
    assert list(table.columns) == ["study_id", "model", "bleu2", "length_ratio"]
    line = (
        "compare",
        "preds=run",
        "--metrics",
        "m.csv",
        "--format",
        "csv",
        "--no-tests",
    )
    assert "length_ratio" in judge(*line).stdout, "its direction is known"
    # Here that package is not installed.
    assert "judge-toy@1.0" in failure(invoke("audit", "run"))


# Packages that are not as they should be: each as the metadata that says what it adds, and a module


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """Put a package on the path: its name, its entry points and its module `NAME_module`."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def add(name: str, points: str, module: str) -> None:
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(points)
        (site / f"{name}_module.py").write_text(module)
        plugins.installed.cache_clear()

    plugins.installed.cache_clear()
    yield add
    plugins.installed.cache_clear()


BROKEN = "import no_such_library"


def failure(done: Result) -> str:
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_package_that_cannot_be_imported_is_one_message(
    invoke: Invoke, package: Package
) -> None:
    package(
        "bad",
        "[judge.rubrics]\nbad = bad_module:R\n[judge.backends]\nbad = bad_module:load\n"
        "[judge.metrics]\nbad = bad_module:M\n",
        BROKEN,
    )
    says = "'bad' of the package bad 1.0 cannot be imported: ModuleNotFoundError"
    assert says in failure(invoke("bad", PREDS, REFS))
    assert says in failure(invoke("green", PREDS, REFS, "--judge", "bad:x"))
    done = invoke("metrics", PREDS, REFS, "--metric", "bad,bleu2")
    assert done.exit_code == 3
    assert says in done.stderr
    # Everything else goes on working, and help tells of the rubric without importing it.
    assert "A rubric of bad 1.0." in invoke("--help").stdout
    assert invoke("prompts", "list").exit_code == 0
    assert invoke("green", PREDS, REFS).exit_code == 0


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ("[judge.rubrics]\ngreen = other_module:X\n", ["green", PREDS, REFS]),
        ("[judge.rubrics]\nrates = other_module:X\n", ["rates", "run"]),
        (
            "[judge.backends]\nvllm = other_module:X\n",
            ["green", PREDS, REFS, "--judge", "vllm:x"],
        ),
        ("[judge.metrics]\nbleu2 = other_module:X\n", ["metrics", PREDS, REFS]),
    ],
)
def test_a_name_that_is_built_in_is_refused(
    invoke: Invoke, package: Package, points: str, words: list[object]
) -> None:
    package("other", points, "X = None")
    assert "other 1.0" in failure(invoke(*words))
    assert invoke("fineradscore", "--help").exit_code == 0


def test_what_is_added_must_be_what_it_says(invoke: Invoke, package: Package) -> None:
    package(
        "odd",
        "[judge.rubrics]\nodd = odd_module:X\n[judge.backends]\nodd = odd_module:load\n"
        "fails = odd_module:fails\n[judge.metrics]\nodd = odd_module:X\nshort = odd_module:SHORT\n",
        "from judge.metrics import AddedMetric\nX = 'nothing'\n"
        "def load(name, rubric, settings): return X\n"
        "def fails(name, rubric, settings): raise KeyError('k')\n"
        "SHORT = AddedMetric('short', lambda references, candidates: [1], True)\n",
    )
    with pytest.raises(JudgeError, match=r"'odd' of the package odd 1\.0 is no Rubric"):
        rubrics.load("odd")
    green = rubrics.load("green")
    with pytest.raises(JudgeError, match="gives no Judge but 'nothing'"):
        backends.load("odd:x", green)
    with pytest.raises(
        JudgeError, match=r"'fails' of the package odd 1\.0 failed: KeyError: 'k'"
    ):
        backends.load("fails:x", green)
    for name, wrong in (("odd", "is not an AddedMetric"), ("short", "2 finite values")):
        with pytest.raises(metrics.MissingMetricError, match=re.escape(wrong)):
            metrics.compute(name, ["a", "b"], ["a", "b"])
    assert "there are: bleu2," in failure(
        invoke("metrics", PREDS, REFS, "--metric", "none")
    )


# A rubric that fails, or breaks its word

RUBRIC = (
    "from judge.rubrics import Facet, Kind, Label, Mean, Measure, Order, Rubric\n"
    "from judge.types import Annotation, Item\n"
    "def parse(text, study, *, complete=False): return Annotation(tuple({read}))\n"
    "def render(annotation): return {written}\n"
    "def baseline(comparison, study):\n"
    "    return Annotation(tuple(Item('slip', d.{text}) for d in comparison.discrepancies))\n"
    "X = Rubric(name={name!r}, version=1, title='Slips', summary='Judge slips.', prompt='slips',\n"
    "    kinds=(Kind('slip', 'slip', 'slips'),), measures=(Measure('n', 'slips'),),\n"
    "    statistics=(Mean('n', 'slips', measures=('n',), higher_is_better=False),),\n"
    "    worst=(Order('n', True),),\n"
    "    parse=parse, render=render, baseline=baseline,\n"
    "    measure=lambda annotation, study: {{'n': len(annotation.items)}})\n"
)
GOOD = {
    "name": "slips",
    "text": "text",
    "written": r"'\n'.join(item.text for item in annotation.items)",
    "read": "Item('slip', line) for line in text.splitlines()",
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"text": "words"}, "failed: AttributeError: "),
        ({"read": "[1 / 0]"}, "failed: ZeroDivisionError: division by zero"),
        ({"written": "annotation.items[0].text"}, "failed: IndexError: "),
        ({"name": "slip"}, "calls itself 'slip': it needs that name"),
        ({"read": "[exit()]"}, "failed: SystemExit"),
    ],
)
def test_a_rubric_that_fails_is_one_message_with_its_package(
    invoke: Invoke, package: Package, change: dict[str, str], says: str
) -> None:
    points = "[judge.rubrics]\nslips = slips_module:X\n"
    package("slips", points, RUBRIC.format(**{**GOOD, **change}))
    sys.modules.pop("slips_module", None)
    done = invoke("slips", PREDS, REFS)
    assert done.exit_code == 2, done.output
    said = done.stderr.splitlines()[-1]
    assert f"the rubric 'slips' of the package slips 1.0 {says}" in said


def test_runs_by_two_versions_of_a_package_are_told_apart(
    invoke: Invoke, package: Package, tmp_path: Path
) -> None:
    package("slips", "[judge.rubrics]\nslips = slips_module:X\n", RUBRIC.format(**GOOD))
    sys.modules.pop("slips_module", None)
    assert invoke("slips", PREDS, REFS, "--out", "one").exit_code == 0
    metadata = tmp_path / "site" / "slips-1.0.dist-info" / "METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: slips\nVersion: 2.0\n")
    plugins.installed.cache_clear()
    assert (
        invoke("slips", EXAMPLES / "preds_alder.json", REFS, "--out", "two").exit_code
        == 0
    )
    said = " ".join(invoke("compare", "one", "two").output.split())
    assert "slips@1.0 in one, slips@2.0 in two" in said
    assert invoke("runs", "rescore", "one").exit_code == 0
    assert "packages that differ" not in invoke("compare", "one", "two").output
