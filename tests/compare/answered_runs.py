"""Runs whose answers a test writes itself, read by the rubric's own parser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge import rubrics
from judge.running.folder import Run
from judge.running.forms import FORMAT
from judge.running.records import Judged, read
from judge.running.writer import writing
from judge.stats.table import summarise
from judge.types import Completion, Failed, Study

REFERENCE, CANDIDATE = "Small left pleural effusion.", "Heart is mildly enlarged. A nodule."
_TITLES = {
    "a": "False finding",
    "b": "Missing finding",
    "c": "Wrong location",
    "d": "Wrong severity",
    "e": "Comparison not in the reference",
    "f": "Omitted comparison",
}


def green(
    significant: Mapping[str, str] | None = None, insignificant: Mapping[str, str] | None = None
) -> str:
    """A GREEN answer: by category what stands behind it, `1. Nodule`; 0 for the others."""

    def listed(errors: Mapping[str, str]) -> str:
        lines = (f"({c}) {title}: {errors.get(c, '0.')}" for c, title in _TITLES.items())
        return "\n".join(lines)

    return (
        f"[Explanation]:\nTwo reports.\n\n[Clinically Significant Errors]:\n"
        f"{listed(significant or {})}\n\n[Clinically Insignificant Errors]:\n"
        f"{listed(insignificant or {})}\n\n[Matched Findings]:\n1. Heart\n"
    )


def missing(*texts: str) -> str:
    """A GREEN answer with these missing findings, all of them significant."""
    return green({"b": f"{len(texts)}. {'; '.join(texts)}"} if texts else {})


def answered(
    path: Path,
    answers: Mapping[str, str | None],
    rubric_name: str = "green",
    *,
    judge: str = "test-1",
    patients: Mapping[str, str] | None = None,
    candidate: str = CANDIDATE,
) -> Path:
    """A run with these answers by study; None is a study without an answer."""
    rubric = rubrics.load(rubric_name)
    fields = ["patient"] if patients else []
    made_by: dict[str, Any] = {
        "signature": f"{rubric.name}:{rubric.version}|judge:{judge}|prompt:none|{path.name}",
        "rubric": rubric.name,
        "model": path.name,
        "judge": {"name": judge, "version": judge, "note": None},
        "prompt": None,
        "section": "findings",
        "class_source": "study_class",
        "omitted": {},
        "notes": [],
    }
    with writing(path, rubric, fields) as writer:
        for at, (study_id, answer) in enumerate(answers.items()):
            own = {"patient": patients[study_id]} if patients else {}
            study = Study(study_id, REFERENCE, candidate, "abnormal", fields=own)
            if answer is None:
                writer.add(Judged(at, study, Failed("timeout"), None, None))
            else:
                completion = Completion(answer, "stop", judge)
                writer.add(Judged(at, study, *read(rubric, study, completion), completion))
        table = writer.table()
        writer.finish(
            table,
            {**made_by, **summarise(table, rubric)},
            {"format": FORMAT, **made_by, "inputs": [], "fields": fields},
        )
    assert Run(path).summary()["n_studies"] == len(answers)
    return path
