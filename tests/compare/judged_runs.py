"""Runs of the built-in judge over the examples, and `judge compare` on them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from support import EXAMPLES, Invoke, write_json

Records = Mapping[str, Mapping[str, object]]

PREDS: dict[str, Any] = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
REFS: dict[str, Any] = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
IDS = list(REFS)


def judged(
    invoke: Invoke,
    name: str,
    preds: Records,
    rubric: str = "green",
    refs: Records = REFS,
    *more: object,
) -> Path:
    """A run of the built-in judge, its predictions in preds_NAME.json."""
    out = Path(f"{rubric}-{name}").resolve()
    files = write_json(Path(f"preds_{name}.json"), preds), write_json(Path("refs.json"), refs)
    done = invoke(rubric, *files, "--out", out, "--min-coverage", 0, *more)
    assert done.exit_code == 0, done.stderr
    return out


def texts(same: str | None = None) -> dict[str, Any]:
    """The example predictions, or the same text for every study."""
    if same is None:
        return PREDS
    return {key: {"model_prediction": same} for key in IDS}


def as_written() -> dict[str, Any]:
    """The references' own findings as predictions."""
    return {key: {"model_prediction": REFS[key]["section_findings"]} for key in IDS}


def data(invoke: Invoke, *args: object) -> dict[str, Any]:
    """What `judge compare` prints as JSON."""
    done = invoke("compare", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert "NaN" not in done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def fail(run: Path, study_ids: Collection[str]) -> None:
    """Make these studies of a run ones that no judge answered."""
    path = run / "studies.parquet"
    table = pd.read_parquet(path)
    failed = table["study_id"].isin(study_ids)
    numbers = table.drop(columns="class_inferred").select_dtypes("number").columns
    table = table.astype({**dict.fromkeys(numbers, "Int64"), "green": "Float64"})
    table.loc[failed, numbers] = pd.NA
    table.loc[failed, "outcome"] = "failed"
    table.to_parquet(path, index=False)
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    n = int(failed.sum())
    summary |= {"n_scored": len(table) - n, "n_failed": n}
    (run / "summary.json").write_text(json.dumps(summary), "utf-8")
