"""What a question would ask, found out without asking anybody."""

from __future__ import annotations

import os

from judge.backends import Judge
from judge.backends.hosted import HostedJudge
from judge.run_settings import RunSettings
from judge.running.coverage import coverage_notes
from judge.running.forecast import forecast
from judge.running.run import input_notes
from judge.running.session import JudgeSession
from judge.running.settings import session_of
from judge.service.asked import AskedStudies
from judge.service.questions import CheckAnswer, CheckedRequests, CheckedStudy
from judge.service.settings import ServiceSettings


def check(
    asked: AskedStudies, settings: RunSettings, service: ServiceSettings
) -> CheckAnswer:
    """Return what would be judged and what it may cost.

    It reads the cache and no more. Raises `JudgeError` where the judge does not take the settings,
    or has no place for what it is to be shown.
    """
    session = session_of(
        settings,
        environ=os.environ,
        say=lambda _text: None,
        sends=False,
        cache=service.cache,
    )
    judge, studies = session.judge, asked.studies
    judged = [row for row in range(len(studies)) if row not in asked.unjudged]
    part = studies.take(judged)
    with session:
        requests = _requests(session, asked, judged)
    return CheckAnswer(
        rubric=session.rubric.name,
        judge=judge.note or judge.name,
        missing_key=_missing_key(judge),
        section=studies.section,
        n_studies=len(studies),
        n_unjudged=len(asked.unjudged),
        n_empty_candidates=len(part.empty_candidates),
        notes=[
            *input_notes(judge, part),
            *coverage_notes(session.judged_by(as_asked=True), part),
        ],
        requests=requests,
        studies=[_shown(asked, row) for row in range(len(studies))],
    )


def _requests(
    session: JudgeSession, asked: AskedStudies, judged: list[int]
) -> CheckedRequests | None:
    expected = forecast(session, [asked.studies.study(row) for row in judged])
    if expected is None:
        return None
    return CheckedRequests(
        to_send=expected.requests,
        from_cache=expected.cached,
        repeated=expected.repeated,
        further=expected.further,
        tokens_in=expected.prompt_tokens,
        typical_dollars=expected.typical_dollars,
        most_dollars=expected.dollars,
    )


def _missing_key(judge: Judge) -> str | None:
    """Return the variable of the key of a judge that is paid for, if it is not set."""
    if not isinstance(judge, HostedJudge) or not judge.billing_url:
        return None
    if os.environ.get(judge.key_name):
        return None
    return judge.key_name


def _shown(asked: AskedStudies, row: int) -> CheckedStudy:
    study = asked.studies.study(row)
    why = asked.unjudged.get(row)
    return CheckedStudy(
        id=study.study_id,
        reference=study.reference,
        candidate=study.candidate,
        context=dict(study.context),
        prior=study.prior,
        unjudged=None if why is None else why.detail,
    )
