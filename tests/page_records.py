"""Records as runs keep them, made up for a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from judge.figures.files import PageFigure
from judge.pages.comparison import Wanted
from judge.rubrics import load

Say = Callable[[str], str]
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="70" height="30"/>'
FIGURES = (
    PageFigure("A figure", "What it shows.", SVG),
    PageFigure("Another", "More.", SVG),
)


def records_of(
    wanted: Wanted, say: Say = str
) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """`say` writes each text that a model, a judge or a user would."""
    return {
        (model, rubric): {
            study_id: record(model, rubric, study_id, say) for study_id in sorted(ids)
        }
        for (model, rubric), ids in wanted.items()
    }


def record(model: str, rubric: str, study_id: str, say: Say) -> dict[str, Any]:
    grades = load(rubric).grades
    assert grades is not None
    edit = {"kind": "change", "line": 0, "corrected": say("a corrected line")}
    categories = ["a", "b"] if rubric == "fineradscore" else ["a"]
    nothing = {"side": None, "links": []}
    items = [
        {
            "kind": "error",
            "text": say(f"error of {grade.name}"),
            "labels": {"category": categories, grades.name: [grade.name]},
            "edit": edit if rubric == "fineradscore" else None,
            **nothing,
        }
        for grade in grades.labels
    ]
    if rubric == "green":
        matched = {
            "kind": "matched",
            "text": say("a matched finding"),
            "labels": {},
            "edit": None,
        }
        items.append(matched | nothing)
    failed = study_id.endswith("7")
    names = [measure.name for measure in load(rubric).measures]
    return {
        "study_id": study_id,
        "reference": say(f"reference of {study_id}"),
        "candidate": say(f"candidate of {model} for {study_id}"),
        "outcome": "unparsed" if failed else "annotated",
        "reason": say("cut short") if failed else None,
        "detail": say("the answer ends early") if failed else None,
        "annotation": None
        if failed
        else {
            "items": items,
            "explanation": say("why it is so"),
            "values": {},
            "stated_counts": {},
            "warnings": [say("odd")],
        },
        "measures": None if failed else dict.fromkeys(names, 1),
    }
