"""Runs of one judge on candidates whose truth is known, as one report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from judge.distribution import version
from judge.report.stress import rows
from judge.running.files import no_run
from judge.running.folder import MANIFEST, Run
from judge.signature import Signature
from judge.stress import figures
from judge.stress.folder import PREDS, REFS, TRUTH
from judge.stress.reading import Reading, read
from judge.stress.runs import RUNS
from judge.stress.stability import stable
from judge.stress.truth import Truth, check_candidates, find_truth, read_truth
from judge.stress.verdict import verdict
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
_FIELDS = frozenset({"study", "change", "group"})

Given = Run | str | Path


@dataclass(frozen=True)
class StressReport:
    """What a judge saw of known errors, and where it did not stay still.

    `readings` are those of its runs; all figures but those of stability are of the first, its
    first prompt read once.
    """

    truth: Truth
    readings: tuple[Reading, ...]
    data: Mapping[str, Any]

    @property
    def first(self) -> Reading:
        """The reading that the figures are of."""
        return self.readings[0]

    def plain(self) -> dict[str, Any]:
        """Return all of it as JSON's types, as `judge stress report --format json` prints it."""
        return dict(self.data)

    @property
    def verdict(self) -> tuple[str, ...]:
        """What it comes to, in a few sentences."""
        return tuple(self.data["verdict"])

    @property
    def figures(self) -> pd.DataFrame:
        """One row a figure, as `judge stress report --format csv` prints it."""
        import pandas as pd

        return pd.DataFrame(rows(self.data))


def report_of(runs: Given | Sequence[Given], truth: str | Path | None = None) -> StressReport:
    """Return what runs of one judge say of candidates whose truth is known.

    `runs` are its runs, by prompts and repeats, or a folder of `judge stress`, which has all of
    them. `truth` is a truth.jsonl or the folder of one; else the one of the folder that the first
    run lies in, or the one beside the predictions that it judged. Raises `JudgeError` where the
    runs are of several judges or rubrics, or of other candidates, for the same run twice, where no
    truth is found, and for what is damaged.
    """
    given = [runs] if isinstance(runs, Run | str | Path) else [*runs]
    opened = [run for one in given for run in opened_runs(one)]
    if not opened:
        raise JudgeError("give a run, or a folder of judge stress")
    check_one_judge(opened)
    first = opened[0]
    path = find_truth(first) if truth is None else Path(truth)
    if path is None:
        raise JudgeError(
            f"the truth of {first.path} is not found; name the truth.jsonl that judge stress wrote "
            "with --truth"
        )
    return _report(_ordered(opened), read_truth(path))


def opened_runs(given: Given) -> list[Run]:
    """Open a run, or those in a folder of `judge stress`; raises `JudgeError` where there is none.

    Those of the rubric's own prompt come first, then by prompt and repeat.
    """
    if isinstance(given, Run):
        return [given]
    path = Path(given)
    below = path / RUNS
    try:
        is_folder = not (path / MANIFEST).exists() and below.is_dir()
        paths = sorted(each.parent for each in below.glob(f"*/{MANIFEST}")) if is_folder else [path]
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    if not paths:
        raise JudgeError(no_run(below, MANIFEST))
    if paths == [path] and (path / TRUTH).is_file() and not (path / MANIFEST).exists():
        raise JudgeError(
            f"{path} holds candidates and no run of them; judge them first: "
            f"judge green {path / PREDS} {path / REFS}"
        )
    found = [Run(each) for each in paths]
    return sorted(
        found,
        key=lambda run: (prompt_of(run) != run.rubric.prompt, prompt_of(run), wording_of(run)),
    )


def is_stress_run(run: Run) -> bool:
    """Whether a run is of candidates that `judge stress` made, and their truth is found."""
    return {*run.manifest["fields"]} >= _FIELDS and find_truth(run) is not None


def prompt_of(run: Run) -> str:
    """Return the name of a run's prompt, empty for a judge that has none."""
    return str(run.manifest["prompt"] or "")


def wording_of(run: Run) -> tuple[str, str]:
    """Return a run's prompt and its digest in the signature: two wordings may have one name."""
    return prompt_of(run), Signature.parse(run.signature).get("prompt", "")


def settings_of(run: Run) -> tuple[str, ...]:
    """Return what runs of one judge share: its version, and how it was asked."""
    signature = Signature.parse(run.signature)
    kinds = ("judge", "sampling", "reask", "section")
    return (signature["rubric"], *(f"{one}:{signature[one]}" for one in kinds if one in signature))


def check_one_judge(runs: Sequence[Run]) -> None:
    """Raise `JudgeError` where runs are of several rubrics or judges, or one is there twice."""
    first, *others = runs
    for run in others:
        for what, key in (("rubrics", "rubric"), ("judges", "judge")):
            of = [each.manifest[key] for each in (first, run)]
            names = [one if isinstance(one, str) else one["name"] for one in of]
            if names[0] != names[1]:
                several = "; judge compare --by change takes several (--allow judge)"
                hint = several if key == "judge" else ""
                raise JudgeError(
                    f"{first.path} and {run.path} are of two {what}, {names[0]} and {names[1]}; "
                    f"name the runs of one{hint}"
                )
        if settings_of(run) != settings_of(first):
            raise JudgeError(
                f"{first.path} and {run.path} asked the judge in other ways: "
                f"{_differing(first, run)}; name the runs of one of them (judge compare takes both)"
            )
    seen: dict[tuple[tuple[str, str], int], Run] = {}
    for run in runs:
        key_of = wording_of(run), run.repeat
        if key_of in seen:
            raise JudgeError(
                f"{seen[key_of].path} and {run.path} are the same reading (prompt "
                f"{prompt_of(run) or 'none'}, repeat {run.repeat}); give one of them"
            )
        seen[key_of] = run


def _differing(one: Run, other: Run) -> str:
    both = ([*settings_of(one)], [*settings_of(other)])
    mine, theirs = ([part for part in of if part not in to] for of, to in (both, both[::-1]))
    return " and ".join(", ".join(parts) or "nothing of it" for parts in (mine, theirs))


def _ordered(runs: Sequence[Run]) -> list[Run]:
    wordings = list(dict.fromkeys(map(wording_of, runs)))
    return sorted(runs, key=lambda run: (wordings.index(wording_of(run)), run.repeat))


def _report(runs: Sequence[Run], truth: Truth) -> StressReport:
    notes = list(dict.fromkeys(text for run in runs for text in check_candidates(run, truth)))
    readings = tuple(read(run, truth) for run in runs)
    first, scale, made = readings[0], readings[0].scale, truth.made_by
    judge = first.run.manifest["judge"]
    data: dict[str, Any] = {
        "format": FORMAT,
        "rubric": first.run.manifest["rubric"],
        "judge": {name: judge[name] for name in ("name", "version", "note")},
        "prompts": [*filter(None, {wording_of(run): prompt_of(run) for run in runs}.values())],
        "repeats": sum(wording_of(run) == wording_of(first.run) for run in runs),
        "level": None if first.level is None else scale.level_plain,
        "score": scale.score_plain,
        "categories": [
            {"name": name, "label": label} for name, label in scale.categories if scale.is_shared
        ],
        "runs": [_described(one) for one in readings],
        "candidates": {
            "truth": str(truth.path),
            "sha256": truth.sha256,
            "references": made.get("references"),
            "seed": made.get("seed"),
            "section": made.get("section"),
            "n_studies": len(truth.study_ids),
            "n_candidates": len(truth.ids),
        },
        "notes": notes,
        "detection": figures.detection(truth, first),
        "detection_all": figures.detection_all(truth, first),
        "false_alarms": figures.false_alarms(truth, first),
        "false_alarms_all": figures.false_alarms_all(truth, first),
        "matrix": figures.matrix(truth, first) if scale.is_shared else [],
        "monotone": figures.monotone(truth, first),
        "stability": _stability(truth, readings),
        "hostile": figures.hostile(truth, first),
        "hostile_all": figures.hostile_all(truth, first),
        "signature": _signature(runs, truth),
    }
    return StressReport(truth, readings, {**data, "verdict": verdict(data)})


def _signature(runs: Sequence[Run], truth: Truth) -> str:
    lines = "\n".join(run.signature for run in runs)
    digest = hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()[:8]
    return str(
        Signature(
            [
                f"stress:{FORMAT}",
                *settings_of(runs[0]),
                f"runs:{len(runs)}+{digest}",
                f"truth:{truth.sha256[:8]}",
                f"version:{version()}",
            ]
        )
    )


def _described(reading: Reading) -> dict[str, Any]:
    run = reading.run
    counts = reading.lost_of(np.arange(len(reading.is_read)))
    n_absent = counts["absent"]
    n_scored = int(reading.is_read.sum()) + counts["undefined"]
    return {
        "path": str(run.path),
        "signature": run.signature,
        "prompt": prompt_of(run) or None,
        "repeat": run.repeat,
        "n_studies": len(reading.is_read) - n_absent,
        "n_scored": n_scored,
        "n_unparsed": counts["unparsed"],
        "n_failed": counts["failed"],
        "n_undefined": counts["undefined"],
        "n_absent": n_absent,
        "reasons": reading.reasons,
    }


def _stability(truth: Truth, readings: Sequence[Reading]) -> dict[str, Any]:
    first = wording_of(readings[0].run)
    repeats = [one for one in readings if wording_of(one.run) == first]
    prompts = list({wording_of(one.run): one for one in reversed(readings)}.values())[::-1]
    found: dict[str, Any] = {"repeats": None, "prompts": None, "why": None}
    if len(repeats) > 1:
        of = [f"repeat {one.run.repeat}" for one in repeats]
        found["repeats"] = stable(truth, repeats, of, by_chance=True)
    if len(prompts) > 1:
        of = [prompt_of(one.run) or "no prompt" for one in prompts]
        found["prompts"] = stable(truth, prompts, of, by_chance=False)
    if not any(found.values()):
        found["why"] = (
            "each candidate was read once: judge stress --repeats K asks again (but no judge that "
            "answers the same each time, as the built-in one does), and a second --prompt in "
            "another way"
        )
    return found
