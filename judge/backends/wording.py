"""How a model is asked: with which prompt, and for text or for a reply of a fixed form."""

from __future__ import annotations

import re
from collections.abc import Mapping

from judge import official, plugins, rubrics
from judge.backends.base import Form
from judge.prompts import GREEN, STRUCTURED, TEXT, Prompt
from judge.rubrics import Rubric
from judge.rubrics.questions import on_scale
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
    prompt = prompt or official.for_model(rubric.name, model) or rubric.prompt
    return chosen(rubric, prompt, reply, environ)


def questions(
    rubric: Rubric, prompt: Prompt, reply: str | None, environ: Mapping[str, str]
) -> dict[str, tuple[Prompt, Form]]:
    """Return the prompt and the form of each question of `rubric`; `prompt` replaces its like."""
    steps = on_scale(rubric, prompt.scale).steps
    if steps is None:
        return {}
    if prompt.asks not in steps.questions:
        known = ", ".join(question.prompt for question in steps.questions.values())
        raise JudgeError(
            f"prompt {prompt.name!r} asks about {prompt.asks or 'two reports'}; {rubric.name} asks "
            f"as these do: {known}"
        )
    files = rubrics.prompt_files(rubric.name)
    wordings: dict[str, tuple[Prompt, Form]] = {}
    for asks, question in steps.questions.items():
        path = str(files.get(question.prompt, question.prompt))
        form = question.reply_model() if question.reply_model and reply != TEXT else None
        wordings[asks] = prompt if asks == prompt.asks else official.load(path, environ), form
    return wordings


def chosen(
    rubric: Rubric, name: str, reply: str | None, environ: Mapping[str, str]
) -> tuple[Prompt, str]:
    """Return the prompt of that name or path, and the reply: as asked, as it says, or text."""
    files = rubrics.prompt_files(rubric.name)
    if name == rubric.prompt and name not in files and plugins.RUBRICS.packages(rubric.name):
        raise plugins.RUBRICS.error(
            rubric.name,
            f"has no prompt {name!r} in its folder prompts (there: {', '.join(files) or 'none'})",
        )
    prompt = official.load(str(files.get(name, name)), environ)
    wanted = TEXT if prompt.layout == GREEN else prompt.reply
    if prompt.rubric != rubric.name:
        wrong = f"prompt {name!r} is for the rubric {prompt.rubric}, not {rubric.name}"
    elif reply not in (None, TEXT, STRUCTURED):
        wrong = f"unknown reply {reply!r}; there are: {TEXT}, {STRUCTURED}"
    elif reply and wanted and reply != wanted:
        wrong = f"the prompt {name} asks for a {wanted} reply, not for {reply}; leave out --reply"
    elif reply == STRUCTURED and rubric.reply_model is None:
        wrong = f"the rubric {rubric.name} has no structured reply"
    else:
        on_scale(rubric, prompt.scale)
        is_formed = rubric.reply_model is not None and rubric.structured is None
        return prompt, reply or wanted or (STRUCTURED if is_formed else TEXT)
    raise JudgeError(wrong)
