"""The questions that a run's judge was asked, made again from its prompts and the reports."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from judge import official
from judge.rubrics.questions import split_answers
from judge.running.records import study_of
from judge.signature import Signature
from judge.types import JudgeError, Message, Study, UnparsedError, Usage

if TYPE_CHECKING:
    from judge.prompts import Prompt
    from judge.running.folder import Run

_OPENAI = "https://api.openai.com/v1"


class AskedQuestions:
    """The messages of a run's first question about each study, and the price of an answer.

    A run keeps a digest of each prompt. `missing` says in a sentence why the messages cannot be
    shown, for example since the prompt of that digest is not here; empty where they can.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._parts = Signature.parse(run.signature)
        self._prompts: dict[str, Prompt] = {}
        self.missing = self._load()

    def _load(self) -> str:
        names = self._parts.get("prompt", "none")
        if names == "none" or self._run.combined is not None:
            return "This run has no prompt of its own."
        arguments = self._run.manifest["arguments"] or {}
        for name in names.split(","):
            shown, _, digest = name.rpartition("+")
            for source in (shown.rpartition("@")[0], arguments.get("prompt")):
                try:
                    prompt = official.load(str(source), os.environ)
                except JudgeError:
                    continue
                if prompt.digest == digest:
                    self._prompts[prompt.asks] = prompt
                    break
            else:
                return f"The prompt {name} is not here: the run keeps its digest only."
        return ""

    def about(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return `messages`, each with `step`, `role` and `text`, `missing` and `dollars`."""
        answer = record.get("answer")
        usage = answer and answer.get("usage")
        shown: dict[str, Any] = {
            "messages": [],
            "missing": self.missing,
            "dollars": self._dollars(usage) if usage else None,
        }
        if not self.missing:
            try:
                shown["messages"] = [
                    {"step": step, "role": message.role, "text": message.content}
                    for step, messages in self._asked(record)
                    for message in messages
                ]
            except (JudgeError, UnparsedError, KeyError) as error:
                shown["missing"] = f"The question cannot be made again: {error}."
        return shown

    def _asked(self, record: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Message]]]:
        study, steps = self._study(record), self._run.rubric.steps
        if steps is None:
            (prompt,) = self._prompts.values()
            yield "", prompt.about(study)
            return
        answers = split_answers(record["answer"]["text"]) if record["answer"] else {}
        known: dict[str, str] = {}
        while now := steps.coming(study, known):
            for step in now:
                yield step.name, self._prompts[step.asks].about(step.study)
            if any(step.name not in answers for step in now):
                return
            known |= {step.name: answers[step.name] for step in now}

    def _study(self, record: Mapping[str, Any]) -> Study:
        """Return the study with the context and the prior report that the judge was shown."""
        from judge.studies.study_set import JudgeContext

        study, prior = study_of(record), _names(self._parts.get("prior", ""))
        context = JudgeContext(_names(self._parts.get("context", "")), *prior)
        shown = context.read(study.fields)
        return replace(study, context=shown["context"], prior=shown["prior"])

    @cached_property
    def _prices(self) -> tuple[Any, float] | None:
        """The price table and a factor, where they give the price that the run was charged."""
        from judge.running.cost import Prices

        spent = self._run.manifest.get("spent") or {}
        urls = (self._run.manifest["arguments"] or {}).get("base_url") or [_OPENAI]
        usage = Usage(*(spent.get(name, 0) for name in Usage.__slots__))
        model = self._parts.get("judge", "").partition(":")[2]
        prices = Prices(model, urls[0])
        charged, listed = spent.get("dollars"), prices.dollars(usage)
        if not charged or not listed:
            return None
        factor = next((f for f in (1.0, 0.5) if abs(charged / listed - f) < 0.01), None)
        return None if factor is None else (prices, factor)

    def _dollars(self, usage: Mapping[str, int]) -> float | None:
        if self._prices is None:
            return None
        prices, factor = self._prices
        dollars = prices.dollars(Usage(**usage))
        return None if dollars is None else dollars * factor


def _names(part: str) -> tuple[str, ...]:
    """Return the names of fields in a part of a signature, of which some are JSON strings."""
    names = re.findall(r'"(?:[^"\\]|\\.)*"|[^",][^,]*', part)
    return tuple(json.loads(name) if name.startswith('"') else name for name in names)
