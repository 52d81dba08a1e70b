"""The reports of a run that is on disk: of one that a reader read, or another judge judged."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import replace
from os.path import isdir, isfile, join
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.studies.fields import renamed, tidy_column
from judge.studies.join import FIRST, NO_CANDIDATE, NO_REFERENCE, Problem, settle
from judge.studies.names import KNOWN_NAMES, NamedFields, model_of
from judge.studies.sections import SECTIONS
from judge.studies.study_set import InputFile, StudySet
from judge.types import JudgeError

_MANIFEST, _ANNOTATIONS = "manifest.json", "annotations.jsonl"
_TEXTS = ("study_id", "reference", "candidate")


def is_run(source: str) -> bool:
    """Whether a source is the folder of a run."""
    # Not Path.is_file: where it cannot be looked at, reading it says why.
    return all(isfile(join(source, name)) for name in (_MANIFEST, _ANNOTATIONS))  # noqa: PTH113, PTH118


def runs_in(source: str) -> list[str]:
    """Return the runs that lie in a folder which is none itself."""
    if not isdir(source):  # noqa: PTH112
        return []
    return sorted(str(path.parent) for path in Path(source).glob(f"*/{_MANIFEST}"))


def read_run(
    source: str,
    *,
    fields: NamedFields = KNOWN_NAMES,
    section: str | None = None,
    allow_missing: bool = False,
    model: str | None = None,
    reserved: Collection[str] = (),
) -> StudySet:
    """Return the studies of a run: its reports as they were judged, classes, fields and model.

    Nothing of what was said of them is read. A report that a reader's files have not is blank in
    the reader's run: its study is refused, or left out and counted with `allow_missing`. Raises
    `JudgeError` too for a damaged run, one without such reports at all, another `section` than
    the run's, and for `fields` that are named, since a run's have names of their own.
    """
    path = Path(source) / _ANNOTATIONS
    if fields.several:
        raise JudgeError(f"{source} is a run, with one reference a study: leave --references out")
    if fields != KNOWN_NAMES:
        raise JudgeError(f"{source} is a run, whose fields have names: leave the --...-field away")
    try:
        manifest = jsonio.read((Path(source) / _MANIFEST).read_bytes())
        data = path.read_bytes()
        lines = enumerate(data.splitlines(keepends=True), 1)
        records = [jsonio.from_line(line, number) for number, line in lines]
        whole = {name: [str(record[name]) for record in records] for name in _TEXTS}
        if manifest.get("combined", {}).get("of") == "reference":
            raise JudgeError(f"{source} is made of several references a study; give PREDS and REFS")
        known, made_by = manifest["section"], manifest.get("class_source")
        columns = {
            name: tidy_column([record["fields"].get(name) for record in records])
            for name in manifest["fields"]
        }
        classes = [record["study_class"] for record in records]
        inferred = [bool(record["class_inferred"]) for record in records]
    except OSError as error:
        raise JudgeError(f"cannot read the run {source}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JudgeError(
            f"{source} is a damaged run: {type(error).__name__}, {error}; make it again"
        ) from error
    if len(set(whole["study_id"])) < len(records):
        raise JudgeError(f"{source} is a damaged run: a study is there twice; make it again")
    if known not in SECTIONS or section not in (None, known):
        raise JudgeError(f"{source} is a run of the section {known}; it has no other to judge")
    blank = {"reference": NO_REFERENCE}
    if "reading" in manifest:  # a model may have written nothing, a reader read something
        blank["candidate"] = NO_CANDIDATE
    for side in blank:
        if not any(map(str.strip, whole[side])):
            raise JudgeError(
                f"the run {source} has no {side} reports, since its reader's files have none; "
                "give PREDS and REFS"
            )
    problems = [
        Problem(reason, tuple(one for one, text in _pairs(whole, side) if not text.strip()), reason)
        for side, reason in blank.items()
    ]
    omitted = settle(problems, source, allow_missing=allow_missing, option="--allow-missing")
    gone = {study_id for problem in omitted.values() for study_id in problem.ids}
    beside = renamed(columns, reserved)
    called = dict(zip(columns, beside, strict=True))
    is_named = made_by and all(classes) and made_by != "none"
    studies = StudySet(
        study_ids=tuple(whole["study_id"]),
        references=tuple(whole["reference"]),
        candidates=tuple(whole["candidate"]),
        study_classes=tuple(classes),
        class_inferred=tuple(inferred),
        full_references=tuple(whole["reference"]),
        section=known,
        fields=beside,
        of_candidates=frozenset(
            called[name] for name in manifest.get("of_candidates", ()) if name in called
        ),
        class_field=str(made_by) if is_named else "study_class" if any(classes) else None,
        model=model or manifest.get("model") or _model(manifest),
        read_from={"id": "study_id", "reference": "reference", "candidate": "candidate"},
        inputs=(InputFile(source, "both", hashlib.sha256(data).hexdigest(), len(records)),),
    )
    if not gone:
        return studies
    left = studies.take([row for row, one in enumerate(studies.study_ids) if one not in gone])
    return replace(
        left,
        omitted={reason: len(problem.ids) for reason, problem in omitted.items()},
        omitted_ids={reason: problem.ids[:FIRST] for reason, problem in omitted.items()},
    )


def _pairs(whole: dict[str, list[str]], side: str) -> Iterable[tuple[str, str]]:
    return zip(whole["study_id"], whole[side], strict=True)


def _model(manifest: dict[str, Any]) -> str | None:
    paths = [one["path"] for one in manifest["inputs"] if one["role"] in ("preds", "both")]
    return model_of(paths[0]) if paths else None
