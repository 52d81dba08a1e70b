"""A judge whose answers are known, its runs on candidates, and truths made by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support import write_json

from judge import rubrics
from judge.backends.base import Judge
from judge.backends.errors import StudyError
from judge.running.asking import RequestPolicy
from judge.running.run import run
from judge.running.session import JudgeSession
from judge.studies import read_pair
from judge.types import Completion, CompletionRequest, Message, Study

Said = list[tuple[str, int]] | str
"""The errors of an answer: letters of categories and a severity from 1 to 4; `bad` cannot be
read, `none` is no answer at all."""
Answers = Callable[[str], Said]


class Scripted(Judge):
    """Says of each candidate what a function says of its text."""

    runs_inline = True
    note = None

    def __init__(self, rubric: str, answers: Answers, name: str = "scripted") -> None:
        self.name, self.version = name, f"{name}-1"
        self._rubric, self._answers = rubric, answers

    def request(self, study: Study) -> CompletionRequest:
        """Return the candidate as it is."""
        return CompletionRequest("script", self.version, (Message("user", study.candidate),))

    async def complete(self, request: CompletionRequest) -> Completion:
        """Write the answer in the rubric's layout."""
        said = self._answers(request.messages[0].content)
        if said == "none":
            raise StudyError("prompt too long")
        text = "Sorry?" if isinstance(said, str) else WRITTEN[self._rubric](said)
        return Completion(text, "stop", self.version)


def _green(said: list[tuple[str, int]]) -> str:
    names = {
        "a": "False finding",
        "b": "Missing finding",
        "c": "Wrong location",
        "d": "Wrong severity",
        "e": "Comparison not in the reference",
        "f": "Omitted comparison",
    }
    parts = ["[Explanation]:\nNone."]
    for title, grave in (("Significant", True), ("Insignificant", False)):
        parts.append(f"[Clinically {title} Errors]:")
        for letter, name in names.items():
            n = sum(of[0] == letter and (severity > 1) == grave for of, severity in said)
            parts.append(f"({letter}) {name}: {n}." + f" {'; '.join(['word'] * n)}" * bool(n))
    return "\n".join([*parts, "[Matched Findings]:\n2. one; two"])


def _fine(said: list[tuple[str, int]]) -> str:
    corrections = [
        {
            "line": None,
            "edit": "insert",
            "corrected": f"Word {at}.",
            "severity": severity,
            "categories": [*letters],
            "comment": "why",
        }
        for at, (letters, severity) in enumerate(said)
    ]
    return json.dumps({"corrections": corrections})


WRITTEN: dict[str, Callable[[list[tuple[str, int]]], str]] = {
    "green": _green,
    "fineradscore": _fine,
}


def at_random(seed: int, *, bad: float = 0.1) -> Answers:
    """Answers that a seed and the text decide, some of which cannot be read."""

    def answer(text: str) -> Said:
        rng = random.Random(f"{seed} {text}")
        if (luck := rng.random()) < bad:
            return "bad" if luck < 0.7 * bad else "none"
        n = rng.choice((0, 0, 1, 1, 2, 3))
        of = ["".join(rng.sample("abcdef", rng.choice((1, 1, 2)))) for _ in range(n)]
        return [("".join(sorted(one)), rng.randint(1, 4)) for one in of]

    return answer


def judged(
    made: Path,
    out: Path,
    answers: Answers,
    *,
    rubric: str = "green",
    name: str = "scripted",
    prompt: str | None = None,
    repeat: int = 0,
) -> Path:
    """A run of a scripted judge on candidates, under a prompt and as a repeat of that name."""
    studies = read_pair(str(made / "preds.json"), str(made / "refs.json"))
    judge = Scripted(rubric, answers, name)
    with JudgeSession(rubrics.load(rubric), judge, RequestPolicy(), out.parent) as session:
        run(session, studies, out=out)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    manifest["signature"] += f"|prompt:{prompt}|repeat:{repeat}"
    write_json(out / "manifest.json", {**manifest, "prompt": prompt, "repeat": repeat})
    return out


def line(study: str, change: str, group: str, **more: Any) -> dict[str, Any]:
    """A line of a truth, without errors."""
    usual = {"same_reading_as": None, "before": f"Lungs of {study}.", "k": 0, "errors": []}
    head = {"id": f"{study}/{change}", "study": study, "change": change, "group": group}
    return {**head, **usual, "after": f"{change} {study}.", **more}


def error(categories: str, *, significant: bool = True, doubtful: bool = False) -> dict[str, Any]:
    """An error of a truth."""
    return {"categories": [*categories], "significant": significant, "doubtful": doubtful}


def with_errors(study: str, change: str, group: str, *errors: dict[str, Any]) -> dict[str, Any]:
    """A line of a truth with errors."""
    return line(study, change, group, k=len(errors), errors=[*errors])


def written(folder: Path, lines: Sequence[dict[str, Any]]) -> Path:
    """Candidates as `judge stress make` writes them, but for its manifest."""
    folder.mkdir(parents=True)
    write_json(folder / "preds.json", {one["id"]: {"report": one["after"]} for one in lines})
    keys = ("study", "change", "group")
    refs = {
        one["id"]: {"report": one["before"], "patient": one["study"]}
        | {key: one[key] for key in keys}
        for one in lines
    }
    write_json(folder / "refs.json", refs)
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (folder / "truth.jsonl").write_text(text, "utf-8")
    return folder


def by_text(answers: dict[str, Said]) -> Answers:
    """The answers to candidates by their texts; one that is not named has no error."""
    return lambda text: answers.get(text, [])
