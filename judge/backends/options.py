"""What a user may set of a question: its parameters, its prompt and the reply that it asks for."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping

from judge import jsonio, prompts, rubrics
from judge.backends import models
from judge.backends.base import Form, JudgeSettings
from judge.prompts import GREEN, STRUCTURED, TEXT, Prompt, official, shots
from judge.rubrics import Rubric
from judge.rubrics.derived import on_scale
from judge.types import JudgeError

# As the authors of GREEN name their models: StanfordAIMI/GREEN-radllama2-7b.
_GREEN_MODEL = re.compile(r"(?:^|/)green-", re.IGNORECASE)
# What other options set, and what would spoil the one whole answer that is read.
_NOT_HERE = (
    "max_tokens",
    "max_completion_tokens",
    "response_format",
    "tools",
    "tool_choice",
    "model",
    "messages",
    "prompt",
    "stream",
    "n",
    "best_of",
    "echo",
    "stop",
    "stop_token_ids",
)


def checked(sampling: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that a user asks for as JSON's values; 0 and 0.0 are one question."""
    parameters = {}
    for name, value in sampling.items():
        if name in _NOT_HERE:
            raise JudgeError(
                f"sampling: {name!r} is set by judge: use --max-tokens, --prompt, ..."
            )
        try:
            plain = jsonio.read(json.dumps(value, allow_nan=False))
        # json.dumps raises all three.
        except (TypeError, ValueError, RecursionError) as error:
            raise JudgeError(
                f"sampling: {name} is no value of JSON: {error}"
            ) from error
        if isinstance(plain, float) and plain.is_integer():
            plain = int(plain)
        parameters[name] = plain
    return parameters


def max_tokens(model: str, settings: JudgeSettings) -> int:
    """Return how many tokens bound an answer of a model that judge itself runs.

    As asked, else by whether the model is named as those that reason.
    """
    if settings.max_tokens is not None:
        return settings.max_tokens
    effort = settings.sampling.get("reasoning_effort")
    if effort is None:
        reasons = models.reasons(model)
    else:
        reasons = effort != "none"
    if reasons:
        return models.MAX_TOKENS_REASONING
    return models.MAX_TOKENS


def nearest_model(model: str, provider: str = "openai") -> str:
    """Return " Did you mean NAME?" where a provider has a model of nearly that name, else "".

    The names are those that genai-prices has prices of.
    """
    from genai_prices import data_snapshot  # takes longer than a run may wait for it

    snapshot = data_snapshot.get_snapshot()
    names: dict[str, str] = {}
    for known in snapshot.providers:
        if known.id == provider:
            names = {_letters(each.id): each.id for each in known.models}
            break
    letters = _letters(model)
    if letters in names and names[letters] != model:
        return f" Did you mean {names[letters]}?"
    if model in names.values():
        return ""
    near = difflib.get_close_matches(letters, names, n=1, cutoff=0.8)
    if not near:
        return ""
    return f" Did you mean {names[near[0]]}?"


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def is_green(model: str) -> bool:
    """Whether a model is named as the authors of GREEN name theirs."""
    return _GREEN_MODEL.search(model) is not None


def prompt_and_reply(
    rubric: Rubric, model: str, settings: JudgeSettings, *, is_own: bool = False
) -> tuple[Prompt, str]:
    """Return the prompt for a model and the form of reply; a model of one's own answers in text."""
    name, reply = settings.prompt, settings.reply
    if name is None and rubric.structured is not None:
        if reply is None and not is_own:
            reply = STRUCTURED
            # A GREEN model writes the layout that it was trained on.
            if is_green(model):
                reply = TEXT
        if reply == STRUCTURED:
            name = rubric.structured.prompt
    if name is None and is_own:
        name = official.for_model(rubric.name, model)
    prompt = load_prompt(rubric, name or rubric.prompt, settings.environ)
    wanted: str | None = prompt.reply
    if prompt.layout == GREEN:
        wanted = TEXT
    if reply and wanted and reply != wanted:
        raise JudgeError(
            f"the prompt {prompt.name} asks for a {wanted} reply; leave out --reply"
        )
    if reply == STRUCTURED and rubric.reply_model is None:
        raise JudgeError(
            f"the rubric {rubric.name} has no structured reply; leave out --reply"
        )
    if reply not in (None, TEXT, STRUCTURED):
        raise JudgeError(f"unknown reply {reply!r}; there are: {TEXT}, {STRUCTURED}")
    reply = reply or wanted or shots.usual_reply(rubric, prompt)
    if settings.modality is not None:
        prompt = shots.for_modality(prompt, rubric, reply, settings.modality)
        if not prompt.shots_for:
            sent = "its usual ones are sent" if prompt.shots else "none are sent"
            settings.say(
                f"The prompt {prompt.name} has no examples for {settings.modality}: {sent}."
            )
    return prompt, reply


def load_prompt(rubric: Rubric, name: str, environ: Mapping[str, str]) -> Prompt:
    """Return the prompt of that name or path; raises `JudgeError` for another rubric's."""
    files = rubrics.prompt_files(rubric.name)
    prompt = prompts.load(str(files.get(name, name)), environ)
    if prompt.rubric != rubric.name:
        raise JudgeError(
            f"prompt {name!r} is for the rubric {prompt.rubric}, not {rubric.name}; name another"
        )
    on_scale(rubric, prompt.scale)
    return prompt


def form(rubric: Rubric, prompt: Prompt, reply: str | None) -> Form:
    """Return the form of the one reply that `prompt` asks for, None for a reply in text."""
    if reply != STRUCTURED:
        return None
    model = on_scale(rubric, prompt.scale).reply_model
    if model is None:
        return None
    return model()


def questions(
    rubric: Rubric, prompt: Prompt, reply: str | None, settings: JudgeSettings
) -> dict[str, tuple[Prompt, Form]]:
    """Return the prompt and the form of each question of `rubric`; `prompt` replaces its like."""
    steps = on_scale(rubric, prompt.scale).steps
    if steps is None:
        return {}
    if prompt.asks not in steps.questions:
        known = ", ".join(question.prompt for question in steps.questions.values())
        raise JudgeError(
            f"prompt {prompt.name!r} is not for {rubric.name}; use one of {known}"
        )
    wordings: dict[str, tuple[Prompt, Form]] = {}
    for asks, question in steps.questions.items():
        wording = prompt
        if asks != prompt.asks:
            wording = load_prompt(rubric, question.prompt, settings.environ)
            if settings.modality is not None:
                wording = shots.for_modality(
                    wording, rubric, reply or TEXT, settings.modality
                )
        form: Form = None
        if question.reply_model is not None and reply != TEXT:
            form = question.reply_model()
        wordings[asks] = wording, form
    return wordings
