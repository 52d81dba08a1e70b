"""What `judge stress REFS` does: candidates, runs, report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.asking import policy_of, settings_of
from judge.cli.endings import end_stopped, end_uncovered
from judge.cli.output import note
from judge.cli.stress_make import made_facts, recipe_of, say_made
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.dry import Forecast
    from judge.running.run import Finished
    from judge.running.session import JudgeSession
    from judge.stress.changes import Change
    from judge.stress.folder import Recipe
    from judge.studies import StudySet

_TO_BE_REWORDED = "(to be reworded)"


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
    recipe, sessions, writer = _planned(options)
    out = options["out"] or recipe.default_folder()
    if options["dry_run"]:
        _dry_run(out, recipe, sessions, writer)
        return
    try:
        studies = _candidates(out, recipe, writer, options["n"])
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


def _planned(options: dict[str, Any]) -> tuple[Recipe, list[JudgeSession], JudgeSession | None]:
    """Return what candidates there are to be, who judges them and who rewords; asks nobody."""
    from judge.backends import LEXICON
    from judge.running.budget import Purse
    from judge.running.session import JudgeSession
    from judge.stress import writing
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
        budget = Purse(policy.max_cost)
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
    names = [one for one in options["changes"] if one != writing.NAME]
    if len(names) < len(options["changes"]) and not options["writer"]:
        raise JudgeError(f"the change {writing.NAME!r} needs a model that writes: --writer MODEL")
    # Who names the rewordings alone wants no other change.
    picked = chosen(names) if names or not options["changes"] else []
    fields = (options["id_field"], options["reference_field"], options["section"])
    recipe = recipe_of(options["refs"], *fields, options["n"], options["seed"], picked)
    if not options["writer"]:
        if options["writer_base_url"]:
            raise click.UsageError("--writer-base-url belongs to --writer MODEL")
        return recipe, asked, None
    plain = replace(
        settings,
        base_url=options["writer_base_url"] or settings.base_url,
        max_tokens=None,
        sampling={},
        options={},
    )
    writer = writing.load(options["writer"], plain, policy, cache, budget)
    changes = _with(recipe.changes, writing.change(writer.judge.name, {}))
    return replace(recipe, changes=changes, writer=writing.facts(writer)), asked, writer


def _with(changes: Sequence[Change], one: Change) -> list[Change]:
    """Return the changes with one more after those of its group."""
    before = [change for change in changes if change.group == one.group]
    return [*before, one, *(change for change in changes if change.group != one.group)]


def _candidates(out: Path, recipe: Recipe, writer: JudgeSession | None, n: int) -> StudySet:
    """Return the candidates in `out`, made where it is new."""
    from judge.cli.progress import account, watching
    from judge.stress import folder, writing

    manifest = folder.found(out, recipe)
    if manifest is None:
        if writer is not None:
            note(f"Rewording {len(recipe.taken):,} reports by {writer.judge.name}")
            with watching() as listener:
                texts, progress = writing.reworded(writer, recipe.taken, listener)
            for line in account(progress):
                note(line)
            recipe = _rewording(recipe, writer, texts)
        manifest = folder.write(out, recipe)
    say_made(recipe, manifest, n)
    note("; ".join(f"{name} {value}" for name, value in made_facts(manifest)))
    note(f"folder  {out}")
    studies = folder.studies_of(out, recipe)
    return replace(studies, writer=writing.part(recipe.writer) if recipe.writer else None)


def _rewording(recipe: Recipe, writer: JudgeSession, texts: Any) -> Recipe:  # noqa: ANN401
    from judge.stress import writing

    own = writing.change(writer.judge.name, texts)
    changes = [own if one.name == own.name else one for one in recipe.changes]
    return replace(recipe, changes=changes)


def _run(
    session: JudgeSession, studies: StudySet, out: Path, options: dict[str, Any], which: str
) -> Finished:
    from judge.cli.progress import account, watching
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


def _dry_run(
    out: Path, recipe: Recipe, sessions: Sequence[JudgeSession], writer: JudgeSession | None
) -> None:
    """Print what the writer and all runs would ask; nothing is sent, and nothing is kept."""
    from judge.report.words import counted
    from judge.running.dry import facts, forecast, without_requests
    from judge.stress import folder
    from judge.stress.runs import together

    coming: list[Forecast | None] = []
    with tempfile.TemporaryDirectory() as made:
        place = out
        manifest = folder.found(out, recipe)
        if manifest is None:
            place = Path(made) / "candidates"
            if writer is not None:
                coming.append(_forecast(writer, recipe.taken, forecast))
                recipe = _rewording(recipe, writer, _stand_ins(recipe))
                note("Rewordings that are still to be made count as long as their reports.")
            manifest = folder.write(place, recipe)
        studies = folder.studies_of(place, recipe)
        coming += [_forecast(session, studies, forecast) for session in sessions]
    runs = counted(len(sessions), "run", "runs")
    note(f"{counted(manifest['n_candidates'], 'candidate', 'candidates')}, {runs}")
    asking = [one for one in coming if one is not None]
    if not asking:
        note(f"{without_requests(sessions[0].judge)}.")
        return
    concurrency = sessions[0].policy.concurrency
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


def _stand_ins(recipe: Recipe) -> dict[str, str]:
    """Return what stands in for a rewording that is not there: it is about as long."""
    references = zip(recipe.taken.study_ids, recipe.taken.references, strict=True)
    return {name: f"{text} {_TO_BE_REWORDED}" for name, text in references}
