"""How a model is asked: with which prompt, and for text or for a reply of a fixed form."""

from __future__ import annotations

import re
from collections.abc import Mapping

from judge import official, plugins, rubrics
from judge.backends.base import Form
from judge.prompts import GREEN, STRUCTURED, TEXT, Prompt
from judge.rubrics import Rubric
from judge.rubrics.asking import on_scale
from judge.types import JudgeError

# As the authors of GREEN name their models: StanfordAIMI/GREEN-radllama2-7b.
_GREEN_MODEL = re.compile(r"(?:^|/)green-", re.IGNORECASE)


def is_green(model: str) -> bool:
    """Whether a model is named as the authors of GREEN name theirs."""
    return _GREEN_MODEL.search(model) is not None


def for_api(
    rubric: Rubric, model: str, prompt: str | None, reply: str | None, environ: Mapping[str, str]
) -> tuple[Prompt, str]:
    """Return the prompt for a model behind an API, and the reply that is asked for with it."""
    if prompt is None and rubric.structured is not None:
        reply = reply or (TEXT if is_green(model) else STRUCTURED)
        prompt = rubric.structured.prompt if reply == STRUCTURED else rubric.prompt
    return chosen(rubric, prompt or rubric.prompt, reply, environ)


def for_own_model(
    rubric: Rubric, model: str, prompt: str | None, reply: str | None, environ: Mapping[str, str]
) -> tuple[Prompt, str]:
    """Return the same for a model of one's own; by default the official prompt that it knows."""
    if prompt is None and reply == STRUCTURED and rubric.structured is not None:
        prompt = rubric.structured.prompt
    return chosen(
        rubric, prompt or official.for_model(rubric.name, model) or rubric.prompt, reply, environ
    )


def questions(
    rubric: Rubric, chosen: Prompt, reply: str | None, environ: Mapping[str, str]
) -> dict[str, tuple[Prompt, Form]]:
    """Return the prompt and the form of each question of `rubric`; `chosen` replaces its like."""
    rubric = on_scale(rubric, chosen.scale)
    asked = rubric.steps.questions if rubric.steps else {}
    if asked and chosen.asks not in asked:
        known = ", ".join(one.prompt for one in asked.values())
        raise JudgeError(
            f"prompt {chosen.name!r} asks about {chosen.asks or 'two reports'}; {rubric.name} asks "
            f"as these do: {known}"
        )
    found: dict[str, tuple[Prompt, Form]] = {}
    for asks, one in asked.items():
        own = rubrics.prompt_files(rubric.name).get(one.prompt, one.prompt)
        prompt = chosen if asks == chosen.asks else official.load(str(own), environ)
        found[asks] = prompt, one.reply_model() if one.reply_model and reply != TEXT else None
    return found


def chosen(
    rubric: Rubric, name: str, reply: str | None, environ: Mapping[str, str]
) -> tuple[Prompt, str]:
    """Return the prompt of that name or path, and the reply: as asked, as it says, or text."""
    own = rubrics.prompt_files(rubric.name)
    if name == rubric.prompt and name not in own and plugins.RUBRICS.packages(rubric.name):
        there = ", ".join(own) or "none"
        raise plugins.RUBRICS.error(
            rubric.name, f"has no prompt {name!r} in its folder prompts (there: {there})"
        )
    prompt = official.load(str(own.get(name, name)), environ)
    if prompt.rubric != rubric.name:
        raise JudgeError(f"prompt {name!r} is for the rubric {prompt.rubric}, not {rubric.name}")
    if reply not in (None, TEXT, STRUCTURED):
        raise JudgeError(f"unknown reply {reply!r}; there are: {TEXT}, {STRUCTURED}")
    wanted = TEXT if prompt.layout == GREEN else prompt.reply
    if reply and wanted and reply != wanted:
        raise JudgeError(
            f"the prompt {name} asks for a {wanted} reply, not for {reply}; leave out --reply"
        )
    if reply == STRUCTURED and rubric.reply_model is None:
        raise JudgeError(f"the rubric {rubric.name} has no structured reply")
    on_scale(rubric, prompt.scale)
    is_formed = rubric.reply_model is not None and rubric.structured is None
    return prompt, reply or wanted or (STRUCTURED if is_formed else TEXT)
