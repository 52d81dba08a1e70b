"""A judge whose answers a test writes, by the candidate's text, and its runs of made candidates."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from judge import rubrics
from judge.backends.base import Judge, StudyError
from judge.running.policy import RequestPolicy
from judge.running.run import run
from judge.running.session import JudgeSession
from judge.studies import read_pair
from judge.types import Completion, CompletionRequest, Message, Study

Said = list[tuple[str, bool]] | str
"""The errors of an answer, a letter and whether it is significant; `bad` cannot be read, `none`
is no answer at all."""
NAMES = (
    *("False finding", "Missing finding", "Wrong location", "Wrong severity"),
    *("Comparison not in the reference", "Omitted comparison"),
)


class Scripted(Judge):
    """Says of each candidate what a function says of its text."""

    runs_inline = True
    note = None

    def __init__(self, answers: Callable[[str], Said], version: str = "1") -> None:
        self.name, self.version = "scripted", f"scripted-{version}"
        self._answers = answers

    def request(self, study: Study) -> CompletionRequest:
        """Return the candidate as it is."""
        return CompletionRequest(
            "script", self.version, (Message("user", study.candidate),)
        )

    async def complete(self, request: CompletionRequest) -> Completion:
        said = self._answers(request.messages[0].content)
        if said == "none":
            raise StudyError("prompt too long")
        text = "Sorry?" if isinstance(said, str) else _written(said)
        return Completion(text, "stop", self.version)


def _written(said: list[tuple[str, bool]]) -> str:
    parts = ["[Explanation]:\nNone."]
    for title, level in (("Significant", True), ("Insignificant", False)):
        parts.append(f"[Clinically {title} Errors]:")
        for letter, name in zip("abcdef", NAMES, strict=True):
            n = said.count((letter, level))
            parts.append(
                f"({letter}) {name}: {n}." + f" {'; '.join(['word'] * n)}" * bool(n)
            )
    return "\n".join([*parts, "[Matched Findings]:\n2. one; two"])


def at_random(seed: int, *, bad: float = 0.15) -> Callable[[str], Said]:
    def answer(text: str) -> Said:
        rng = random.Random(f"{seed} {text}")
        if (luck := rng.random()) < bad:
            return "bad" if luck < 0.7 * bad else "none"
        return [
            (rng.choice("abcdef"), rng.random() < 0.5)
            for _ in range(rng.choice((0, 0, 1, 2)))
        ]

    return answer


def judged(
    made: Path,
    out: Path,
    answers: Callable[[str], Said],
    repeat: int = 0,
    version: str = "1",
) -> Path:
    studies = read_pair(str(made / "preds.jsonl"), str(made / "refs.jsonl"))
    rubric = rubrics.load("green")
    judge, policy = Scripted(answers, version), RequestPolicy()
    with JudgeSession(rubric, judge, policy, out.parent, repeat=repeat) as session:
        run(session, studies, out=out)
    return out
