"""The worked examples of a prompt for one modality, with replies in the form that it asks for.

`prompts/shots/NAME.yaml` has those that come with the program: pairs of reports, each with the
right reply by the name of a rubric. They are made up, and by us.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from judge.jsonio import read_yaml
from judge.modalities import NAMES, REGIONS, code_of
from judge.prompts.official import FOLDER
from judge.prompts.prompt import (
    MODALITY_ADVICE,
    STRUCTURED,
    TEXT,
    ModalityShot,
    Prompt,
    Shot,
)
from judge.rubrics import Rubric
from judge.rubrics.derived import on_scale
from judge.types import Annotation, JudgeError, Study, UnparsedError

BUILT_IN_FOLDER = FOLDER / "shots"


def names_for(prompt: Prompt, modality: str) -> tuple[str, ...]:
    """Return the names under which a prompt has the worked examples for `modality`.

    Those under its own name; else for a region those of its modality, and for a modality those of
    all its regions.
    """
    named = prompt.modality_shots
    if modality in named:
        return (modality,)
    code = code_of(modality)
    if code in named:
        return (code,)
    if modality in REGIONS:
        return ()
    return tuple(name for name in NAMES if name in named and code_of(name) == code)


def for_modality(prompt: Prompt, rubric: Rubric, reply: str, modality: str) -> Prompt:
    """Return the prompt as it is sent about reports of `modality`.

    Its worked examples take the place of the usual ones, and it says which region of the body it
    is about. `reply` is `text` or `structured`. Raises `JudgeError` for an example whose reply is
    none of the rubric's, and for one that a rubric has not.
    """
    if prompt.is_exact:
        return prompt
    rubric = on_scale(rubric, prompt.scale)
    names = names_for(prompt, modality)
    shots: list[Shot] = []
    for name in names:
        for number, example in enumerate(_examples(prompt, rubric, name), 1):
            where = f"prompt {prompt.name}: example {number} for {name}"
            text = _reply(example, rubric, prompt, reply, code_of(name), where)
            shots.append(Shot(example.reference, text, example.candidate))
    if names:
        prompt = replace(prompt, shots=tuple(shots), shots_for=names)
    if modality not in REGIONS:
        return prompt
    advice = prompt.modalities or MODALITY_ADVICE
    code = code_of(modality)
    words = f"Both are of the {REGIONS[modality]}. {advice.get(code, '')}".rstrip()
    return replace(prompt, modalities={**advice, code: words})


def usual_reply(rubric: Rubric, prompt: Prompt) -> str:
    """Return the form of reply that a prompt asks for where nobody chooses one."""
    if prompt.reply is not None:
        return prompt.reply
    if rubric.reply_model is not None and rubric.structured is None:
        return STRUCTURED
    return TEXT


def _examples(prompt: Prompt, rubric: Rubric, name: str) -> Sequence[ModalityShot]:
    own = prompt.modality_shots[name]
    if not isinstance(own, str):
        return own
    examples = []
    for pair in built_in(name):
        reply = pair["replies"].get(rubric.name)
        if reply is None:
            raise JudgeError(
                f"prompt {prompt.name}: no built-in examples of {rubric.name} for {name}; write "
                "them as a list"
            )
        examples.append(ModalityShot(pair["reference"], reply, pair["candidate"]))
    return examples


@cache
def built_in(name: str) -> Sequence[Mapping[str, Any]]:
    """Return the pairs of reports that come with the program for a name of a modality.

    Each has `reference`, `candidate` and `replies` by rubric. Raises `JudgeError` where there are
    none.
    """
    try:
        pairs, _ = read_yaml(BUILT_IN_FOLDER / f"{name}.yaml")
    except FileNotFoundError:
        known = ", ".join(built_in_names())
        raise JudgeError(
            f"no examples for {name} come with the program; there are: {known}"
        ) from None
    assert isinstance(pairs, list)
    return pairs


def built_in_names() -> tuple[str, ...]:
    """Return the names of modalities for which examples come with the program."""
    there = {path.stem for path in BUILT_IN_FOLDER.glob("*.yaml")}
    return tuple(name for name in NAMES if name in there)


def _reply(
    example: ModalityShot,
    rubric: Rubric,
    prompt: Prompt,
    reply: str,
    code: str,
    where: str,
) -> str:
    """Return the reply of an example in the form that is asked for, having read it."""
    study = Study("", example.reference, example.candidate or "", modality=code)
    if isinstance(example.reply, str):
        text = example.reply
        written = reply
    else:
        text = json.dumps(example.reply, ensure_ascii=False)
        written = STRUCTURED
    parse = _parse(rubric, prompt, written)
    try:
        read = parse(text, study, complete=True)
    except UnparsedError as error:
        raise JudgeError(f"{where}: the reply cannot be read: {error}") from error
    if not isinstance(read, Annotation):
        return text  # of one question of several
    if read.all_warnings:
        raise JudgeError(f"{where}: the reply has a fault: {read.all_warnings[0]}")
    render = _render(rubric, reply)
    if isinstance(example.reply, str) or render is None:
        return text
    try:
        return render(read)
    except ValueError as error:
        raise JudgeError(f"{where}: the reply cannot be written: {error}") from error


def _parse(rubric: Rubric, prompt: Prompt, reply: str) -> Callable[..., object]:
    if rubric.steps is not None:
        return rubric.steps.questions[prompt.asks].check
    if rubric.structured is not None and reply == STRUCTURED:
        return rubric.structured.parse
    return rubric.parse


def _render(rubric: Rubric, reply: str) -> Callable[[Annotation], str] | None:
    if rubric.structured is not None and reply == STRUCTURED:
        return rubric.structured.render
    return rubric.render
