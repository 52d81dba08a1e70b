"""`judge cite`: the methods text of a run, and the evidence behind its figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import (
    NEW_FOLDER,
    PATH,
    POSITIVE_INTEGER,
    GroupedCommand,
    GroupedOption,
    by_option,
    draw_seed_option,
    format_option,
    require,
)
from judge.cli.output import emit, note, print_document, runs_among

if TYPE_CHECKING:
    from judge.comparing.alignment import RunChoice
    from judge.run_files.summary import RunSummary
    from judge.running.folder import RunFolder

_pack_option = partial(click.option, cls=GroupedOption, group="Evidence pack")


@click.command(
    "cite",
    cls=GroupedCommand,
    examples=[
        "judge cite RUN --by study_class --by site",
        "judge cite RUN --pack evidence",
    ],
    page="docs/evidence-pack.md",
)
@click.argument("runs", type=PATH, nargs=-1, metavar="RUN...", required=True)
@by_option(
    "Give the figures by this field too; none leaves groups out. Default: the fields that the run "
    "was made with, usually study_class."
)
@format_option(
    ["text", "latex", "bibtex"],
    text="text has both; latex the methods text, with \\cite; bibtex the references.",
)
@_pack_option(
    "--pack",
    type=NEW_FOLDER,
    metavar="DIR",
    help=(
        "Write an evidence pack into this new folder instead: a PDF and a zip with protocol, "
        "versions, hashes, prompts, tables, figures, a sample for audit, and the checklists "
        "MI-CLEAR-LLM and TRIPOD-LLM as far as the run knows (needs typst and vl-convert)."
    ),
)
@_pack_option(
    "--sample",
    "size",
    type=POSITIVE_INTEGER,
    metavar="STUDIES",
    default=20,
    show_default=True,
    help="Draw so many studies of each RUN for audit, by outcome and study class.",
)
@draw_seed_option(default=1, group="Evidence pack")
@_pack_option(
    "--with-reports",
    is_flag=True,
    help=(
        "Add the reports of the sample and the texts of their errors. Without it the pack has ids "
        "and no report."
    ),
)
def cite(
    *,
    runs: tuple[Path, ...],
    by: tuple[str, ...],
    form: str,
    pack: Path | None,
    size: int,
    seed: int,
    with_reports: bool,
) -> None:
    """Write the methods text about each RUN, and the references it cites as BibTeX.

    The text names reports, rubric, judge and settings, the studies that were scored, the figures
    with their intervals for all studies and by study class, and the signature, all as the run
    recorded them. --pack writes what a reviewer asks for beside it.
    """
    from judge import plugins
    from judge.comparing.alignment import RunChoice
    from judge.running.folder import RunFolder
    from judge.tables.citation import citation, citations_text

    require(pack is not None, "--pack", "size", "seed", "with_reports")
    require(pack is None, "the text, without --pack", "form")
    chosen = runs_among([RunChoice(path, str(path)) for path in dict.fromkeys(runs)])
    if pack is not None:
        _write_pack(
            chosen, pack, by=by, size=size, seed=seed, with_reports=with_reports
        )
        return
    opened = [RunFolder.open(run.path) for run in chosen]
    citations = [
        citation(
            run.manifest,
            _summary_by(run, by),
            run.rubric,
            plugins.RUBRICS.packages(run.rubric.name, run.manifest.versions),
        )
        for run in opened
    ]
    emit(citations_text(citations, form))


def _write_pack(
    runs: Sequence[RunChoice],
    out: Path,
    *,
    by: Sequence[str],
    size: int,
    seed: int,
    with_reports: bool,
) -> None:
    from judge.pack.contents import PackOptions, write_pack
    from judge.tables.document import Document

    groups: Sequence[str] | None = by or None
    if list(by) == ["none"]:
        groups = ()
    options = PackOptions(by=groups, n=size, seed=seed, with_reports=with_reports)
    written = write_pack(runs, out, options)
    facts = [("pdf", str(written.pdf)), ("zip", str(written.zip))]
    facts.append(("SHA-256 of the zip", written.zip_sha256))
    for title, (n_blank, n) in written.blanks.items():
        facts.append((title, f"{n_blank:,} of {n:,} parts are blank, for the authors"))
    print_document(Document(facts=facts))
    if written.note:
        note(f"the runs are not compared with each other: {written.note}")
    if with_reports:
        note("the pack holds reports of patients, as they were written")


def _summary_by(run: RunFolder, by: Sequence[str]) -> RunSummary:
    """Return the summary with the groups that were asked for, by default as it is in the run.

    Intervals by a bootstrap are those of the run's own seed and number of resamples.
    """
    summary = run.summary()
    if not by:
        return summary
    if list(by) == ["none"]:
        return summary.model_copy(update={"rates": []})
    from judge.stats.intervals import USUAL_DRAWS, Draws

    draws = USUAL_DRAWS
    if summary.resampling is not None:
        draws = Draws(summary.resampling.seed, summary.resampling.resamples)
    return run.regrouped(by, draws=draws)
