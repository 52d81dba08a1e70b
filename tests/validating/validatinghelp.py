"""A judge's run of 120 studies, and what readers wrote about some of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support import Invoke

from judge.running.folder import Run

N = 120
CLEAR = "The lungs are clear. No pleural effusion. The heart is normal in size."
EFFUSION = "The lungs are clear. Large left pleural effusion. The heart is normal in size."


def studies() -> list[dict[str, Any]]:
    """Every third candidate has an effusion too many; two studies a patient, four a ward."""
    return [
        {
            "study_id": f"s{at:03}",
            "report": CLEAR,
            "prediction": EFFUSION if at % 3 == 0 else CLEAR,
            "study_class": "normal" if at % 4 else "abnormal",
            "site": ("north", "south", "small")[0 if at < 60 else 1 if at < 114 else 2],
            "subject": at // 2,
        }
        for at in range(N)
    ]


def judged(
    invoke: Invoke, out: Path, *, rubric: str = "green", patients: bool = False, name: str = "m"
) -> Path:
    """The run of the built-in judge."""
    rows = [
        {key: value for key, value in one.items() if patients or key != "subject"}
        for one in studies()
    ]
    file = out.parent / f"{out.name}.json"
    file.write_text(json.dumps(rows), "utf-8")
    done = invoke(rubric, file, "--section", "report", "--model", name, "--out", out)
    assert done.exit_code == 0, done.stderr
    return out


def errors_of(seed: int = 0) -> dict[str, tuple[int, int]]:
    """Significant and insignificant errors that a reader finds, who differs from the judge."""
    rng = np.random.default_rng(seed)
    found = {}
    for at, one in enumerate(studies()):
        wrong = at % 3 == 0
        significant = int(wrong) if rng.random() < 0.8 else int(not wrong)
        found[one["study_id"]] = (significant, int(rng.random() < 0.2))
    return found


def read(
    invoke: Invoke,
    out: Path,
    by_reader: Mapping[str, Mapping[str, tuple[int, int]]],
    *,
    texts: bool = True,
    levels: Sequence[str] = ("significant", "insignificant"),
) -> dict[str, Path]:
    """Readers' runs of counts of errors, by study and reader, with the texts or without."""
    about = {one["study_id"]: one for one in studies()}
    names = ["study_id", "reader", "level", "count", *(("reference", "candidate") if texts else ())]
    file = out.parent / f"{out.name}.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(names)
        for reader, studies_read in by_reader.items():
            for study_id, counts in studies_read.items():
                own = about.get(study_id, about["s000"])
                said = [own["report"], own["prediction"]] if texts else []
                if not any(counts):
                    writer.writerow([study_id, reader, "", 0, *said])
                for level, count in zip(levels, counts, strict=True):
                    if count:
                        writer.writerow([study_id, reader, level, count, *said])
    options = ("--section", "report", "--model", "m", "--out", out)
    done = invoke("import", "tidy", file, *options)
    assert done.exit_code == 0, done.stderr
    return {reader: out / f"reader-{reader}" for reader in by_reader}


def chosen(ids: Iterable[int], of: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """What was found in the studies of these numbers."""
    return {f"s{at:03}": of[f"s{at:03}"] for at in ids}


def as_sample(path: Path, by: Sequence[str], run: Path, n_drawn: Mapping[Any, int]) -> None:
    """Write into a reader's run that its studies were drawn, `n_drawn` of each key of `by`."""
    table = Run(run).table()
    keys = list(zip(*(table[name].tolist() for name in by), strict=True)) or [()] * len(table)
    strata = [
        {
            "key": dict(zip(by, key, strict=True)),
            "n_studies": keys.count(key),
            "n_drawn": n_drawn[key],
        }
        for key in dict.fromkeys(keys)
    ]
    file = path / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest["reading"]["sample"] = {"seed": 1, "by": list(by), "strata": strata}
    file.write_text(json.dumps(manifest), "utf-8")


def corrected(invoke: Invoke, run: Path, *arguments: str | Path) -> dict[str, Any]:
    """The summary that `judge rates` prints as JSON."""
    done = invoke("rates", run, *arguments, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert "NaN" not in done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found
