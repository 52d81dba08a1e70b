"""What a run would judge, and what it may cost, as `judge check` and `--dry-run` say it.

The process of a check imports it; nothing is asked.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from judge.service.settings import Ledger


def checked(ledger: Ledger, arguments: Sequence[str]) -> dict[str, Any]:
    """Return what the command line of a run would judge, and what that may cost.

    `studies` is as in `judge check --format json`; `price` has the requests and the US dollars,
    None for a judge that asks nothing, its sums None where a price is unknown; `shown` has all of
    it in words, with `warnings`. Raises `JudgeError` for files that cannot be judged.
    """
    from judge import rubrics
    from judge.cli.judging import command_for, limited, questions_of, read_context
    from judge.cli.progress import described_judge
    from judge.cli.run_options import RunOptions
    from judge.running.forecast import described, forecast, preview
    from judge.running.settings import session_of

    name, *rest = arguments
    rubric = rubrics.load(name)
    options = RunOptions(**command_for(rubric).make_context(name, rest).params)
    settings = options.settings(name)
    session = session_of(
        settings,
        environ=os.environ,
        say=lambda _text: None,
        sends=False,
        cache=options.cache,
    )
    studies = read_context(rubric, settings, options.preds, options.refs)
    studies = limited(studies, options.limit)
    asked = questions_of(studies, None, settings.references)
    with session:
        expected = forecast(session, asked)
        concurrency = session.concurrency
    description = described(asked)
    facts = [("judge", described_judge(session.judge)), *preview(description)]
    price = None
    if expected is None:
        facts.append(("price", "none: the judge answers in the service itself"))
    else:
        facts += expected.facts(concurrency).items()
        price = {
            "requests": expected.requests,
            "cached": expected.cached,
            "typical": expected.typical_dollars,
            "worst": expected.dollars,
        }
    warnings = []
    if expected is not None:
        warnings = _limit_warnings(expected.dollars, ledger, settings.max_cost)
    return {
        "studies": description,
        "price": price,
        "shown": {
            "facts": [{"name": name, "value": value} for name, value in facts],
            "warnings": warnings,
        },
    }


def _limit_warnings(
    worst: float | None, ledger: Ledger, max_cost: float | None
) -> list[str]:
    """Return which limits the run may reach, in sentences."""
    limits = {"the limit of cost of this run": max_cost}
    limits[f"what is left of the budget of {ledger.judge}"] = ledger.left()
    warnings = []
    for name, dollars in limits.items():
        if dollars is None:
            continue
        if worst is None:
            warnings.append(
                f"The price of an answer is unknown, so that a run within {name} cannot start."
            )
        elif worst > dollars:
            warnings.append(
                f"The run may cost up to {_in_dollars(worst)}, which is more than {name} "
                f"({_in_dollars(dollars)}): it stops before it passes that, and what was answered "
                "is kept."
            )
    return warnings


def _in_dollars(sum_: float) -> str:
    if 0 < sum_ < 0.01:
        return f"${sum_:.2g}"
    return f"${sum_:,.2f}"
