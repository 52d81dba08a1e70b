"""`judge RUBRIC PREDS [REFS]`: one command for each rubric there is."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.output import by_option, cache_option, format_option, note, print_summary
from judge.rubrics import Rubric

if TYPE_CHECKING:
    from judge.backends import Judge
    from judge.run.judging import RunStoppedError
    from judge.run.run import Finished
    from judge.studies import StudySet

_LOW_COVERAGE, _INTERRUPTED = 3, 130


def command_for(rubric: Rubric) -> click.Command:
    """Return the command that judges reports by `rubric`."""

    def command(**options: Any) -> None:  # noqa: ANN401
        _judge(rubric, options)

    callback: Any = command
    for option in reversed(_OPTIONS):
        callback = option(callback)
    return click.command(rubric.name, help=_help(rubric), short_help=rubric.summary)(callback)


_OPTIONS = (
    click.argument("preds"),
    click.argument("refs", required=False),
    click.option(
        "--judge",
        "judge_name",
        metavar="JUDGE",
        help="Who answers: lexicon (built in; the default), lexicon:FILE with your own lexicon, "
        "vllm:MODEL, which starts and stops vLLM, hf:MODEL in this process, or a model behind "
        "an OpenAI-compatible server, such as gpt-4o. MODEL is a name on the Hugging Face Hub "
        "or a folder.",
    ),
    click.option(
        "--prompt",
        metavar="NAME|FILE",
        help="The wording of the question, for judges that read one (see `judge prompts list`).",
    ),
    click.option(
        "--section",
        metavar="findings|impression|report",
        help="The part of the reports to judge. Default: findings where the references have "
        "them, else the whole report.",
    ),
    click.option(
        "--id-field",
        metavar="FIELD",
        help="The field that holds the study id. Default: study_id, id or the like.",
    ),
    click.option(
        "--class-field",
        metavar="FIELD",
        help="The field that holds the study class. Default: study_class or the like; "
        "without one the lexicon infers normal or abnormal from the reference.",
    ),
    click.option(
        "--allow-missing",
        is_flag=True,
        help="Leave out studies that are on one side only or lack the section, and count them.",
    ),
    by_option,
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The run folder. Default: a folder below judge-runs, named after the signature.",
    ),
    format_option,
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
        help="A flag for the `vllm serve` that vllm:MODEL starts, such as "
        "--vllm-arg=--tensor-parallel-size=2. Repeat it for several.",
    ),
    click.option(
        "--vllm-timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=60.0,
        show_default=True,
        metavar="MINUTES",
        help="How long vLLM may take to start, the download of a model included.",
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(min=1),
        default=16,
        show_default=True,
        help="The most requests in flight; fewer where the server asks for it or slows down.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=120.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for one answer before asking again.",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(min=1),
        default=2048,
        show_default=True,
        help="The longest answer, in tokens; a longer one is cut and counts as unparsed.",
    ),
    click.option(
        "--reask",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="How often to ask again for an answer that cannot be read.",
    ),
    click.option(
        "--max-outage",
        type=click.FloatRange(min=0),
        default=30.0,
        show_default=True,
        metavar="MINUTES",
        help="How long to wait for a server that is gone before giving the run up.",
    ),
    click.option(
        "--max-cost",
        type=click.FloatRange(min=0, min_open=True),
        metavar="DOLLARS",
        help="Stop before the run costs more than this.",
    ),
    click.option(
        "--min-coverage",
        type=click.FloatRange(min=0, max=1),
        default=0.99,
        show_default=True,
        metavar="SHARE",
        help="Exit with code 3 where a smaller share of the studies could be scored.",
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Say what would be asked, what is cached and what it may cost; send nothing.",
    ),
    cache_option,
)


def _help(rubric: Rubric) -> str:
    return f"""{rubric.summary}

    PREDS holds the candidate reports, REFS the references: JSON as in ReXrank, a list of
    objects, JSON Lines, CSV, TSV or Parquet, gzipped or not; - is standard input. REFS may
    be left out when PREDS holds both.

    Exit codes: 0 all is well; 2 something to mend, said in one line; 3 too few studies
    could be scored, or --max-cost was reached; 130 interrupted.
    """


def _judge(rubric: Rubric, options: dict[str, Any]) -> None:
    from judge import backends
    from judge.run.judging import RunStoppedError
    from judge.stats.table import reserved_names
    from judge.studies import read_pair

    settings = backends.Settings(
        prompt=options["prompt"],
        base_url=options["base_url"],
        timeout=options["timeout"],
        max_tokens=options["max_tokens"],
        environ=os.environ,
        say=note,
        vllm_args=options["vllm_args"],
        vllm_timeout=60 * options["vllm_timeout"],
    )
    name = options["judge_name"] or backends.LEXICON
    judge = backends.load(name, rubric, settings)
    studies = read_pair(
        options["preds"],
        options["refs"],
        section=options["section"],
        class_field=options["class_field"],
        allow_missing=options["allow_missing"],
        id_field=options["id_field"],
        reserved=reserved_names(rubric),
    )
    if options["judge_name"] is None:
        note(f"No --judge given: using {name}, {judge.note}.")
    if options["dry_run"]:
        _dry_run(studies, rubric, judge, options)
        return
    try:
        finished = _run(studies, rubric, judge, options)
    except RunStoppedError as stopped:
        _stopped(stopped)
    else:
        _finished(finished, rubric, options)


def _run(studies: StudySet, rubric: Rubric, judge: Judge, options: dict[str, Any]) -> Finished:
    from judge.cache import CompletionCache, place
    from judge.cli.progress import watching
    from judge.run.asking import Effort
    from judge.run.run import run

    effort = Effort(
        concurrency=options["concurrency"],
        reask=options["reask"],
        max_outage=60 * options["max_outage"],
        max_cost=options["max_cost"],
    )
    with ExitStack() as stack:
        cache = None
        if not judge.is_free:
            cache = stack.enter_context(CompletionCache(place(options["cache"], os.environ)))
        return run(
            studies,
            rubric,
            judge,
            cache=cache,
            effort=effort,
            out=options["out"],
            by=options["by"],
            arguments={k: v for k, v in options.items() if k not in ("form", "out", "cache")},
            watch=stack.enter_context(watching()),
        )


def _finished(finished: Finished, rubric: Rubric, options: dict[str, Any]) -> None:
    from judge.cli.progress import account

    print_summary(finished.summary, rubric, options["form"])
    for line in account(finished.progress):
        note(line)
    note(f"run folder  {finished.path}")
    n, scored = finished.summary["n_studies"], finished.summary["n_scored"]
    if n and scored / n < options["min_coverage"]:
        reasons = ", ".join(f"{why} {k}" for why, k in finished.summary["reasons"].items())
        note(
            f"Only {scored:,} of {n:,} studies could be scored, less than --min-coverage "
            f"{options['min_coverage']:g} ({reasons})."
        )
        sys.exit(_LOW_COVERAGE)


def _stopped(stopped: RunStoppedError) -> None:
    """Say how far the run came and how to go on, and exit."""
    from judge.cli.progress import account

    progress = stopped.progress
    note(f"Stopped ({stopped.why}) after {progress.done:,} of {progress.total:,} studies.")
    for line in account(progress):
        note(line)
    if progress.asked or progress.from_cache:
        note("Every answer is in the cache. Go on with the same command:")
    else:
        note("No run was written. Start again with:")
    note("  " + shlex.join(["judge", *sys.argv[1:]]))
    sys.exit(_INTERRUPTED if stopped.interrupted else _LOW_COVERAGE)


def _dry_run(studies: StudySet, rubric: Rubric, judge: Judge, options: dict[str, Any]) -> None:
    from judge.cache import CompletionCache, place
    from judge.run.dry import forecast

    if judge.is_free:
        note(f"{len(studies):,} studies; {judge.name} is built in: no requests, no cost.")
        return
    with CompletionCache(place(options["cache"], os.environ)) as cache:
        coming = forecast(studies, judge, rubric, cache, options["reask"])
    length = "as long as the cached ones" if coming.from_cached_answers else "of the longest kind"
    dollars = "unknown (no price for this model here)"
    if coming.dollars is not None:
        dollars = f"about ${coming.dollars:,.2f}"
    spared = f"{coming.cached:,} cached, {coming.repeated:,} repeated"
    click.echo(
        f"studies     {len(studies):,}\n"
        f"requests    {coming.requests:,} ({spared})\n"
        f"tokens      about {coming.prompt_tokens:,} in, {coming.completion_tokens:,} out "
        f"(answers {length})\n"
        f"cost        {dollars}\n"
        "Nothing was sent."
    )
