"""The built-in judge: answers any rubric, in the rubric's own format, by rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from judge.backends import lexicon
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, Message, Study, Unparsed

NOTE = "the built-in rule-based baseline: never report its numbers as a model's"


class LexiconJudge:
    """Compares two reports by the lexicon's rules.

    Deterministic, free, and local. It answers through the rubric's `render`, so what it
    says takes the same road as a model's answer.
    """

    prompt = None
    note = NOTE
    sampling: Mapping[str, object] = MappingProxyType({})
    is_free = True
    paid_at = None
    log = None
    notes = ()

    def __init__(self, rubric: Rubric, path: Path | None = None) -> None:
        self._rubric = rubric
        self._lexicon = lexicon.load(path)
        self.name = f"lexicon:{path}" if path else "lexicon"
        self.version = f"{self._lexicon.version}(baseline)"

    def request(self, study: Study) -> CompletionRequest:
        """Return the two reports as they are: rules need no prompt around them."""
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
        annotation = self._rubric.from_comparison(comparison, Study("", reference, candidate))
        return Completion(self._rubric.render(annotation), "stop", self.version)

    def again(
        self,
        request: CompletionRequest,
        completion: Completion,  # noqa: ARG002 - rules say the same to anything
        unparsed: Unparsed,  # noqa: ARG002
    ) -> CompletionRequest:
        """Return the same request: rules cannot be told what was wrong."""
        return request

    async def ready(self) -> None:
        """It always is."""

    async def aclose(self) -> None:
        """Nothing is open."""
