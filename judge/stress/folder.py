"""The folder that candidates are written to: whole, or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.distribution import version
from judge.running.files import ANOTHER, entries_of, folder_at_once
from judge.stress.making import Made
from judge.studies.study_set import StudySet
from judge.types import JudgeError

PREDS, REFS, TRUTH, MANIFEST = "preds.json", "refs.json", "truth.jsonl", "stress.json"
FORMAT = 1
_FIELDS = {"findings": "section_findings", "impression": "section_impression", "report": "report"}


def check_free(out: Path) -> None:
    """Raise `JudgeError` where `out` is neither new nor an empty folder."""
    if entries_of(out):
        raise JudgeError(f"{out} holds something already; {ANOTHER}")


def write(
    out: Path, made: Made, studies: StudySet, said: Mapping[str, Any], rows: Sequence[Any]
) -> None:
    """Write the candidates, their references, the truth and what was made to `out`.

    Raises `JudgeError` where it holds something, or cannot be written.
    """
    check_free(out)
    text_field = _FIELDS[str(studies.section)]
    preds = {one.name: {text_field: one.after} for one in made.candidates}
    refs = {
        one.name: {
            text_field: one.study.reference,
            **({"study_class": one.study.study_class} if one.study.study_class else {}),
            "patient": one.study.fields.get("patient") or one.study.study_id,
            "study": one.study.study_id,
            "change": one.change.name,
            "group": one.change.group,
        }
        for one in made.candidates
    }
    manifest = {"format": FORMAT, "version": version(), **said, "changes": [*rows]}
    with folder_at_once(out) as place:
        for name, data in ((PREDS, preds), (REFS, refs), (MANIFEST, manifest)):
            _put(place / name, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
        lines = [json.dumps(one.truth(), ensure_ascii=False) for one in made.candidates]
        _put(place / TRUTH, "\n".join([*lines, ""]))


def _put(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    path.chmod(0o600)
