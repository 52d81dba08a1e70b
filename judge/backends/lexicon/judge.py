"""The built-in judge: answers any rubric, in the rubric's own format, by rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from judge.backends import lexicon
from judge.backends.base import CountedNote, Judge
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Message, Study

_UNFAMILIAR = {"language": "in another language", "images": "of CT, MRI or ultrasound"}


class LexiconJudge(Judge):
    """Compares two reports by the lexicon's rules.

    Deterministic, free, and local. It answers through the rubric's `baseline` and `render`, so
    what it says takes the same road as a model's answer. Raises `JudgeError` for a rubric that
    has no baseline.
    """

    note = "the built-in rule-based baseline: never report its numbers as a model's"
    runs_inline = True
    is_deterministic = True

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
    def counted(self) -> tuple[CountedNote, ...]:
        """How many of the studies asked about have a report that the rules were not made for."""
        return tuple(
            CountedNote(
                f"{{n}} of {{of}} studies have a report that seems to be {what}: the built-in "
                "judge reads English reports of chest X-rays, and what it says of these means "
                "little",
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
        both = {"reference": study.reference, "candidate": study.candidate}
        found = {lexicon.unfamiliar(report, self._lexicon) for report in both.values()}
        self._unfamiliar.update(filter(None, found))
        said = {"rubric": self._rubric.name, **both}
        messages = tuple(Message(role, content) for role, content in said.items())
        return CompletionRequest(endpoint="lexicon", model=self.version, messages=messages)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Compare the reports and write the result in the rubric's reply format."""
        _, reference, candidate = (message.content for message in request.messages)
        comparison = lexicon.compare(reference, candidate, self._lexicon)
        annotation = self._baseline(comparison, Study("", reference, candidate))
        return Completion(self._render(annotation), "stop", self.version)
