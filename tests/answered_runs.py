"""Runs whose answers a test writes itself, and runs whose records it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from made_manifests import manifest_of

from judge import rubrics
from judge.jsonio import from_line, to_line
from judge.rubrics import Rubric
from judge.run_settings import DEFAULT_BY
from judge.running.folder import ANNOTATIONS
from judge.running.records import StudyResult, read
from judge.running.run import write_run
from judge.signature import studies_digest
from judge.types import Completion, Failed, Measures, Study


def records_of(run: Path) -> list[dict[str, Any]]:
    """The records of a run."""
    with (run / ANNOTATIONS).open("rb") as file:
        return [from_line(line, at) for at, line in enumerate(file, 1)]


def rewrite(run: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write other records into a run, each with its checksum."""
    (run / ANNOTATIONS).write_bytes(b"".join(map(to_line, records)))


def tables(rubric: Rubric, *studies: Sequence[Measures | None]) -> pd.DataFrame:
    """A row for each study and part: its measures, None where it was not scored."""
    return pd.DataFrame(
        {
            "row": row,
            "part": part,
            "outcome": "unparsed" if measures is None else "scored",
            **{one.name: (measures or {}).get(one.name) for one in rubric.measures},
        }
        for row, parts in enumerate(studies)
        for part, measures in enumerate(parts)
    ).astype({measure.name: float for measure in rubric.measures})


_TITLES = {
    "a": "False finding",
    "b": "Missing finding",
    "c": "Wrong location",
    "d": "Wrong severity",
    "e": "Comparison not in the reference",
    "f": "Omitted comparison",
}


def green(
    significant: Mapping[str, str] | None = None,
    insignificant: Mapping[str, str] | None = None,
    matched: str = "1. Heart",
) -> str:
    """A GREEN answer: by category what stands behind it, `1. Nodule`; 0 for the others."""

    def listed(errors: Mapping[str, str]) -> str:
        lines = (
            f"({c}) {title}: {errors.get(c, '0.')}" for c, title in _TITLES.items()
        )
        return "\n".join(lines)

    return (
        f"[Explanation]:\nTwo reports.\n\n[Clinically Significant Errors]:\n"
        f"{listed(significant or {})}\n\n[Clinically Insignificant Errors]:\n"
        f"{listed(insignificant or {})}\n\n[Matched Findings]:\n{matched}\n"
    )


def answered(
    path: Path,
    answers: Mapping[str, str | None],
    rubric_name: str = "green",
    *,
    judge: str = "test-1",
    prompt: str = "none",
    section: str = "findings",
    fields: Mapping[str, Mapping[str, str]] | None = None,
    reference: str = "Small left pleural effusion.",
    candidate: str = "Heart is mildly enlarged. A nodule.",
) -> Path:
    """A run with these answers by study; None is a study without an answer.

    `fields` have their values by study. Judges of one set of studies may sit on one panel.
    """
    rubric, fields = rubrics.load(rubric_name), fields or {}
    studies = [
        Study(
            *(study_id, reference, candidate, "abnormal"),
            fields={name: values[study_id] for name, values in fields.items()},
        )
        for study_id in answers
    ]
    manifest = manifest_of(
        rubric,
        studies_digest(studies),
        judge=judge,
        prompt=prompt,
        section=section,
        model=path.name,
        fields=list(fields),
    )
    ends = []
    for at, (study, answer) in enumerate(zip(studies, answers.values(), strict=True)):
        completion = None if answer is None else Completion(answer, "stop", judge)
        end = (
            (Failed("timeout"), None)
            if completion is None
            else read(rubric, study, completion)
        )
        ends.append(StudyResult(at, study, *end, completion))
    write_run(
        path,
        rubric,
        ends,
        lambda: manifest,
        fields=manifest.fields,
        by=DEFAULT_BY,
    )
    return path
