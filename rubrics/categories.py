"""The six categories of errors that GREEN, FineRadScore and others share [Ostmeier et al. 2024]."""

from __future__ import annotations

from collections.abc import Iterable

from judge.rubrics.items import Facet, Label
from judge.rubrics.numbers import Statistic
from judge.types import Category, Edit, Item

ERROR = "error"
"""The kind of item that says what is wrong with the candidate."""

CATEGORY = Facet(
    "category",
    "category",
    "categories",
    tuple(Label(category.value, category.label) for category in Category),
    has_codes=True,
)

ERRORS = Statistic(
    "errors",
    "errors per study",
    "mean",
    ("n_significant", "n_insignificant"),
    higher_is_better=False,
    study_label="errors",
    shown=frozenset({"compare"}),
)


def no_error(grade: str, named: str) -> Statistic:
    """Return the share of the studies without an error of a grade, counted by `n_GRADE`.

    `named` says which errors those are: "clinically significant errors".
    """
    return Statistic(
        f"no_{grade}_error",
        f"no {grade} error",
        "rate",
        (f"n_{grade}",),
        higher_is_better=True,
        definition=f"no {named.replace('errors', 'error')}",
        study_label=named,
    )


def error(
    categories: Iterable[str], graded_by: str, grade: str, text: str, edit: Edit | None = None
) -> Item:
    """Return an error of these categories, whose facet `graded_by` has the value `grade`."""
    labels = {CATEGORY.name: tuple(map(str, categories)), graded_by: (grade,)}
    return Item(ERROR, text, labels, edit=edit)
