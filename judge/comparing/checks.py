"""What runs must share to be compared, and what is to be known of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from judge import rubrics
from judge.comparing.names import NamedRun, input_file
from judge.running.folder import ANNOTATIONS
from judge.signature import Signature, digests
from judge.types import JudgeError

_MOST = 5


_ASKED = ("sampling", "reask", "references")


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run and what is compared of it: `model` is its row, `shown` what messages call it.

    The counts but `n_left_out`, the studies that `--allow-missing` kept out of the run, are of
    the studies that are compared: 0 until these are known.
    """

    model: str
    rubric: str
    shown: str
    path: Path
    signature: str
    judge: str
    prompt: str
    section: str
    n_studies: int = 0
    n_scored: int = 0
    n_unparsed: int = 0
    n_failed: int = 0
    n_left_out: int = 0

    def described(self) -> dict[str, Any]:
        """Return all of it as JSON's types, the run as messages call it."""
        rest = asdict(self)
        del rest["shown"], rest["path"]
        return {"run": self.shown, **rest}


def compared(named: NamedRun) -> ComparedRun:
    """Return what must agree of a run, and how many studies were left out of it."""
    manifest = named.run.manifest
    parts = Signature.parse(named.run.signature)
    asked = [parts[name] for name in _ASKED if name in parts]
    told = [f"{name} {parts[name]}" for name in ("context", "prior", "modality") if name in parts]
    return ComparedRun(
        model=named.model,
        rubric=named.rubric,
        shown=named.shown,
        path=named.run.path,
        signature=named.run.signature,
        judge=" ".join([manifest["judge"]["version"], *asked]),
        prompt=" ".join([parts.get("prompt", "none"), *told]),
        section=manifest["section"],
        n_left_out=sum(named.run.summary()["omitted"].values()),
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between runs: the runs by their value, and what allows it."""

    what: str
    remedy: str
    runs: Mapping[str, Sequence[str]]


def check_same(differences: Sequence[Difference]) -> None:
    """Raise `JudgeError` with one table of all that differs and must not."""
    if not differences:
        return
    rows = [("what differs", "what allows it", "value", "runs")]
    for one in differences:
        for at, (value, runs) in enumerate(one.runs.items()):
            first = ("", "") if at else (one.what, one.remedy)
            rows.append((*first, value, ", ".join(runs)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    raise JudgeError("\n".join(("these runs cannot be compared together", *lines)))


def settings(
    runs: Sequence[ComparedRun], allow: Collection[str]
) -> tuple[list[Difference], list[str]]:
    """Return which settings differ and must not, and notes on those that may."""
    found, notes = [], []
    sections = _by_value(runs, lambda run: run.section)
    if len(sections) > 1:
        found.append(Difference("section", "judge compare --by-section", sections))
    for name in dict.fromkeys(run.rubric for run in runs):
        of = [run for run in runs if run.rubric == name]
        versions = _by_value(of, lambda run: Signature.parse(run.signature)["rubric"])
        if len(versions) > 1:
            found.append(Difference(f"version of {name}", "judge rescore", versions))
        packages = _by_value(
            of, lambda run: Signature.parse(run.signature).get("package", "one unnamed")
        )
        if len(packages) > 1:
            notes.append(
                f"the rubric {name} comes from packages that differ: {_listed(packages)}; that its "
                "numbers are the same is their authors' word"
            )
        by_setting = {
            "judge": _by_value(of, lambda run: run.judge),
            "prompt": _by_value(of, lambda run: run.prompt),
        }
        for what, values in by_setting.items():
            if len(values) > 1 and what in allow:
                notes.append(f"the {what} of {name} differs (allowed): {_listed(values)}")
            elif len(values) > 1:
                found.append(Difference(f"{what} of {name}", f"--allow {what}", values))
    return found, notes


def _by_value(
    runs: Sequence[ComparedRun], value: Callable[[ComparedRun], str]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(value(run), []).append(run.shown)
    return found


def _listed(values: Mapping[str, list[str]]) -> str:
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


def other_references(
    runs: Sequence[NamedRun], study_ids: Sequence[str], allow: Collection[str]
) -> tuple[list[Difference], list[str]]:
    """Return where a study was judged against different references, and notes where that may be.

    Runs of one file of references agree by its digest. Of other files the judged texts are
    compared, white space aside: an export in another form is no other reference.
    """
    by_file: dict[object, list[NamedRun]] = {}
    for run in runs:
        by_file.setdefault(_reference_file(run), []).append(run)
    first, *others = by_file.values()
    if not others:
        return [], []
    notes = []
    known = _references(first[0], study_ids)
    same = "those of the first run"
    values = {same: [run.shown for run in first]}
    for other in others:
        theirs = _references(other[0], study_ids)
        differing = [study_id for study_id in study_ids if theirs[study_id] != known[study_id]]
        many = f"{len(differing):,} of {len(study_ids):,} studies"
        value = f"others for {many}, {differing[0]!r} among them" if differing else same
        values.setdefault(value, []).extend(run.shown for run in other)
        if differing:
            notes.append(
                f"{first[0].shown} and {other[0].shown} judged different references for {many}, "
                f"{differing[0]!r} among them (allowed)"
            )
    if not notes or "references" in allow:
        return [], notes
    return [Difference("references", "--allow references", values)], []


def _reference_file(named: NamedRun) -> object:
    """Return what tells a file of references and how its ids were read; else the run itself."""
    file = input_file(named.run, "refs")
    asked = named.run.manifest.get("arguments") or {}
    how = (asked.get("id_field"), asked.get("reference_field"))
    return (file["sha256"], *how) if file else named.shown


def _references(named: NamedRun, study_ids: Sequence[str]) -> dict[str, bytes | None]:
    wanted = set(study_ids)
    found = {
        study_id: reference
        for study_id, (reference, _) in digests(
            named.run.records(of_any_version=True), wanted
        ).items()
    }
    if missing := wanted - found.keys():
        raise JudgeError(
            f"the {ANNOTATIONS} of {named.shown} lacks {len(missing):,} studies, "
            f"{min(missing)!r} among them; judge them again"
        )
    return found


def judge_notes(runs: Sequence[NamedRun]) -> list[str]:
    """Say once of each judge with a note what is to be known of its numbers."""
    titles: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        judge, title = run.run.manifest["judge"], rubrics.load(run.rubric).title
        if judge["note"]:
            judged = titles.setdefault((judge["name"], judge["note"]), [])
            judged += [] if title in judged else [title]
    return [f"{' and '.join(t)}: judged by {name}, {note}" for (name, note), t in titles.items()]


def left_out(runs: Sequence[ComparedRun]) -> list[str]:
    """Say of which models studies were left out when they were judged, and how many."""
    several = len({run.rubric for run in runs}) > 1
    counted = [
        (run.n_left_out, f"{run.model} {run.n_left_out:,}" + f" ({run.rubric})" * several)
        for run in runs
        if run.n_left_out
    ]
    return [f"studies left out by --allow-missing: {most_of(counted)}"] if counted else []


def not_scored(runs: Sequence[ComparedRun]) -> list[str]:
    """Say of which models studies were not scored, and how many."""
    counted = [
        (lost, f"{run.model} {lost:,} of {run.n_studies:,} ({run.rubric})")
        for run in runs
        if (lost := run.n_studies - run.n_scored)
    ]
    return [f"studies not scored: {most_of(counted)}"] if counted else []


def most_of(counted: Sequence[tuple[int, str]]) -> str:
    """Return the texts, `a 3, b 9`; of more than five those that count most, and how many more."""
    if len(counted) <= _MOST:
        return ", ".join(text for _, text in counted)
    shown = sorted(counted, key=lambda one: -one[0])[:_MOST]
    return ", ".join(text for _, text in shown) + f" and {len(counted) - _MOST} more"


def unjudged(runs: Sequence[ComparedRun]) -> list[str]:
    """Say which models have no run of a rubric that others have."""
    judged = {(run.model, run.rubric) for run in runs}
    models = dict.fromkeys(run.model for run in runs)
    lacking = {
        rubric: [model for model in models if (model, rubric) not in judged]
        for rubric in dict.fromkeys(run.rubric for run in runs)
    }
    return [
        f"no run of {rubric} is of {', '.join(them)}" for rubric, them in lacking.items() if them
    ]
