"""Commands and options that are gone, and what is used in their place.

Loaded only where a command line names something that does not exist. A name that still works, with
a note, stands in `judge.cli.options.RENAMED` instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Removed:
    """An option that is gone, the commands that had it, and one sentence about what to use.

    Without commands it is meant wherever it is given.
    """

    option: str
    instead: str
    commands: tuple[str, ...] = ()


COMMANDS = {
    "completion": (
        'the shell completes by itself after eval "$(_JUDGE_COMPLETE=bash_source judge)", as '
        "docs/install.md says"
    ),
    "export": (
        "each run has its table of studies in studies.csv; examples/radeval_scores.py scores a "
        "run with RadEval, and judge compare --metrics reads what it writes"
    ),
    "readings": "judge readers import makes runs of radiologists' readings",
    "reviews": (
        "judge runs export RUN --reviews has the reviews of a run, the judge's precision by them, "
        "and the agreement of the reviewers"
    ),
    "batch read": "the command that began a batch reads it: repeat it, as judge green --batch",
    "batch show": "judge batch list shows all batches with their states",
    "batch write": "judge green --batch writes the batch and sends it",
    "cache verify": "judge cache info --check names damaged entries",
    "stress compare": (
        "name the runs of both on the same candidates: judge compare RUN RUN --by change "
        "--allow judge"
    ),
}
"""Commands that are gone, below `judge`, and one sentence about what to use."""

OPTIONS = (
    Removed(
        "--between",
        "judge validate --readers compares readers with each other",
    ),
    Removed(
        "--by-section",
        "name the runs of one section at a time: judge compare ranks them",
        ("compare",),
    ),
    Removed(
        "--columns",
        "judge compare --table chooses tables, and --format csv has all metrics",
        ("compare",),
    ),
    Removed(
        "--highlight",
        "judge compare --figures also writes specifications (.vl.json) to restyle",
        ("compare",),
    ),
    Removed(
        "--html",
        "judge page RUN --out FILE.html writes the page of a run",
        ("audit",),
    ),
    Removed(
        "--html",
        "judge page RUN RUN --out FILE.html writes the page of a comparison",
        ("compare",),
    ),
    Removed(
        "--html",
        "judge page RUN --readers RUN --out FILE.html writes the page of judges and readers",
        ("validate",),
    ),
    Removed(
        "--images",
        "reports are read without images; judge serve shows the texts",
        ("serve",),
    ),
    Removed(
        "--list",
        "judge stress make --changes makes those that are named, and names all that there are "
        "where one is unknown",
        ("stress make", "stress run"),
    ),
    Removed(
        "--max-input",
        "a file may unpack to 4 GB, and nothing needs to be set",
    ),
    Removed(
        "--max-memory",
        "judge serve --max-upload limits what a client sends",
        ("serve",),
    ),
    Removed(
        "--min-judges",
        "judge runs panel scores the studies that all judges scored",
        ("runs panel",),
    ),
    Removed(
        "--next",
        "judge serve steps through studies, and judge audit --rows lists them",
        ("audit",),
    ),
    Removed(
        "--plan",
        "judge readers sample --limit draws as many studies as you name, and judge rates --readers "
        "says how wide the interval is that they give",
        ("readers sample",),
    ),
    Removed(
        "--radeval",
        "judge metrics --metric computes RadEval's metrics",
        ("metrics",),
    ),
    Removed(
        "--reask-now",
        "--reask asks again in a batch of its own",
    ),
    Removed(
        "--reference-id-field",
        "the field is found by its name, reference_id, where --references is given",
    ),
    Removed(
        "--sample",
        "write --limit N, which judges N studies drawn at random",
    ),
    Removed(
        "--samples",
        "judge stress run --repeats asks several times and says how much answers differ",
    ),
    Removed(
        "--strict",
        "judge readers import leaves out a study whose rows contradict each other, with a note",
        ("readers import",),
    ),
    Removed(
        "--top-sites",
        "the figures of judge compare --figures show the 30 largest sites",
        ("compare", "reproduce challenge"),
    ),
    Removed(
        "--truth",
        "judge stress report finds the known errors in the fields of the run",
        ("stress report",),
    ),
    Removed(
        "--unreadable",
        "judge cache info --check names damaged entries",
        ("cache prune",),
    ),
    Removed(
        "--vllm-timeout",
        "vLLM is waited for until it runs or ends; --timeout is for one answer, in seconds",
    ),
    Removed(
        "--width",
        "judge readers sample --limit says how many studies to draw",
        ("readers sample",),
    ),
    Removed(
        "--workers",
        "lexicon works in one process; for other judges --concurrency is the number of requests "
        "at a time",
    ),
    Removed(
        "--writer",
        "candidates are reworded by rules alone: judge stress make --changes",
        ("stress make", "stress run"),
    ),
    Removed(
        "--writer-base-url",
        "candidates are reworded by rules alone: judge stress make --changes",
        ("stress make", "stress run"),
    ),
)


def removed_command(path: str) -> str | None:
    """Return what to use in place of a command that is gone, None for another name."""
    return COMMANDS.get(path)


def removed_option(option: str, path: str) -> str | None:
    """Return what to use in place of an option that the command at `path` had, else None."""
    for removed in OPTIONS:
        is_here = not removed.commands or path in removed.commands
        if removed.option == option and is_here:
            return removed.instead
    return None
