"""How many studies readers must read until the interval of a rate is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from judge.stats.estimate import Z_95

_LEAST = 2
"""Studies without which nothing has a variance."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What it takes to bring the 95% interval of one rate to a width.

    `n_read` studies were read and scored by the judge too; `agreement` is the share of them in
    which both say the same, None before the first. `width_now` is that of the corrected rate with
    these, None below two. `needed` is the number of studies to be read in all, those included,
    None where reading all `n_studies` would not do; `needed_alone` the same without the judge,
    whatever the number of studies.
    """

    n_studies: int
    n_read: int
    judge_rate: float | None
    reader_rate: float | None
    agreement: float | None
    width_now: float | None
    needed: int | None
    needed_alone: int


def plan(
    judge: Iterable[bool], read: Iterable[tuple[bool, float]], n_studies: int, width: float
) -> Plan:
    """Return what it takes to bring a rate to `width`, a share, from the agreement seen so far.

    `judge` says of each scored study whether it is one of the rate's; `read` the same of those
    that were read, beside the share of readers who say so. The corrected rate of n studies read
    and N scored and unread has the variance L^2 Var(judge) / N + Var(reader - L judge) / n, with
    L = Cov / ((1 + n / N) Var(judge)) in [0, 1] [Angelopoulos et al. 2023]; strata and patients
    are not looked at. Var(judge) is that of all scored studies. The reader's variance and the
    correlation are of the table of those read, of reader by judge, with one study more in each of
    its four cells: few readings that all agree do not promise that all will. Before the first
    reading that leaves a rate of one half and a judge worth nothing.
    """
    labels, both = [*judge], [*read]
    judged = sum(labels) / len(labels) if labels else 0.0
    n11, n10 = (1 + sum(f if reader else 1 - f for of, f in both if of) for reader in (True, False))
    n01, n00 = (
        1 + sum(f if reader else 1 - f for of, f in both if not of) for reader in (True, False)
    )
    total = n11 + n10 + n01 + n00
    p_reader, p_judge = (n11 + n01) / total, (n11 + n10) / total
    var_reader, var_judge = p_reader * (1 - p_reader), judged * (1 - judged)
    rho = (n11 / total - p_reader * p_judge) / math.sqrt(var_reader * p_judge * (1 - p_judge))
    cov = rho * math.sqrt(var_reader * var_judge)

    def width_of(n: int) -> float:
        unread = max(len(labels) - n, 0)
        shrink = 1 + n / unread if unread else math.inf
        tuning = min(max(cov / (shrink * var_judge), 0.0), 1.0) if var_judge else 0.0
        variance = (var_reader - 2 * tuning * cov + tuning**2 * var_judge) / n
        variance += tuning**2 * var_judge / unread if tuning else 0.0
        return 2 * Z_95 * math.sqrt(variance)

    counts = range(max(_LEAST, len(both)), n_studies + 1)
    agree = sum(f if of else 1 - f for of, f in both)
    return Plan(
        n_studies,
        len(both),
        judged if labels else None,
        sum(f for _, f in both) / len(both) if both else None,
        agree / len(both) if both else None,
        width_of(len(both)) if len(both) >= _LEAST else None,
        next((n for n in counts if width_of(n) <= width), None),
        max(_LEAST, math.ceil(var_reader * (2 * Z_95 / width) ** 2)),
    )
