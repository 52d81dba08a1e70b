"""A judge behind a real socket that answers both questions of the rubric, each by its texts.

A report of these tests is sentences; its phrases are the same sentences. A sentence that stands in
the other report is entailed by it, one whose denial stands there is contradicted.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from faultserver import Behaviour, FaultServer

from judge import backends, prompts, rubrics
from judge.running.judging import judge_set
from judge.running.policy import RequestPolicy
from judge.running.progress import Progress, ProgressListener
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.studies import StudySet, from_python
from judge.types import Annotation

RUBRIC = rubrics.load("facts")
# All of a question about this study, which is then what the server knows the request by.
QUESTION = r"(?s)<<<REPORT \w+\n.*"


def right(question: str, _seed: int) -> Annotation:
    """The right answer to a question, as the explanation of an annotation."""
    report, _, rest = question.partition("\n")[2].partition("REPORT>>>")
    told = report.rpartition("\n")[0]
    if "<<<PHRASES" not in rest:
        return Annotation(explanation=json.dumps({"phrases": sentences(told)}))
    phrases = re.findall(r"(?m)^\d+\. (.*)$", rest)
    verdicts = [
        {"phrase": n, **verdict(phrase, sentences(told))}
        for n, phrase in enumerate(phrases, 1)
    ]
    return Annotation(explanation=json.dumps({"verdicts": verdicts}))


def key(report: str, phrases: str = "") -> str:
    """What the server knows a question by: about a report, or about phrases and a report."""
    prompt = prompts.load("facts-verdicts" if phrases else "facts-phrases")
    told = prompt.messages(report, "\n".join(sentences(phrases)))[-1].content
    found = re.search(QUESTION, told)
    assert found
    return found[0]


def sentences(report: str) -> list[str]:
    return [one.strip() for one in report.split(".") if one.strip()]


def verdict(phrase: str, said: list[str]) -> dict[str, object]:
    lower = [one.lower() for one in said]
    phrase = phrase.lower()
    denied = phrase.removeprefix("no ") if phrase.startswith("no ") else f"no {phrase}"
    if phrase in lower:
        return {"evidence": [phrase], "verdict": "entailed"}
    if denied in lower:
        return {"evidence": [denied], "verdict": "contradicted"}
    return {"evidence": [], "verdict": "not_mentioned"}


def written(annotation: Annotation) -> str:
    return annotation.explanation


def server(**behaviour: object) -> FaultServer:
    how = Behaviour(key_pattern=QUESTION, **behaviour)  # type: ignore[arg-type]
    return FaultServer(how, annotate=right, render=written)


def session(
    url: str, cache: Path, prompt: str | None = None, **policy: object
) -> JudgeSession:
    asked = RequestPolicy(**({"concurrency": 8} | policy))  # type: ignore[arg-type]
    settings = backends.JudgeSettings(base_url=url, prompt=prompt)
    return JudgeSession.load("facts", "model-x", settings, policy=asked, cache=cache)


def studies(*pairs: tuple[str, str]) -> StudySet:
    references, candidates = zip(*pairs, strict=True)
    return from_python(references, candidates)


def judged(
    session: JudgeSession, given: StudySet
) -> tuple[list[StudyResult], Progress]:
    ends: list[StudyResult] = []
    with session:
        progress = judge_set(session, given, ends.append, ProgressListener())
    return sorted(ends, key=lambda end: end.row), progress
