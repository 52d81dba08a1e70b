"""What GREEN tells apart, shared by rubrics that do so too: significant errors and others.

Each in six categories, so that there are twelve counts [Ostmeier et al. 2024].
"""

from __future__ import annotations

from judge.rubrics.categories import CATEGORY, ERROR
from judge.rubrics.counting import count_measures
from judge.rubrics.items import Facet, Kind, Label
from judge.types import Annotation, Category, Discrepancy

SIGNIFICANCE = "significance"
SIGNIFICANT = "significant"
INSIGNIFICANT = "insignificant"
LEVELS = (SIGNIFICANT, INSIGNIFICANT)
CATEGORIES = tuple(Category)
"""The six categories in their order."""
KEY = {
    (level, category): f"{level}_{category.value}" for level in LEVELS for category in CATEGORIES
}
"""The name of each error count in `Annotation.stated_counts`, such as `significant_a`."""
KEYS = tuple(KEY.values())
"""The names of the twelve error counts, in the order in which they are written."""
MAX_COUNT = 9999
"""The largest count that is read; a longer digit run is no count."""

GRADES = Facet(
    SIGNIFICANCE,
    "significance",
    "significances",
    (
        Label(SIGNIFICANT, "clinically significant", "serious"),
        Label(INSIGNIFICANT, "clinically insignificant", "mild"),
    ),
)
GRADED_ERROR = Kind(ERROR, "error", "errors", (CATEGORY.name, SIGNIFICANCE), graded_by=SIGNIFICANCE)
COUNTS = count_measures(GRADED_ERROR, GRADES, CATEGORY)
"""The errors of each level, `n_significant` and `n_insignificant`, and then the twelve counts."""

_LEAST_SIGNIFICANT = 2
"""The lowest severity of a discrepancy that counts as clinically significant."""


def stated(annotation: Annotation) -> dict[str, int]:
    """Return `COUNTS` of a study as the answer states them."""
    twelve = {name: annotation.stated_counts[name] for name in KEYS}
    sums = {f"n_{level}": sum(twelve[KEY[level, one]] for one in CATEGORIES) for level in LEVELS}
    return {**sums, **twelve}


def level_of(discrepancy: Discrepancy) -> str:
    """Return the significance of what rules found: severity 2 or more is significant."""
    return SIGNIFICANT if discrepancy.severity >= _LEAST_SIGNIFICANT else INSIGNIFICANT
