"""Which model a run is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from judge.run.folder import TABLE_PARQUET, Run
from judge.types import JudgeError

_ROLE = re.compile(r"(preds?|predictions?)[-_.]|[-_.](preds?|predictions?)\Z", re.IGNORECASE)
_ENDS = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".gz", ".txt"}


@dataclass(frozen=True)
class NamedRun:
    """A run and its model; `is_given` where the user named it.

    `predictions` is the SHA-256 of the file with the candidates, None where it is unknown.
    """

    model: str
    rubric: str
    run: Run
    predictions: str | None
    is_given: bool


def named_runs(arguments: Sequence[str]) -> list[NamedRun]:
    """Open runs given as `PATH` or `NAME=PATH`.

    Without NAME the model is the field `model` where it is the same for all studies, else
    the stem of the predictions' file without `preds_`. Raises `JudgeError` where two runs
    of one rubric have the same model.
    """
    found: dict[tuple[str, str], NamedRun] = {}
    for argument in arguments:
        given, path = _split(argument)
        run = Run(path)
        model = given or _model_field(run) or _stem(run) or path.name
        file = _predictions(run)
        sha = str(file["sha256"]) if file else None
        named = NamedRun(model, run.manifest["rubric"], run, sha, given is not None)
        other = found.setdefault((model, named.rubric), named)
        if other is not named:
            raise JudgeError(
                f"two runs of {named.rubric} are of the model {model!r}: {other.run.path} and "
                f"{path}; name their models: NAME={path}"
            )
    return list(found.values())


def _split(argument: str) -> tuple[str | None, Path]:
    """Return the name and the path; an existing path may have an equals sign in it."""
    name, sign, path = argument.partition("=")
    if not sign or Path(argument).exists():
        return None, Path(argument)
    if not name.strip() or not path:
        raise JudgeError(f"{argument!r} is neither a run nor NAME=RUN")
    return name.strip(), Path(path)


def _model_field(run: Run) -> str | None:
    if "model" not in run.manifest["fields"]:
        return None
    path = run.path / TABLE_PARQUET
    try:
        values = pq.read_table(path, columns=["model"]).column(0).unique().to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise JudgeError(f"cannot read {path}: {error}") from error
    return str(values[0]) if len(values) == 1 and values[0] not in (None, "") else None


def _predictions(run: Run) -> dict[str, object] | None:
    files = [file for file in run.manifest["inputs"] if file["role"] in ("preds", "both")]
    return files[0] if files else None


def _stem(run: Run) -> str | None:
    file = _predictions(run)
    return model_of(str(file["path"])) if file else None


def model_of(path: str) -> str | None:
    """Return the model that a file of predictions is named after, `a` of `preds_a.json.gz`."""
    if path == "-":
        return None
    stem = Path(path)
    while stem.suffix.lower() in _ENDS:
        stem = stem.with_suffix("")
    return _ROLE.sub("", stem.name) or stem.name
