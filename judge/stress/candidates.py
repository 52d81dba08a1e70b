"""Candidates made out of references: ordinary studies whose fields say what was changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from judge.running.folder import ANOTHER, entries_of, folder_at_once
from judge.stress.changes import IDENTICAL, Change
from judge.stress.text import Draw, Error, NotMade, Reference, applied
from judge.studies import read_pair
from judge.studies.columns import KNOWN_NAMES, NamedFields
from judge.studies.join import join_tables
from judge.studies.load import load
from judge.studies.study_set import StudySet
from judge.types import JudgeError, Study

PREDS, REFS = "preds.jsonl", "refs.jsonl"
MODEL = "stress"
"""What runs of candidates have as the model whose reports they are."""
FIELDS = ("study", "change", "group", "k", "truth", "significance", "base")
"""The fields of a candidate beside those of any study. `k` errors were put in; of one alone
`truth` has the right categories (`b`, or `a,b`) and `significance` is significant, insignificant
or doubtful. `base` is the candidate whose reading a hostile text should leave as it is."""
MADE = "made"
_BLANK = "a candidate that is to be made"
_TEXTS = {"findings": "section_findings", "impression": "section_impression", "report": "report"}


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
    return join_tables(both, both, fields=named, section=section, allow_missing=True)


def make(
    studies: StudySet, changes: Sequence[Change], seed: int, made: dict[str, Counter[str]]
) -> Iterator[tuple[Study, dict[str, object]]]:
    """Yield each candidate as a study, with its reference as it was, and its fields.

    Seed, study id and change decide everything. For each change `made` counts the candidates under
    `MADE`, and why others could not be made.
    """
    made.update({change.name: Counter() for change in changes})
    for study in studies:
        report = Reference(study.reference)
        for change in changes:
            try:
                text, errors = _made(report, study.study_id, change, seed)
            except NotMade as reason:
                made[change.name][str(reason)] += 1
                continue
            made[change.name][MADE] += 1
            fields: dict[str, object] = {
                "patient": study.fields.get("patient") or study.study_id,
                "study": study.study_id,
                "change": change.name,
                "group": change.group,
                "k": len(errors),
            }
            if len(errors) == 1:
                (error,) = errors
                grade = "significant" if error.is_significant else "insignificant"
                fields["truth"] = ",".join(sorted(error.categories))
                fields["significance"] = "doubtful" if error.is_doubtful else grade
            if change.base:
                fields["base"] = f"{study.study_id}/{change.base}"
            name = f"{study.study_id}/{change.name}"
            yield replace(study, study_id=name, candidate=text), fields


def _made(
    report: Reference, study: str, change: Change, seed: int
) -> tuple[str, tuple[Error, ...]]:
    report.check()
    result = change.make(report, Draw(seed, study, change.name))
    text = applied(report.text, result.edits)
    if text == report.text and change.name != IDENTICAL:
        raise NotMade("it leaves the report as it is")
    return text, result.errors


def write(
    out: Path, studies: StudySet, changes: Sequence[Change], seed: int
) -> dict[str, Counter[str]]:
    """Make the candidates of `studies`, and write `PREDS` and `REFS` to the folder `out`.

    Where the folder holds just these already, it stays as it is. Returns what `make` counts. Raises
    `JudgeError` where it holds anything else or cannot be written, and where nothing can be made.
    """
    made: dict[str, Counter[str]] = {}
    lines: dict[str, list[bytes]] = {PREDS: [], REFS: []}
    text = _TEXTS[str(studies.section)]
    for study, fields in make(studies, changes, seed, made):
        known = {"study_class": study.study_class} if study.study_class else {}
        lines[PREDS].append(_line({"study_id": study.study_id, text: study.candidate}))
        reference = {"study_id": study.study_id, text: study.reference, **known, **fields}
        lines[REFS].append(_line(reference))
    if not lines[PREDS]:
        why = made[changes[0].name].most_common(1)[0][0]
        raise JudgeError(
            f"no candidate can be made of {studies.inputs[0].path}: {changes[0].name}: {why}"
        )
    files = {name: b"".join(parts) for name, parts in lines.items()}
    if there := entries_of(out):
        for name, content in files.items():
            if name not in there or (out / name).read_bytes() != content:
                raise JudgeError(f"{out / name} is not of these candidates; {ANOTHER}")
        return made
    with folder_at_once(out) as place:
        for name, content in files.items():
            (place / name).write_bytes(content)
    return made


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def read(out: Path, section: str) -> StudySet:
    """Read the candidates in `out` as any studies are read."""
    return read_pair(str(out / PREDS), str(out / REFS), section=section, model=MODEL)
