"""`judge gate --drift`: a judge is asked the same questions again, and paid once a day."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from faultserver import FaultServer
from running import Shell

import judge
from judge.cli import main
from judge.rubrics.green.parse import matched_item
from judge.types import Annotation, JudgeError

Made = Callable[[int], Shell]


class OneDay(datetime):
    """A clock on which no test passes midnight: the date is part of what is asked."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime(2026, 11, 26, 12, tzinfo=tz)


def test_a_judge_is_asked_again_with_the_options_of_its_run(
    server: FaultServer, shell: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.cli.gate.datetime", OneDay)
    server.set_faults(record=True)
    ready = shell(30)
    assert (
        ready.run("--out", "run", "--body", "top_p=0.5", "--max-tokens", "99")[0] == 0
    )
    before = [request["body"] for request in server.requests()]
    server.reset()
    drift = (
        "gate",
        "--drift",
        "run",
        "--limit",
        "20",
        "--out",
        "later",
        "--cache",
        "cache",
    )
    code, out, err = ready.judge(*drift)
    assert code == 0, out + err
    again = [request["body"] for request in server.requests()]
    assert len(again) == 20
    assert {request["top_p"] for request in again} == {0.5}
    assert {request["max_tokens"] for request in again} == {99}
    assert {str(request["messages"]) for request in again} < {
        str(request["messages"]) for request in before
    }
    server.reset()
    assert ready.judge(*drift)[0] == 0
    assert server.requests() == []


def test_the_judge_of_a_run_from_python_is_asked_again(
    server: FaultServer, shell: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.cli.gate.datetime", OneDay)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    ready = shell(12)
    references = {f"s{at:02}": f"Small effusion {at}." for at in range(20)}
    candidates = {
        name: text.replace("Small", "Large") for name, text in references.items()
    }
    done = judge.run(
        references,
        candidates,
        judge="model-x",
        base_url=ready.url,
        sampling={"top_p": 0.5},
        max_tokens=99,
        cache=tmp_path / "cache",
        out=tmp_path / "python",
    )
    assert done.manifest.settings is not None
    assert done.manifest.settings.preds is None, "the reports were in memory"
    server.reset()
    server.set_faults(record=True)
    drift = ("gate", "--drift", "python", "--out", "later", "--cache", "cache")
    code, out, err = ready.judge(*drift)
    assert code == 0, out + err
    again = [request["body"] for request in server.requests()]
    assert len(again) == 20
    asked = {(request["top_p"], request["max_tokens"]) for request in again}
    assert asked == {(0.5, 99)}


def test_a_run_that_does_not_say_how_it_was_asked_is_refused(
    shell: Made, tmp_path: Path
) -> None:
    ready = shell(4)
    assert ready.run("--out", "run")[0] == 0
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**manifest, "settings": None}), "utf-8")
    code, _, err = ready.judge("gate", "--drift", "run", "--cache", "cache")
    assert (code, "does not say how one judge was asked" in err) == (2, True)


@pytest.mark.ci
def test_a_judge_that_answers_otherwise_fails(shell: Made, tmp_path: Path) -> None:
    ready = shell(40)
    assert ready.run("--out", "run")[0] == 0
    manifest = tmp_path / "run" / "manifest.json"
    kinder = FaultServer(
        annotate=lambda _key, _n: Annotation((matched_item("clear lungs"),))
    )
    with kinder:  # the same name, another model behind it
        manifest.write_text(
            manifest.read_text("utf-8").replace(ready.url, kinder.url), "utf-8"
        )
        drift = ("gate", "--drift", "run", "--out", "later", "--cache", "cache")
        code, out, err = ready.judge(*drift)
    assert code == 1, out + err
    assert ready.judge("gate", "later", "--drift", "run")[0] == 1


PAID = "https://judge.example/v1"


@pytest.fixture
def paid(shell: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A run whose judge is behind an address that may cost money."""
    ready = shell(4)
    assert ready.run("--out", "run")[0] == 0
    manifest = tmp_path / "run" / "manifest.json"
    text = manifest.read_text("utf-8").replace(ready.url, PAID)
    manifest.write_text(text, "utf-8")
    monkeypatch.setattr("judge.cli.gate.judge_studies", _asked)
    return ready


class _AskedError(JudgeError):
    """Raised where the judge would be asked."""


def _asked(_session: object, _studies: object, **more: Any) -> None:
    raise _AskedError(f"asked for at most {more['settings'].max_cost} dollars")


def test_a_judge_that_costs_is_not_asked_without_a_word_about_money(
    paid: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.chdir(paid.folder)
    drift = ("gate", "--drift", "run", "--cache", "cache")
    done = CliRunner().invoke(main, drift)
    assert (done.exit_code, done.stdout) == (2, "")
    sentence = (
        "model-x is asked about 4 studies, which can cost money: give --max-cost "
        "DOLLARS, or --yes to go without a limit"
    )
    assert sentence in " ".join(done.stderr.split())
    for word, most in (("--yes", "None"), ("--max-cost=5", "5.0")):
        done = CliRunner().invoke(main, [*drift, word])
        assert f"asked for at most {most} dollars" in done.stderr, word
    # Where no judge is asked there is nothing to agree to.
    done = CliRunner().invoke(main, ["gate", "run", "--min", "scored=0", "--yes"])
    assert "--yes goes with --judge, or --drift and no RUN" in done.stderr


def test_the_help_says_that_drift_can_cost_money() -> None:
    text = " ".join(CliRunner().invoke(main, ["gate", "--help"]).stdout.split())
    assert "which can cost money: give --max-cost or --yes" in text
