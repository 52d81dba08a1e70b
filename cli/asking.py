"""The options of asking a judge, and what they say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import Decorator, FiniteRange, heading
from judge.cli.output import cache_option, note

if TYPE_CHECKING:
    from judge.backends import JudgeSettings
    from judge.running.session import RequestPolicy

_AMOUNT = FiniteRange(min=0, min_open=True)
WHO = (
    "Who answers: lexicon (built in; the default), lexicon:FILE with your own lexicon, vllm:MODEL, "
    "which starts and stops vLLM, ray:MODEL, which does so on a Ray cluster, hf:MODEL in this "
    "process, or a model behind an OpenAI-compatible server, such as gpt-4o. MODEL is a name on "
    "the Hugging Face Hub or a folder."
)
WORDING = "The wording of the question, for judges that read one (see `judge prompts list`)."


def _option(name: str, text: str, **attributes: Any) -> Decorator:  # noqa: ANN401
    shown = attributes.get("default") is not None
    return click.option(*name.split(), help=text, show_default=shown, **attributes)


def _count(metavar: str, *, least: int = 1, default: int | None = None) -> dict[str, Any]:
    return {"type": click.IntRange(min=least), "metavar": metavar, "default": default}


SERVER_OPTIONS = (
    _option(
        "--reply",
        "What to ask a model for: the rubric's layout in text, or a structured reply (JSON schema, "
        "else a tool call, else plain JSON). auto: text from GREEN models, from hf: and with a "
        "prompt that asks for text; else structured.",
        type=click.Choice(("auto", "text", "structured")),
        default="auto",
    ),
    _option(
        "--base-url",
        "The server of the model, OpenAI by default; several share the load. The key comes from "
        "OPENAI_API_KEY (AZURE_OPENAI_API_KEY for Azure, VLLM_API_KEY for vllm:MODEL); a server on "
        "this machine needs none.",
        multiple=True,
        metavar="URL",
    ),
    _option(
        "--vllm-arg vllm_args",
        "A flag for `vllm serve`, such as --vllm-arg=--tensor-parallel-size=2. Repeatable.",
        multiple=True,
        metavar="FLAG",
    ),
    _option(
        "--vllm-timeout",
        "How long vLLM may take to start, download included. Default: 60.",
        type=_AMOUNT,
        metavar="MINUTES",
    ),
    _option(
        "--ray-address",
        "The Ray cluster of ray:MODEL; auto is this machine's. Default: the one that RAY_ADDRESS "
        "names, else a new one on this machine.",
        metavar="HOST:PORT",
    ),
    _option(
        "--ray-replicas",
        "How often ray:MODEL serves the model. Default: as often as the GPUs have room.",
        **_count("N"),
    ),
    _option(
        "--gpus-per-replica",
        "The GPUs of a replica of ray:MODEL; 0 serves without. Default: 1.",
        **_count("G", least=0),
    ),
)
"""How the judge is reached."""


def sampling_options(seed: str) -> tuple[Decorator, ...]:
    """Return the options of how answers are drawn, with `seed` as the name of the seed's."""
    return (
        heading("Sampling"),
        _option(
            "--max-tokens",
            "The longest answer, in tokens; a longer one is cut and counts as unparsed. Default: "
            "2048, or 25000 for a model that reasons, by its name or --reasoning-effort.",
            **_count("N"),
        ),
        _option(
            "--temperature",
            "0 is the likeliest answer, more is more varied. Default: 0.",
            type=FiniteRange(0, 2),
        ),
        _option(
            "--top-p",
            "Sample from the likeliest tokens alone, those that have this probability together.",
            type=FiniteRange(0, 1, min_open=True),
        ),
        _option(seed, "What sampling starts from, on servers that keep to it.", type=int),
        _option(
            "--reasoning-effort",
            "How much a model is to reason: low, medium, high, or what its server calls it.",
            metavar="WORD",
        ),
        _option(
            "--body",
            "Anything else that the server takes, such as --body top_k=20. Repeatable.",
            multiple=True,
            metavar="KEY=JSON",
        ),
    )


RUNNING_OPTIONS = (
    heading("Running"),
    _option(
        "--concurrency",
        "The most requests in flight; fewer where the server asks for it or is late. Default: 16 "
        "for APIs, 128 for each server or replica of vLLM.",
        **_count("N"),
    ),
    _option(
        "--timeout",
        "How long a whole answer may take before it is asked for again.",
        type=_AMOUNT,
        default=120.0,
        metavar="SECONDS",
    ),
    _option(
        "--reask",
        "How often to ask again, saying why, for an answer that cannot be read.",
        **_count("N", least=0, default=1),
    ),
    _option(
        "--give-up-after",
        "Stop where more than half of the first N answers cannot be read; 0: never.",
        **_count("N", least=0, default=50),
    ),
    _option(
        "--max-outage",
        "How long to wait for a server that is gone before giving the run up.",
        type=FiniteRange(min=0),
        default=30.0,
        metavar="MINUTES",
    ),
    _option(
        "--max-cost", "Stop before the run costs more than this.", type=_AMOUNT, metavar="DOLLARS"
    ),
    _option(
        "--min-coverage",
        "Exit with code 3 where a smaller share of the studies could be scored.",
        type=FiniteRange(min=0, max=1),
        default=0.99,
        metavar="SHARE",
    ),
    _option(
        "--dry-run",
        "Say what would be asked, what is cached and what it may cost; send nothing. Needs no key.",
        is_flag=True,
    ),
    cache_option,
)
"""How a run goes, and what it may cost."""


def settings_of(options: dict[str, Any]) -> JudgeSettings:
    """Return what the options say of a judge."""
    from judge.backends import JudgeSettings, sampling

    parameters = {name: options[name] for name in ("temperature", "top_p", "reasoning_effort")}
    parameters["seed"] = options.get("sampling_seed", options.get("seed"))
    kinds = {name: options[name] for name in ("ray_address", "ray_replicas", "gpus_per_replica")}
    kinds["vllm_args"] = options["vllm_args"] or None
    kinds["vllm_timeout"] = options["vllm_timeout"] and 60 * options["vllm_timeout"]
    return JudgeSettings(
        prompt=options.get("prompt"),
        base_url=options["base_url"],
        timeout=options["timeout"],
        max_tokens=options["max_tokens"],
        reply=None if options["reply"] == "auto" else options["reply"],
        sampling=_set(parameters) | sampling.from_body(options["body"]),
        environ=os.environ,
        say=note,
        sends=not options["dry_run"],
        options=_set(kinds),
    )


def policy_of(options: dict[str, Any]) -> RequestPolicy:
    """Return what the options say of how it is asked."""
    from judge.running.session import RequestPolicy

    names = ("concurrency", "reask", "max_cost", "give_up_after")
    return RequestPolicy(
        max_outage=60 * options["max_outage"],
        **_set({name: options[name] for name in names}),
    )


def _set(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
