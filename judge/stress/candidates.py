"""Candidates made out of references: ordinary studies with the perturbation in their fields."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from judge.running.folder import ANOTHER, atomic_folder, entries_of
from judge.stress.perturbations import IDENTICAL, Perturbation
from judge.stress.report_edits import NotApplicable, Reference, SeededChoice, apply_edits
from judge.studies import read_pair
from judge.studies.columns import KNOWN_NAMES, NamedFields
from judge.studies.join import join_tables
from judge.studies.load import load
from judge.studies.study_set import StudySet
from judge.types import JudgeError, Study

PREDS, REFS = "preds.jsonl", "refs.jsonl"
MODEL = "stress"
"""The model in runs of candidates."""
FIELDS = ("study", "change", "group", "k", "truth", "significance", "base")
"""The fields that a candidate has beside those of any study. It has `k` errors; of a single one
`truth` has the right categories (`b`, or `a,b`) and `significance` is significant, insignificant
or doubtful. `base` is the candidate whose judgement a hostile text should leave unchanged."""
MADE = "made"
_TEXTS = {"findings": "section_findings", "impression": "section_impression", "report": "report"}


def read_references(
    path: str, fields: NamedFields = KNOWN_NAMES, section: str | None = None
) -> StudySet:
    """Read references without candidates; empty ones are left out and counted in `omitted`.

    Raises `JudgeError` as `read_pair` does.
    """
    refs = load(path, "refs", fields)
    # Both sides are in one table: a fault of the file is reported once.
    blank = "a candidate that is to be made"
    both = refs.assign(**{blank: "-"})
    named = replace(fields, candidate=blank)
    return join_tables(both, both, fields=named, section=section, allow_missing=True)


def make_candidates(
    studies: StudySet,
    perturbations: Sequence[Perturbation],
    seed: int,
    counts: dict[str, Counter[str]],
) -> Iterator[tuple[Study, dict[str, object]]]:
    """Yield each candidate as a study, with its reference, and its fields.

    The result depends on seed, study id and perturbation alone. `counts` gets for each perturbation
    the number of candidates under `MADE`, and of references by the reason why it is not applicable.
    """
    counts.update({perturbation.name: Counter() for perturbation in perturbations})
    for study in studies:
        report = Reference(study.reference)
        for perturbation in perturbations:
            name = perturbation.name
            try:
                report.check()
                change = perturbation.make(report, SeededChoice(seed, study.study_id, name))
            except NotApplicable as reason:
                counts[name][str(reason)] += 1
                continue
            text = apply_edits(report.text, change.edits)
            if text == report.text and name != IDENTICAL:
                counts[name]["the report stays the same"] += 1
                continue
            counts[name][MADE] += 1
            fields: dict[str, object] = {
                "patient": study.fields.get("patient") or study.study_id,
                "study": study.study_id,
                "change": name,
                "group": perturbation.group,
                "k": len(change.errors),
            }
            if len(change.errors) == 1:
                (error,) = change.errors
                grade = "significant" if error.is_significant else "insignificant"
                fields["truth"] = ",".join(sorted(error.categories))
                fields["significance"] = "doubtful" if error.is_doubtful else grade
            if perturbation.base:
                fields["base"] = f"{study.study_id}/{perturbation.base}"
            yield replace(study, study_id=f"{study.study_id}/{name}", candidate=text), fields


def write_candidates(
    out: Path, studies: StudySet, perturbations: Sequence[Perturbation], seed: int
) -> dict[str, Counter[str]]:
    """Write the candidates of `studies` to `PREDS` and `REFS` in the folder `out`.

    A folder that has these files already stays as it is. Returns the counts of `make_candidates`.
    Raises `JudgeError` for a folder with other content and where no candidate can be made.
    """
    counts: dict[str, Counter[str]] = {}
    lines: dict[str, list[bytes]] = {PREDS: [], REFS: []}
    text = _TEXTS[str(studies.section)]
    for study, fields in make_candidates(studies, perturbations, seed, counts):
        study_class = {"study_class": study.study_class} if study.study_class else {}
        lines[PREDS].append(_line({"study_id": study.study_id, text: study.candidate}))
        reference = {"study_id": study.study_id, text: study.reference, **study_class, **fields}
        lines[REFS].append(_line(reference))
    if not lines[PREDS]:
        name, reasons = next(iter(counts.items()))
        why = reasons.most_common(1)[0][0]
        raise JudgeError(f"no candidate can be made of {studies.inputs[0].path}: {name}: {why}")
    files = {name: b"".join(parts) for name, parts in lines.items()}
    if present := entries_of(out):
        for name, content in files.items():
            if name not in present or (out / name).read_bytes() != content:
                raise JudgeError(f"{out / name} has other candidates; {ANOTHER}")
        return counts
    with atomic_folder(out) as place:
        for name, content in files.items():
            (place / name).write_bytes(content)
    return counts


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def read_candidates(out: Path, section: str) -> StudySet:
    """Read the candidates in the folder `out` as studies."""
    return read_pair(str(out / PREDS), str(out / REFS), section=section, model=MODEL)
