"""Runs of GREEN whose counts a test writes itself, each read by the rubric's own parser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge import rubrics
from judge.running.forms import FORMAT
from judge.running.records import Judged, read
from judge.running.writer import writing
from judge.stats.table import summarise
from judge.types import Completion, Failed, Study

Counts = tuple[int, int, int]
"""Significant errors, insignificant ones, matched findings."""

_OTHERS = "\n".join(
    f"({code}) {title}: 0."
    for code, title in {
        "c": "Wrong location",
        "d": "Wrong severity",
        "e": "Comparison not in the reference",
        "f": "Omitted comparison",
    }.items()
)


def answer(counts: Counts, said: str = "") -> str:
    """A GREEN answer with so many missing findings, and so many that match."""

    def listed(n: int, what: str) -> str:
        return f"{n}. {'; '.join(f'{what} {at}' for at in range(1, n + 1))}" if n else "0."

    significant, insignificant, matched = counts
    return (
        f"[Explanation]:\nTwo reports. {said}\n\n[Clinically Significant Errors]:\n"
        f"(a) False finding: 0.\n(b) Missing finding: {listed(significant, 'effusion')}\n{_OTHERS}"
        f"\n\n[Clinically Insignificant Errors]:\n(a) False finding: 0.\n"
        f"(b) Missing finding: {listed(insignificant, 'scar')}\n{_OTHERS}\n\n"
        f"[Matched Findings]:\n{listed(matched, 'heart')}\n"
    )


def judged(
    path: Path,
    counts: Mapping[str, Counts | None],
    judge: str,
    *,
    prompt: str = "green@1+aa",
    section: str = "findings",
    reference: str = "Small left effusion.",
) -> Path:
    """A judge's run with these counts by study; None is a study without an answer."""
    rubric = rubrics.load("green")
    made_by: dict[str, Any] = {
        "signature": f"{rubric.name}:{rubric.version}|judge:{judge}|prompt:{prompt}"
        f"|section:{section}|class:study_class|omitted:0|studies:{len(counts)}+{path.name}"
        "|version:0",
        "rubric": rubric.name,
        "model": "model",
        "judge": {"name": judge, "version": judge, "note": None},
        "prompt": prompt.partition("@")[0],
        "section": section,
        "class_source": "study_class",
        "omitted": {},
        "notes": [],
    }
    with writing(path, rubric, ["site"]) as writer:
        for at, (study_id, own) in enumerate(counts.items()):
            fields = {"site": "north"}
            study = Study(study_id, reference, "Clear lungs.", "abnormal", fields=fields)
            if own is None:
                writer.add(Judged(at, study, Failed("timeout"), None, None))
            else:
                completion = Completion(answer(own, judge), "stop", judge)
                writer.add(Judged(at, study, *read(rubric, study, completion), completion))
        table = writer.table()
        manifest = {"format": FORMAT, **made_by, "inputs": [], "fields": ["site"]}
        writer.finish(table, {**made_by, **summarise(table, rubric)}, manifest)
    return path
