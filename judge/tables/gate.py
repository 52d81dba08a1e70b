"""The checks of `judge gate` as a table."""

from __future__ import annotations

from judge.comparing.gate import Gate
from judge.tables.document import Cell, Document, Estimate, Table, columns

_COLUMNS = columns(
    *("metric", "rule", "verdict", "n|studies|count", "baseline|earlier run|number"),
    *("value|run|number", "difference||difference", "p_holm|p (Holm)|p", "reason|why"),
)
_ORDER = ("fail", "undecided", "pass")


def gate_document(gate: Gate) -> Document:
    """Return the verdict and the checks behind it, the failed ones first."""
    rows: list[tuple[Cell, ...]] = []
    for check in sorted(gate.checks, key=lambda check: _ORDER.index(check.verdict)):
        row: list[Cell] = [check.label, check.rule, check.verdict, check.n]
        if check.is_limit:
            row += ["", check.value, "", ""]
        else:
            difference = Estimate(check.difference, check.low, check.high)
            row += [check.baseline, check.value, difference, check.p_holm]
        rows.append((*row, check.reason))
    return Document(
        "Gate",
        facts=(("verdict", gate.verdict),),
        notes=gate.notes,
        tables=(Table("checks", "Checks", _COLUMNS, rows),),
        signatures=(("signature", gate.signature),),
    )
