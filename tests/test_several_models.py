"""`judge RUBRIC PREDS PREDS ... REFS`: several models in one command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from support import EXAMPLES, Invoke, write_json

from judge.running.folder import Run

REFS = EXAMPLES / "refs.json"


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    """Two models' files: alder's reports, and birch's, of which the first ten changed places."""
    preds = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
    names, texts = list(preds), list(preds.values())
    moved = dict(zip(names, [*texts[5:10], *texts[:5], *texts[10:]], strict=True))
    return [
        write_json(tmp_path / "preds_alder.json", preds),
        write_json(tmp_path / "preds_birch.json", moved),
    ]


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


def test_each_model_has_a_run_and_all_have_a_leaderboard(
    invoke: Invoke, models: list[Path], tmp_path: Path
) -> None:
    done = invoke("green", *models, REFS, "--out", "runs")
    assert done.exit_code == 0, done.stderr
    runs = {name: Run(tmp_path / "runs" / name) for name in ("alder", "birch")}
    assert [run.manifest["model"] for run in runs.values()] == ["alder", "birch"]
    compared = invoke("compare", *(run.path for run in runs.values()), "--by", "study_class")
    assert done.stdout == compared.stdout
    alone = invoke("green", models[0], REFS, "--out", "alone")
    assert alone.exit_code == 0, alone.stderr
    assert Run(tmp_path / "alone").signature == runs["alder"].signature
    done = invoke("green", *models, REFS, "--out", "runs", "--format", "json")
    assert {*json.loads(done.stdout)["models"]} == {"alder", "birch"}


def test_one_cache_and_one_price_for_all(
    invoke: Invoke, models: list[Path], server: FaultServer
) -> None:
    how = ("--judge", "model-x", "--base-url", server.url, "--cache", "cache", "--out", "runs")
    dry = invoke("green", *models, REFS, *how, "--dry-run")
    assert (dry.exit_code, server.stats().requests) == (0, 0)
    assert re.search(r"^studies +30$", dry.stdout, re.M)
    n = int(re.search(r"^requests +(\d+)", dry.stdout, re.M)[1])
    assert 15 < n < 30  # the five that kept their place are asked about once
    done = invoke("green", *models, REFS, *how)
    assert done.exit_code == 0, done.stderr
    assert server.stats().requests == n
    assert re.search(rf"^requests +{n} ", done.stderr, re.M)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--model", "alder"), "--model"),
        (("--format", "csv"), "--format"),
    ],
)
def test_what_does_not_go_with_several_models_is_refused(
    invoke: Invoke, models: list[Path], tmp_path: Path, options: tuple[str, ...], names: str
) -> None:
    done = invoke("green", *models, REFS, *options)
    assert done.exit_code == 2
    assert names in done.stderr
    (tmp_path / "again").mkdir()
    same = write_json(tmp_path / "again" / "preds_alder.json", {})
    same.write_bytes(models[0].read_bytes())
    done = invoke("green", *models, same, REFS)
    assert done.exit_code == 2
    assert "'alder'" in done.stderr


@pytest.mark.parametrize("names", [("a b", "a-b"), ("模型", "birch"), ("a", "-")])
def test_a_folder_that_two_models_would_share_is_refused_before_any_is_judged(
    invoke: Invoke, models: list[Path], tmp_path: Path, names: tuple[str, str]
) -> None:
    paths = [
        model.rename(tmp_path / f"preds_{name}.json")
        for model, name in zip(models, names, strict=True)
    ]
    done = invoke("green", *paths, REFS, "--out", "runs")
    assert done.exit_code == 2
    assert "--out" in done.stderr
    assert not (tmp_path / "runs").exists()
    assert invoke("green", models[0], models[0], "-").exit_code == 2
