"""`judge RUBRIC PREDS [REFS]`: one command for each rubric there is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.batches import (
    BATCH_OPTIONS,
    asked_in_batches,
    batch_policy,
    check_batches,
    warn_of_batches,
)
from judge.cli.endings import end_stopped, end_uncovered
from judge.cli.groups import GroupedCommand, heading, with_options
from judge.cli.numbers import FiniteRange
from judge.cli.output import by_option, cache_option, format_option, note, print_summary
from judge.cli.sampling import SAMPLES, sampling_options
from judge.cli.studies import FILE_OPTIONS, part_of, read_studies, reading, shard_option
from judge.rubrics import Rubric

if TYPE_CHECKING:
    from judge.backends import JudgeSettings
    from judge.batching.rounds import BatchPolicy
    from judge.running.asking import RequestPolicy
    from judge.running.run import Finished
    from judge.running.session import JudgeSession
    from judge.running.shards import Shard
    from judge.studies import StudySet


def command_for(rubric: Rubric) -> click.Command:
    """Return the command that judges reports by `rubric`."""

    def command(**options: Any) -> None:  # noqa: ANN401
        _judge(rubric, options)

    several = (SAMPLES,) if rubric.takes_samples else ()
    callback = with_options(*_ASKING, *several, *_RUNNING)(command)
    named = click.command(
        rubric.name, GroupedCommand, help=_help(rubric), short_help=rubric.summary
    )
    return named(callback)


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
        help="Exit with code 3 where a smaller share of the studies could be scored.",
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

_ASKING = (
    *FILE_OPTIONS,
    heading("Judge"),
    click.option(
        "--judge",
        "judge_names",
        multiple=True,
        metavar="JUDGE",
        help=f"{WHO} With --dry-run repeat it to see several side by side.",
    ),
    click.option("--prompt", metavar="NAME|FILE", help=WORDING),
    *SERVER_OPTIONS,
    *sampling_options("--seed"),
)
_RUNNING = (
    *RUNNING_OPTIONS,
    click.option(
        "--sample",
        type=click.IntRange(min=1),
        metavar="N",
        help="Judge N studies drawn at random, say what all of them would cost and how long "
        "they would take, and stop. Their answers are in the cache for the run.",
    ),
    shard_option,
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="The processes that the built-in judge works in, one a core. Other judges have "
        "--concurrency.",
    ),
    *BATCH_OPTIONS,
    heading("Output"),
    by_option,
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The run folder. Default: a folder below judge-runs, named after the signature.",
    ),
    format_option,
)


def _help(rubric: Rubric) -> str:
    return f"""{rubric.summary}

    PREDS holds the candidate reports, REFS the references: JSON as in ReXrank, a list of
    objects or of texts, JSON Lines, CSV, TSV, Parquet or a text file (.txt) with a report a
    line, gzipped or not, or a folder of Hugging Face datasets; - is standard input. REFS may
    be left out when PREDS holds both.

    Exit codes: 0 all is well; 2 an error to fix, said in one line; 3 too few studies
    could be scored, --max-cost was reached, or most answers could not be read
    (--give-up-after); 130 interrupted, 143 after SIGTERM, 141 where the output is a
    pipe that was closed early, as `| head` does: the run is complete then.
    """


def _judge(rubric: Rubric, options: dict[str, Any]) -> None:
    from judge.backends import LEXICON
    from judge.cli.forecast import dry_run, sample_run
    from judge.running.budget import Purse
    from judge.running.engine import RunStoppedError, UnreadableError
    from judge.running.session import JudgeSession
    from judge.running.shards import Shard
    from judge.stats.table import reserved_names

    named = options.pop("judge_names")
    if len(named) > 1 and not options["dry_run"]:
        raise click.UsageError("name one --judge; several go with --dry-run, side by side")
    if options["sample"] and (options["out"] or options["dry_run"]):
        raise click.UsageError("--sample writes no run; give it without --out and --dry-run")
    batches = batch_policy(options)
    if options["sample"] and batches:
        raise click.UsageError("--sample asks directly: give it without --batch")
    shard = None if options["shard"] is None else Shard.of(options["shard"])
    settings, policy = settings_of(options), policy_of(options)
    budget = Purse(policy.max_cost) if batches and policy.max_cost is not None else None
    sessions = [
        JudgeSession.load(
            *(rubric.name, name, settings), policy=policy, cache=options["cache"], budget=budget
        )
        for name in named or (LEXICON,)
    ]
    check_batches(sessions, batches)
    studies = read_studies(options, reserved_names(rubric))
    note(reading(studies))
    session = sessions[0]
    if not named:
        note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
    options["judge_name"] = named[0] if named else None  # as the manifest has it
    options["shard"] = shard and str(shard)
    part = part_of(studies, shard) if shard else studies
    if options["dry_run"]:
        dry_run(sessions, part, in_batches=batches is not None)
        return
    try:
        if n := options.pop("sample"):
            sample_run(session, part, n)
            return
        with session:
            if batches is None:
                warn_of_batches(session)
            finished = _run(session, studies, shard, options, part, batches)
    except (UnreadableError, RunStoppedError) as stopped:
        end_stopped(stopped)
    else:
        _finished(finished, rubric, options)


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
        **{name: options[name] for name in as_given},
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
        workers=options.get("workers", 1),
        **{name: options[name] for name in as_given},
    )


def _run(
    session: JudgeSession,
    studies: StudySet,
    shard: Shard | None,
    options: dict[str, Any],
    part: StudySet,
    batches: BatchPolicy | None,
) -> Finished:
    from judge.cli.progress import watching
    from judge.running.run import run

    with watching() as listener:
        return run(
            session,
            studies,
            out=options["out"],
            by=options["by"],
            arguments={k: v for k, v in options.items() if k not in ("form", "out", "cache")},
            shard=shard,
            listener=listener,
            asking=asked_in_batches(session, part, batches, listener) if batches else None,
        )


def _finished(finished: Finished, rubric: Rubric, options: dict[str, Any]) -> None:
    from judge.cli.progress import account

    for line in account(finished.progress):
        note(line)
    note(f"run folder  {finished.path}")  # first: who reads the table may close it early
    print_summary(finished.summary, rubric, options["form"])
    end_uncovered([finished.summary], options["min_coverage"])
