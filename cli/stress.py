"""`judge stress REFS --judge JUDGE`: test a judge with known errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import (
    NEW_FOLDER,
    GroupedCommand,
    GroupedOption,
    SuggestingGroup,
    draw_seed_option,
    limit_option,
    out_option,
    output_options,
    rubric_option,
    shared_options,
    split_commas,
)
from judge.cli.output import note, print_document
from judge.cli.progress import end_uncovered, forecast, judge_studies, watching
from judge.cli.run_options import (
    JudgeOptions,
    column_option,
    column_values,
    judge_options,
    running_options,
    section_option,
)
from judge.types import LEXICON

if TYPE_CHECKING:
    from judge.run_settings import RunSettings
    from judge.running.run import RunResult
    from judge.running.session import JudgeSession
    from judge.stress.report import StressFigures
    from judge.studies import StudySet

_candidates_option = partial(click.option, cls=GroupedOption, group="Candidates")
_judge_option = partial(click.option, cls=GroupedOption, group="Judge")
_candidate_options = shared_options(
    [
        click.argument("refs"),
        out_option(
            "The folder of the candidates, new or of the same command.",
            path=NEW_FOLDER,
            default="stress",
            group="Candidates",
        ),
        column_option("id", "reference", group="Candidates"),
        section_option(
            help=(
                "The part of the reports to change. Default: findings if there, else the whole "
                "report."
            ),
            group="Candidates",
        ),
        limit_option(
            "How many studies are drawn at random.", default=200, group="Candidates"
        ),
        draw_seed_option(default=1, group="Candidates"),
        _candidates_option(
            "--changes",
            multiple=True,
            metavar="NAME",
            callback=split_commas,
            help=(
                "Make only these changes, or groups of them: unchanged, error, several, "
                "hostile. Default: all."
            ),
        ),
        rubric_option(
            "The rubric to judge by, and of forged answers.", group="Candidates"
        ),
    ]
)
"""The fields of `_Candidates`."""

_TABLES = (
    "detection",
    "several",
    "false_alarms",
    "stability",
    "hostile",
    "changed",
    "not_made",
)


@dataclass(frozen=True, kw_only=True)
class _Candidates:
    """The values of `_candidate_options`."""

    refs: str
    out: Path
    columns: Mapping[str, Any]
    section: str | None
    limit: int
    seed: int
    changes: tuple[str, ...]
    rubric: str

    def draw_studies(self) -> StudySet:
        """Draw studies of the references, and say how many."""
        from judge.stress import candidates
        from judge.studies import NamedFields

        fields = NamedFields(
            id=self.columns.get("id"), reference=self.columns.get("reference")
        )
        studies = candidates.read_references(self.refs, fields, self.section)
        n_empty = sum(studies.omitted.values())
        if n_empty:
            note(f"{n_empty:,} of the references are empty, and left out")
        sample = studies.sample(self.limit, self.seed)
        note(f"{len(sample):,} of {len(studies):,} studies, seed {self.seed}")
        return sample


@dataclass(frozen=True, kw_only=True)
class _StressOptions(_Candidates, JudgeOptions):
    """What `judge stress run` is asked to do."""

    repeats: int


class _Group(SuggestingGroup):
    """A group whose command `run` is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = not args or args[0] in {
            *self.commands,
            *self.get_help_option_names(ctx),
        }
        if not is_named:
            self.refuse_removed(ctx, args[0])
        return super().parse_args(ctx, args if is_named else ["run", *args])


@click.group(
    "stress",
    cls=_Group,
    examples=["judge stress run refs.json --limit 40"],
    page="docs/stress.md",
)
def stress() -> None:
    """Test a judge with known errors: does it find them, and ignore changes that mean nothing?

    judge stress REFS is short for judge stress run REFS.
    """


@stress.command(
    "run",
    cls=GroupedCommand,
    rare=[
        "--prompt",
        "--cache",
        "--rubric",
        "--column",
        "--section",
    ],
    short_help="Make candidates, judge them and report.",
    examples=["judge stress run refs.json --limit 40 --out tested"],
    page="docs/stress.md",
)
@_candidate_options
@judge_options
@running_options
@output_options(_TABLES, group="Output")
@_judge_option(
    "--repeats",
    type=click.IntRange(1, 100),
    metavar="TIMES",
    default=1,
    show_default=True,
    help="How often each question is asked.",
)
def _run(*, table: tuple[str, ...], form: str, **values: Any) -> None:  # noqa: ANN401
    """Make candidates with known errors from the references REFS, judge them and report.

    Each repeat is a run in --out/runs. The same command continues where it was stopped; another
    --judge adds its runs, for judge compare --by change. Exit codes are those of judge RUBRIC.
    """
    from judge.stress import candidates
    from judge.stress.report import stress_figures

    options = _StressOptions(**values)
    sessions = list(_sessions(options))
    sample = options.draw_studies()
    changes = candidates.choose_perturbations(options.changes, options.rubric)
    if options.dry_run:
        made = candidates.make_candidates(sample, changes, options.seed)
        forecast(sessions[0], list(made))
        return
    candidates.write_candidates(options.out, sample, changes, options.seed)
    note(f"folder  {options.out}")
    studies = candidates.read_candidates(options.out, str(sample.section))
    finished = [_judge(session, studies, options) for session in sessions]
    report = stress_figures([run.path for run in finished])
    _show(report, form=form, tables=table)
    end_uncovered([run.summary for run in finished], options.min_coverage)


@stress.command(
    "make",
    cls=GroupedCommand,
    short_help="Make candidates with known errors.",
    examples=["judge stress make refs.json --limit 40 --out made"],
    page="docs/stress.md",
)
@_candidate_options
@output_options(["candidates"], group="Output")
def _make(*, table: tuple[str, ...], form: str, **values: Any) -> None:  # noqa: ANN401
    """Make candidates with known errors from the references REFS, without asking a judge.

    Judge them like any others: judge green DIR/preds.jsonl DIR/refs.jsonl. A candidate's id is
    STUDY/CHANGE; the fields of refs.jsonl name the change and the right answers.
    """
    from judge.stress import candidates
    from judge.tables.stress import candidates_document

    options = _Candidates(**values)
    changes = candidates.choose_perturbations(options.changes, options.rubric)
    counts = candidates.write_candidates(
        options.out, options.draw_studies(), changes, options.seed
    )
    print_document(candidates_document(counts), form, counts, table)
    note(f"written to {options.out}")


@stress.command(
    "report",
    cls=GroupedCommand,
    short_help="Report on runs of such candidates.",
    examples=["judge stress report tested"],
    page="docs/stress.md",
)
@click.argument("runs", nargs=-1, metavar="RUN...", required=True)
@output_options(_TABLES, group="Output")
def _report(*, runs: tuple[str, ...], table: tuple[str, ...], form: str) -> None:
    """Report which known errors a judge found, and where harmless changes misled it.

    RUN is a run of the candidates of judge stress, or the folder of judge stress run; several are
    repeats. docs/stress.md explains each number.
    """
    from judge.stress.report import stress_figures

    _show(stress_figures(runs), form=form, tables=table)


def _sessions(options: _StressOptions) -> Iterator[JudgeSession]:
    """Yield a session for each repeat; all pay from one budget."""
    if options.repeats > 1 and "seed" in options.body:
        raise click.UsageError(
            "--body seed gives the same answer each time; leave it out"
        )
    settings, budget = _settings(options), None
    for repeat in range(options.repeats):
        session = options.session(settings, budget, repeat)
        budget = budget or session.budget
        if repeat and (session.judge.runs_inline or session.judge.is_deterministic):
            again = "answers the same question the same each time: one run."
            note(f"{settings.judge} {again}")
            break
        if options.judge is None and not repeat:
            note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
        yield session


def _settings(options: _StressOptions) -> RunSettings:
    """Return what each run is asked to do, and how its candidates were made."""
    from judge.run_settings import CandidateSettings, RunSettings

    candidates = CandidateSettings(
        refs=options.refs,
        n=options.limit,
        seed=options.seed,
        changes=list(options.changes),
    )
    return RunSettings.of(
        rubric=options.rubric,
        columns=column_values(options.columns),
        section=options.section,
        by=["change"],
        candidates=candidates,
        **options.judge_values(),
    )


def _judge(
    session: JudgeSession, studies: StudySet, options: _StressOptions
) -> RunResult:
    from judge.running.run import default_folder, with_classes
    from judge.stress.report import RUNS

    signature = session.identity(*with_classes(studies)).signature
    folder = options.out / RUNS / default_folder(session, None, signature).name
    with watching() as listener:
        return judge_studies(
            session,
            studies,
            out=folder,
            by=["change"],
            settings=_settings(options),
            listener=listener,
        )


def _show(report: StressFigures, *, form: str, tables: tuple[str, ...]) -> None:
    from judge.tables.stress import stress_document

    data = report.plain()
    document = stress_document(data, complete=form == "csv")
    print_document(document, form, data, tables)
