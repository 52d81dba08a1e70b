"""SECURITY.md: each line of its tables is what the code does."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support import ROOT

from judge import jsonio, rubrics
from judge.backends.base import TIMEOUT
from judge.cli.judging import command_for
from judge.pack import archive
from judge.running import interrupting
from judge.running.policy import RequestPolicy
from judge.service import (
    app,
    comparison_routes,
    comparisons,
    jobs,
    judges,
    questions,
    run_check,
)
from judge.service.settings import MEGABYTE, ServiceSettings
from judge.studies import load

PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
TESTS = "\n".join(
    path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")
)


def megabytes(n_bytes: int) -> str:
    return f"{n_bytes // MEGABYTE} MB"


def served(name: str) -> int:
    """A number that the service gives to uvicorn."""
    found = re.search(rf"{name}=([0-9*]+),", inspect.getsource(app.serve))
    assert found, name
    base, _, power = found[1].partition("**")
    return int(base) ** int(power or 1)


def longest_wait() -> str:
    from judge.backends.waits import LONGEST_WAIT

    return f"{LONGEST_WAIT / 60:g} minutes"


def most_bytes() -> str:
    from judge.backends.replies import MOST_BYTES

    return megabytes(MOST_BYTES)


# The beginning of a line -> its limit in words, or the test that shows what the line says.
LIMITS: dict[str, Callable[[], str] | str] = {
    "a whole answer": lambda: f"`--timeout`, {TIMEOUT:g} s",
    "a reply, ": most_bytes,
    "a batch's file": lambda: f"{most_bytes()} for each question",
    "`Retry-After`": longest_wait,
    "a reply that is not": "asked twice",
    "a refused request": "asked twice",
    "a server that is gone": lambda: (
        f"`--max-outage`, {RequestPolicy().max_outage / 60:g} minutes"
    ),
    "the head of a request": lambda: (
        f"{served('h11_max_incomplete_event_size') // 1024} KB"
    ),
    "the body of a request": lambda: megabytes(app._MAX_BODY),
    "the time until such": lambda: f"{app._BODY_SECONDS:g} seconds",
    "studies in one question": lambda: f"{questions.MOST_STUDIES}",
    "one report in a": lambda: f"{questions.LONGEST_REPORT:,} characters",
    "judges with other": lambda: f"{judges._MOST_OPEN}",
    "questions at a judge": lambda: f"`--concurrency`, {judges._CONCURRENCY}",
    "an upload, all": lambda: (
        f"`--max-upload`, {megabytes(ServiceSettings(()).max_upload)}"
    ),
    "an upload when": lambda: f"{load.MAX_INPUT / 1e9:g} GB",
    "connections at a time": lambda: f"{served('limit_concurrency')}",
    "a connection on which": lambda: f"{served('timeout_keep_alive')} seconds",
    "runs at a time": lambda: f"{jobs._MAX_RUNNING}",
    "checks before a run": lambda: f"{run_check._MAX_RUNNING}",
    "one check": lambda: f"{run_check._MAX_SECONDS // 60} minutes",
    "one comparison": lambda: f"{comparisons._MAX_SECONDS // 60} minutes",
    "runs in one": lambda: f"{comparison_routes._MAX_RUNS}",
    "a YAML file": lambda: megabytes(jsonio.MAX_YAML),
    "a file of studies": lambda: f"{load.MAX_INPUT / 1e9:g} GB",
    "fields in a file": lambda: f"{load.MAX_FIELDS:,}",
    "levels of brackets": lambda: f"{jsonio._DEEPEST}",
    "an evidence pack that is verified: its": lambda: f"{archive.MOST_FILES:,}",
    "an evidence pack that is verified, unpacked": lambda: (
        f"{archive.MOST_BYTES // 10**6} MB"
    ),
    "answers under way": lambda: f"{interrupting._GRACE:g} seconds",
}


def lines() -> list[tuple[str, str]]:
    """The lines of the tables of limits."""
    tables = re.findall(r"^\| \| limit \|\n.*\n((?:\|.*\n)+)", PAGE, re.M)
    rows = [
        line.strip("| ").split(" | ") for table in tables for line in table.splitlines()
    ]
    return [(what, limit) for what, limit in rows]


@pytest.mark.parametrize(("what", "limit"), lines())
def test_each_limit_is_that_of_the_code(what: str, limit: str) -> None:
    (known,) = [known for begins, known in LIMITS.items() if what.startswith(begins)]
    if isinstance(known, str):
        assert known in limit
    else:
        assert limit == known()


def test_every_limit_is_in_a_table() -> None:
    assert (
        len(lines()) >= len(LIMITS) - 2
    )  # two are of what other parts of the program add
    options = {
        option.name: option for option in command_for(rubrics.load("green")).params
    }
    assert options["timeout"].default == TIMEOUT
    assert options["max_outage"].default * 60 == RequestPolicy().max_outage


def test_a_file_of_too_many_fields_or_bytes_is_refused(tmp_path: Path) -> None:
    from judge.types import JudgeError

    names = [f"field_{n}" for n in range(load.MAX_FIELDS + 1)]
    path = tmp_path / "wide.csv"
    path.write_text(
        ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n", "utf-8"
    )
    with pytest.raises(JudgeError, match="more than 1,000"):
        load.load(str(path), "preds", load.NamedFields(id="field_1"))
    path = tmp_path / "long.yaml"
    path.write_bytes(b"a" * (jsonio.MAX_YAML + 1))
    with pytest.raises(jsonio.UnreadableYamlError, match="4 MB"):
        jsonio.read_yaml(path)
