"""The reports of a run that is on disk: of one that a reader read, or another judge judged."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace
from os.path import isfile
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.studies.names import KNOWN_NAMES, MAX_INPUT, NamedFields, model_of, renamed, tidy_column
from judge.studies.study_set import (
    NO_CANDIDATE,
    NO_REFERENCE,
    InputFile,
    StudySet,
    check_omitted,
)
from judge.types import JudgeError

_MANIFEST, _ANNOTATIONS = "manifest.json", "annotations.jsonl"


def is_run(source: str) -> bool:
    """Whether a source is the folder of a run."""
    # Not Path.is_file: where it cannot be looked at, reading it says why.
    return all(isfile(f"{source}/{name}") for name in (_MANIFEST, _ANNOTATIONS))  # noqa: PTH113


def read_run(
    source: str,
    fields: NamedFields,
    section: str | None,
    *,
    allow_missing: bool,
    reserved: Collection[str],
) -> StudySet:
    """Return the studies of a run: its reports as they were judged, classes, fields and model.

    Nothing of what was said of them is read. A report that a reader's files have not is blank in
    the reader's run: its study is refused, or left out and counted with `allow_missing`. Raises
    `JudgeError` too for a damaged run, for another `section` than the run's, and for `fields`.
    """
    if replace(fields, encoding=None, max_input=MAX_INPUT) != KNOWN_NAMES:
        raise JudgeError(f"{source} is a run: leave --references and the --...-field options out")
    try:
        manifest = jsonio.read((Path(source) / _MANIFEST).read_bytes())
        data = (Path(source) / _ANNOTATIONS).read_bytes()
        lines = enumerate(data.splitlines(keepends=True), 1)
        records = [jsonio.from_line(line, number) for number, line in lines]
        if manifest.get("combined", {}).get("of") == "reference":
            raise JudgeError(f"{source} is made of several references a study; give PREDS and REFS")
        file = InputFile(source, "both", hashlib.sha256(data).hexdigest(), len(records))
        studies = _studies(manifest, records, file, reserved)
    except OSError as error:
        raise JudgeError(f"cannot read the run {source}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{type(error).__name__}, {error}"
        raise JudgeError(f"{source} is a damaged run ({why}); make it again") from error
    if section not in (None, studies.section):
        raise JudgeError(f"{source} is a run of the section {studies.section}, and has no other")
    omitted: dict[str, list[str]] = {}
    rows = []
    for row, study in enumerate(studies):
        if not study.reference.strip():
            omitted.setdefault(NO_REFERENCE, []).append(study.study_id)
        elif "reading" in manifest and not study.candidate.strip():  # a reader read something
            omitted.setdefault(NO_CANDIDATE, []).append(study.study_id)
        else:
            rows.append(row)
    if not rows or not allow_missing:
        check_omitted(omitted, f"the run {source}")
    return studies.take(rows).without(omitted)


def _studies(
    manifest: dict[str, Any],
    records: list[dict[str, Any]],
    file: InputFile,
    reserved: Collection[str],
) -> StudySet:
    columns = {
        name: tidy_column([record["fields"].get(name) for record in records])
        for name in manifest["fields"]
    }
    fields = renamed(columns, reserved)
    new_names = dict(zip(columns, fields, strict=True))
    of_candidates = (new_names.get(name) for name in manifest.get("of_candidates", ()))
    classes = tuple(record["study_class"] for record in records)
    made_by = manifest.get("class_source")
    is_named = made_by and made_by != "none" and all(classes)
    preds = [one["path"] for one in manifest["inputs"] if one["role"] in ("preds", "both")]
    references = tuple(record["reference"] for record in records)
    return StudySet(
        study_ids=tuple(record["study_id"] for record in records),
        references=references,
        candidates=tuple(record["candidate"] for record in records),
        study_classes=classes,
        class_inferred=tuple(record["class_inferred"] for record in records),
        full_references=references,
        section=manifest["section"],
        fields=fields,
        of_candidates=frozenset(filter(None, of_candidates)),
        class_field=made_by if is_named else "study_class" if any(classes) else None,
        model=manifest.get("model") or (model_of(preds[0]) if preds else None),
        read_from={"id": "study_id", "reference": "reference", "candidate": "candidate"},
        inputs=(file,),
    )
