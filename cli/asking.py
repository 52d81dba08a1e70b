"""The options of asking a judge, and what they say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import Decorator, FiniteRange, heading
from judge.cli.output import cache_option, note

if TYPE_CHECKING:
    from judge.backends import JudgeSettings
    from judge.running.session import RequestPolicy

WHO = (
    "Who answers: lexicon (built in; the default), lexicon:FILE with your own lexicon, vllm:MODEL, "
    "which starts and stops vLLM, ray:MODEL, which does so on a Ray cluster, hf:MODEL in this "
    "process, or a model behind an OpenAI-compatible server, such as gpt-4o. MODEL is a name on "
    "the Hugging Face Hub or a folder."
)
WORDING = "The wording of the question, for judges that read one (see `judge prompts list`)."

# What an option takes, by what stands for it in the help; anything else is text.
_COUNT_OR_NONE = click.IntRange(0)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("SECONDS", "MINUTES", "DOLLARS"), FiniteRange(0, min_open=True)),
    **dict.fromkeys(("N", "K"), click.IntRange(1)),
    "G": _COUNT_OR_NONE,
    "SHARE": FiniteRange(0, 1),
}


def _option(declaration: str, text: str, **attributes: Any) -> Decorator:  # noqa: ANN401
    """Return an option; `declaration` is its names and what stands for its value."""
    *names, metavar = declaration.split()
    shown = "default" in attributes
    attributes = {"type": _TYPES.get(metavar), "metavar": metavar, **attributes}
    return click.option(*names, help=text, show_default=shown, **attributes)


SERVER_OPTIONS = (
    click.option(
        "--reply",
        type=click.Choice(("auto", "text", "structured")),
        default="auto",
        show_default=True,
        help="What to ask a model for: the rubric's layout in text, or a structured reply (JSON "
        "schema, else a tool call, else plain JSON). auto: text from GREEN models, from hf: and "
        "with a prompt that asks for text; else structured.",
    ),
    _option(
        "--base-url URL",
        "The server of the model, OpenAI by default; several share the load. The key comes from "
        "OPENAI_API_KEY (AZURE_OPENAI_API_KEY for Azure, VLLM_API_KEY for vllm:MODEL); a server on "
        "this machine needs none.",
        multiple=True,
    ),
    _option(
        "--vllm-arg vllm_args FLAG",
        "A flag for `vllm serve`, such as --vllm-arg=--tensor-parallel-size=2. Repeatable.",
        multiple=True,
    ),
    _option(
        "--vllm-timeout MINUTES",
        "How long vLLM may take to start, download included. Default: 60.",
    ),
    _option(
        "--ray-address HOST:PORT",
        "The Ray cluster of ray:MODEL; auto is this machine's. Default: the one that RAY_ADDRESS "
        "names, else a new one on this machine.",
    ),
    _option(
        "--ray-replicas N",
        "How often ray:MODEL serves the model. Default: as often as the GPUs have room.",
    ),
    _option(
        "--gpus-per-replica G",
        "The GPUs of a replica of ray:MODEL; 0 serves without. Default: 1.",
    ),
)
"""How the judge is reached."""

SAMPLES = _option(
    "--samples K",
    "Ask K times about each study, at a --temperature above 0: the mean is the study's score, and "
    "the spread is kept. A study that lacks one of the answers has no score.",
    default=1,
)
"""For a rubric that takes several answers about a study."""


def sampling_options(seed: str) -> tuple[Decorator, ...]:
    """Return the options of how answers are drawn, with `seed` as the name of the seed's."""
    return (
        heading("Sampling"),
        _option(
            "--max-tokens N",
            "The longest answer, in tokens; a longer one is cut and counts as unparsed. Default: "
            "2048, or 25000 for a model that reasons, by its name or --reasoning-effort.",
        ),
        _option(
            "--temperature FLOAT",
            "0 is the likeliest answer, more is more varied. Default: 0.",
            type=FiniteRange(0, 2),
        ),
        _option(
            "--top-p FLOAT",
            "Sample from the likeliest tokens alone, those that have this probability together.",
            type=FiniteRange(0, 1, min_open=True),
        ),
        _option(
            f"{seed} INTEGER", "What sampling starts from, on servers that keep to it.", type=int
        ),
        _option(
            "--reasoning-effort WORD",
            "How much a model is to reason: low, medium, high, or what its server calls it.",
        ),
        _option(
            "--body KEY=JSON",
            "Anything else that the server takes, such as --body top_k=20. Repeatable.",
            multiple=True,
        ),
    )


RUNNING_OPTIONS = (
    heading("Running"),
    _option(
        "--concurrency N",
        "The most requests in flight; fewer where the server asks for it or is late. Default: 16 "
        "for APIs, 128 for each server or replica of vLLM.",
    ),
    _option(
        "--timeout SECONDS",
        "How long a whole answer may take before it is asked for again.",
        default=120.0,
    ),
    _option(
        "--reask N",
        "How often to ask again, saying why, for an answer that cannot be read.",
        type=_COUNT_OR_NONE,
        default=1,
    ),
    _option(
        "--give-up-after N",
        "Stop where more than half of the first N answers cannot be read; 0: never.",
        type=_COUNT_OR_NONE,
        default=50,
    ),
    _option(
        "--max-outage MINUTES",
        "How long to wait for a server that is gone before giving the run up.",
        type=FiniteRange(0),
        default=30.0,
    ),
    _option("--max-cost DOLLARS", "Stop before the run costs more than this."),
    _option(
        "--min-coverage SHARE",
        "Exit with code 3 where a smaller share of the studies could be scored.",
        default=0.99,
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Say what would be asked, what is cached and what it may cost; send nothing. Needs "
        "no key.",
    ),
    cache_option,
)
"""How a run goes, and what it may cost."""


def settings_of(options: Mapping[str, Any]) -> JudgeSettings:
    """Return what the options say of a judge."""
    from judge.backends import JudgeSettings
    from judge.backends.options import from_body

    vllm_timeout, seed = options["vllm_timeout"], options.get("sampling_seed", options.get("seed"))
    options = {
        **options,
        "reply": None if options["reply"] == "auto" else options["reply"],
        "vllm_args": options["vllm_args"] or None,
        "vllm_timeout": vllm_timeout and 60 * vllm_timeout,
        "seed": seed,
    }
    kinds = "vllm_args", "vllm_timeout", "ray_address", "ray_replicas", "gpus_per_replica"
    parameters = "temperature", "top_p", "seed", "reasoning_effort"
    return JudgeSettings(
        **_set(options, "prompt", "base_url", "timeout", "max_tokens", "samples", "reply"),
        sampling=_set(options, *parameters) | from_body(options["body"]),
        environ=os.environ,
        say=note,
        sends=not options["dry_run"],
        options=_set(options, *kinds),
    )


def policy_of(options: Mapping[str, Any]) -> RequestPolicy:
    """Return what the options say of how it is asked."""
    from judge.running.session import RequestPolicy

    return RequestPolicy(
        max_outage=60 * options["max_outage"],
        **_set(options, "concurrency", "reask", "max_cost", "give_up_after"),
    )


def _set(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names if options.get(name) is not None}
