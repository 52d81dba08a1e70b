"""One check of uploaded files in a process of its own: all that a run does before it asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from judge.report.words import counted
from judge.running import check
from judge.running.cost import Forecast, forecast, without_requests
from judge.running.session import JudgeSession
from judge.service.budget import Ledger
from judge.service.jobs import RunRequest
from judge.service.run_worker import opened
from judge.service.worker import Channel
from judge.stats.table import TableBuilder, check_fields

_UNSEEN = "not known: no answer to this rubric's questions has been seen yet"


def main() -> None:
    """Check what the first request names."""
    channel = Channel()
    request = channel.receive()
    with channel.replying(request) as reply:
        reply.update(_checked(request))


def _checked(request: Mapping[str, Any]) -> dict[str, Any]:
    asked = RunRequest.model_validate(request["asked"])
    session, studies = opened(Path(request["folder"]), asked, request, sends=False)
    check_fields(asked.fields, TableBuilder(session.rubric, studies.fields).columns)
    found = check.described(studies)
    with session:
        coming = forecast(session, studies)
        costs = _costs(session, coming, Ledger.of(request["ledger"]))
    return {
        **found,
        "forecast": coming and asdict(coming),
        "facts": [{"name": name, "text": text} for name, text in check.facts(found)],
        "costs": [{"name": name, "text": text} for name, text in costs],
    }


def _costs(
    session: JudgeSession, coming: Forecast | None, ledger: Ledger | None
) -> list[tuple[str, str]]:
    if coming is None:
        return [("cost", without_requests(session.judge))]
    costs = coming.facts(session.concurrency, unseen=_UNSEEN)
    if n := session.cache and session.cache.n_damaged:
        costs["damaged"] = f"{counted(n, 'cached answer', 'cached answers')} to be asked for again"
    if ledger is not None and (left := ledger.left()) is not None:
        worst = coming.worst.dollars
        is_short = coming.requests and (worst is None or worst > left)
        end = "; a run that needs more stops there and can go on later" if is_short else ""
        costs["budget"] = ledger.shown() + end
    return list(costs.items())


if __name__ == "__main__":
    main()
