"""Imports point one way, the middle is pure, and what installs is one package."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What each part may import, besides itself.
PURE = ("types", "sentences", "prompts", "rubrics", "stats", "report")
ALLOWED = {
    "types": set(),
    "sentences": set(),
    # Reads the files that prompts and lexicons are.
    "yamlfile": set(),
    # Reads what is installed.
    "distribution": set(),
    # Asks what else is installed.
    "plugins": {"types"},
    "prompts": {"types", "sentences", "yamlfile"},
    "rubrics": {"types", "sentences", "prompts", "plugins"},
    "stats": {"types", "prompts", "rubrics"},
    "report": {"types", "sentences", "prompts", "rubrics", "stats"},
    "metrics": {"types", "rubrics", "stats", "studies", "plugins", "distribution"},
    # Draws with matplotlib and writes files: not pure.
    "plots": {"types", "rubrics", "stats", "report", "distribution"},
    "studies": {"types", "distribution"},
    "cache": {"types"},
    # Fetched prompts: the network and the user's folder, which prompts/ knows nothing of.
    "official": {"types", "prompts", "distribution"},
    "backends": {
        *("types", "sentences", "yamlfile", "prompts", "rubrics", "official", "plugins"),
        "distribution",
    },
    "running": {*PURE, "distribution", "plugins", "studies", "cache", "official", "backends"},
    # Asks what a run lacks in batches, before it runs.
    "batching": {"types", "report", "cache", "backends", "running", "studies"},
    "readers": {*PURE, "distribution", "studies", "running"},
    "comparing": {*PURE, "distribution", "metrics", "studies", "backends", "running"},
    # Others' calls: trainers' reward functions, packages that this one stands in for.
    "reward": {
        *("types", "rubrics", "distribution", "backends", "running", "studies", "trainers"),
    },
    # What trainers pass, without a judge.
    "trainers": {"types", "studies"},
    # Makes candidates with known errors, without the code that compares reports.
    "stress": {
        *(*PURE, "yamlfile", "distribution", "studies", "cache", "backends", "running"),
    },
    # Gives judgements as other tools want them; only who has such a tool imports it.
    "compat": {"types", "rubrics", "backends", "running", "studies"},
    # Holds judges against readers.
    "validating": {
        *(*PURE, "distribution", "metrics", "studies", "backends", "running", "readers"),
        "comparing",
    },
    "cli": {
        *("distribution", "plugins"),
        *(*PURE, "metrics", "plots", "studies", "cache", "official", "backends", "running"),
        *("batching", "comparing", "readers", "stress", "validating", "service"),
    },
    "service": {
        *(*PURE, "distribution", "plots", "studies", "cache", "official", "backends", "running"),
        *("comparing", "readers"),
    },
}
# Network, clock, environment, processes, chance, logging set-up.
IMPURE = {
    *("os", "sys", "time", "datetime", "socket", "ssl", "http", "urllib", "random", "secrets"),
    *("subprocess", "threading", "asyncio", "multiprocessing", "logging", "tempfile"),
    *("requests", "httpx", "aiohttp", "openai"),
}


def part_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    if parts == ("judge", "__main__.py"):
        return "cli"
    return Path(parts[1]).stem if parts[0] == "judge" else parts[0]


def sources() -> list[Path]:
    folders = ("judge", "prompts", "rubrics", "cache", "cli")
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if path != ROOT / "judge" / "__init__.py"
    )


def imports(path: Path) -> list[str]:
    """The dotted names that a file imports, wherever in the file."""
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import from judge, not relatively"
            module = node.module or ""
            if module == "judge":
                names += [f"judge.{alias.name}" for alias in node.names]
            else:
                names.append(module)
    return names


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    used = {name.split(".")[1] for name in imports(path) if name.startswith("judge.")}
    assert used - {part} <= ALLOWED[part]


@pytest.mark.parametrize(
    "path",
    [path for path in sources() if part_of(path) in PURE],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_middle_is_pure(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & IMPURE


# What works from a rubric's declarations, and knows no rubric.
GENERAL = (
    "stats",
    "running",
    "report",
    "service",
    "plots",
    "comparing",
    "cli",
    "metrics",
    "stress",
    "validating",
    "batching",
    "reward",
    "trainers",
)
WORDS = (
    "n_significant",
    "no_significant_error",
    "n_actionable",
    "no_actionable_error",
    "severity3",
)
MAY_NAME = {
    # Names of metrics, three of which are rubrics here, for files of others' numbers.
    "judge/stats/metric.py": {"green", "fineradscore", "crimson"},
    # Format 1 had these columns for every rubric.
    "judge/running/format1.py": {"n_actionable", "counts"},
    # Keys of a page's data, and of what a library returns: ordinary words.
    "judge/report/compare_page/data.py": {"counts"},
    "judge/report/overview.py": {"counts", "facts"},
    "judge/report/stress_page/data.py": {"counts", "facts"},
    "judge/report/validate_page/data.py": {"counts", "facts"},
    "judge/running/columns.py": {"counts"},
    # The rubric of a call of `annotate` that names none.
    "judge/running/api.py": {"green"},
    "judge/reward.py": {"green"},
    # The rubric of a command that names none.
    "cli/stress.py": {"green"},
    # A colour.
    "cli/output.py": {"green"},
    "judge/service/check_worker.py": {"facts"},
}


def texts(path: Path) -> list[str]:
    """The strings in a file's code; what documents it is none."""
    tree = ast.parse(path.read_text("utf-8"))
    documents = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documents
    ]


@pytest.mark.parametrize(
    "path",
    [path for path in sources() if part_of(path) in GENERAL],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_what_works_for_every_rubric_names_none(path: Path) -> None:
    rubrics = {entry.parent.name for entry in (ROOT / "rubrics").glob("*/__init__.py")}
    assert {"green", "fineradscore"} <= rubrics
    found = {word for text in texts(path) for word in WORDS if word in text}
    found |= rubrics & set(texts(path))
    assert found == MAY_NAME.get(str(path.relative_to(ROOT)), set())


def test_the_six_categories_are_rubrics_own() -> None:
    """Only rubrics, and the rules whose findings become theirs, know the six categories.

    And the stand-in for GREEN's package, whose columns they are.
    """
    users = {
        str(path.relative_to(ROOT))
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and "Category" in {name.name for name in node.names}
    }
    assert users
    allowed = ("rubrics/", "judge/backends/lexicon/", "judge/compat/")
    assert [path for path in sorted(users) if not path.startswith(allowed)] == []


def test_every_part_is_known() -> None:
    assert {part_of(path) for path in sources()} <= set(ALLOWED)


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from judge.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pandas', 'numpy', 'pyarrow', 'rich', 'yaml', 'asyncio', 'openai', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_no_file_grows_past_what_one_mind_holds() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*sources(), *(ROOT / "tests").rglob("*.py")]
        if (lines := len(path.read_text("utf-8").splitlines())) > 400
    }
    assert not long


def test_nothing_registers_at_the_top_of_site_packages() -> None:
    # A user's own cache.py or cli.py must never be shadowed.
    program = (
        "from importlib.util import find_spec\n"
        "print([n for n in ('cache', 'cli', 'prompts', 'rubrics') if find_spec(n)])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
