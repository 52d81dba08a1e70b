"""Readings as training data for a judge: chat examples of most patients, the others held out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge import rubrics
from judge.files import ANOTHER, atomic_folder, entries_of, replacing
from judge.plugins import version
from judge.prompts import STRUCTURED, Prompt
from judge.readers.annotation_store import finished
from judge.readers.annotations import READER, Reading, Readings, write_runs
from judge.rubrics.contract import Rubric
from judge.run_files.manifest import MANIFEST
from judge.running.folder import RunFolder
from judge.running.records import outcome_of, study_of
from judge.signature import random_rank
from judge.studies.columns import FIELD_NAMES
from judge.studies.input_table import InputFile
from judge.types import Annotation, Item, JudgeError, Scored, Study, UnparsedError

LAYOUT = "training"
"""The name of the layout of the readers' runs that are made here."""
EXAMPLES = "train.jsonl"
TRAIN = "train"
HELD_OUT = "held-out"
CARD = "training.json"
FORMAT = 1
_RANKS = 16**8


@dataclass(frozen=True, kw_only=True)
class ReaderCounts:
    """What became of a reader's readings: how many are on which side, and how many left out.

    `left_out` has the reasons with the numbers of readings.
    """

    reader: str
    n_train: int
    n_held_out: int
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrainingSet:
    """Chat examples, and the readings of either side of the split.

    `n_patients` are those with training examples, `n_patients_held_out` the others. `examples` have
    a dictionary for each reading: `messages` (each with `role` and `content`, the last by the
    assistant), `study_id` and `reader`.
    """

    rubric: str
    prompt: Prompt
    seed: int
    share: float
    patient_field: str | None
    examples: Sequence[Mapping[str, Any]]
    train: Sequence[Readings]
    held_out: Sequence[Readings]
    readers: Sequence[ReaderCounts]
    n_patients: int
    n_patients_held_out: int
    inputs: Sequence[InputFile] = ()

    def plain(self) -> dict[str, Any]:
        """Return what `training.json` says, as JSON's types."""
        return {
            "format": FORMAT,
            "version": version(),
            "rubric": self.rubric,
            "prompt": {"name": self.prompt.name, "digest": self.prompt.digest},
            "split_by": self.patient_field or "reference",
            "seed": self.seed,
            "held_out_share": self.share,
            "n_examples": len(self.examples),
            "n_patients": self.n_patients,
            "n_patients_held_out": self.n_patients_held_out,
            "readers": [
                {
                    "reader": one.reader,
                    "n_train": one.n_train,
                    "n_held_out": one.n_held_out,
                    "left_out": dict(one.left_out),
                }
                for one in self.readers
            ],
            "inputs": [
                {"path": one.path, "role": one.role, "sha256": one.sha256}
                for one in self.inputs
            ],
        }


def readings_of(run: RunFolder) -> Readings:
    """Return the readings in a reader's run; raises `JudgeError` for a run of a judge."""
    entry = run.reading
    if entry is None:
        raise JudgeError(
            f"{run.path} is a run of the judge {run.manifest.judge.name}, not of a reader"
        )
    readings = []
    for record in run.records():
        outcome = outcome_of(record)
        if isinstance(outcome, Scored):
            readings.append(Reading(study_of(record), outcome.annotation))
        else:
            why = outcome.detail or outcome.reason
            readings.append(Reading(study_of(record), Annotation(()), why))
    return Readings(
        reader=run.manifest.judge.name.removeprefix(READER),
        rubric=run.manifest.rubric,
        readings=readings,
        lacks=entry.lacks,
        own_categories=entry.own,
        section=run.manifest.section,
        class_source=run.manifest.class_source or "none",
    )


def read_all(
    paths: Sequence[Path], reader: str | None = None
) -> tuple[list[Readings], list[InputFile]]:
    """Return the readings of runs read in the browser, and of readers' runs, by their folders.

    A folder of readers' runs gives all of them; `reader` names one whose readings alone are taken.
    Raises `JudgeError` where there is none.
    """
    readings: list[Readings] = []
    inputs: dict[str, InputFile] = {}
    for path in paths:
        for folder in _folders(path):
            run = RunFolder.open(folder)
            if run.reading is not None:
                found = [readings_of(run)]
                files = _inputs(run)
            else:
                exported, read = finished(run, reader)
                found, files = [*exported], [*read]
            readings += [one for one in found if reader in (None, one.reader)]
            inputs |= {one.sha256: one for one in files}
    if not readings:
        raise JudgeError(f"there are no readings of {reader!r}")
    names = Counter(one.reader for one in readings)
    twice = [name for name, n in names.items() if n > 1]
    if twice:
        raise JudgeError(
            f"the readings of {twice[0]!r} are there twice; give each reader's run once"
        )
    return readings, [*inputs.values()]


def _folders(path: Path) -> list[Path]:
    if (path / MANIFEST).exists() or not path.is_dir():
        return [path]
    return sorted(place.parent for place in path.glob(f"*/{MANIFEST}")) or [path]


def _inputs(run: RunFolder) -> list[InputFile]:
    return [
        InputFile(one.path, one.role, one.sha256, one.n_records)
        for one in run.manifest.inputs
    ]


def training_set(
    readings: Sequence[Readings],
    prompt: Prompt,
    *,
    share: float,
    seed: int,
    patient_field: str | None = None,
    inputs: Sequence[InputFile] = (),
) -> TrainingSet:
    """Split readings by patient, and write those of most patients as chat examples.

    `share` of the patients, about, are held out: those whose hash of `seed` and name is below it,
    so that a patient stays on its side when more are read. A study without a patient counts as one
    of the patient of all studies with its reference report. All readings of a held-out patient are
    held out. For training a reading is left out, with the reason, where the reader could not judge
    the study, and where it cannot be written as an answer that reads back to the same numbers.

    Raises `JudgeError` where the readings are of several rubrics or of one that asks several
    questions, where the prompt is of another rubric, where no patient is held out, and where no
    example could be written.
    """
    names = dict.fromkeys(one.rubric for one in readings)
    if len(names) != 1:
        raise JudgeError(
            f"the readings are of {' and '.join(names)}; export those of one rubric at a time"
        )
    (name,) = names
    rubric = rubrics.load(name)
    if rubric.steps is not None or prompt.rubric != name:
        raise JudgeError(
            f"the prompt {prompt.name} is of {prompt.rubric} and the readings are of {name}; give "
            "a --prompt of that rubric that asks one question"
        )
    known_field = _patient_field(readings, patient_field)
    train, held_out, counts, examples = [], [], [], []
    patients: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
    for one in readings:
        left_out: Counter[str] = Counter()
        sides: dict[bool, list[Reading]] = {True: [], False: []}
        for reading in one.readings:
            patient = _patient(reading.study, known_field)
            if _is_held_out(patient, seed, share):
                sides[True].append(reading)
                patients[True].add(patient)
                continue
            try:
                answer = answer_of(reading, one.lacks, prompt, rubric)
            except ValueError as error:
                left_out[str(error)] += 1
                continue
            sides[False].append(reading)
            patients[False].add(patient)
            examples.append(_example(reading, answer, prompt, one.reader))
        train.append(replace(one, readings=sides[False], sample=None))
        held_out.append(replace(one, readings=sides[True], sample=None))
        counts.append(
            ReaderCounts(
                reader=one.reader,
                n_train=len(sides[False]),
                n_held_out=len(sides[True]),
                left_out=left_out,
            )
        )
    _check_sides(patients, counts, share)
    return TrainingSet(
        rubric=name,
        prompt=prompt,
        seed=seed,
        share=share,
        patient_field=known_field,
        examples=examples,
        train=[one for one in train if one.readings],
        held_out=[one for one in held_out if one.readings],
        readers=counts,
        n_patients=len(patients[False]),
        n_patients_held_out=len(patients[True]),
        inputs=inputs,
    )


def answer_of(
    reading: Reading, lacks: Mapping[str, str], prompt: Prompt, rubric: Rubric
) -> str:
    """Return a reading as the answer that a judge would give to the prompt.

    Raises ValueError, with the reason in a few words, for a reading that no answer expresses.
    """
    if reading.cannot_judge:
        raise ValueError("the reader could not judge the study")
    if lacks:
        raise ValueError(next(iter(lacks.values())))
    study, annotation = reading.study, reading.annotation
    if not study.reference or not study.candidate:
        raise ValueError("the reports are not with the reading")
    structured = rubric.structured
    render, parse = rubric.render, rubric.parse
    if structured is not None and prompt.reply == STRUCTURED:
        render, parse = structured.render, structured.parse
    if render is None:
        raise ValueError(f"an answer by {rubric.title} cannot be written")
    if any(not item.text.strip() and item.edit is None for item in annotation.items):
        raise ValueError("an error or a finding has no text")
    items = []
    for item in annotation.items:
        # Entries of a list are one line each, and semicolons stand between them.
        text = " ".join(item.text.replace(";", ",").split())
        items.append(Item(item.kind, text, item.labels, edit=item.edit))
    answer = render(Annotation(tuple(items), annotation.explanation))
    try:
        read_back = parse(answer, study, complete=True)
    except UnparsedError as error:
        raise ValueError(f"the answer could not be read back: {error}") from error
    if rubric.measured(read_back, study) != rubric.measured(annotation, study):
        raise ValueError("the answer would be read as other numbers")
    return answer


def _example(
    reading: Reading, answer: str, prompt: Prompt, reader: str
) -> dict[str, Any]:
    messages = []
    for turn in prompt.about(reading.study):
        messages.append({"role": turn.role, "content": turn.content})
    messages.append({"role": "assistant", "content": answer})
    return {
        "messages": messages,
        "study_id": reading.study.study_id,
        "reader": reader,
    }


def _patient_field(readings: Sequence[Readings], named: str | None) -> str | None:
    if named == "none":
        return None
    fields: set[str] = set()
    for one in readings:
        for reading in one.readings:
            fields |= reading.study.fields.keys()
    if named is not None:
        if named not in fields:
            raise JudgeError(
                f"no reading has the field {named!r} that --patient-field names"
            )
        return named
    return next((name for name in FIELD_NAMES["patient"] if name in fields), None)


def _patient(study: Study, patient_field: str | None) -> tuple[str, str]:
    if patient_field is not None:
        value = study.fields.get(patient_field)
        if value is not None:
            return "patient", str(value)
    return "reference", " ".join(study.reference.split())


def _is_held_out(patient: tuple[str, str], seed: int, share: float) -> bool:
    return int(random_rank(seed, *patient)[:8], 16) < share * _RANKS


def _check_sides(
    patients: Mapping[bool, set[tuple[str, str]]],
    counts: Sequence[ReaderCounts],
    share: float,
) -> None:
    reasons: Counter[str] = Counter()
    for one in counts:
        reasons.update(one.left_out)
    if not patients[False] and reasons:
        why = "; ".join(f"{reason} ({n:,})" for reason, n in reasons.most_common(3))
        raise JudgeError(f"no reading can be written as a training example: {why}")
    for is_held_out, side in ((True, "held out"), (False, "left for training")):
        if not patients[is_held_out]:
            raise JudgeError(
                f"no patient is {side} with --held-out {share:g}; have more studies read, or give "
                "another --held-out or --draw-seed"
            )


def write_training_set(made: TrainingSet, out: Path) -> None:
    """Write a training set into a new folder; raises `JudgeError`.

    `train.jsonl` has the chat examples, `train` and `held-out` the readers' runs of either side,
    `training.json` how they were made.
    """
    if entries_of(out):
        raise JudgeError(f"{out} is not empty; {ANOTHER}")
    with atomic_folder(out) as place:
        lines = [json.dumps(one, ensure_ascii=False) for one in made.examples]
        _write(place / EXAMPLES, lines)
        inputs = made.inputs
        write_runs(LAYOUT, made.train, inputs, place / TRAIN)
        write_runs(LAYOUT, made.held_out, inputs, place / HELD_OUT, is_held_out=True)
        card = json.dumps(made.plain(), indent=2, ensure_ascii=False)
        _write(place / CARD, [card])


def _write(path: Path, lines: Sequence[str]) -> None:
    text = "\n".join(lines) + "\n"
    with replacing(path) as staged:
        staged.write_bytes(text.encode("utf-8", "replace"))
