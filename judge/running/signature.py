"""One line that names everything that changes a number."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version

from judge.backends import Judge
from judge.prompts import TEXT
from judge.rubrics import Rubric
from judge.studies import StudySet


def signature(
    rubric: Rubric, judge: Judge, studies: StudySet, class_source: str, reask: int
) -> str:
    """Return the signature of a run, such as `green:2|judge:lexicon-1+3fa9c1d2|...`.

    Parts: the rubric and its version, the judge, the prompt and its digest, the sampling
    parameters, the reply that is asked for (`text`, or a digest of the form that it is held
    to; nothing where there is only text), and how often an unreadable answer was asked for
    again (none of these for a judge that runs inline), the section, where the study class comes
    from, how many studies were left out of the join, a digest of the studies that were judged,
    and the version of this program.
    """
    prompt = judge.prompt
    parts = [
        f"{rubric.name}:{rubric.version}",
        f"judge:{judge.version}",
        f"prompt:{prompt.name}@{prompt.version}+{prompt.digest}" if prompt else "prompt:none",
        *(() if judge.runs_inline else _asked(rubric, judge, reask)),
        f"section:{studies.section}",
        f"class:{class_source}",
        f"omitted:{sum(studies.omitted.values())}",
        f"studies:{len(studies)}+{studies_digest(studies)}",
        f"version:{version('judge')}",
    ]
    return "|".join(part.replace("|", "/") for part in parts)


def _asked(rubric: Rubric, judge: Judge, reask: int) -> list[str]:
    sampling = ",".join(
        f"{name}={json.dumps(value, sort_keys=True)}"
        for name, value in sorted(judge.sampling.items())
    )
    return [f"sampling:{sampling}", *_reply(rubric, judge), f"reask:{reask}"]


def _reply(rubric: Rubric, judge: Judge) -> list[str]:
    if judge.reply == TEXT:
        return [f"reply:{TEXT}"]
    # Without a choice a reply is in the only form that the rubric reads.
    if rubric.reply_model is None or (judge.reply is None and rubric.structured is not None):
        return []
    form = json.dumps(rubric.reply_model().model_json_schema(), sort_keys=True)
    return [f"reply:{hashlib.sha256(form.encode()).hexdigest()[:8]}"]


def read_today(line: str, rubric: Rubric) -> str:
    """Return the signature `line` with today's rubric and program, for answers read again."""
    _, *judged, _ = line.split("|")
    return "|".join([f"{rubric.name}:{rubric.version}", *judged, f"version:{version('judge')}"])


def studies_digest(studies: StudySet) -> str:
    """Return eight hexadecimal digits over everything that is known of the studies, in order."""
    digest = hashlib.sha256()
    for study in studies:
        texts = [study.study_id, study.reference, study.candidate, study.study_class]
        row = json.dumps([texts, study.fields], sort_keys=True, default=str)
        digest.update(row.encode() + b"\n")
    return digest.hexdigest()[:8]
