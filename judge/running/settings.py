"""A session and a set of studies, of the settings of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from judge.backends import JudgeSettings
from judge.modalities import modality_named
from judge.rubrics import Rubric
from judge.run_settings import ReportSettings, RunSettings
from judge.running.policy import RequestPolicy
from judge.running.session import JudgeSession
from judge.running.shard import Shard
from judge.studies import NamedFields, StudySet, read_pair
from judge.studies.study_set import attach_context
from judge.text import counted

if TYPE_CHECKING:
    from judge.running.cost import SpendingLimit

_SEED = 20260101
"""By which the studies of `--limit` are drawn, the same each time."""


def session_of(
    settings: RunSettings,
    *,
    environ: Mapping[str, str],
    say: Callable[[str], None],
    sends: bool = True,
    cache: str | Path | None = None,
    budget: SpendingLimit | None = None,
    repeat: int = 0,
) -> JudgeSession:
    """Return the session of the settings' judge and rubric; nothing is asked.

    `environ` has the keys, `say` tells the user something; `sends` is False where nothing will be
    sent. `repeat` numbers the runs that ask the same. Raises `JudgeError` for an unknown rubric or
    judge, and for settings that it does not take.
    """
    judge = judge_settings(settings, environ=environ, say=say, sends=sends)
    return JudgeSession.load(
        settings.rubric,
        settings.judge,
        judge,
        policy=policy_of(settings),
        cache=cache,
        budget=budget,
        repeat=repeat,
    )


def judge_settings(
    settings: RunSettings,
    *,
    environ: Mapping[str, str],
    say: Callable[[str], None],
    sends: bool,
) -> JudgeSettings:
    """Return what a judge is loaded with; the arguments are those of `session_of`."""
    reply = None
    if settings.reply != "auto":
        reply = settings.reply
    modality = None
    if settings.modality is not None:
        modality = modality_named(settings.modality)
    return JudgeSettings(
        prompt=settings.prompt,
        base_url=tuple(settings.base_url),
        timeout=settings.timeout,
        max_tokens=settings.max_tokens,
        reply=reply,
        sampling=settings.parameters,
        service_tier=settings.service_tier,
        modality=modality,
        environ=environ,
        say=say,
        sends=sends,
        options=settings.server,
    )


def policy_of(settings: RunSettings) -> RequestPolicy:
    """Return how often and how long is asked; raises `JudgeError` for a number out of range."""
    return RequestPolicy(
        concurrency=settings.concurrency,
        reask=settings.reask,
        max_requests=settings.max_requests,
        max_outage=settings.max_outage,
        max_cost=settings.max_cost,
        give_up_after=settings.give_up_after,
    )


def shard_of_settings(settings: ReportSettings) -> Shard | None:
    """Return the part of the studies to judge, None for all; raises `JudgeError` for no shard."""
    if settings.shard is None:
        return None
    return Shard.of(settings.shard)


def named_fields(settings: ReportSettings) -> NamedFields:
    """Return the fields that have unusual names, and how the files are read."""
    columns = settings.columns
    return NamedFields(
        id=columns.id,
        candidate=columns.candidate,
        reference=columns.reference,
        study_class=columns.study_class,
        patient=columns.patient,
        several=settings.references is not None,
        encoding=settings.encoding,
    )


def read_reports(
    settings: ReportSettings, preds: str, refs: str | None, reserved: Collection[str]
) -> StudySet:
    """Read the studies of two files, or of one with both sides; raises as `read_pair`.

    `reserved` are names that no field may have.
    """
    return read_pair(
        preds,
        refs,
        fields=named_fields(settings),
        section=settings.section,
        allow_missing=settings.allow_missing,
        model=settings.model,
        reserved=reserved,
    )


def limited(studies: StudySet, n: int | None) -> StudySet:
    """Return `n` studies drawn at random by their ids, in their order, with a note; None is all."""
    if n is None or n >= len(studies):
        return studies
    of = counted(len(studies), "study", "studies")
    note = f"{n:,} of {of}, drawn at random (--limit)"
    return replace(studies.sample(n, _SEED), notes=(*studies.notes, note))


def with_context(
    studies: StudySet, settings: ReportSettings, rubric: Rubric
) -> StudySet:
    """Return the studies with what the judge is shown beside their reports."""
    context = settings.columns.context
    if context is None and not rubric.takes_context:
        context = []
    return attach_context(
        studies,
        context=context,
        prior=settings.columns.prior,
        modality=settings.modality,
    )
