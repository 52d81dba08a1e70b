"""The six categories of errors that GREEN, FineRadScore and others share [Ostmeier et al. 2024]."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import partial

from judge.rubrics.contract import (
    Counted,
    Facet,
    Kind,
    Label,
    Measure,
)
from judge.stats.statistic import Mean, Rate, Where
from judge.types import Annotation, Category, Discrepancy, Edit, Item

CATEGORIES = tuple(Category)
"""The six categories in their order."""
ERROR = "error"
"""The kind of the items that are errors of the candidate."""

CATEGORY = Facet(
    "category",
    "category",
    "categories",
    labels=tuple(Label(category.value, category.label) for category in CATEGORIES),
    has_codes=True,
)

ERRORS = Mean(
    "errors",
    "errors per study",
    measures=("n_significant", "n_insignificant"),
    higher_is_better=False,
    study_label="errors",
    shown=frozenset({"compare"}),
    clause="there were {figure} errors per study",
)


def none_of(
    name: str, label: str, *, measure: str, words: str, shown: Collection[Where]
) -> Rate:
    """Return the share of the scored studies of which `measure` is 0, studies without `words`.

    The denominator is all scored studies: without an urgent finding none of a study is missed.
    """
    return Rate(
        name,
        label,
        measures=(measure,),
        higher_is_better=True,
        definition=f"studies without {words}",
        study_label=words,
        shown=frozenset(shown),
    )


def no_error(grade: str, named: str) -> Rate:
    """Return the share of the studies without an error of a grade, `named` in words."""
    return none_of(
        f"no_{grade}_error",
        f"no {grade} error",
        measure=f"n_{grade}",
        words=named,
        shown=("groups", "compare"),
    )


def error_item(
    categories: Iterable[str],
    graded_by: str,
    grade: str,
    text: str,
    edit: Edit | None = None,
) -> Item:
    """Return an error of these categories, whose facet `graded_by` has the value `grade`."""
    labels = {CATEGORY.name: tuple(map(str, categories)), graded_by: (grade,)}
    return Item(ERROR, text, labels, edit=edit)


_LONGEST = 120
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def name_words(text: str) -> list[str]:
    """Return the first words of a name in lower case; it may be without spaces, as `wrongSide`."""
    return re.findall(r"[^\W_]+", _CAMEL.sub(" ", text[:_LONGEST]).lower())


_CATEGORIES = {
    Category.FALSE_FINDING: (
        "false finding",
        "false prediction of finding",
        "false report of finding",
        "false prediction",
        "false report of finding in candidate",
    ),
    Category.MISSING_FINDING: (
        "missing finding",
        "omitted finding",
        "omission of finding",
        "missed finding",
        "missing finding present in reference",
    ),
    Category.WRONG_LOCATION: (
        "wrong location",
        "incorrect location",
        "incorrect location of finding",
        "wrong position",
        "incorrect position",
        "incorrect position of finding",
        "wrong location position",
        "incorrect location position",
        "incorrect location position of finding",
        "misidentification of finding location",
        "misidentification of finding s anatomic location position",
    ),
    Category.WRONG_SEVERITY: (
        "wrong severity",
        "incorrect severity",
        "incorrect severity of finding",
        "misassessment of severity",
        "misassessment of severity of finding",
    ),
    Category.FALSE_COMPARISON: (
        "false comparison",
        "comparison not in reference",
        "mention of comparison that is not present in reference impression",
        "mention of comparison that is not present in reference",
        "mention of comparison not present in reference",
        "mentioning comparison that isn t in reference",
    ),
    Category.OMITTED_COMPARISON: (
        "omitted comparison",
        "missing comparison",
        "omission of comparison",
        "omission of comparison describing change from previous study",
        "omitting comparison detailing change from prior study",
    ),
}
"""The names of the original's prompt, of GREEN's and our own, without articles."""

_NAMED = {name: category for category, names in _CATEGORIES.items() for name in names}
_ARTICLES = frozenset(("a", "an", "the"))
_SINGULAR = {
    "findings": "finding",
    "comparisons": "comparison",
    "locations": "location",
}
_MARKED = re.compile(
    r"[\W_]*(?:(?:error\s+)?category[\W_]+)?([a-f1-6])\b(.*)", re.I | re.S
)


def category_of(value: object) -> Category | None:
    """Return the category that `value` names: a letter, a number from 1, a name, or both."""
    if isinstance(value, int) and not isinstance(value, bool):
        return CATEGORIES[value - 1] if 1 <= value <= len(CATEGORIES) else None
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    marked = _MARKED.fullmatch(value)
    if marked is None:
        return _named(value)
    mark = marked[1].lower()
    category = CATEGORIES[int(mark) - 1] if mark.isdigit() else Category(mark)
    is_alone = re.search(r"[^\W_]", marked[2]) is None
    return category if is_alone or _named(marked[2]) is category else None


def _named(text: str) -> Category | None:
    if re.search(r"[0-9?]", text):
        return None
    nouns = [
        _SINGULAR.get(word, word) for word in name_words(text) if word not in _ARTICLES
    ]
    while nouns and nouns[-1] in ("error", "errors"):
        nouns.pop()
    return _NAMED.get(" ".join(nouns))


def count_measures(kind: Kind, grades: Facet, codes: Facet) -> tuple[Measure, ...]:
    """Return the measures that count a kind's items: `n_GRADE`, then `GRADE_CODE`."""
    count = partial(Measure, is_whole=True)
    by_grade, by_both = [], []
    for grade in grades.labels:
        counted = Counted(kind.name, {grades.name: grade.name})
        by_grade.append(
            count(f"n_{grade.name}", grade.label, role="count", counts=counted)
        )
        for code in codes.labels:
            name, label = f"{grade.name}_{code.name}", f"{grade.label}: {code.label}"
            counted = Counted(
                kind.name, {grades.name: grade.name, codes.name: code.name}
            )
            by_both.append(count(name, label, counts=counted))
    return (*by_grade, *by_both)


def count_items(measures: Iterable[Measure], annotation: Annotation) -> dict[str, int]:
    """Return how many items each of the measures that count some finds, in their order."""
    found = {}
    for measure in measures:
        if measure.counts is not None:
            counts = measure.counts
            found[measure.name] = sum(_is_counted(counts, i) for i in annotation.items)
    return found


def _is_counted(counts: Counted, item: Item) -> bool:
    """Whether an item is of the kind and carries all of the labels."""
    if item.kind != counts.kind:
        return False
    return all(
        value in item.labels.get(facet, ()) for facet, value in counts.labels.items()
    )


SIGNIFICANCE = "significance"
SIGNIFICANT = "significant"
INSIGNIFICANT = "insignificant"
LEVELS = (SIGNIFICANT, INSIGNIFICANT)
KEY = {
    (level, category): f"{level}_{category.value}"
    for level in LEVELS
    for category in CATEGORIES
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
    labels=(
        Label(SIGNIFICANT, "clinically significant", "serious", means="significant"),
        Label(INSIGNIFICANT, "clinically insignificant", "mild", means="insignificant"),
    ),
)
GRADED_ERROR = Kind(
    ERROR, "error", "errors", (CATEGORY.name, SIGNIFICANCE), graded_by=SIGNIFICANCE
)
COUNTS = count_measures(GRADED_ERROR, GRADES, CATEGORY)
"""The errors of each level, `n_significant` and `n_insignificant`, and then the twelve counts."""

_LEAST_SIGNIFICANT = 2
"""The lowest severity of a discrepancy that counts as clinically significant."""


def error_counts(annotation: Annotation) -> dict[str, int]:
    """Return `COUNTS` of a study as the answer states them, or as a reader lists the errors."""
    if not annotation.stated_counts:
        return count_items(COUNTS, annotation)
    twelve = {name: annotation.stated_counts[name] for name in KEYS}
    significant, insignificant = [*twelve.values()][:6], [*twelve.values()][6:]
    return {
        "n_significant": sum(significant),
        "n_insignificant": sum(insignificant),
        **twelve,
    }


def significance_of(discrepancy: Discrepancy) -> str:
    """Return the significance of a discrepancy: severity 2 or more is significant."""
    return SIGNIFICANT if discrepancy.severity >= _LEAST_SIGNIFICANT else INSIGNIFICANT
