"""The judges, one module each (see `judge.backends.base.Judge`).

A package adds one by an entry point of the group `judge.backends`, named after the kind before the
colon of `--judge KIND:NAME`: a function `load(name, rubric, settings)`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from importlib import import_module

from judge import plugins
from judge.backends import added, models, options
from judge.backends.base import TIMEOUT, Judge, JudgeSettings
from judge.rubrics import Rubric
from judge.types import LEXICON, JudgeError

__all__ = [
    "LEXICON",
    "TIMEOUT",
    "Judge",
    "JudgeChoices",
    "JudgeSettings",
    "choices_of",
    "load",
]

_OPENAI = "openai"
# Who serves models behind an API, and the module of each.
_PROVIDERS = {
    _OPENAI: "openai",
    "anthropic": "anthropic",
    "google": "google",
    "azure": "azure",
}
# The module of each kind of judge, with its function `load`. The kind is the part of a name before
# the colon; a name without a colon is a model behind an API.
_MODULES = {
    LEXICON: "lexicon.judge",
    "vllm": "vllm",
    "ray": "ray",
    "hf": "local",
    **_PROVIDERS,
}
# What these take of `JudgeSettings.options`; the others take any flag of `vllm serve`.
_OPTIONS: dict[str, set[str]] = {LEXICON: set(), "hf": {"cpu"}} | {
    provider: set() for provider in _PROVIDERS
}


def load(spec: str, rubric: Rubric, settings: JudgeSettings | None = None) -> Judge:
    """Return the judge that `spec` names, such as `lexicon`, `vllm:MODEL` or `gpt-6-luna`."""
    settings = settings or JudgeSettings()
    if settings.sampling:
        settings = replace(settings, sampling=options.checked(settings.sampling))
    kind, colon, name = spec.partition(":")
    if kind not in _MODULES and colon and kind in plugins.BACKENDS.names():
        make = plugins.BACKENDS.guarded(kind, plugins.BACKENDS.load(kind))
        judge = make(name, rubric, settings)
        if not isinstance(judge, Judge):
            raise plugins.BACKENDS.error(kind, f"gives no Judge but {judge!r:.80}")
        return added.guarded(kind, judge)
    return _built_in(spec, rubric, settings)


@dataclass(frozen=True, slots=True)
class JudgeChoices:
    """What may be chosen of a judge: reasoning efforts, the least first, and service tiers."""

    efforts: tuple[str, ...] = ()
    service_tiers: tuple[str, ...] = ()


def choices_of(spec: str, base_url: str | None = None) -> JudgeChoices:
    """Return what may be chosen of the judge that `spec` names; nothing is asked.

    Of a model that `models.yaml` lacks, and of a server of one's own, nothing is known.
    """
    kind, colon, name = spec.partition(":")
    if not (kind in _PROVIDERS and colon):
        if colon or spec == LEXICON:
            return JudgeChoices()
        kind, name = models.provider_of(spec), spec
    facts = models.facts_of(name, kind)
    efforts: tuple[str, ...] = ()
    if facts is not None:
        efforts = facts.efforts
    tiers: tuple[str, ...] = ()
    if base_url is None:
        provider = import_module(f"judge.backends.{_PROVIDERS[kind]}").PROVIDER
        tiers = provider.service_tiers
    return JudgeChoices(efforts, tiers)


def _built_in(spec: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    kind, colon, name = spec.partition(":")
    if kind in _MODULES:
        plugins.BACKENDS.check_unique(kind)
    if not (kind == LEXICON or (kind in _MODULES and colon)):
        # Not so close that `llama3:8b`, a model's name, is taken for a slip.
        slip = difflib.get_close_matches(
            kind.lower(), [*_MODULES] if colon else [LEXICON], 1, 0.7
        )
        # At OpenAI only a fine-tuned model, ft:MODEL:..., has a colon; a server's is model2:8b.
        is_elsewhere = (
            settings.base_urls or settings.environ.get("OPENAI_BASE_URL", "").strip()
        )
        is_odd = colon and kind.isalpha() and kind != "ft" and not is_elsewhere
        if not spec.strip() or kind in _MODULES or slip or is_odd:
            meant = (
                f" Did you mean {slip[0]}{colon}{name if colon else ''}?"
                if slip
                else ""
            )
            raise JudgeError(
                f"unknown judge {spec!r}.{meant} Write {LEXICON} for the built-in judge, "
                "vllm:MODEL, ray:MODEL, hf:MODEL, a model's name such as gpt-6-luna or "
                "claude-haiku-5-5, or any name with --base-url"
            )
        # A server that --base-url names speaks OpenAI's protocol, whatever its model is called.
        kind, name = _OPENAI if settings.base_urls else models.provider_of(spec), spec
    if strange := settings.options.keys() - _OPTIONS.get(kind, settings.options.keys()):
        raise JudgeError(
            f"the judge {spec} takes no setting {min(strange)!r}; leave it out"
        )
    if settings.base_urls and kind not in (*_PROVIDERS, "vllm", "ray"):
        raise JudgeError(f"the judge {spec} takes no --base-url; leave it out")
    if kind not in _PROVIDERS and settings.service_tier is not None:
        raise JudgeError(
            f"the judge {spec} has no service tiers; leave out --service-tier"
        )
    module = import_module(f"judge.backends.{_MODULES.get(kind, kind)}")
    judge: Judge = module.load(name, rubric, settings)
    return judge
