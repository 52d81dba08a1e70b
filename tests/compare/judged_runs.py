"""Runs of the built-in judge over the examples, and `judge compare` on them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from answered_runs import records_of, rewrite
from click.testing import CliRunner
from support import EXAMPLES, Invoke, write_json

from judge.cli import main

Records = Mapping[str, Mapping[str, object]]

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
PREDS: dict[str, Any] = json.loads(PAIR[0].read_text("utf-8"))
REFS: dict[str, Any] = json.loads(PAIR[1].read_text("utf-8"))
IDS = list(REFS)
COPIED = {key: {"model_prediction": REFS[key]["section_findings"]} for key in IDS}
"""The references' own findings as predictions."""


def judged(
    folder: Path,
    name: str,
    preds: Records = PREDS,
    rubric: str = "green",
    refs: Records = REFS,
    *more: object,
) -> Path:
    """A run of the built-in judge, its predictions in preds_NAME.json."""
    out = folder / f"{rubric}-{name}"
    files = (
        write_json(folder / f"preds_{name}.json", preds),
        write_json(folder / f"refs_{name}.json", refs),
    )
    words = (rubric, *files, "--out", out, "--min-coverage", 0, *more)
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.stderr
    return out


def same_text(text: str) -> Records:
    """The same prediction for every study."""
    return {key: {"model_prediction": text} for key in IDS}


def data(invoke: Invoke, *args: object) -> dict[str, Any]:
    """What `judge compare` prints as JSON."""
    done = invoke("compare", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert "NaN" not in done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(invoke: Invoke, *args: object, command: str = "compare") -> str:
    """What is said where exit code 2 says that something is to be mended."""
    done = invoke(command, *args)
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def edit_manifest(run: Path, **changes: object) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**manifest, **changes}), "utf-8")


def fail(run: Path, study_ids: Collection[str]) -> None:
    """Make these studies of a run ones that no judge answered."""
    path = run / "studies.parquet"
    table = pd.read_parquet(path)
    failed = table["study_id"].isin(study_ids)
    numbers = table.drop(columns="class_inferred").select_dtypes("number").columns
    is_whole = {name: pd.api.types.is_integer_dtype(table[name]) for name in numbers}
    table = table.astype(
        {name: "Int64" if is_whole[name] else "Float64" for name in numbers}
    )
    table.loc[failed, numbers] = pd.NA
    table.loc[failed, "outcome"] = "failed"
    table.to_parquet(path, index=False)
    records = records_of(run)
    for record in records:
        if record["study_id"] in study_ids:
            record |= {"outcome": "failed", "reason": "timeout", "detail": ""}
            record |= dict.fromkeys(("annotation", "measures", "corrected"))
    rewrite(run, records)
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    n = int(failed.sum())
    summary |= {"n_scored": len(table) - n, "n_failed": n}
    (run / "summary.json").write_text(json.dumps(summary), "utf-8")
