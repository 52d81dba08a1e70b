"""The options of a rubric's command: reports, judge, run. Other commands share some of them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from judge.cli.options import (
    BOARD_TABLES,
    POSITIVE,
    POSITIVE_INTEGER,
    FiniteRange,
    GroupedOption,
    OptionDecorator,
    base_url_option,
    by_option,
    cache_option,
    concurrency_option,
    dry_run_option,
    give_up_after_option,
    judge_option,
    key_values,
    limit_option,
    max_cost_option,
    min_coverage_option,
    modality_option,
    model_option,
    out_option,
    output_options,
    prompt_option,
    require,
    shared_options,
)
from judge.cli.output import note
from judge.jsonio import json_or_word
from judge.report_sections import SECTION_NAMES
from judge.types import LEXICON

if TYPE_CHECKING:
    from judge.batching.batch_run import BatchPolicy
    from judge.experiments.experiment import ExperimentSource
    from judge.run_settings import RunSettings
    from judge.running.cost import SpendingLimit
    from judge.running.session import JudgeSession

RUN_TABLES = ("rates", "corrected", "errors", "unread", "warnings", "failures")
"""The tables of a run, as `--table` names them."""
ROLES = ("id", "candidate", "reference", "class", "patient")
_ALL_ROLES = (*ROLES, "prior", "context")


def column_option(*roles: str, text: str = "", group: str) -> OptionDecorator:
    """Return `--column` for fields of such roles; `text` explains some of them."""
    listed = ", ".join(roles)
    help_text = (
        f"The field NAME has the ROLE, such as id=accession (repeatable): {listed}."
    )
    if text:
        help_text += f" {text}"
    return click.option(
        "-c",
        "--column",
        "columns",
        cls=GroupedOption,
        group=group,
        multiple=True,
        metavar="ROLE=NAME",
        callback=key_values(keys=roles),
        help=f"{help_text} Default: the usual names.",
    )


def column_values(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `--column` as `ColumnSettings` has them."""
    values = {role: columns.get(role) for role in _ALL_ROLES if role != "class"}
    context = values["context"]
    return {
        **values,
        "study_class": columns.get("class"),
        "context": list(context) if context else None,
    }


def _known_encoding(
    _ctx: click.Context, _param: click.Parameter, name: str | None
) -> str | None:
    from judge.studies.load import check_encoding

    if name is not None:
        check_encoding(name)
    return name


def encoding_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--encoding`."""
    return click.option(
        "--encoding",
        cls=GroupedOption,
        group=group,
        metavar="NAME",
        callback=_known_encoding,
        hidden=True,
        help=(
            "The encoding of text files that are not in UTF-8, such as cp1252, which Excel writes "
            "on Windows."
        ),
    )


def section_option(*, help: str, group: str = "Options") -> OptionDecorator:  # noqa: A002
    """Return `--section`."""
    return click.option(
        "-s",
        "--section",
        cls=GroupedOption,
        group=group,
        metavar="SECTION",
        help=f"{help} Sections: {', '.join(SECTION_NAMES)}.",
    )


_reports_option = partial(click.option, cls=GroupedOption, group="Reports")

report_options = shared_options(
    [
        section_option(
            group="Reports",
            help=(
                "The part of the reports to use. Default: findings if most references have them, "
                "else the whole report."
            ),
        ),
        model_option(group="Reports"),
        _reports_option(
            "--allow-missing",
            is_flag=True,
            help=(
                "Skip studies that are missing from the other file or lack the section; they are "
                "counted."
            ),
        ),
        encoding_option(group="Reports"),
    ]
)
"""Which reports, and how they are read: with a `column_option`, the fields of `ReportOptions`."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The values of `column_option` and `report_options`."""

    columns: Mapping[str, Any]
    section: str | None
    model: str | None
    allow_missing: bool
    encoding: str | None

    def report_values(self) -> dict[str, Any]:
        """Return the options as `ReportSettings` has them."""
        return {
            "columns": column_values(self.columns),
            "section": self.section,
            "model": self.model,
            "allow_missing": self.allow_missing,
            "encoding": self.encoding,
        }


_studies_option = partial(click.option, cls=GroupedOption, group="Reports")

study_options = shared_options(
    [
        _studies_option(
            "--references",
            type=click.Choice(["best", "mean"]),
            help=(
                "REFS has several references a study (a list of texts, or several records of one "
                "id): take the numbers of the reference with the best score, or the mean."
            ),
        ),
        limit_option(
            "Take this many studies, drawn at random; the same ones each time.",
            group="Reports",
        ),
        _studies_option(
            "--shard",
            metavar="I/N",
            hidden=True,
            help=(
                "Only the I-th of N parts of the studies, such as 3/8, one for each machine; "
                "judge runs merge joins them."
            ),
        ),
    ]
)
"""Which studies of the reports: the further fields of `StudyOptions`."""


@dataclass(frozen=True, kw_only=True)
class StudyOptions(ReportOptions):
    """The values of `column_option`, `report_options` and `study_options`."""

    references: Literal["best", "mean"] | None
    limit: int | None
    shard: str | None

    def report_values(self) -> dict[str, Any]:
        """Return the options as `ReportSettings` has them.

        Raises `click.UsageError` for options that do not go with one or several references.
        """
        if self.shard is not None and self.references:
            raise click.UsageError("--shard is for studies with one reference each")
        return {
            **super().report_values(),
            "references": self.references,
            "limit": self.limit,
            "shard": self.shard,
        }


_judge_option = partial(click.option, cls=GroupedOption, group="Judge")

judge_options = shared_options(
    [
        judge_option(
            "Who judges: lexicon (built in, the default) or lexicon:FILE; a model behind an API, "
            "such as gpt-6-luna, claude-haiku-5-5, gemini-3.5-flash-lite or azure:DEPLOYMENT; "
            "vllm:MODEL (starts vLLM), ray:MODEL (on a Ray cluster) or hf:MODEL (in this process), "
            "where MODEL is a Hugging Face name or a folder.",
            group="Judge",
        ),
        prompt_option(
            "The prompt, for judges that read one; judge prompts list names them.",
            group="Judge",
        ),
        base_url_option(
            "The model's server, which speaks OpenAI's protocol (repeatable: several share the "
            "load). Default: the provider of the model.",
            group="Judge",
        ),
        _judge_option(
            "--server",
            hidden=True,
            multiple=True,
            metavar="KEY[=VALUE]",
            callback=key_values(),
            help=(
                "A setting of the server that judge starts (repeatable): any flag of vllm serve, "
                "such as tensor-parallel-size=2 or enforce-eager; batch-invariant for the same "
                "answer twice on a GPU; for ray: also address=HOST:PORT, replicas=N or N-M, "
                "gpus-per-replica=0, routing=prefix, application=NAME (one that runs) and "
                "http=HOST:PORT."
            ),
        ),
        _judge_option(
            "--max-tokens",
            hidden=True,
            type=POSITIVE_INTEGER,
            metavar="TOKENS",
            help=(
                "The longest answer in tokens, reasoning included; longer ones are unparsed. "
                "Default: 2048, 25000 for models that reason, 8192 for models of an API that judge "
                "does not know."
            ),
        ),
        _judge_option(
            "--reasoning-effort",
            hidden=True,
            metavar="EFFORT",
            help=(
                "How long the model may reason: none, minimal, low, medium, high, ... as it takes "
                "them. Default: the least that it has."
            ),
        ),
        _judge_option(
            "--service-tier",
            metavar="TIER",
            hidden=True,
            help=(
                "What the provider is to serve requests as; flex (OpenAI, Google) has the price of "
                "a batch and answers later. It changes no answer."
            ),
        ),
        _judge_option(
            "--temperature",
            hidden=True,
            type=FiniteRange(0, 2),
            metavar="NUMBER",
            help="Sampling temperature. Default: 0, the likeliest answer.",
        ),
        _judge_option(
            "--body",
            hidden=True,
            multiple=True,
            metavar="KEY=JSON",
            callback=key_values(parse=json_or_word),
            help=(
                "A further parameter of each request (repeatable): top_p=0.9, seed=1, top_k=20, ..."
            ),
        ),
        _judge_option(
            "--reply",
            type=click.Choice(["auto", "text", "structured"]),
            default="auto",
            show_default=True,
            hidden=True,
            help=(
                "Ask for text in the rubric's layout, or for JSON (by schema or plain). auto: text "
                "from GREEN models and hf:, else structured."
            ),
        ),
    ]
)
"""Who answers, how it is reached, and how answers are sampled."""

_run_option = partial(click.option, cls=GroupedOption, group="Run")

running_options = shared_options(
    [
        max_cost_option(group="Run"),
        dry_run_option(group="Run"),
        concurrency_option(hidden=True, group="Run"),
        min_coverage_option(default=0.99, hidden=True, group="Run"),
        cache_option(group="Run"),
        _run_option(
            "--timeout",
            type=POSITIVE,
            metavar="SECONDS",
            default=120.0,
            show_default=True,
            hidden=True,
            help="How long to wait for an answer before asking again.",
        ),
        _run_option(
            "--max-outage",
            type=FiniteRange(0),
            metavar="MINUTES",
            default=30.0,
            show_default=True,
            hidden=True,
            help="How long to wait for a server that does not respond before stopping.",
        ),
        _run_option(
            "--reask",
            type=click.IntRange(min=0),
            metavar="TIMES",
            default=1,
            show_default=True,
            hidden=True,
            help="How often to ask again after an answer that cannot be read.",
        ),
        give_up_after_option(default=50, group="Run"),
    ]
)
"""How a run goes, and what it may cost."""


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """The values of `judge_options` and `running_options`."""

    judge: str | None
    prompt: str | None
    base_url: tuple[str, ...]
    server: Mapping[str, str | None]
    max_tokens: int | None
    reasoning_effort: str | None
    service_tier: str | None
    temperature: float | None
    body: Mapping[str, object]
    reply: Literal["auto", "text", "structured"]
    max_cost: float | None
    dry_run: bool
    concurrency: int | None
    min_coverage: float
    cache: Path | None
    timeout: float
    max_outage: float
    reask: int
    give_up_after: int

    def judge_values(self) -> dict[str, Any]:
        """Return the options as `RunSettings` has them: who is asked, how, and for how much."""
        sampling = dict(self.body)
        if self.reasoning_effort is not None:
            if "reasoning_effort" in sampling:
                raise click.UsageError(
                    "--reasoning-effort and --body reasoning_effort are one thing: give one"
                )
            sampling["reasoning_effort"] = self.reasoning_effort
        return {
            "judge": self.judge or LEXICON,
            "prompt": self.prompt,
            "base_url": list(self.base_url),
            "server": {key: value or True for key, value in self.server.items()},
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "sampling": sampling,
            "reply": self.reply,
            "service_tier": self.service_tier,
            "timeout": self.timeout,
            "concurrency": self.concurrency,
            "reask": self.reask,
            "max_outage": 60 * self.max_outage,
            "max_cost": self.max_cost,
            "give_up_after": self.give_up_after,
            "min_coverage": self.min_coverage,
        }

    def session(
        self,
        settings: RunSettings,
        budget: SpendingLimit | None = None,
        repeat: int = 0,
    ) -> JudgeSession:
        """Return the session of a run's settings; nothing is asked."""
        from judge.backends.hosted import HostedJudge
        from judge.running.settings import session_of

        session = session_of(
            settings,
            environ=os.environ,
            say=note,
            sends=not self.dry_run,
            cache=self.cache,
            budget=budget,
            repeat=repeat,
        )
        if (
            isinstance(session.judge, HostedJudge)
            and session.judge.note
            and not self.dry_run
        ):
            note(f"{session.judge.note}.")
        return session


run_options = shared_options(
    [
        click.argument("preds"),
        click.argument("refs", metavar="[PREDS...] [REFS]", required=False),
        click.argument("more", metavar="", nargs=-1),
        column_option(
            *_ALL_ROLES,
            text="Only context and prior, the earlier report, are shown to the judge too.",
            group="Reports",
        ),
        report_options,
        study_options,
        _studies_option(
            "--no-context",
            hidden=True,
            is_flag=True,
            help="Show the judge nothing but the two reports.",
        ),
        modality_option(
            "Radiographs, CT, MR, ultrasound or mammograms, some with the region of the body. A "
            "model is shown examples of these, which the price includes. The built-in judge reads "
            "chest radiographs only.",
            hidden=True,
            group="Reports",
        ),
        judge_options,
        running_options,
        _run_option(
            "--batch",
            is_flag=True,
            help=(
                "Ask through the provider's batches: cheaper, answered within a day. After Ctrl-C "
                "the same command comes back to them."
            ),
        ),
        _run_option(
            "--batch-size",
            type=POSITIVE_INTEGER,
            metavar="QUESTIONS",
            hidden=True,
            help="The most questions in a batch. Default: as many as the provider takes.",
        ),
        _run_option(
            "--batch-poll",
            type=POSITIVE,
            metavar="SECONDS",
            default=30.0,
            show_default=True,
            hidden=True,
            help="How often to look at a batch.",
        ),
        by_option(
            "Group the rates by this field.", default=["study_class"], group="Output"
        ),
        out_option(
            "The folder of the run, or of the runs. Default: a new one in judge-runs.",
            group="Output",
        ),
        output_options(
            dict.fromkeys([*RUN_TABLES, *BOARD_TABLES]),
            group="Output",
        ),
    ]
)
"""All arguments and options of a rubric's command: the fields of `RunOptions`."""


@dataclass(frozen=True, kw_only=True)
class RunOptions(StudyOptions, JudgeOptions):
    """The values of `run_options`."""

    preds: str
    refs: str | None
    more: tuple[str, ...] = ()
    no_context: bool
    modality: str | None
    batch: bool
    batch_size: int | None
    batch_poll: float
    by: tuple[str, ...]
    out: Path | None
    table: tuple[str, ...]
    form: str

    def settings(self, rubric: str) -> RunSettings:
        """Return what the run is asked to do; raises `click.UsageError` for odd combinations."""
        from judge.run_settings import RunSettings

        values = {**self.report_values(), **self.judge_values()}
        if self.no_context:
            if values["columns"]["context"]:
                raise click.UsageError(
                    "--no-context and --column context exclude each other"
                )
            values["columns"]["context"] = []
        return RunSettings.of(
            rubric=rubric,
            preds=self.preds,
            refs=self.refs,
            modality=self.modality,
            batch=self.batch,
            batch_size=self.batch_size,
            by=list(self.by),
            **values,
        )

    def experiment(self, rubric: str) -> ExperimentSource:
        """Return the experiment of several files of candidates; the last file has the references.

        Raises `click.UsageError` for options that go with one file of candidates.
        """
        from judge.experiments.experiment import Experiment, ExperimentSource

        for name in ("model", "shard", "batch"):
            if getattr(self, name):
                raise click.UsageError(
                    f"--{name} goes with one PREDS; several are named after their files"
                )
        settings = self.settings(rubric)
        values: dict[str, Any] = {}
        for name in settings.model_fields_set & Experiment.model_fields.keys():
            value = getattr(settings, name)
            if value is not None:
                values[name] = value
        files = [self.preds, *filter(None, (self.refs,)), *self.more]
        values |= {
            "candidates": files[:-1],
            "references": files[-1],
            "several_references": settings.references,
            "rubrics": [rubric],
            "judges": [settings.judge],
        }
        if settings.section is not None:
            values["sections"] = [settings.section]
        source = click.get_current_context().get_parameter_source("by")
        if source is ParameterSource.DEFAULT:
            # The rates have the usual groups; a leaderboard has those that are asked for.
            values.pop("by")
        return ExperimentSource.of_values(Experiment.of(values))

    def batch_policy(self) -> BatchPolicy | None:
        """Return how to ask in batches, None to ask one by one."""
        require(self.batch, "--batch", "batch_size", "batch_poll")
        if not self.batch:
            return None
        from judge.batching.batch_run import BatchPolicy

        command = shlex.join(["judge", *sys.argv[1:]])
        return BatchPolicy(self.batch_size, self.batch_poll, command)
