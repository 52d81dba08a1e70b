"""`judge bridge RUN... --judge NEW`: from the figures of an old judge to those of a new one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import (
    NEW_FOLDER,
    GroupedCommand,
    align_options,
    draw_seed_option,
    limit_option,
    margin_option,
    out_option,
    output_options,
    resampling_options,
    strata_option,
)
from judge.cli.output import note, print_document, runs_among
from judge.cli.progress import end_uncovered, forecast, judge_studies, watching
from judge.cli.run_options import JudgeOptions, judge_options, running_options
from judge.types import LEXICON

if TYPE_CHECKING:
    from judge.running.session import JudgeSession
    from judge.studies import StudySet

_TABLES = ("restated", "shift", "categories", "agreement", "conclusions", "sample")


@click.command(
    "bridge",
    cls=GroupedCommand,
    rare=[
        "--allow",
        "--base-url",
        "--cache",
        "--common",
        "--draw-seed",
        "--patient-field",
        "--prompt",
        "--strata",
    ],
    examples=[
        "judge bridge judge-runs/old-* --judge gpt-6-luna --dry-run",
        "judge bridge judge-runs/old-* --judge gpt-6-luna --max-cost 20",
    ],
    page="docs/bridge.md",
)
@click.argument("runs", nargs=-1, metavar="RUN...", required=True)
@judge_options
@running_options
@limit_option(
    "How many studies of each RUN the new judge is asked about, drawn at random.",
    default=300,
    group="Sample",
)
@strata_option(group="Sample")
@draw_seed_option(default=1, parameter="draw_seed", group="Sample")
@align_options
@margin_option(
    "How far a rate may shift for old and new figures to stand in one table.",
    most=1,
    default=0.05,
    group="Output",
)
@out_option(
    "The folder of the new judge's run and of bridge.json.",
    path=NEW_FOLDER,
    default="bridge",
    group="Output",
)
@output_options(_TABLES, group="Output")
@resampling_options
def bridge(
    *,
    runs: tuple[str, ...],
    limit: int,
    by: tuple[str, ...],
    draw_seed: int,
    allow: tuple[str, ...],
    common: bool,
    margin: float,
    out: Path,
    table: tuple[str, ...],
    form: str,
    patient_field: str | None,
    resamples: int | None,
    seed: int,
    **values: Any,  # noqa: ANN401
) -> None:
    """Carry a leaderboard over from a judge that ends to a new one.

    RUN is a kept run of the old judge, one for each model. A sample of their studies is judged
    again by --judge. It says how far the figures shift, which conclusions change, whether old and
    new figures may stand in one table, and restates the old leaderboard on the new scale.

    The same command continues where it was stopped, and asks nothing twice. A larger --limit keeps
    the studies of a smaller one. Exit codes are those of judge RUBRIC.
    """
    from judge.bridging import bridge as bridges
    from judge.bridging import kept_runs as kept
    from judge.comparing.alignment import choices_of
    from judge.running.folder import RunFolder
    from judge.running.run import default_folder, with_classes
    from judge.stats.significance import Resampling
    from judge.tables.bridge import bridge_document

    options = JudgeOptions(**values)
    old = kept.kept_runs(
        runs_among(choices_of(runs)),
        by=",".join(by) or "study_class",
        allow=allow,
        common=common,
        patient_field=patient_field,
    )
    drawn = kept.drawn_studies(
        old.panel, old.is_scored, by=old.by, n=limit, seed=draw_seed
    )
    settings = kept.new_judge_settings(old, options.judge_values())
    session = options.session(settings)
    if options.judge is None:
        note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
    reports = kept.sampled_reports(old, drawn, settings, session.rubric)
    if options.dry_run:
        forecast(session, reports)
        return
    _say_price(session, reports)
    signature = session.identity(*with_classes(reports)).signature
    folder = out / default_folder(session, None, signature).name
    with watching() as listener:
        finished = judge_studies(
            session,
            reports,
            out=folder,
            by=settings.by,
            settings=settings,
            listener=listener,
        )
    found = bridges.bridge(
        old,
        drawn,
        RunFolder.open(finished.path),
        margin=margin,
        how=Resampling(seed=seed, resamples=resamples),
    )
    note(f"written to {bridges.save(found, out)}")
    document = bridge_document(found, complete=form == "csv")
    print_document(document, form, found.plain(), table)
    end_uncovered([finished.summary], options.min_coverage)


def _say_price(session: JudgeSession, reports: StudySet) -> None:
    """Say how many requests the reports need and what they may cost, before any is sent."""
    from judge.running.forecast import forecast as forecast_of

    with session:
        expected = forecast_of(session, reports)
    if expected is None or not expected.requests:
        return
    facts = expected.facts(session.concurrency)
    for name in ("requests", "typical", "worst"):
        note(f"{name}  {facts[name]}")
