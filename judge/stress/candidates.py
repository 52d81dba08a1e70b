"""Candidates made out of references: ordinary studies whose fields say what was changed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge.running.folder import ANOTHER, entries_of, folder_at_once
from judge.stress.changes import IDENTICAL, Change
from judge.stress.text import Draw, NotMade, Reference, applied
from judge.studies import read_pair
from judge.studies.load import load
from judge.studies.names import KNOWN_NAMES, NamedFields
from judge.studies.pair import pair
from judge.studies.study_set import StudySet
from judge.types import JudgeError, Study

PREDS, REFS = "preds.jsonl", "refs.jsonl"
MODEL = "stress"
"""What runs of candidates have as the model whose reports they are."""
FIELDS = ("study", "change", "group", "k", "truth", "significance", "base")
"""The fields of a candidate beside those of any study. `k` errors were put in; of one alone
`truth` has the right categories (`b`, or `a,b`) and `significance` is significant, insignificant
or doubtful. `base` is the candidate whose reading a hostile text should leave as it is."""
_BLANK = "a candidate that is to be made"
_TEXTS = {"findings": "section_findings", "impression": "section_impression", "report": "report"}


@dataclass(slots=True)
class Made:
    """How many candidates were made by each change, and why others were not."""

    candidates: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def rows(self, changes: Sequence[Change]) -> list[dict[str, Any]]:
        """Return one row for each change, as `judge stress make` prints it."""
        return [
            {
                "change": change.name,
                "group": change.group,
                "made": self.candidates[change.name],
                "not made": self.reasons[change.name].total(),
                "why not made": "; ".join(
                    f"{why} ({n:,})" for why, n in self.reasons[change.name].most_common()
                ),
            }
            for change in changes
        ]


def read_references(
    path: str, fields: NamedFields = KNOWN_NAMES, section: str | None = None
) -> StudySet:
    """Read references alone; those without a text are left out, and counted among `omitted`.

    Raises `JudgeError` as `read_pair` does.
    """
    refs = load(path, "refs", fields)
    # Both sides in one table, so that what is wrong is said of this file and said once.
    both = refs.assign(**{_BLANK: "-"})
    named = replace(fields, candidate=_BLANK)
    return pair(both, both, fields=named, section=section, allow_missing=True)


def make(
    studies: StudySet, changes: Sequence[Change], seed: int, made: Made
) -> Iterator[tuple[Study, dict[str, object]]]:
    """Yield each candidate as a study, with its reference as it was, and its fields.

    Seed, study id and change decide everything. What cannot be made is counted in `made`.
    """
    for study in studies:
        report = Reference(study.reference)
        for change in changes:
            result = (
                NotMade(report.unfit)
                if report.unfit
                else change.make(report, Draw(seed, study.study_id, change.name))
            )
            if isinstance(result, NotMade):
                made.reasons[change.name][result.reason] += 1
                continue
            text = applied(report.text, result.edits)
            if text == report.text and change.name != IDENTICAL:
                made.reasons[change.name]["it leaves the report as it is"] += 1
                continue
            made.candidates[change.name] += 1
            single = result.errors[0] if len(result.errors) == 1 else None
            grade = "significant" if single and single.is_significant else "insignificant"
            fields: dict[str, object] = {
                "patient": study.fields.get("patient") or study.study_id,
                "study": study.study_id,
                "change": change.name,
                "group": change.group,
                "k": len(result.errors),
            }
            if single:
                fields["truth"] = ",".join(sorted(single.categories))
                fields["significance"] = "doubtful" if single.is_doubtful else grade
            if change.base:
                fields["base"] = f"{study.study_id}/{change.base}"
            name = f"{study.study_id}/{change.name}"
            yield replace(study, study_id=name, candidate=text), fields


def write(
    out: Path, studies: StudySet, changes: Sequence[Change], seed: int, *, again: bool = False
) -> Made:
    """Make the candidates of `studies` and write `PREDS` and `REFS` to the folder `out`.

    With `again` the folder may hold just these candidates already, and then stays as it is. Raises
    `JudgeError` where it holds anything else or cannot be written, and where nothing can be made.
    """
    made = Made()
    there = entries_of(out)
    if there and not (again and {PREDS, REFS} <= there):
        raise JudgeError(f"{out} holds something already; {ANOTHER}")
    digests = {name: hashlib.sha256() for name in (PREDS, REFS)}
    if there:
        for name, line in _lines(studies, changes, seed, made):
            digests[name].update(line)
        for name, digest in digests.items():
            if hashlib.sha256((out / name).read_bytes()).digest() != digest.digest():
                raise JudgeError(f"{out / name} holds other candidates; {ANOTHER}")
        return made
    with folder_at_once(out) as place:
        with (place / PREDS).open("wb") as preds, (place / REFS).open("wb") as refs:
            files = {PREDS: preds, REFS: refs}
            for name, line in _lines(studies, changes, seed, made):
                files[name].write(line)
        if not made.candidates:
            why = made.reasons[changes[0].name].most_common(1)[0][0]
            raise JudgeError(
                f"no candidate can be made of {studies.inputs[0].path}: {changes[0].name}: {why}"
            )
    return made


def _lines(
    studies: StudySet, changes: Sequence[Change], seed: int, made: Made
) -> Iterator[tuple[str, bytes]]:
    text = _TEXTS[str(studies.section)]
    for study, fields in make(studies, changes, seed, made):
        known = {"study_class": study.study_class} if study.study_class else {}
        reference = {text: study.reference, **known, **fields}
        for name, record in ((PREDS, {text: study.candidate}), (REFS, reference)):
            yield name, _line({"study_id": study.study_id, **record})


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def read(out: Path, section: str) -> StudySet:
    """Read the candidates in `out` as any studies are read."""
    return read_pair(str(out / PREDS), str(out / REFS), section=section, model=MODEL)
