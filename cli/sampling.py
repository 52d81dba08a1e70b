"""The options of how a model's answers are drawn."""

from __future__ import annotations

import click

from judge.cli.groups import Decorator, heading


def sampling_options(seed: str) -> tuple[Decorator, ...]:
    """Return the options of sampling, with `seed` as the name of its seed's."""
    return (
        heading("Sampling"),
        click.option(
            "--max-tokens",
            type=click.IntRange(min=1),
            help="The longest answer, in tokens; a longer one is cut and counts as unparsed. A "
            "model that reasons needs more, since its reasoning counts: one whose name says so "
            "(o3, gpt-5, deepseek-r1, ...), or that is given --reasoning-effort. Default: 2048, or "
            "25000 for one that reasons.",
        ),
        click.option(
            "--temperature",
            type=float,
            metavar="NUMBER",
            help="0 is the likeliest answer, more is more varied. Default: 0.",
        ),
        click.option(
            "--top-p",
            type=float,
            metavar="NUMBER",
            help="Sample from the likeliest tokens alone, as many as have this probability "
            "together.",
        ),
        click.option(seed, type=int, help="What sampling starts from, on servers that keep to it."),
        click.option(
            "--reasoning-effort",
            metavar="WORD",
            help="How much a model is to reason: low, medium, high, or what its server calls it.",
        ),
        click.option(
            "--body",
            multiple=True,
            metavar="KEY=JSON",
            help="Anything else that the server takes in a request, such as --body top_k=20. "
            "Repeat it for several. Like all of these it stands in the signature.",
        ),
    )


SAMPLES = click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="K",
    help="Ask K times about each study, at a --temperature above 0: the mean is the study's score, "
    "and the spread is kept. A study that lacks one of the answers has no score.",
)
"""For a rubric that takes several answers about a study."""
