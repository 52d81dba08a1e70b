"""The judges: who answers. One file, or one folder, a judge (see `judge.backends.base.Judge`).

A package of somebody else's adds one by an entry point of the group `judge.backends`, named
after the kind that stands before the colon of `--judge KIND:NAME`. It refers to a function
that is called as `load(name, rubric, settings)` and returns a `Judge`.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from judge import plugins
from judge.backends.base import (
    TIMEOUT,
    CountedNote,
    Judge,
    JudgeSettings,
    checked_sampling,
    longest_answer,
    refuse_sampling,
)
from judge.prompts import STRUCTURED
from judge.rubrics import Rubric
from judge.types import JudgeError

__all__ = ["LEXICON", "TIMEOUT", "CountedNote", "Judge", "JudgeSettings", "load"]

LEXICON, _VLLM, _HF, _RAY = "lexicon", "vllm", "hf", "ray"
# What a name begins with before its colon, where it is not a model's name itself.
_KINDS = (LEXICON, _VLLM, _HF, _RAY)
# What each option is called on the command line, and the kinds of judge that take it.
_OPTIONS = {
    "vllm_args": ("--vllm-arg", (_VLLM, _RAY)),
    "vllm_timeout": ("--vllm-timeout", (_VLLM, _RAY)),
    "ray_address": ("--ray-address", (_RAY,)),
    "ray_replicas": ("--ray-replicas", (_RAY,)),
    "gpus_per_replica": ("--gpus-per-replica", (_RAY,)),
    "cpu": ("options={'cpu': True}", (_HF,)),
}


def load(spec: str, rubric: Rubric, settings: JudgeSettings | None = None) -> Judge:
    """Return the judge that `spec` names, for `rubric`.

    That is `lexicon` or `lexicon:FILE`, `vllm:MODEL`, `ray:MODEL`, `hf:MODEL`, the kind of an
    installed package, or else a model behind an API. Raises `JudgeError` for a slip of these, and
    for what the judge does not take.
    """
    settings = settings or JudgeSettings()
    settings = replace(settings, sampling=checked_sampling(settings.sampling))
    judge = _load(spec, rubric, settings)
    if judge.prompt is not None:
        from judge.backends import wording

        judge.questions = wording.questions(rubric, judge.prompt, judge.reply, settings.environ)
    return judge


def _load(spec: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    kind, colon, rest = spec.partition(":")
    if kind in _KINDS:
        plugins.BACKENDS.check_unique(kind)
    elif colon and kind in plugins.BACKENDS.names():
        make = plugins.BACKENDS.load(kind)
        judge = plugins.BACKENDS.guarded(kind, make)(rest, rubric, settings)
        if not isinstance(judge, Judge):
            raise plugins.BACKENDS.error(kind, f"gives no Judge but {judge!r:.80}")
        return judge
    _check_options(spec, kind, settings)
    if kind == LEXICON:
        return _lexicon(rubric, Path(rest) if rest else None, settings)
    if kind == _VLLM and colon:
        from judge.backends.vllm import load as load_vllm

        return load_vllm(rest, rubric, settings)
    if kind == _RAY and colon:
        from judge.backends.ray import load as load_ray

        return load_ray(rest, rubric, settings)
    if kind == _HF and colon:
        return _hf(rest, rubric, settings)
    # Not so close that `llama3:8b`, a model's name, is taken for a slip.
    kinds = _KINDS if colon else (LEXICON,)
    if not spec.strip() or kind in _KINDS or difflib.get_close_matches(kind.lower(), kinds, 1, 0.7):
        raise JudgeError(
            f"unknown judge {spec!r}; write {LEXICON} or {LEXICON}:FILE for the built-in judge, "
            "vllm:MODEL, ray:MODEL or hf:MODEL for a model of your own, or a model's name such as "
            "gpt-4o"
        )
    return _served(spec, rubric, settings)


def _check_options(spec: str, kind: str, settings: JudgeSettings) -> None:
    for name in settings.options:
        flag, kinds = _OPTIONS.get(name, ("", ()))
        if not kinds:
            raise JudgeError(f"the judge {spec} takes no option {name!r}")
        if kind not in kinds:
            raise JudgeError(f"{flag} belongs to {' and '.join(kinds)}, not to the judge {spec}")
    if settings.base_urls and kind in (LEXICON, _HF):
        raise JudgeError(f"--base-url belongs to a model behind an API, not to {spec}")


def _served(spec: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    from judge.backends.connection import NO_KEY, OPENAI_URL, Connection, shown
    from judge.backends.openai import OpenAIJudge
    from judge.backends.pool import Pool

    urls = settings.base_urls
    if not urls and (named := settings.environ.get("OPENAI_BASE_URL", "").strip()):
        urls = (named.rstrip("/"),)
        settings.say(f"The server is the one that OPENAI_BASE_URL names: {shown(named)}")
    places = [Connection(url, settings.timeout) for url in urls or (OPENAI_URL,)]
    try:
        keys = [place.key(settings.environ) if settings.sends else NO_KEY for place in places]
    except JudgeError as error:
        raise JudgeError(f"judge {spec!r} is a model behind an API: {error}") from error
    from judge.backends import wording

    prompt, reply = wording.for_api(rubric, spec, settings.prompt, settings.reply, settings.environ)
    return OpenAIJudge(
        name=spec,
        version=spec,
        served_as=spec,
        rubric=rubric,
        prompt=prompt,
        reply=reply,
        servers=Pool([*zip(places, keys, strict=True)], spec, settings.say, sends=settings.sends),
        max_tokens=longest_answer(spec, settings.sampling, settings.max_tokens),
        asked=settings.sampling,
        say=settings.say,
    )


def _hf(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    from judge.backends.transformers import TransformersJudge

    refuse_sampling(settings.sampling, f"hf:{model}, which decodes greedily,", {"temperature": 0})
    from judge.backends import wording

    prompt, _ = wording.for_own_model(
        rubric, model, settings.prompt, settings.reply, settings.environ
    )
    if STRUCTURED in (settings.reply, prompt.reply):
        raise JudgeError("a model in this process answers in text; for a structured reply, vllm:")
    return TransformersJudge(
        model,
        prompt,
        cpu=bool(settings.options.get("cpu")),
        environ=settings.environ,
        max_tokens=longest_answer(model, {}, settings.max_tokens),
        say=settings.say,
    )


def _lexicon(rubric: Rubric, path: Path | None, settings: JudgeSettings) -> Judge:
    from judge.backends.lexicon.judge import LexiconJudge

    refuse_sampling(settings.sampling, f"{LEXICON}, which follows rules,", {})
    if settings.reply:
        raise JudgeError(f"--reply belongs to a model that is asked, not to {LEXICON}")
    judge = LexiconJudge(rubric, path)
    if settings.prompt:
        from judge.backends import wording

        wording.chosen(rubric, settings.prompt, None, settings.environ)
        settings.say(f"--prompt has no effect: the judge {judge.name} reads no prompt.")
    return judge
