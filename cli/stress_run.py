"""What `judge stress REFS` does: candidates, runs, report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.asking import policy_of, settings_of
from judge.cli.output import note
from judge.cli.progress import account, end_stopped, end_uncovered, watching
from judge.cli.stress_make import made_facts, recipe_of, say_made

if TYPE_CHECKING:
    from judge.running.cost import Forecast
    from judge.running.run import Finished
    from judge.running.session import JudgeSession
    from judge.stress.folder import Recipe
    from judge.studies import StudySet


def run(options: dict[str, Any]) -> None:
    """Make the candidates or find them, judge them and print the report."""
    from judge.cli.drawn import check_drawn
    from judge.cli.stress_report import show
    from judge.report.stress_page.file import MARK
    from judge.running.engine import RunStoppedError, UnreadableError
    from judge.stress.report import report_of
    from judge.stress.runs import shared

    html, figures = options.pop("html"), options.pop("figures")
    check_drawn(html, figures, MARK)
    recipe, sessions = _planned(options)
    out = options["out"] or recipe.default_folder()
    if options["dry_run"]:
        _dry_run(out, recipe, sessions)
        return
    try:
        studies = _candidates(out, recipe, options["n"])
        with shared(sessions):
            finished = [
                _run(session, studies, out, options, f"Run {at} of {len(sessions)}")
                for at, session in enumerate(sessions, 1)
            ]
    except (UnreadableError, RunStoppedError) as stopped:
        end_stopped(stopped)
    else:
        show(report_of([one.path for one in finished]), options["form"], html, figures)
        end_uncovered([one.summary for one in finished], options["min_coverage"])


def _planned(options: dict[str, Any]) -> tuple[Recipe, list[JudgeSession]]:
    """Return what candidates there are to be and who judges them; asks nobody."""
    from judge.backends import LEXICON
    from judge.running.cost import Budget
    from judge.running.session import JudgeSession
    from judge.stress.changes import chosen
    from judge.stress.runs import sessions

    if options["repeats"] > 1 and options["sampling_seed"] is not None:
        raise click.UsageError(
            "--sampling-seed asks for the same answer each time, so that --repeats would tell "
            "nothing; leave one of them out"
        )
    settings = settings_of({**options, "prompt": None})
    policy, budget = policy_of(options), None
    if policy.max_cost is not None:
        budget = Budget(policy.max_cost)
        policy = replace(policy, max_cost=None)
    name, cache = options["judge_name"] or LEXICON, options["cache"]

    def load(prompt: str | None, repeat: int) -> JudgeSession:
        asked = replace(settings, prompt=prompt)
        return JudgeSession.load(
            options["rubric"], name, asked, policy=policy, cache=cache, budget=budget, repeat=repeat
        )

    asked = list(sessions(load, options["prompts"], options["repeats"], note))
    if options["judge_name"] is None:
        note(f"No --judge given: using {LEXICON}, {asked[0].judge.note}.")
    fields = (options["id_field"], options["reference_field"], options["section"])
    recipe = recipe_of(
        options["refs"], *fields, options["n"], options["seed"], chosen(options["changes"])
    )
    return recipe, asked


def _candidates(out: Path, recipe: Recipe, n: int) -> StudySet:
    from judge.stress import folder

    manifest = folder.found(out, recipe)
    if manifest is None:
        manifest = folder.write(out, recipe)
    say_made(recipe, manifest, n)
    note("; ".join(f"{name} {value}" for name, value in made_facts(manifest)))
    note(f"folder  {out}")
    return folder.studies_of(out, recipe)


def _run(
    session: JudgeSession, studies: StudySet, out: Path, options: dict[str, Any], which: str
) -> Finished:
    from judge.running.run import run as judge_and_write
    from judge.stress.runs import BY, folder_of

    prompt = session.judge.prompt
    wording = f", prompt {prompt.name}" if prompt else ""
    note(f"{which}: {session.judge.name}{wording}, repeat {session.repeat + 1}")
    place = folder_of(out, session)
    with session, watching() as listener:
        finished = judge_and_write(
            session,
            studies,
            out=place,
            by=BY,
            arguments={k: v for k, v in options.items() if k not in ("form", "out", "cache")},
            listener=listener,
        )
    for line in account(finished.progress):
        note(line)
    note(f"run folder  {place}")
    return finished


def _dry_run(out: Path, recipe: Recipe, sessions: Sequence[JudgeSession]) -> None:
    """Print what all runs would ask; nothing is sent, and nothing is kept."""
    from judge.report.words import counted
    from judge.running.cost import facts, forecast, without_requests
    from judge.stress import folder
    from judge.stress.runs import together

    with tempfile.TemporaryDirectory() as made:
        place = out
        manifest = folder.found(out, recipe)
        if manifest is None:
            place = Path(made) / "candidates"
            manifest = folder.write(place, recipe)
        studies = folder.studies_of(place, recipe)
        coming = [_forecast(session, studies, forecast) for session in sessions]
    runs = counted(len(sessions), "run", "runs")
    note(f"{counted(manifest['n_candidates'], 'candidate', 'candidates')}, {runs}")
    asking = [one for one in coming if one is not None]
    if not asking:
        note(f"{without_requests(sessions[0].judge)}.")
        return
    concurrency = sessions[0].concurrency
    found = facts(
        together(asking),
        manifest["n_candidates"],
        concurrency,
        unseen="unknown until some answers are there",
    )
    found.pop("studies")
    for name, value in found.items():
        click.echo(f"{name:<16}{value}")
    click.echo("Nothing was sent.")


def _forecast(
    session: JudgeSession,
    studies: StudySet,
    forecast: Callable[[JudgeSession, StudySet], Forecast | None],
) -> Forecast | None:
    with session:
        return forecast(session, studies)
