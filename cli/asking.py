"""The options of asking a judge, and what they say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import heading
from judge.cli.numbers import FiniteRange
from judge.cli.output import cache_option, note

if TYPE_CHECKING:
    from judge.backends import JudgeSettings
    from judge.running.asking import RequestPolicy

WHO = (
    "Who answers: lexicon (built in; the default), lexicon:FILE with your own lexicon, vllm:MODEL, "
    "which starts and stops vLLM, ray:MODEL, which does so on a Ray cluster, hf:MODEL in this "
    "process, or a model behind an OpenAI-compatible server, such as gpt-4o. MODEL is a name on "
    "the Hugging Face Hub or a folder."
)
WORDING = "The wording of the question, for judges that read one (see `judge prompts list`)."
SERVER_OPTIONS = (
    click.option(
        "--reply",
        type=click.Choice(("auto", "text", "structured")),
        default="auto",
        show_default=True,
        help="What to ask a model for: the rubric's layout in text, or a structured reply "
        "(JSON schema, else a tool call, else plain JSON). auto: structured; but text from "
        "GREEN models, with a prompt that asks for text, as the official one for GREEN, and "
        "from hf:.",
    ),
    click.option(
        "--base-url",
        multiple=True,
        metavar="URL",
        help="The server of the model: Azure, vLLM, llama.cpp, Ollama, ... Default: OpenAI. "
        "Repeat it for servers that share the load. The key comes from OPENAI_API_KEY "
        "(AZURE_OPENAI_API_KEY for Azure, VLLM_API_KEY for vllm:MODEL); a server on this "
        "machine needs none.",
    ),
    click.option(
        "--vllm-arg",
        "vllm_args",
        multiple=True,
        metavar="FLAG",
        help="A flag for the `vllm serve` that vllm:MODEL and ray:MODEL start, such as "
        "--vllm-arg=--tensor-parallel-size=2. Repeat it for several.",
    ),
    click.option(
        "--vllm-timeout",
        type=FiniteRange(min=0, min_open=True),
        metavar="MINUTES",
        help="How long vLLM may take to start, the download of a model included, and ray:MODEL may "
        "wait for a node. Default: 60.",
    ),
    click.option(
        "--ray-address",
        metavar="HOST:PORT",
        help="The Ray cluster of ray:MODEL; auto is the one that runs on this machine. Default: "
        "the one that RAY_ADDRESS names, else one of its own on this machine.",
    ),
    click.option(
        "--ray-replicas",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many times ray:MODEL serves the model. Default: as often as the cluster's GPUs "
        "have room.",
    ),
    click.option(
        "--gpus-per-replica",
        type=click.IntRange(min=0),
        metavar="G",
        help="The GPUs of each replica of ray:MODEL; 0 serves without. Default: 1.",
    ),
)
"""How the judge is reached."""


RUNNING_OPTIONS = (
    heading("Running"),
    click.option(
        "--concurrency",
        type=click.IntRange(min=1),
        default=16,
        show_default=True,
        help="The most requests in flight; fewer where the server asks for it or is late.",
    ),
    click.option(
        "--timeout",
        type=FiniteRange(min=0, min_open=True),
        default=120.0,
        show_default=True,
        metavar="SECONDS",
        help="How long a whole answer may take before it is asked for again.",
    ),
    click.option(
        "--reask",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="How often to ask again for an answer that cannot be read. The judge is told "
        "why; one that cannot be told and would answer the same is not asked.",
    ),
    click.option(
        "--give-up-after",
        type=click.IntRange(min=0),
        default=50,
        show_default=True,
        metavar="N",
        help="Stop where more than half of the first N answers cannot be read; 0: never.",
    ),
    click.option(
        "--max-outage",
        type=FiniteRange(min=0),
        default=30.0,
        show_default=True,
        metavar="MINUTES",
        help="How long to wait for a server that is gone before giving the run up.",
    ),
    click.option(
        "--max-cost",
        type=FiniteRange(min=0, min_open=True),
        metavar="DOLLARS",
        help="Stop before the run costs more than this.",
    ),
    click.option(
        "--min-coverage",
        type=FiniteRange(min=0, max=1),
        default=0.99,
        show_default=True,
        metavar="SHARE",
        help="Exit with code 3 where a smaller share of the studies could be scored, or where "
        "--allow-missing left out more; a tenth may always be left out.",
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Say what would be asked, what is cached and what it may cost; send nothing. "
        "Needs no key.",
    ),
    cache_option,
)
"""How a run goes, and what it may cost."""


def settings_of(options: dict[str, Any]) -> JudgeSettings:
    """Return what the options say of a judge."""
    from judge.backends import JudgeSettings, sampling

    seed = "sampling_seed" if "sampling_seed" in options else "seed"
    names = {"temperature": "temperature", "top_p": "top_p", "seed": seed}
    names["reasoning_effort"] = "reasoning_effort"
    given = {name: options[one] for name, one in names.items() if options[one] is not None}
    minutes = options["vllm_timeout"]
    own = {"vllm_args": options["vllm_args"] or None, "vllm_timeout": minutes and 60 * minutes}
    own |= {name: options[name] for name in ("ray_address", "ray_replicas", "gpus_per_replica")}
    as_given = ("prompt", "base_url", "timeout", "max_tokens")
    return JudgeSettings(
        **{name: options[name] for name in as_given if name in options},
        samples=options.get("samples", 1),
        reply=None if options["reply"] == "auto" else options["reply"],
        sampling=given | sampling.from_body(options["body"]),
        environ=os.environ,
        say=note,
        sends=not options["dry_run"],
        options={name: value for name, value in own.items() if value is not None},
    )


def policy_of(options: dict[str, Any]) -> RequestPolicy:
    """Return what the options say of how it is asked."""
    from judge.running.asking import RequestPolicy

    as_given = ("concurrency", "reask", "max_cost", "give_up_after")
    return RequestPolicy(
        max_outage=60 * options["max_outage"],
        workers=options.get("workers", 1) or 0,
        **{name: options[name] for name in as_given},
    )
