"""The scale of severity, the corrected report, and the numbers of a study."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from judge.rubrics.categories import CATEGORY, ERROR, Counting, count_measures
from judge.rubrics.contract import Facet, Kind, Label, Measure
from judge.sentences import sentences
from judge.types import Annotation, Measures, Study

SEVERITY = Facet(
    "severity",
    "severity",
    "severities",
    (
        Label("severity1", "1 not actionable", "mild", means="not actionable"),
        Label("severity2", "2 actionable, non-urgent", "notable", means="actionable"),
        Label("severity3", "3 urgent", "serious", means="urgent"),
        Label("severity4", "4 emergent", "critical", means="emergent"),
    ),
)
"""The four severities [Huang et al. 2024]."""
NAMES = tuple(label.name for label in SEVERITY.labels)
_LEAST_ACTIONABLE = 2
_LEAST_SIGNIFICANT = 3
"""The severity from which on an error is clinically significant, as in ReXrank's figures."""

CORRECTION = Kind(ERROR, "error", "errors", (CATEGORY.name, SEVERITY.name), graded_by=SEVERITY.name)
_COUNTS = count_measures(CORRECTION, SEVERITY, CATEGORY)
CLOSENESS = {
    f"closeness_{when}": f"word overlap (Dice) {label} correction"
    for when, label in (("candidate", "before"), ("corrected", "after"))
}
_OF_CLOSENESS = {
    "closeness_candidate": ("reference",),
    "closeness_corrected": ("reference", "edit"),
}
MEASURES = (
    Measure("fineradscore", "highest severity", (1, 4), role="score", needs=NAMES[-1:]),
    Measure("fineradscore_sum", "severity sum", role="score", needs=NAMES[-1:]),
    *(
        Measure(name, label, (0, 1), higher_is_better=True, role="check", needs=_OF_CLOSENESS[name])
        for name, label in CLOSENESS.items()
    ),
    Measure("n_significant", "errors of severity 3 or 4", is_whole=True),
    Measure("n_insignificant", "errors of severity 1 or 2", is_whole=True),
    Measure("n_actionable", "errors of severity 2 or more", is_whole=True),
    *_COUNTS,
)
_WORD = re.compile(r"\w+")

_count = Counting(_COUNTS)


def measure(annotation: Annotation, study: Study) -> Measures:
    """Return the study's two scores, two numbers to check them by, and its counts.

    `fineradscore`: the highest severity, 1 to 4; 1 where there is no correction [ReXrank].
    `fineradscore_sum`: the sum of severities, 0 where there is none [Huang et al. 2024].
    Significant is severity 3 or 4, actionable 2 or more. `closeness_candidate` and
    `closeness_corrected` tell how near the candidate is to the reference before and after
    the corrections.
    """
    severities = [NAMES.index(item.label(SEVERITY.name)) + 1 for item in annotation.items]
    n_significant = sum(severity >= _LEAST_SIGNIFICANT for severity in severities)
    return {
        "fineradscore": float(max(severities, default=1)),
        "fineradscore_sum": float(sum(severities)),
        "closeness_candidate": closeness(study.candidate, study.reference),
        "closeness_corrected": closeness(corrected(annotation, study), study.reference),
        "n_significant": n_significant,
        "n_insignificant": len(severities) - n_significant,
        "n_actionable": sum(severity >= _LEAST_ACTIONABLE for severity in severities),
        **_count(annotation),
    }


def closeness(one: str, other: str) -> float:
    """Return how many words two texts share, from 0 to 1, whatever their order.

    The Sørensen-Dice coefficient of the two bags of words, in lower case: twice the words
    in common over the words of both. 1 for two texts without a word.
    """
    left, right = (Counter(_WORD.findall(text.lower())) for text in (one, other))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0


def corrected(annotation: Annotation, study: Study) -> str:
    """Return the candidate with every correction made; unchanged text stays as it is."""
    text = study.candidate
    spans = sentences(text)
    edits = [item.edit for item in annotation.items if item.edit is not None]
    changed = {edit.line: edit for edit in edits if edit.kind != "insert"}
    inserted: dict[int, list[str]] = defaultdict(list)
    for edit in edits:
        if edit.kind == "insert":
            inserted[len(spans) if edit.line is None else edit.line].append(edit.corrected)
    parts: list[str] = []
    end, touched = 0, False
    for at, (start, stop) in enumerate(spans):
        gap = text[end:start]
        for new in inserted[at]:
            parts += [gap or " " * bool(parts), new]
            touched = True
        change = changed.get(at)
        touched = touched or change is not None
        if change is None or change.kind == "change":
            # Lines that stood without a space between them stay so where nothing is changed.
            parts.append(gap or " " * bool(parts and touched))
            parts.append(change.corrected if change else text[start:stop])
            touched = change is not None
        end = stop
    for new in inserted[len(spans)]:
        parts += [" " * bool(parts), new]
    return "".join(parts) + text[end:]
