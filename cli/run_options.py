"""The options of a rubric's command: reports, judge, run. Other commands share some of them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from judge.cli.options import (
    FiniteRange,
    argument,
    by_option,
    cache_option,
    format_option,
    option,
    options,
    pairs_option,
    require,
)
from judge.cli.output import note
from judge.jsonio import json_or_word
from judge.report_sections import SECTION_NAMES
from judge.types import LEXICON

if TYPE_CHECKING:
    from judge.batching.batch_run import BatchPolicy
    from judge.run_settings import RunSettings
    from judge.running.cost import SpendingLimit
    from judge.running.session import JudgeSession

ROLES = ("id", "candidate", "reference", "class", "patient")
_ALL_ROLES = (*ROLES, "prior", "context")
_AT_LEAST_0 = click.IntRange(min=0)


def column_option(*roles: str, text: str = "") -> Any:  # noqa: ANN401
    """Declare `--column` for fields of such roles; `text` explains some of them."""
    return pairs_option(
        "--column ROLE=NAME",
        f"The field NAME holds the ROLE: {', '.join(roles)} (repeatable).{text and ' '}{text} "
        "Default: the usual names. Example: --column id=accession",
        keys=roles,
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


def encoding_option() -> Any:  # noqa: ANN401
    """Declare `--encoding`."""
    return option(
        "--encoding NAME",
        "The encoding of text files that are not in UTF-8, such as cp1252, which Excel writes on "
        "Windows.",
        rare=True,
        callback=_known_encoding,
    )


def _known_encoding(_context: Any, _option: Any, name: str | None) -> str | None:  # noqa: ANN401
    from judge.studies.load import check_encoding

    if name is not None:
        check_encoding(name)
    return name


def section_option(help: str) -> Any:  # noqa: A002, ANN401
    """Declare `--section`."""
    return option(f"--section {'|'.join(SECTION_NAMES)}", help)


@options
class ReportOptions:
    """Which reports, and how they are read."""

    GROUP = "Reports"

    columns: Mapping[str, Any] = column_option(*ROLES)
    section: str | None = section_option(
        "The part of the reports to use. Default: findings if most references have them, else the "
        "whole report."
    )
    model: str | None = option(
        "--model NAME",
        "The model that wrote the candidates. Default: the field model, else from the file name "
        "(maira2 for preds_maira2.json).",
    )
    allow_missing: bool = option(
        "--allow-missing",
        "Skip studies that are missing from the other file or lack the section; they are counted.",
    )

    encoding: str | None = encoding_option()

    def report_values(self) -> dict[str, Any]:
        """Return the options as `ReportSettings` has them."""
        return {
            "columns": column_values(self.columns),
            "section": self.section,
            "model": self.model,
            "allow_missing": self.allow_missing,
            "encoding": self.encoding,
        }


@options
class StudyOptions(ReportOptions):
    """Which studies of the reports."""

    GROUP = "Studies"

    references: Literal["best", "mean"] | None = option(
        "--references",
        "REFS has several references a study (a list of texts, or several records of one id): take "
        "the numbers of the reference with the best score, or the mean.",
    )
    limit: int | None = option(
        "--limit N", "Only N studies, drawn at random but the same each time."
    )
    shard: str | None = option(
        "--shard I/N",
        "Only the I-th of N parts of the studies, such as 3/8, one a machine; judge merge joins "
        "them.",
        rare=True,
    )

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


@options
class ContextOptions:
    """What the judge is shown beside the two reports."""

    GROUP = "Studies"

    no_context: bool = option(
        "--no-context", "Show the judge nothing but the two reports."
    )
    modality: str | None = option(
        "--modality xr|ct|mr|us|mg",
        "Radiographs, CT, MR, ultrasound or mammograms. The built-in judge reads chest radiographs "
        "only.",
    )


@options
class JudgeOptions:
    """Who answers, how it is reached, and how answers are sampled."""

    GROUP = "Judge"

    judge: str | None = option(
        "--judge JUDGE",
        "Who judges: lexicon (built in, the default) or lexicon:FILE; a model behind an API, such "
        "as gpt-6-luna, claude-haiku-5-5, gemini-3.5-flash-lite or azure:DEPLOYMENT; vllm:MODEL "
        "(starts vLLM), ray:MODEL (on a Ray cluster) or hf:MODEL (in this process), where MODEL is "
        "a Hugging Face name or a folder.",
    )
    prompt: str | None = option(
        "--prompt NAME|FILE",
        "The prompt, for judges that read one; judge prompts list names them.",
    )
    base_url: tuple[str, ...] = option(
        "--base-url URL",
        "The model's server, which speaks OpenAI's protocol; several share the load. Default: the "
        "provider of the model. The key is read from OPENAI_API_KEY, ANTHROPIC_API_KEY, "
        "GEMINI_API_KEY, AZURE_OPENAI_API_KEY or VLLM_API_KEY.",
    )
    server: Mapping[str, str | None] = pairs_option(
        "--server KEY[=VALUE]",
        "A setting of the server that judge starts (repeatable): any flag of vllm serve, such as "
        "tensor-parallel-size=2 or enforce-eager; batch-invariant for the same answer twice on a "
        "GPU; for ray: also address=HOST:PORT, replicas=N or N-M, gpus-per-replica=0, "
        "routing=prefix, application=NAME (one that runs) and http=HOST:PORT.",
    )
    max_tokens: int | None = option(
        "--max-tokens N",
        "The longest answer in tokens, reasoning included; longer ones are unparsed. Default: "
        "2048, 25000 for models that reason, 8192 for models of an API that judge does not know.",
    )
    reasoning_effort: str | None = option(
        "--reasoning-effort EFFORT",
        "How long the model may reason: none, minimal, low, medium, high, ... as it takes them. "
        "Default: the least that it has.",
    )
    service_tier: str | None = option(
        "--service-tier TIER",
        "What the provider is to serve requests as; flex (OpenAI, Google) has the price of a batch "
        "and answers later. It changes no answer.",
        rare=True,
    )
    temperature: float | None = option(
        "--temperature NUMBER",
        "Sampling temperature. Default: 0, the likeliest answer.",
        type=FiniteRange(0, 2),
    )
    body: Mapping[str, object] = pairs_option(
        "--body KEY=JSON",
        "A further parameter of each request (repeatable): top_p=0.9, seed=1, top_k=20, ...",
        parse=json_or_word,
    )
    reply: Literal["auto", "text", "structured"] = option(
        "--reply",
        "Ask for text in the rubric's layout, or for JSON (by schema or plain). auto: "
        "text from GREEN models and hf:, else structured.",
        rare=True,
        default="auto",
    )


@options
class RunningOptions(JudgeOptions):
    """How a run goes, and what it may cost."""

    GROUP = "Run"

    max_cost: float | None = option(
        "--max-cost DOLLARS",
        "Stop before these studies cost more than this, earlier commands included.",
    )
    dry_run: bool = option(
        "--dry-run",
        "Show what would be asked, what is cached and what it may cost; ask nothing.",
    )
    concurrency: int | None = option(
        "--concurrency N",
        "The most requests at a time. Default: 16, or 128 for each vLLM.",
    )
    min_coverage: float = option(
        "--min-coverage SHARE",
        "Exit with code 3 if a smaller share of the studies could be scored.",
        type=FiniteRange(0, 1),
        default=0.99,
    )
    cache: Path | None = cache_option()
    timeout: float = option(
        "--timeout SECONDS",
        "How long to wait for an answer before asking again.",
        rare=True,
        default=120.0,
    )
    max_outage: float = option(
        "--max-outage MINUTES",
        "How long to wait for a server that does not respond before stopping.",
        rare=True,
        type=FiniteRange(0),
        default=30.0,
    )
    reask: int = option(
        "--reask N",
        "How often to ask again after an answer that cannot be read.",
        rare=True,
        type=_AT_LEAST_0,
        default=1,
    )
    give_up_after: int = option(
        "--give-up-after N",
        "Stop if over half of the first N answers cannot be read; 0: never.",
        rare=True,
        type=_AT_LEAST_0,
        default=50,
    )

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


@options
class BatchOptions:
    """How questions are asked in batches."""

    GROUP = "Run"

    batch: bool = option(
        "--batch",
        "Ask through the provider's batches: cheaper, answered within a day. After Ctrl-C the same "
        "command comes back to them.",
    )
    batch_size: int | None = option(
        "--batch-size N",
        "The most questions in a batch. Default: as many as the provider takes.",
        rare=True,
        type=click.IntRange(1),
    )
    batch_poll: float = option(
        "--batch-poll SECONDS", "How often to look at a batch.", rare=True, default=30.0
    )

    def batch_policy(self) -> BatchPolicy | None:
        """Return how to ask in batches, None to ask one by one."""
        require(self.batch, "--batch", "batch_size", "batch_poll")
        if not self.batch:
            return None
        from judge.batching.batch_run import BatchPolicy

        command = shlex.join(["judge", *sys.argv[1:]])
        return BatchPolicy(self.batch_size, self.batch_poll, command)


@options
class RunOptions(StudyOptions, ContextOptions, RunningOptions, BatchOptions):
    """All options of a rubric's command."""

    GROUP = "Output"

    preds: str = argument()
    refs: str | None = argument("[REFS]")
    columns: Mapping[str, Any] = column_option(
        *_ALL_ROLES,
        text="The judge is shown every context, and prior, the earlier report.",
    )
    by: tuple[str, ...] = by_option(
        "Group the rates by this field; a,b by combinations.", default=("study_class",)
    )
    out: Path | None = option(
        "--out DIR", "The run folder. Default: a new folder in judge-runs."
    )
    form: str = format_option("table", "json", "csv", "md")

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
