"""Worked examples for a prompt, from the readings on which a judge and readers differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from judge import prompts
from judge.files import replacing
from judge.jsonio import read_yaml
from judge.prompts import Prompt
from judge.prompts.shots import for_modality, usual_reply
from judge.readers.annotations import Reading
from judge.readers.training import answer_of, readings_of
from judge.signature import random_rank
from judge.stats.intervals import Values
from judge.types import JudgeError
from judge.validating.raters import RatedStudies, Rater, mean_of_readers


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are read, and not in quotes."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _represent_text)


@dataclass(frozen=True, kw_only=True)
class ReadingShot:
    """A reading as a worked example: the two reports, and the reader's answer in the prompt's form.

    `distance` is how far the judge's counts of errors are from the readers' mean, summed over the
    categories and the levels.
    """

    study_id: str
    reader: str
    distance: float
    reference: str
    candidate: str
    reply: str


def reading_shots(
    studies: RatedStudies, prompt: Prompt, *, n: int, seed: int
) -> list[ReadingShot]:
    """Return `n` worked examples, or fewer: the readings that differ most from the judge.

    `studies` are of one judge. Each example is of another reference; of a study's readings it is
    the one nearest to the mean of its readers. Ties are drawn by `seed`. Readings that cannot be
    written as an answer to the prompt are passed over. Raises `JudgeError` where judge and readers
    agree on every study, and where no reading that differs can be written.
    """
    (judge,) = studies.judges
    distances = _distances(studies)
    rows: list[int] = np.flatnonzero(np.nan_to_num(distances) > 0).tolist()
    if not rows:
        raise JudgeError(
            f"{judge.shown} and the readers agree on every study that both judged: there is "
            "nothing to learn from"
        )
    by_reader = [_readings(reader) for reader in studies.readers]
    ids = studies.study_ids
    order = sorted(rows, key=lambda row: (-distances[row], random_rank(seed, ids[row])))
    shots: list[ReadingShot] = []
    seen: set[int] = set()
    why = ""
    for row in order:
        reference = int(studies.references[row])
        if reference in seen:
            continue
        for column in _nearest_first(studies, row):
            reader = studies.readers[column]
            reading = by_reader[column].get(ids[row])
            if reading is None:
                continue
            try:
                reply = answer_of(reading, reader.lacks, prompt, judge.rubric)
            except ValueError as error:
                why = why or str(error)
                continue
            seen.add(reference)
            shot = ReadingShot(
                study_id=ids[row],
                reader=reader.name,
                distance=float(distances[row]),
                reference=reading.study.reference,
                candidate=reading.study.candidate,
                reply=reply,
            )
            shots.append(shot)
            break
        if len(shots) == n:
            break
    if not shots:
        raise JudgeError(
            f"no reading that differs can be written as an answer to {prompt.name}: {why}"
        )
    return shots


def _readings(reader: Rater) -> Mapping[str, Reading]:
    return {
        reading.study.study_id: reading for reading in readings_of(reader.run).readings
    }


def _counts(studies: RatedStudies) -> list[Values]:
    """Return the counts by category and by level, else those of errors; each studies by raters."""
    counts = [one for one in studies.quantities if one.role == "count"]
    parts = [one for one in counts if one.category or one.is_level]
    return [studies.values[one.name] for one in parts or counts]


def _distances(studies: RatedStudies) -> Values:
    """Return how far the judge is from the readers' mean in each study; NaN where unknown."""
    total: Values = np.zeros(len(studies.study_ids))
    for grid in _counts(studies):
        total = total + np.abs(grid[:, 0] - mean_of_readers(grid[:, 1:]))
    return total


def _nearest_first(studies: RatedStudies, row: int) -> Sequence[int]:
    """Return the numbers of the readers of a study, that nearest to their mean first."""
    away = np.zeros(len(studies.readers))
    for grid in _counts(studies):
        readers = grid[[row], 1:]
        away += np.abs(readers - mean_of_readers(readers)[:, None])[0]
    order: list[int] = np.argsort(
        np.nan_to_num(away, nan=np.inf), kind="stable"
    ).tolist()
    return order


def prompt_of_run(judge: Rater) -> Prompt:
    """Return the prompt by which a run was judged; raises `JudgeError` where it is not at hand."""
    entries = judge.run.manifest.prompts
    if len(entries) != 1:
        raise JudgeError(
            f"{judge.shown} was not judged by one prompt: the built-in judge reads none, and some "
            "rubrics ask several questions"
        )
    (entry,) = entries
    recorded = judge.run.manifest.settings
    name = entry.name
    if recorded is not None and recorded.prompt:
        name = recorded.prompt
    prompt = prompts.load(name)
    sent = prompt
    if recorded is not None and recorded.modality:
        reply = usual_reply(judge.rubric, prompt)
        sent = for_modality(prompt, judge.rubric, reply, recorded.modality)
    if sent.digest != entry.digest:
        raise JudgeError(
            f"the prompt {name} is another one ({sent.digest}) than {judge.shown} was judged by "
            f"({entry.digest}); judge it again, or restore the file"
        )
    if prompt.is_exact:
        raise JudgeError(
            f"{prompt.name} is the wording that models were made for: examples would change it; "
            "fine-tune instead (judge readers export --for-training)"
        )
    return prompt


def write_prompt(
    prompt: Prompt, shots: Sequence[ReadingShot], path: Path, file: Path
) -> Prompt:
    """Write a prompt's `file` anew to `path`, with these worked examples alone, and return it.

    Raises `JudgeError` where it cannot be written.
    """
    data, _ = read_yaml(file)
    assert isinstance(data, dict)
    made: dict[str, Any] = {**data, "name": path.stem, "version": 1}
    made["shots"] = [
        {"reference": one.reference, "candidate": one.candidate, "reply": one.reply}
        for one in shots
    ]
    checked = prompts.check(made, f"prompt {path.stem}")
    body = yaml.dump(made, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    head = (
        f"# {prompt.name} {prompt.digest}, with examples from the readings on which judge and\n"
        "# readers differed most. It holds reports: keep it where you keep those.\n"
    )
    if path.exists():
        raise JudgeError(f"{path} is there already; name another --out")
    with replacing(path) as staged:
        staged.write_text(head + body, "utf-8")
    return checked
