"""The view of what two raters see differently: two judges, or a judge and a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from judge.pages.bundle import as_json
from judge.pages.disagreement_models import (
    ComparedError,
    DifferenceKind,
    DifferingStudy,
    DisagreementsOverview,
    DisagreementWords,
    ErrorCategory,
    KindCount,
    PairStudies,
    RaterPair,
    SeenBy,
)
from judge.study.disagreements import (
    AGREED,
    HOW_PAIRED,
    HOW_SORTED,
    KINDS,
    Aligned,
    Disagreements,
    SeenError,
    StudyErrors,
)
from judge.tables.disagreements import (
    NOT_SEEN,
    category_text,
    category_texts,
    error_text,
)
from judge.text import counted

MOST_STUDIES = 1_000
"""Studies of a pair on the page; the table of the command line has all."""

Address = Callable[[Disagreements, str], str]
"""The address of a study in which the two of a pair differ."""

_WORDS = DisagreementWords(
    pair="Who",
    kind="Difference",
    category="Category",
    all_differences="all differences",
    everything="all errors, also those seen alike",
    all_categories="all",
    one_study="1 study",
    many_studies="{n} studies",
    nothing="No study has such an error.",
    not_seen=NOT_SEEN,
    more="Show {n} more",
    counts_title="Errors by the way in which the two see them",
    counts_head=["difference", "errors", "studies"],
)


def disagreement_pieces(
    of_pairs: Sequence[Disagreements], address: Address, missing: str = ""
) -> Iterator[tuple[str, bytes]]:
    """Yield the overview of all pairs, then the studies of each; `missing` says why none is."""
    overview = disagreements_overview(of_pairs, missing)
    yield "disagreements", as_json(overview)
    for number, of_pair in enumerate(of_pairs):
        studies = pair_studies(of_pair, address)
        yield f"disagreements-{number}", as_json(studies)


def disagreements_overview(
    of_pairs: Sequence[Disagreements], missing: str = ""
) -> DisagreementsOverview:
    """Return all but the studies."""
    kinds = [
        DifferenceKind(
            name=kind.name,
            label=kind.label,
            text=kind.text,
            is_difference=kind != AGREED,
        )
        for kind in KINDS
    ]
    return DisagreementsOverview(
        title="What two see differently",
        about=[HOW_SORTED, HOW_PAIRED],
        kinds=kinds,
        pairs=[_pair(of_pair) for of_pair in of_pairs],
        words=_WORDS,
        missing=missing,
    )


def pair_studies(of_pair: Disagreements, address: Address) -> PairStudies:
    """Return the studies in which the two of a pair differ, those to look at first."""
    names = _category_names(of_pair)
    studies = []
    for study in of_pair.differing[:MOST_STUDIES]:
        errors = [_error(of_pair, error, names) for error in study.errors]
        shown = DifferingStudy(
            study_id=study.study_id,
            address=address(of_pair, study.study_id),
            errors=errors,
        )
        studies.append(shown)
    return PairStudies(studies=studies)


def _pair(of_pair: Disagreements) -> RaterPair:
    n_differing = len(of_pair.differing)
    both = counted(of_pair.n_studies, "study", "studies")
    shown = ""
    if n_differing > MOST_STUDIES:
        shown = (
            f"The first {MOST_STUDIES:,} of {n_differing:,} studies are here; the table "
            "disagreements of the command line has all."
        )
    counts = []
    for kind in KINDS:
        n_errors = of_pair.n_errors(kind)
        n_studies = of_pair.n_studies_with(kind)
        counts.append(KindCount(errors=f"{n_errors:,}", studies=f"{n_studies:,}"))
    categories = [
        ErrorCategory(name=name, text=category_text(of_pair, name))
        for name in _category_names(of_pair)
    ]
    return RaterPair(
        name=of_pair.name,
        a=of_pair.a.name,
        b=of_pair.b.name,
        summary=f"{both} scored by both, {n_differing:,} with a difference.",
        shown=shown,
        notes=list(of_pair.notes),
        counts=counts,
        categories=categories,
    )


def _category_names(of_pair: Disagreements) -> list[str]:
    """Return the categories that occur, in the order of the two rubrics."""
    found: set[str] = set()
    for study in of_pair.studies:
        found |= _categories_of(study)
    names: dict[str, None] = {}
    for rater in (of_pair.a, of_pair.b):
        if rater.run.rubric.codes is not None:
            names |= dict.fromkeys(
                label.name for label in rater.run.rubric.codes.labels
            )
    return [name for name in names if name in found]


def _categories_of(study: StudyErrors) -> set[str]:
    names: set[str] = set()
    for error in study.errors:
        names |= set(error.categories)
    return names


def _error(
    of_pair: Disagreements, error: Aligned, names: Sequence[str]
) -> ComparedError:
    return ComparedError(
        kind=KINDS.index(error.difference),
        categories=[names.index(name) for name in error.categories],
        category=category_texts(of_pair, error.categories),
        a=_seen(error.a),
        b=_seen(error.b),
    )


def _seen(error: SeenError | None) -> SeenBy | None:
    if error is None:
        return None
    return SeenBy(
        text=error_text(error), level=error.level.label, tone=error.level.tone
    )
