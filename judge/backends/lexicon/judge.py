"""The built-in judge: answers any rubric, in the rubric's own format, by rules."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from judge import plugins
from judge.backends import lexicon
from judge.backends.base import CountedNote, Judge, JudgeSettings, StudyError
from judge.rubrics import Rubric
from judge.types import (
    Annotation,
    Completion,
    CompletionRequest,
    JudgeError,
    Message,
    Study,
    UnparsedError,
)

_RADIOGRAPH = "xr"
_UNFAMILIAR = {
    "language": "a report that seems to be in another language than English, or has mostly words "
    "that the lexicon does not know",
    "images": "a report that seems to be of CT, MRI or ultrasound; --modality xr judges them as "
    "chest radiographs",
    "modality": "another modality than chest radiographs",
}
"""Why a study is not judged -> what it has."""


def load(path: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the built-in judge with the lexicon at `path`, "" for its own."""
    if settings.sampling or settings.reply:
        wrong = ", ".join(settings.sampling) or "--reply"
        raise JudgeError(f"lexicon follows rules and takes no {wrong}; leave it out")
    judge = LexiconJudge(rubric, Path(path) if path else None)
    if settings.prompt:
        from judge.backends import options

        options.load_prompt(rubric, settings.prompt, settings.environ)
        settings.say(f"--prompt has no effect: the judge {judge.name} reads no prompt.")
    return judge


class LexiconJudge(Judge):
    """Compares two reports by the lexicon's rules.

    Deterministic, free, and local. It answers through the rubric's `baseline` and `render`, so
    what it says takes the same road as a model's answer. Raises `JudgeError` for a rubric that
    has no baseline.
    """

    note = "the built-in rule-based baseline: never report its numbers as those of a judge model"
    runs_inline = True
    is_deterministic = True

    def __init__(self, rubric: Rubric, path: Path | None = None) -> None:
        if rubric.baseline is None or rubric.render is None:
            raise JudgeError(
                f"the built-in judge has no rules for {rubric.title}; name another with --judge"
            )
        self._rubric = rubric
        self._baseline, self._render = rubric.baseline, rubric.render
        self._is_added = bool(plugins.RUBRICS.packages(rubric.name))
        self._lexicon = lexicon.load(path) if path else lexicon.load()
        self.name = f"lexicon:{path}" if path else "lexicon"
        self.version = f"{self._lexicon.version}(baseline)"
        self._asked = 0
        self._unfamiliar: Counter[str] = Counter()

    @property
    def counted(self) -> tuple[CountedNote, ...]:
        """How many of the studies asked about are not judged: the rules were not made for them."""
        return tuple(
            CountedNote(
                "{n} of {of} studies are not judged by the built-in judge, which reads English "
                f"reports of chest X-rays alone: they have {what}",
                self._unfamiliar[why],
                self._asked,
            )
            for why, what in _UNFAMILIAR.items()
        )

    def request(self, study: Study) -> CompletionRequest:
        """Return the two reports as they are: rules need no prompt around them.

        Counts the studies whose reports are of another language or no X-ray's.
        """
        self._asked += 1
        said = {"rubric": self._rubric.name}
        said |= {"reference": study.reference, "candidate": study.candidate}
        if study.context and self._rubric.takes_context:
            said["context"] = json.dumps(dict(study.context))
        if why := self._why_not(study):
            self._unfamiliar[why] += 1
            said["unfamiliar"] = why
        messages = tuple(Message(role, content) for role, content in said.items())
        return CompletionRequest(endpoint="lexicon", model=self.version, messages=messages)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Compare the reports and write the result in the rubric's reply format.

        Raises `StudyError` for reports that the rules were not made for.
        """
        said = {message.role: message.content for message in request.messages}
        if why := said.get("unfamiliar"):
            raise StudyError(f"unfamiliar {why}", f"the study has {_UNFAMILIAR[why]}")
        context = json.loads(said.get("context", "{}"))
        study = Study("", said["reference"], said["candidate"], context=context)
        comparison = lexicon.compare(study.reference, study.candidate, self._lexicon)
        annotation = self._baseline(comparison, study)
        text = self._render(annotation)
        if self._is_added:
            self._check(text, annotation, study)
        return Completion(text, "stop", self.version)

    def _check(self, text: str, annotation: Annotation, study: Study) -> None:
        # Tests hold the rubrics that are built in to this; nobody does so for a package's.
        try:
            read = self._rubric.parse(text, study, complete=True)
        except UnparsedError:
            return  # which is the study's end, and counted
        if read != annotation:
            raise plugins.RUBRICS.error(
                self._rubric.name,
                "reads other items or numbers in an answer than it wrote there: parse(render(x)) "
                "has to be x",
            )

    def _why_not(self, study: Study) -> str | None:
        if study.modality not in (None, _RADIOGRAPH):
            return "modality"
        both = (study.reference, study.candidate)
        found = {lexicon.unfamiliar(report, self._lexicon) for report in both}
        if "language" in found:
            return "language"
        return "images" if "images" in found and study.modality is None else None
