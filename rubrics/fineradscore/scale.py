"""The scale of severity."""

from __future__ import annotations

from judge.rubrics.contract import Facet, Label

SEVERITY = Facet(
    "severity",
    "severity",
    "severities",
    (
        Label("severity1", "1 not actionable", "mild"),
        Label("severity2", "2 actionable, non-urgent", "notable"),
        Label("severity3", "3 urgent", "serious"),
        Label("severity4", "4 emergent", "critical"),
    ),
)
"""The four severities [Huang et al. 2024]."""

NAMES = tuple(label.name for label in SEVERITY.labels)
ACTIONABLE = NAMES[1:]
"""An error is actionable from severity 2 on."""
SIGNIFICANT = NAMES[2:]
"""An error is clinically significant from severity 3 on: docs/numbers.md says why."""
