"""What runs must share to be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from judge.comparing.names import NamedRun
from judge.running.folder import Run
from judge.types import JudgeError

_WHERE = ("shown", "path")


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run and what is compared of it: `model` is its row, `shown` what messages call it.

    `n_left_out` counts the studies that `--allow-missing` kept out of the run.
    """

    model: str
    rubric: str
    shown: str
    path: Path
    signature: str
    judge: str
    prompt: str
    section: str
    n_studies: int
    n_scored: int
    n_unparsed: int
    n_failed: int
    n_left_out: int

    def described(self) -> dict[str, Any]:
        """Return all of it as JSON's types, the run as messages call it."""
        rest = {name: value for name, value in asdict(self).items() if name not in _WHERE}
        return {"run": self.shown, **rest}


def compared(named: NamedRun) -> ComparedRun:
    """Return what must agree of a run, and how many of its studies were scored."""
    manifest, summary = named.run.manifest, named.run.summary()
    parts = _signature_parts(named.run)
    asked = [parts[name] for name in ("sampling", "reask") if name in parts]
    return ComparedRun(
        model=named.model,
        rubric=named.rubric,
        shown=named.shown,
        path=named.run.path,
        signature=named.run.signature,
        judge=" ".join([manifest["judge"]["version"], *asked]),
        prompt=parts.get("prompt", "none"),
        section=manifest["section"],
        n_studies=summary["n_studies"],
        n_scored=summary["n_scored"],
        n_unparsed=summary["n_unparsed"],
        n_failed=summary["n_failed"],
        n_left_out=sum(summary["omitted"].values()),
    )


def _signature_parts(run: Run) -> dict[str, str]:
    first, *parts = run.signature.split("|")
    pairs = (part.partition(":") for part in parts)
    return {"rubric": first, **{name: value for name, _, value in pairs}}


def check_settings(runs: Sequence[ComparedRun], allow: Collection[str]) -> list[str]:
    """Raise for what differs and must not, all of it at once; return what was allowed."""
    problems, notes = [], []
    sections = _by_value(runs, lambda run: run.section)
    if len(sections) > 1:
        problems.append(f"the section: {_listed(sections)} (judge the same section everywhere)")
    for name in dict.fromkeys(run.rubric for run in runs):
        of = [run for run in runs if run.rubric == name]
        versions = _by_value(of, lambda run: run.signature.split("|")[0])
        if len(versions) > 1:
            problems.append(
                f"the version of the rubric: {_listed(versions)} (bring them up to date "
                "with judge rescore)"
            )
        settings = {
            "judge": _by_value(of, lambda run: run.judge),
            "prompt": _by_value(of, lambda run: run.prompt),
        }
        for what, values in settings.items():
            if len(values) > 1 and what in allow:
                notes.append(f"the {what} of {name} differs (allowed): {_listed(values)}")
            elif len(values) > 1:
                problems.append(f"the {what} of {name}: {_listed(values)} (or --allow {what})")
    if problems:
        raise JudgeError("these runs cannot be compared; they differ in " + "; ".join(problems))
    return notes


def _by_value(
    runs: Sequence[ComparedRun], value: Callable[[ComparedRun], str]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(value(run), []).append(run.shown)
    return found


def _listed(values: Mapping[str, list[str]]) -> str:
    """Return `a in RUN, b in RUN and 3 more`."""
    parts = []
    for value, paths in values.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        parts.append(f"{value} in {paths[0]}{more}")
    return ", ".join(parts)


def check_files(named: Sequence[NamedRun]) -> list[str]:
    """Raise where runs share a row by a guessed name but not the predictions' file."""
    notes = []
    first: dict[str, NamedRun] = {}
    for run in named:
        other = first.setdefault(run.model, run)
        if None in (run.predictions, other.predictions) or run.predictions == other.predictions:
            continue
        where = f"{other.shown} and {run.shown}"
        if not (run.is_given and other.is_given):
            raise JudgeError(
                f"{where} would be one model, {run.model!r}, but judged different files of "
                "predictions; name each run's model: NAME=RUN"
            )
        notes.append(f"{run.model}: {where} judged different files of predictions")
    return notes
