"""What a run is asked to do, as one value: from a command line, back to it, and from old files."""

from __future__ import annotations

import pytest

from judge import rubrics
from judge.cli.command_line import arguments_of
from judge.cli.judging import command_for
from judge.cli.run_options import RunOptions
from judge.run_settings import RunSettings, settings_of_arguments
from judge.types import JudgeError

WORDS = [
    *("preds.json", "refs.json", "--judge", "gpt-4o", "--section", "findings"),
    *("--column", "id=key", "--column", "class=label", "--column", "context=age"),
    *("--column", "context=sex", "--column", "prior=before", "--allow-missing"),
    *("--limit", "5", "--max-cost", "2.5", "--temperature", "0.5", "--body", "seed=3"),
    *("--base-url", "http://a", "--server", "eager", "--server", "size=2"),
    *("--reasoning-effort", "low", "--max-outage", "10", "--reply", "text"),
    *("--by", "site,label", "--by", "site", "--reask", "0", "--shard", "2/3"),
]


def settings_of(words: list[str]) -> RunSettings:
    """The settings of a command line."""
    context = command_for(rubrics.load("green")).make_context("green", list(words))
    return RunOptions(**context.params).settings("green")


def test_the_command_line_of_settings_gives_the_same_settings() -> None:
    settings = settings_of(WORDS)
    assert settings.columns.context == ["age", "sex"]
    assert settings.max_outage == 600.0
    assert settings.parameters == {
        "temperature": 0.5,
        "seed": 3,
        "reasoning_effort": "low",
    }
    words = [*arguments_of(settings), "--", "preds.json", "refs.json"]
    assert settings_of(words) == settings
    alone = settings_of(["preds.json", "--no-context"])
    assert settings_of([*arguments_of(alone), "--", "preds.json"]) == alone


def test_settings_survive_json() -> None:
    settings = settings_of(WORDS)
    written = settings.model_dump_json()
    assert RunSettings.model_validate_json(written) == settings


def test_a_setting_that_there_is_not_is_named() -> None:
    with pytest.raises(JudgeError, match="colour"):
        RunSettings.of(rubric="green", colour="red")
    with pytest.raises(JudgeError, match="references"):
        RunSettings.of(rubric="green", references="worst")


def test_the_options_in_a_manifest_of_the_form_before_are_settings() -> None:
    arguments = {
        "judge_name": None,
        "id_field": "key",
        "class_field": "label",
        "context_fields": ["age"],
        "body": {"seed": 3},
        "temperature": 0.5,
        "reasoning_effort": None,
        "server": {"eager": None},
        "max_outage": 10.0,
        "reply": "auto",
        "base_url": [],
        "by": ["site"],
        "preds": "preds.json",
        "dry_run": False,
        "batch_poll": 30.0,
    }
    values = settings_of_arguments("green", arguments)
    assert values is not None
    assert RunSettings(**values) == RunSettings(
        rubric="green",
        preds="preds.json",
        columns={"id": "key", "study_class": "label", "context": ["age"]},
        sampling={"seed": 3},
        temperature=0.5,
        server={"eager": True},
        max_outage=600.0,
        by=["site"],
    )
    assert settings_of_arguments("green", {"judge": "x", "prompt": None}) is None
