"""The table by which a judge is chosen: agreement, unread answers, stability, price and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from judge.rubrics.quantities import Quantity
from judge.running.folder import Run
from judge.signature import Signature
from judge.stats.intervals import Codes, Estimate, rate_interval, wilson
from judge.stats.table import OUTCOMES
from judge.types import Failed, Unparsed
from judge.validating.raters import RatedStudies

_FROM_CACHE = "all from the cache"


def judge_table(
    studies: RatedStudies,
    quantities: Sequence[Quantity],
    agreement: Sequence[Mapping[str, Any]],
    units: Codes,
) -> list[dict[str, Any]]:
    """Return one row per judge, as JSON's types.

    `kendall` is the agreement with the mean of the readers on `quantity`: significant errors, else
    all errors, else the score. `unread` is the share of the studies whose answer could not be read
    or never came. `same_verdict` is the share of studies on which all runs of the same judge agree
    whether there is such an error; no row has it if each judge has one run. `dollars_per_1000` is
    the price of 1,000 studies in US dollars, `seconds` the time of the run per study, with
    `concurrency` requests at a time. A figure without a value has a `reason`. `units` numbers the
    patient of each study.
    """
    totals = [quantity for quantity in quantities if not quantity.category]
    quantity = next(iter(sorted(totals, key=lambda total: not total.is_level)), None)
    kendall = {
        row["judge"]: row["kendall"]
        for row in agreement
        if row["own"] and quantity and row["quantity"] == quantity.name
    }
    outcomes, stability = studies.runs.outcomes, _same_verdict(studies, quantity, units)
    rows = []
    for column, judge in enumerate(studies.judges):
        lost = {
            f"n_{OUTCOMES[kind]}": int((outcomes[:, column] == OUTCOMES[kind]).sum())
            for kind in (Unparsed, Failed)
        }
        row: dict[str, Any] = {
            "judge": judge.name,
            "quantity": quantity and quantity.name,
            "label": quantity and quantity.label,
            "kendall": kendall.get(judge.name) or _unknown("no count in common"),
            "unread": {**wilson(sum(lost.values()), len(outcomes)).plain(), **lost},
        }
        if stability:
            why = _FROM_CACHE if _is_from_cache(judge.run) else "judged once"
            row["same_verdict"] = stability.get(judge.name) or _unknown(why)
        effort = judge.run.manifest.get("effort") or {}
        rows.append({**row, **_cost(judge.run), "concurrency": effort.get("concurrency")})
    return rows


def _same_verdict(
    studies: RatedStudies, quantity: Quantity | None, units: Codes
) -> dict[str, dict[str, Any]]:
    """Return by judge how often its runs agree that a study has no error; empty without repeats."""
    columns_of: dict[str, list[int]] = {}
    for column, judge in enumerate(studies.judges):
        if _is_from_cache(judge.run):  # the answers of another run, not new ones
            continue
        same_judge = str(Signature.parse(judge.run.signature).without("repeat", "version"))
        columns_of.setdefault(same_judge, []).append(column)
    figures: dict[str, dict[str, Any]] = {}
    for columns in columns_of.values():
        if quantity is None or quantity.kind != "count" or len(columns) < 2:
            continue
        counts = studies.values[quantity.name][:, columns]
        scored = ~np.isnan(counts).any(axis=1)
        is_clean = counts[scored] == 0
        is_same = (is_clean == is_clean[:, :1]).all(axis=1)
        figure = rate_interval(is_same, units[scored]).plain()
        figures |= {studies.judges[column].name: figure for column in columns}
    return figures


def _cost(run: Run) -> dict[str, dict[str, Any]]:
    manifest, spent = run.manifest, run.manifest.get("spent")
    if not spent or _is_from_cache(run):
        unknown = _unknown(_FROM_CACHE if spent else "not recorded")
        return {"dollars_per_1000": unknown, "seconds": unknown}
    if spent["asked"] and spent["dollars"] is not None:
        dollars = _per_study(run, 1_000 * spent["dollars"])
    else:
        dollars = _unknown("no known price" if spent["asked"] else "asks no server")
    started, finished = (datetime.fromisoformat(manifest[end]) for end in ("started", "finished"))
    if parts := [name for name in ("batches", "shards") if manifest.get(name)]:
        seconds = _unknown(f"judged in {parts[0]}")
    elif finished == started:
        seconds = _unknown("under a second in all")
    else:
        seconds = _per_study(run, (finished - started).total_seconds())
    return {"dollars_per_1000": dollars, "seconds": seconds}


def _per_study(run: Run, total: float) -> dict[str, Any]:
    """Return a total per study; it is of the answers asked for, and cached ones count as these."""
    n, spent = run.summary()["n_studies"], run.manifest["spent"]
    answers = (spent["asked"] + spent["from_cache"]) / spent["asked"] if spent["asked"] else 1
    return Estimate(spent["asked"] or n, total * answers / n, None, None).plain()


def _is_from_cache(run: Run) -> bool:
    spent = run.manifest.get("spent") or {}
    return bool(spent.get("from_cache")) and not spent["asked"]


def _unknown(reason: str) -> dict[str, Any]:
    return Estimate(0, None, None, None, reason=reason).plain()
