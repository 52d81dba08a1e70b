"""The table of judges: what each costs and takes, how much stays unread, what it says again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faultserver import Behaviour, Fault, FaultServer, always, annotation_for
from support import Invoke

from judge import Run
from judge.backends.openai import OPENAI_URL
from judge.running import cached_client
from judge.running.cost import Prices

IDS = [f"study-{number:04}" for number in range(20)]
UNREAD = ("study-0003", "study-0011")


def has_error(study_id: str, seed: int) -> bool:
    items = annotation_for(study_id, seed).items
    return any(
        "significant" in labels for item in items for labels in item.labels.values()
    )


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports and one reader's counts of them."""
    work = tmp_path_factory.mktemp("judges")
    studies = [
        {
            "study_id": key,
            "report": f"{key}. Clear lungs.",
            "prediction": "Small left effusion.",
        }
        for key in IDS
    ]
    (work / "studies.json").write_text(json.dumps(studies))
    with (work / "readings.csv").open("w", newline="") as file:
        rows = [
            (
                key,
                "ann",
                "yes",
                int(has_error(key, 0)),
                study["report"],
                study["prediction"],
            )
            for key, study in zip(IDS, studies, strict=True)
        ]
        names = ("study_id", "reader", "significant", "count", "reference", "candidate")
        csv.writer(file).writerows([names, *rows])
    return work


def test_price_time_unread_and_stability(
    invoke: Invoke, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A priced judge, the same judge again from its cache and by other answers, and the lexicon."""
    gpt_4o = Prices("gpt-4o", OPENAI_URL)
    monkeypatch.setattr(
        cached_client, "Prices", SimpleNamespace(of=lambda _judge: gpt_4o)
    )
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def judged(name: str, cache: str, seed: int = 0) -> Run:
        plans = {key: always(Fault.MALFORMED) for key in UNREAD}
        behaviour = Behaviour(studies=plans if seed == 0 else {})
        with FaultServer(
            behaviour, annotate=lambda key, _: annotation_for(key, seed)
        ) as server:
            words = (
                "--judge",
                "gpt-4o",
                "--base-url",
                server.url,
                "--cache",
                work / cache,
            )
            words += ("--reask", 0, "--section", "report", "--min-coverage", 0)
            done = invoke("green", work / "studies.json", *words, "--out", work / name)
        assert done.exit_code == 0, done.stderr
        return Run.open(work / name)

    def called(*words: object) -> str:
        done = invoke(*words)
        assert done.exit_code == 0, done.stderr
        return str(done.stdout)

    asked = judged("asked", "cache-1")
    judged("cached", "cache-1")
    judged("again", "cache-2", seed=1)
    called(
        "green", work / "studies.json", "--section", "report", "--out", work / "lexicon"
    )
    words = ("readers", "import", "tidy", work / "readings.csv", "--section", "report")
    called(*words, "--out", work / "readers")

    names = ("asked", "cached", "again", "lexicon")
    words = ("validate", *(f"{name}={work / name}" for name in names))
    words += ("--readers", work / "readers", "--resamples", 100, "--format")
    data = json.loads(called(*words, "json"))
    rows: dict[str, dict[str, Any]] = {row["judge"]: row for row in data["judge_table"]}
    assert [*rows] == [*names]

    dollars = asked.manifest.spent.dollars
    assert dollars > 0
    assert rows["asked"]["dollars_per_1000"]["value"] == pytest.approx(
        1000 * dollars / len(IDS)
    )
    assert rows["asked"]["dollars_per_1000"]["n"] == len(IDS)
    assert rows["cached"]["dollars_per_1000"]["reason"] == "all from the cache"
    assert rows["lexicon"]["dollars_per_1000"]["reason"] == "asks no server"
    assert rows["asked"]["seconds"]["value"] > 0
    assert rows["lexicon"]["seconds"]["value"] > 0
    assert rows["cached"]["seconds"]["value"] is None

    unread = rows["asked"]["unread"]
    assert (unread["k"], unread["n"]) == (len(UNREAD), len(IDS))
    assert (unread["n_unparsed"], unread["n_failed"]) == (len(UNREAD), 0)
    assert rows["again"]["unread"]["k"] == 0

    read = [key for key in IDS if key not in UNREAD]
    same = sum(has_error(key, 0) == has_error(key, 1) for key in read)
    assert 0 < same < len(read)
    for name in ("asked", "again"):
        verdict = rows[name]["same_verdict"]
        assert (verdict["k"], verdict["n"]) == (same, len(read))
    assert not {"same_verdict"} & {*rows["cached"], *rows["lexicon"]}
    own = [
        row
        for row in data["agreement"]
        if row["own"] and row["quantity"] == "significant"
    ]
    assert [row["kendall"] for row in own] == [row["kendall"] for row in rows.values()]

    lines = list(csv.DictReader(io.StringIO(called(*words, "csv"))))
    (line,) = [line for line in lines if line["judge"] == "asked"]
    assert float(line["dollars_per_1000"]) == rows["asked"]["dollars_per_1000"]["value"]
    text = called(*words, "md")
    assert "same verdict again" in text
    assert "n/a (asks no server)" in text
    page = work / "validation.html"
    called("page", *words[1:-1], "--out", page)
    assert page.stat().st_size > 0


def test_a_model_without_a_known_price_has_none(
    invoke: Invoke, work: Path, tmp_path: Path
) -> None:
    with FaultServer() as server:
        words = (
            "--judge",
            "own-model",
            "--base-url",
            server.url,
            "--cache",
            tmp_path / "cache",
        )
        words += ("--section", "report", "--out", tmp_path / "own")
        assert invoke("green", work / "studies.json", *words).exit_code == 0
    words = ("readers", "import", "tidy", work / "readings.csv", "--section", "report")
    assert invoke(*words, "--out", tmp_path / "readers").exit_code == 0
    words = (
        "validate",
        tmp_path / "own",
        "--readers",
        tmp_path / "readers",
        "--format",
        "json",
    )
    (row,) = json.loads(invoke(*words).stdout)["judge_table"]
    assert (row["dollars_per_1000"]["value"], row["dollars_per_1000"]["reason"]) == (
        None,
        "no known price",
    )
    assert row["seconds"]["value"] > 0
