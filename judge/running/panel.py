"""Several judges' runs of one rubric over the same studies, as one run: a panel."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge import rubrics
from judge.report.words import counted
from judge.rubrics.combining import Combination, Rule
from judge.running.combining import Combining, End, write
from judge.running.files import open_file
from judge.running.folder import ANNOTATIONS, Run, damaged
from judge.running.questions import COMPOSED
from judge.running.records import outcome_of, study_of
from judge.running.run import Finished
from judge.running.session import read_today
from judge.signature import Signature
from judge.types import JudgeError, Study

RULES: tuple[Rule, ...] = ("majority", "mean")
PROMPT = "prompt"
# What of a signature is the judge's: the rest is of the studies and of this program.
_TOLD = ("context", "prior", "modality")
_OF_JUDGE = ("judge", "prompt", "sampling", "reply", "reask", "samples", "repeat", *_TOLD)
_OF_STUDIES = ("section", "class", "omitted", "studies")
_DIGITS = 8
_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class _Part:
    run: Run
    name: str
    settings: str
    asked: str

    @property
    def signature(self) -> Signature:
        return Signature.parse(self.run.signature)


def panel(
    runs: Sequence[Run],
    out: Path,
    rule: Rule,
    *,
    min_judges: int | None = None,
    by: Sequence[str] | None = None,
    allow: Collection[str] = (),
) -> Finished:
    """Make one run out of several judges' runs by a rule: see `judge.rubrics.combining`.

    A study is scored where all judges scored it, or at least `min_judges`. `by` are the fields
    that the rates are grouped by, by default those of the judge that is first by name. With
    `PROMPT` in `allow` the judges may have read different prompts, or have been told different
    things. Nothing is asked, and the runs stay as they are.

    Raises `JudgeError` for fewer than two runs, one that is there twice, runs of different
    rubrics, sections, studies or reports, of readers, of shards, and of panels, and for an `out`
    that holds another run.
    """
    parts = _named(_checked(runs, allow))
    n = len(parts)
    if min_judges is not None and not 1 <= min_judges <= n:
        raise JudgeError(f"--min-judges {min_judges}: there are {n} judges")
    least = None if min_judges == n else min_judges
    how = Combination("judge", rule, tuple(part.name for part in parts))
    first = parts[0].run
    fewer = "" if least is None else f"+least{least}"
    version = f"panel:{rule}({','.join(part.settings for part in parts)}){fewer}"
    made_by: dict[str, Any] = {
        "signature": _signature(parts, version),
        "rubric": first.rubric.name,
        "model": first.manifest.get("model"),
        "judge": {"name": _panel_name(how), "version": version, "note": _note(parts)},
        "prompt": ", ".join(dict.fromkeys(p for one in parts if (p := one.run.manifest["prompt"])))
        or None,
        "section": first.manifest["section"],
        "class_source": first.manifest.get("class_source"),
        "omitted": first.summary()["omitted"],
        "notes": _notes(parts),
    }
    asked = first.manifest["arguments"] or {}
    manifest = {
        "combined": {"parts": [_described(part) for part in parts]},
        # How the files were read: judge compare asks.
        "arguments": {
            **{name: asked[name] for name in ("id_field", "reference_field") if name in asked},
            "runs": [str(run.path) for run in runs],
            "rule": rule,
            "min_judges": min_judges,
        },
        "inputs": first.manifest["inputs"],
        "fields": first.manifest["fields"],
        "omitted_ids": first.manifest.get("omitted_ids", {}),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    combining = Combining(first.rubric, how, least)
    groups = first.summary()["by"] if by is None else by
    return write(out, combining, _studies(parts), made_by, manifest, groups)


def rule_called(name: str) -> Rule:
    """Return the rule of that name; raises `JudgeError` where there is none."""
    found = next((rule for rule in RULES if rule == name), None)
    if found is None:
        raise JudgeError(f"there is no rule {name!r} for a panel; there are: {', '.join(RULES)}")
    return found


def _checked(runs: Sequence[Run], allow: Collection[str]) -> list[Run]:
    if len(runs) < 2:
        raise JudgeError("a panel takes the runs of two judges or more, each on the same studies")
    seen: dict[str, Run] = {}
    for run in runs:
        _check_judged(run)
        if other := seen.get(run.signature):
            raise JudgeError(
                f"{other.path} and {run.path} are the same run: each judge is named once"
            )
        seen[run.signature] = run
    first = runs[0]
    ours = Signature.parse(first.signature)
    for run in runs[1:]:
        for what, expected, theirs in (
            ("rubric", ours["rubric"], Signature.parse(run.signature)["rubric"]),
            ("section", first.manifest["section"], run.manifest["section"]),
        ):
            if expected != theirs:
                raise JudgeError(
                    f"the judges of a panel have one {what}: it is {expected} in {first.path} and "
                    f"{theirs} in {run.path}"
                )
    rubric = rubrics.load(first.manifest["rubric"])
    today = read_today(first.signature, rubric)["rubric"]
    if today != ours["rubric"]:
        raise JudgeError(
            f"{first.path} is of another version of {rubric.title} than today's {today}: bring "
            "the runs up to date with judge rescore"
        )
    differing = {
        tuple(Signature.parse(run.signature).get(one) for one in _TOLD): run for run in runs
    }
    if len(differing) > 1 and PROMPT not in allow:
        raise JudgeError(
            "the judges were told different things of the patient, an earlier report or the "
            f"modality, in {' and '.join(str(one.path) for one in differing.values())} (or --allow "
            f"{PROMPT})"
        )
    prompts: dict[str, Run] = {}
    for run in runs:
        if (prompt := Signature.parse(run.signature).get("prompt", "none")) != "none":
            prompts.setdefault(prompt, run)
    if len(prompts) > 1 and PROMPT not in allow:
        told = ", ".join(f"{name} in {run.path}" for name, run in prompts.items())
        raise JudgeError(f"the judges read different prompts: {told} (or --allow {PROMPT})")
    _check_answers(runs)
    return sorted(runs, key=lambda run: (run.manifest["judge"]["name"], run.signature))


def _check_answers(runs: Sequence[Run]) -> None:
    """Raise where two runs hold the same cached answers: they are one judge, not two."""
    by_judge: dict[str, list[Run]] = {}
    for run in runs:
        by_judge.setdefault(run.manifest["judge"]["version"], []).append(run)
    for alike in by_judge.values():
        asked: dict[str, Run] = {}
        for run in alike if len(alike) > 1 else ():
            for record in run.records():
                parts = (*record.get("earlier", ()), record)
                keys = {part["cache_key"] for part in parts} - {None, COMPOSED}
                other = next(
                    (asked[key] for key in keys if asked.setdefault(key, run) is not run), None
                )
                if other is not None:
                    raise JudgeError(
                        f"{other.path} and {run.path} share answers of one judge, which would "
                        "count twice: name one of them, or ask again with another --seed"
                    )


def _check_judged(run: Run) -> None:
    if run.reading is not None:
        raise JudgeError(
            f"{run.path} is the run of a reader, who is no judge: judge validate holds judges "
            "against readers"
        )
    if run.combined is not None:
        raise JudgeError(f"{run.path} is made of several runs already: name those instead")
    if run.part is not None:
        raise JudgeError(f"{run.path} is the run of a shard: join the shards with judge merge")


def _named(runs: Sequence[Run]) -> list[_Part]:
    judges = [run.manifest["judge"] for run in runs]
    names = Counter(judge["name"] for judge in judges)
    versions = Counter(judge["version"] for judge in judges)
    found = []
    for at, (run, judge) in enumerate(zip(runs, judges, strict=True), 1):
        name = judge["name"]
        if names[name] > 1:
            is_own = versions[judge["version"]] == 1
            name = judge["version"] if is_own else f"{name} ({at})"
        parts = Signature.parse(run.signature)
        asked = "|".join(f"{one}:{parts[one]}" for one in _OF_JUDGE if one in parts)
        found.append(_Part(run, name, _digest(asked), parts.get("prompt", "none")))
    return found


def _panel_name(how: Combination) -> str:
    n = len(how.names)
    if n > _MOST_NAMES:
        return f"{how.rule} of {n} judges"
    return f"{how.rule} of {', '.join(how.names[:-1])} and {how.names[-1]}"


def _signature(parts: Sequence[_Part], version: str) -> str:
    """As of a run of one judge, the panel in its place, and a digest of all parts' signatures.

    What the judges were told is that of each, where it differs.
    """
    known = parts[0].signature
    prompts = sorted({part.asked for part in parts} - {"none"}) or ["none"]
    runs = ",".join(_digest(part.run.signature) for part in parts)
    line = [
        *(known["rubric"], f"judge:{version}", f"prompt:{','.join(prompts)}"),
        *(f"{name}:{known[name]}" for name in _OF_STUDIES[:1] if name in known),
        *(
            f"{name}:{','.join(values)}"
            for name in _TOLD
            if (values := sorted({part.signature.get(name, "none") for part in parts})) != ["none"]
            or name in known
        ),
        *(f"{name}:{known[name]}" for name in _OF_STUDIES[1:] if name in known),
        *(f"runs:{runs}", "version:"),
    ]
    return str(read_today(str(Signature(line)), parts[0].run.rubric))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _note(parts: Sequence[_Part]) -> str | None:
    notes: dict[str, list[str]] = {}
    for part in parts:
        if note := part.run.manifest["judge"]["note"]:
            notes.setdefault(note, []).append(part.name)
    return "; ".join(_whose(parts, note, names) for note, names in notes.items()) or None


def _notes(parts: Sequence[_Part]) -> list[str]:
    notes: dict[str, list[str]] = {}
    for part in parts:
        for note in part.run.summary()["notes"]:
            notes.setdefault(note, []).append(part.name)
    return [_whose(parts, note, names) for note, names in notes.items()]


def _whose(parts: Sequence[_Part], note: str, names: Sequence[str]) -> str:
    return note if len(names) == len(parts) else f"{', '.join(names)}: {note}"


def _described(part: _Part) -> dict[str, Any]:
    manifest = part.run.manifest
    names = ("signature", "judge", "prompt", "spent", "started", "finished", "rescored")
    facts = {name: manifest[name] for name in names if name in manifest}
    return {"name": part.name, "folder": part.run.path.name, **facts}


def _studies(parts: Sequence[_Part]) -> Iterator[tuple[Study, list[End]]]:
    with ExitStack() as opened:
        records = [opened.enter_context(_Records(part.run)) for part in parts]
        yield from _together(records)


def _together(every: Sequence[_Records]) -> Iterator[tuple[Study, list[End]]]:
    first, *others = every
    for other in others:
        for one, two in ((first, other), (other, first)):
            if lacking := [study_id for study_id in one.places if study_id not in two.places]:
                raise JudgeError(
                    f"{two.run.path} lacks {counted(len(lacking), 'study', 'studies')} of "
                    f"{one.run.path}, {lacking[0]!r} among them: the judges of a panel judge the "
                    "same studies"
                )
    for study_id in first.places:
        records = [one.record(study_id) for one in (first, *others)]
        study = study_of(records[0])
        for other, record in zip(others, records[1:], strict=True):
            theirs = study_of(record)
            for what in ("reference", "candidate", "study_class"):
                if getattr(study, what) != getattr(theirs, what):
                    raise JudgeError(
                        f"study {study_id!r} has another {what.replace('_', ' ')} in "
                        f"{other.run.path} than in {first.run.path}: the judges of a panel judge "
                        "the same reports"
                    )
        yield (
            study,
            [End(at, outcome_of(one), one["measures"]) for at, one in enumerate(records)],
        )


class _Records(AbstractContextManager["_Records"]):
    def __init__(self, run: Run) -> None:
        self.run = run
        self.places: dict[str, tuple[int, int]] = {}
        at = 0
        for n, line in enumerate(run.lines(), 1):
            self.places[run.parsed(n, line)["study_id"]] = n, at
            at += len(line)
        if len(self.places) != run.summary()["n_studies"]:
            raise damaged(run.path / ANNOTATIONS, "it has other studies than its summary counts")
        self._file = open_file(run.path / ANNOTATIONS)

    def record(self, study_id: str) -> dict[str, Any]:
        n, at = self.places[study_id]
        self._file.seek(at)
        return self.run.parsed(n, self._file.readline())

    def __exit__(self, *_error: object) -> None:
        self._file.close()
