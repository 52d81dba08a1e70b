"""`judge cite RUN...`: what a paper says of a run, and the works that it cites."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.output import emit, format_of


@click.command("cite")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@format_of(
    *("text", "latex", "bibtex", "json"),
    text="The text and the works, the text alone with \\cite commands for LaTeX, the works alone "
    "for BibTeX, or all of it as JSON.",
)
def command(runs: tuple[Path, ...], form: str) -> None:
    """Write a text for a paper's methods section about each RUN, made from what the run recorded.

    It says what was compared, by which rubric, judge and settings, how many studies were scored,
    the figures with their intervals, and the signature. The works behind the rubric's numbers and
    the intervals follow as BibTeX, each once.
    """
    from judge import plugins
    from judge.running.folder import Run
    from judge.signature import Signature
    from judge.tables.citation import citation, distinct
    from judge.tables.data import as_json

    opened = [Run(path) for path in dict.fromkeys(runs)]
    found = [
        citation(
            run.manifest,
            run.summary(),
            Signature.parse(run.signature),
            run.rubric,
            plugins.RUBRICS.packages(run.rubric.name, run.manifest["versions"]),
        )
        for run in opened
    ]
    works = distinct(source for one in found for source in one.sources)
    bibtex = "\n\n".join(source.bibtex for source in works)
    if form == "json":
        told = [
            {"run": str(run.path), "signature": run.signature, "text": one.text}
            | {"latex": one.latex, "works": [source.key for source in one.sources]}
            for run, one in zip(opened, found, strict=True)
        ]
        entries = [{"key": one.key, "short": one.short, "bibtex": one.bibtex} for one in works]
        emit(as_json({"runs": told, "works": entries}))
    elif form == "latex":
        emit("\n\n".join(one.latex for one in found))
    elif form == "bibtex":
        emit(bibtex)
    else:
        emit("\n\n".join([*(one.text for one in found), bibtex]))
