"""Which model a run is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.running.folder import Run
from judge.studies.names import model_of
from judge.types import JudgeError


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run to compare: its folder, what messages call it, and its model where that is given."""

    path: Path
    shown: str
    model: str | None = None


@dataclass(frozen=True)
class NamedRun:
    """A run and its model; `is_given` where the user named it.

    `predictions` is the SHA-256 of the file with the candidates, None where it is unknown.
    """

    model: str
    rubric: str
    shown: str
    run: Run
    predictions: str | None
    is_given: bool


def choice(argument: str) -> RunChoice:
    """Return the run given as `PATH` or `NAME=PATH`; an existing path may hold an equals sign."""
    name, sign, path = argument.partition("=")
    if not argument:
        raise JudgeError("the name of a run is empty; name its folder")
    if not sign or _is_there(argument):
        return RunChoice(Path(argument), argument)
    if not name.strip() or not path:
        raise JudgeError(f"{argument!r} is neither a run nor NAME=RUN")
    return RunChoice(Path(path), path, name.strip())


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # too long for a path, or not to be looked at: `Run` says so
        return False


def named_runs(choices: Sequence[RunChoice]) -> list[NamedRun]:
    """Open the runs.

    Where its name is not given the model is the field `model` where that is the same for
    all studies, else what the predictions' file is named after. Raises
    `JudgeError` where two runs of one rubric have the same model, and for a name that is
    no text.
    """
    found: dict[tuple[str, str], NamedRun] = {}
    for chosen in choices:
        named = named_run(chosen)
        other = found.setdefault((named.model, named.rubric), named)
        if other is not named:
            sections = {one.run.manifest["section"] for one in (other, named)}
            how = "; --by-section compares each section by itself" if len(sections) > 1 else ""
            raise JudgeError(
                f"two runs of {named.rubric} are of the model {named.model!r}: {other.shown} and "
                f"{named.shown}; name their models: NAME={named.shown}{how}"
            )
    return list(found.values())


def named_run(chosen: RunChoice) -> NamedRun:
    """Open a run; raises `JudgeError` as `Run` does, and for a name that is no text."""
    run = Run(chosen.path)
    model = chosen.model or own_model(run)
    file = input_file(run, "preds")
    sha = str(file["sha256"]) if file else None
    return NamedRun(model, run.manifest["rubric"], chosen.shown, run, sha, chosen.model is not None)


def own_model(run: Run) -> str:
    """Return the model that a run is about where nobody names it; see `named_runs`.

    Raises `JudgeError` where its table cannot be read.
    """
    return known_model(run) or run.path.name


def known_model(run: Run) -> str | None:
    """Return the model that a run says it is about, None where it does not; raises as above."""
    return run.manifest.get("model") or _model_field(run) or _stem(run)


def _model_field(run: Run) -> str | None:
    if "model" not in run.manifest["fields"]:
        return None
    column = run.columns(["model"])["model"]
    values = column.unique().to_pylist()
    return str(values[0]) if len(values) == 1 and values[0] not in (None, "") else None


def _stem(run: Run) -> str | None:
    file = input_file(run, "preds")
    return model_of(str(file["path"])) if file else None


def input_file(run: Run, role: str) -> dict[str, object] | None:
    """Return what is known of the file that a run took `refs` or `preds` from, None of none."""
    return next((file for file in run.manifest["inputs"] if file["role"] in (role, "both")), None)
