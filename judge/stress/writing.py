"""Rewordings by a model: asked for as a judge is asked, and refused where they are in doubt.

Nobody checks that a rewording means the same.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judge import backends
from judge.backends import LEXICON, JudgeSettings
from judge.cache import place
from judge.prompts import REWORDING
from judge.rubrics import Rubric
from judge.running.asking import RequestPolicy
from judge.running.budget import Budget
from judge.running.engine import ProgressListener, UnreadableError, judge_set
from judge.running.progress import Progress
from judge.running.records import Judged
from judge.running.session import JudgeSession
from judge.stress.changes import Change
from judge.stress.text import Changed, Draw, Edit, NotMade, Reference, Result
from judge.studies.study_set import StudySet
from judge.types import Annotated, Annotation, JudgeError, Measures, Study, UnparsedError

NAME = "reworded"
_MOST = 3
"""A rewording has at most so many times the words of the report, and at least one in so many."""
_REFUSAL = re.compile(
    r"\W*(?:i(?:['\u2019]m| am) (?:sorry|afraid|unable|not able)|sorry\b"
    r"|as an ai\b|as a language model"
    r"|i (?:can(?:not|['\u2019]t)|won['\u2019]t|am not able to|must decline))",
    re.IGNORECASE,
)
_AROUND = re.compile(
    r"\W*(?:sure\b|certainly\b|of course\b|here(?:['\u2019]s| is)\b|below is\b|okay\b"
    r"|the (?:reworded|rewritten|rephrased) report\b|(?:reworded|rewritten|rephrased)\b"
    r"|(?:final )?answer:)"
    r"|.*(?:<<<|>>>|```|</?think>)|\s*[{\[]\s*[\"\]}]",
    re.IGNORECASE | re.DOTALL,
)
# "Note is made of" begins many a sentence of a report; a note of the writer's has a colon.
_NOTE_AFTER = re.compile(
    r"(?im)^\W*(?:(?:note|explanation|comment)\s*:|changes made\b"
    r"|i have (?:kept|reworded|changed)\b)"
)
_QUOTED = re.compile(r"\s*([\"'\u201c\u2018`*]).*[\"'\u201d\u2019`*]\s*", re.DOTALL)
_WORD = re.compile(r"\S+\s*|^\s+")
# Control characters, and halves of a character, which no file can hold.
_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def load(
    writer: str,
    settings: JudgeSettings,
    policy: RequestPolicy,
    cache: Any = None,  # noqa: ANN401 - a path or nothing
    budget: Budget | None = None,
) -> JudgeSession:
    """Return the session of a model that rewords reports; its answers have keys of their own.

    Nothing is asked. Raises `JudgeError` as `judge.backends.load` does, and for the built-in judge.
    """
    if writer.partition(":")[0] == LEXICON:
        raise JudgeError(f"--writer: {LEXICON} writes no reports; name a model, such as gpt-4o")
    settings = replace(settings, prompt=None, reply=None)
    try:
        judge = backends.load(writer, WRITING, settings)
    except JudgeError as error:
        raise JudgeError(f"--writer: {error}") from error
    return JudgeSession(WRITING, judge, policy, place(cache, settings.environ), budget)


def facts(session: JudgeSession) -> dict[str, Any]:
    """Return what the manifest of the candidates says of the writer."""
    judge = session.judge
    assert judge.prompt is not None
    return {
        "name": judge.name,
        "version": judge.version,
        "prompt": f"{judge.prompt.name}@{judge.prompt.version}+{judge.prompt.digest}",
        "sampling": dict(judge.sampling),
        "reask": session.policy.reask,
    }


def part(writer: Mapping[str, Any]) -> str:
    """Return what a signature says of a writer, from its facts."""
    sampling = ",".join(
        f"{name}={json.dumps(value, sort_keys=True)}"
        for name, value in sorted(writer["sampling"].items())
    )
    return f"{writer['version']},{writer['prompt']},{sampling},reask={writer['reask']}"


def reworded(
    session: JudgeSession, studies: StudySet, listener: ProgressListener
) -> tuple[dict[str, str | NotMade], Progress]:
    """Ask for a rewording of each reference; returns the texts by study, or why there is none.

    Raises as `judge_set` does.
    """
    texts: dict[str, str | NotMade] = {}

    def keep(end: Judged) -> None:
        if isinstance(end.outcome, Annotated):
            texts[end.study.study_id] = end.outcome.annotation.explanation
        elif end.completion is None:
            texts[end.study.study_id] = NotMade(f"the writer did not answer: {end.outcome.reason}")
        else:
            why = f"the writer's answer is no rewording: {end.outcome.reason}"
            texts[end.study.study_id] = NotMade(why)

    with session:
        try:
            progress = judge_set(session, studies, keep, listener)
        except UnreadableError as error:
            seen, _, _ = str(error).partition("\n")  # what follows is advice about a judge
            raise UnreadableError(f"{seen}\nTry another --writer.", error.progress) from error
    return texts, progress


def change(writer: str, texts: Mapping[str, str | NotMade]) -> Change:
    """Return the change that takes the rewordings of a writer, by study."""

    def make(report: Reference, draw: Draw) -> Result:
        text = texts[draw.study]
        return text if isinstance(text, NotMade) else Changed(differences(report.text, text))

    return Change(NAME, "unchanged", f"Reworded by {writer}.", "no error", make)


def differences(before: str, after: str) -> tuple[Edit, ...]:
    """Return the edits, of whole words, that make `after` of `before`."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    at = [0]
    for word in old:
        at.append(at[-1] + len(word))
    matched = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Edit(at[a], at[b], "".join(new[c:d]))
        for tag, a, b, c, d in matched.get_opcodes()
        if tag != "equal"
    )


def _parse(text: str, study: Study, *, complete: bool = False) -> Annotation:
    """Return a rewording as the explanation of an annotation without items."""
    said = "\n".join(text.strip().splitlines())  # files are read with such ends of lines
    if _UNPRINTED.search(said):
        raise UnparsedError("characters that no report has")
    if not said:
        raise UnparsedError("empty")
    if _REFUSAL.match(said):
        raise UnparsedError("refusal")
    if not complete:
        raise UnparsedError("cut off")
    if _AROUND.match(said) or _NOTE_AFTER.search(said) or _QUOTED.fullmatch(said):
        raise UnparsedError("words or marks around the report", "give the report alone")
    n, there = len(said.split()), len(study.reference.split())
    if n > _MOST * there:
        raise UnparsedError("too long", f"more than {_MOST} times the words of the report")
    if _MOST * n < there:
        raise UnparsedError("too short", f"less than one in {_MOST} of the words of the report")
    if said.casefold().split() == study.reference.casefold().split():
        raise UnparsedError("the report itself", "write it in other words")
    return Annotation(explanation=said)


def _measure(_annotation: Annotation, _study: Study) -> Measures:
    return {}


WRITING = Rubric(
    name=REWORDING,
    version=1,
    title="Rewording",
    summary="Write reports in other words.",
    prompt=REWORDING,
    parse=_parse,
    measure=_measure,
    measures=(),
    statistics=(),
    worst=(),
)
"""What a writer is asked for, as the engine takes it. No rubric: nothing is judged by it."""
