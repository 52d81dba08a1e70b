"""What runs must share to be compared, and what is to be known of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any

from judge import rubrics
from judge.comparing.loaded import LoadedRuns
from judge.comparing.names import RunChoice, input_file, own_model
from judge.running.folder import Run
from judge.signature import Signature
from judge.stats.table import OUTCOMES
from judge.types import JudgeError

_MOST = 5
_ASKED = ("sampling", "reask", "references")
_CONTEXT = ("context", "prior", "modality")


@dataclass(frozen=True)
class ComparedRun:
    """A run that is compared: `model` is its row, `shown` what messages call it.

    `is_given` where the user named the model. `outcomes` counts the studies that are compared by
    how they ended, empty until these are known.
    """

    model: str
    shown: str
    run: Run
    is_given: bool
    outcomes: Mapping[str, int] = field(default_factory=dict)

    @property
    def rubric(self) -> str:
        """The rubric's name."""
        return str(self.run.manifest["rubric"])

    @property
    def section(self) -> str:
        """The section that was judged."""
        return str(self.run.manifest["section"])

    @cached_property
    def parts(self) -> Signature:
        """The run's signature in parts."""
        return Signature.parse(self.run.signature)

    @property
    def judge(self) -> str:
        """The judge with its settings."""
        asked = [self.parts[name] for name in _ASKED if name in self.parts]
        return " ".join([self.run.manifest["judge"]["version"], *asked])

    @property
    def prompt(self) -> str:
        """The prompt, and what the judge was told besides the reports."""
        context = [f"{name} {self.parts[name]}" for name in _CONTEXT if name in self.parts]
        return " ".join([self.parts.get("prompt", "none"), *context])

    @cached_property
    def n_left_out(self) -> int:
        """How many studies `--allow-missing` kept out of the run."""
        return sum(self.run.summary()["omitted"].values())

    def described(self) -> dict[str, Any]:
        """Return what is known of the run as JSON's types."""
        names = ("model", "rubric")
        settings = ("judge", "prompt", "section")
        counts = {f"n_{name}": self.outcomes.get(name, 0) for name in OUTCOMES.values()}
        return {
            "run": self.shown,
            **{name: getattr(self, name) for name in names},
            "signature": self.run.signature,
            **{name: getattr(self, name) for name in settings},
            "n_studies": sum(self.outcomes.values()),
            "n_scored": counts.pop("n_annotated"),
            **counts,
            "n_left_out": self.n_left_out,
        }


def opened(choices: Sequence[RunChoice]) -> list[ComparedRun]:
    """Open the runs.

    Raises `JudgeError` where two runs of one rubric are of one model, and where runs of several
    rubrics would share a row by a guessed name but judged different files of predictions.
    """
    found: dict[tuple[str, str], ComparedRun] = {}
    first: dict[str, ComparedRun] = {}
    for chosen in choices:
        run = Run(chosen.path)
        model = chosen.model or own_model(run)
        new = ComparedRun(model, chosen.shown, run, chosen.model is not None)
        other = found.setdefault((model, new.rubric), new)
        if other is not new:
            raise JudgeError(
                f"{other.shown} and {new.shown} are two runs of {new.rubric} of the model "
                f"{model!r}; name their models: NAME={new.shown}"
            )
        other = first.setdefault(model, new)
        files = {file["sha256"] for one in (other, new) if (file := input_file(one.run, "preds"))}
        if len(files) > 1 and not (new.is_given and other.is_given):
            raise JudgeError(
                f"{other.shown} and {new.shown} would be one model, {model!r}, but judged "
                "different files of predictions; name each run's model: NAME=RUN"
            )
    return list(found.values())


_Row = tuple[str, str, str, str]


def check(
    runs: Sequence[ComparedRun], loaded: LoadedRuns, allow: Collection[str], *, common: bool
) -> list[str]:
    """Raise `JudgeError` with one table of all that differs and must not; return notes.

    `allow` names what may differ: `judge`, `prompt`, `references`.
    """
    rows, notes = _settings(runs, allow)
    n = len(loaded.study_ids)
    most = max(run.run.summary()["n_studies"] for run in runs)
    if most > n:
        if not (common and n):
            remedy = f"--common: the {n:,} in all runs" if n else "no study is in all runs"
            sizes = _by_value(runs, lambda run: f"{run.run.summary()['n_studies']:,}")
            rows += _rows("studies", remedy, sizes)
        notes.append(f"compared on the {n:,} studies that all runs have, of up to {most:,}")
    if n and len({run.section for run in runs}) == 1:  # of another section all references differ
        for name, other, ids in loaded.differing_texts("references"):
            where = f"others for {len(ids):,} of {n:,} studies, {ids[0]!r} among them"
            if "references" in allow:
                notes.append(f"{name} and {other} judged different references (allowed): {where}")
            else:
                values = {f"those of {name}": [name], where: [other]}
                rows += _rows("references", "--allow references", values)
    if rows:
        table = [("what differs", "what allows it", "value", "runs"), *rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        raise JudgeError("\n".join(("these runs cannot be compared together", *lines)))
    return notes


def _settings(runs: Sequence[ComparedRun], allow: Collection[str]) -> tuple[list[_Row], list[str]]:
    rows, notes = [], []
    sections = _by_value(runs, attrgetter("section"))
    if len(sections) > 1:
        rows += _rows("section", "compare the runs of each section by themselves", sections)
    for name in dict.fromkeys(run.rubric for run in runs):
        of = [run for run in runs if run.rubric == name]
        versions = _by_value(of, lambda run: run.parts["rubric"])
        if len(versions) > 1:
            rows += _rows(f"version of {name}", "judge rescore", versions)
        packages = _by_value(of, lambda run: run.parts.get("package", "one unnamed"))
        if len(packages) > 1:
            notes.append(f"the rubric {name} comes from several packages: {_listed(packages)}")
        for what in ("judge", "prompt"):
            values = _by_value(of, attrgetter(what))
            if len(values) > 1 and what in allow:
                notes.append(f"the {what} of {name} differs (allowed): {_listed(values)}")
            elif len(values) > 1:
                rows += _rows(f"{what} of {name}", f"--allow {what}", values)
    return rows, notes


def _rows(what: str, remedy: str, values: Mapping[str, Sequence[str]]) -> list[_Row]:
    return [
        (*(("", "") if at else (what, remedy)), value, ", ".join(names))
        for at, (value, names) in enumerate(values.items())
    ]


def _by_value(
    runs: Sequence[ComparedRun], value: Callable[[ComparedRun], str]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(value(run), []).append(run.shown)
    return found


def _listed(values: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(
        f"{value} in {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        for value, names in values.items()
    )


def run_notes(runs: Sequence[ComparedRun]) -> list[str]:
    """Say what is to be known of the judges, of runs that lack, and of studies not scored."""
    titles: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        judge = run.run.manifest["judge"]
        if judge["note"]:
            titles.setdefault((judge["name"], judge["note"]), []).append(
                rubrics.load(run.rubric).title
            )
    notes = [
        f"{' and '.join(dict.fromkeys(of))}: judged by {name}, {note}"
        for (name, note), of in titles.items()
    ]
    models = dict.fromkeys(run.model for run in runs)
    for rubric in dict.fromkeys(run.rubric for run in runs):
        judged = {run.model for run in runs if run.rubric == rubric}
        if missing := [model for model in models if model not in judged]:
            notes.append(f"no run of {rubric} is of {', '.join(missing)}")
    if left_out := [(run.n_left_out, run) for run in runs if run.n_left_out]:
        texts = [(n, f"{run.model} {n:,} ({run.rubric})") for n, run in left_out]
        notes.append(f"studies left out by --allow-missing: {_most_of(texts)}")
    totals = [(run, sum(run.outcomes.values())) for run in runs]
    lost = [
        (n_lost, f"{run.model} {n_lost:,} of {n:,} ({run.rubric})")
        for run, n in totals
        if (n_lost := n - run.outcomes["annotated"])
    ]
    return notes + ([f"studies not scored: {_most_of(lost)}"] if lost else [])


def _most_of(counted: Iterable[tuple[int, str]]) -> str:
    texts = [text for _, text in sorted(counted, key=lambda pair: -pair[0])]
    rest = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + rest
