"""The built-in judge: answers any rubric, in the rubric's own format, by rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from judge.backends import lexicon
from judge.backends.base import Judge
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Message, Study

_UNFAMILIAR = {"language": "in another language", "images": "of CT, MRI or ultrasound"}

NOTE = "the built-in rule-based baseline: never report its numbers as a model's"


class LexiconJudge(Judge):
    """Compares two reports by the lexicon's rules.

    Deterministic, free, and local. It answers through the rubric's `baseline` and `render`, so
    what it says takes the same road as a model's answer. Raises `JudgeError` for a rubric that
    has no baseline.
    """

    note = NOTE
    runs_inline = True

    def __init__(self, rubric: Rubric, path: Path | None = None) -> None:
        if rubric.baseline is None or rubric.render is None:
            raise JudgeError(
                f"the built-in judge has no rules for {rubric.title}; name another with --judge"
            )
        self._rubric = rubric
        self._baseline, self._render = rubric.baseline, rubric.render
        self._lexicon = lexicon.load(path) if path else lexicon.load()
        self.name = f"lexicon:{path}" if path else "lexicon"
        self.version = f"{self._lexicon.version}(baseline)"
        self._asked = 0
        self._unfamiliar: Counter[str] = Counter()

    @property
    def notes(self) -> tuple[str, ...]:
        """How many of the studies asked about have a report that the rules were not made for."""
        return tuple(
            f"{self._unfamiliar[why]} of {self._asked} studies have a report that seems to be "
            f"{what}: the built-in judge reads English reports of chest X-rays, and what it says "
            "of these means little"
            for why, what in _UNFAMILIAR.items()
            if self._unfamiliar[why]
        )

    def request(self, study: Study) -> CompletionRequest:
        """Return the two reports as they are: rules need no prompt around them.

        Counts the studies whose reports are of another language or no X-ray's.
        """
        self._asked += 1
        found = {
            lexicon.unfamiliar(report, self._lexicon)
            for report in (study.reference, study.candidate)
        }
        self._unfamiliar.update(why for why in found if why)
        return CompletionRequest(
            endpoint="lexicon",
            model=self.version,
            messages=(
                Message("rubric", self._rubric.name),
                Message("reference", study.reference),
                Message("candidate", study.candidate),
            ),
        )

    async def complete(self, request: CompletionRequest) -> Completion:
        """Compare the reports and write the result in the rubric's reply format."""
        by_role = {message.role: message.content for message in request.messages}
        reference, candidate = by_role["reference"], by_role["candidate"]
        comparison = lexicon.compare(reference, candidate, self._lexicon)
        annotation = self._baseline(comparison, Study("", reference, candidate))
        return Completion(self._render(annotation), "stop", self.version)
