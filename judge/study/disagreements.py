"""Errors that two raters of the same reports see differently: two judges, or a judge and a reader.

The errors of both are paired, study by study. Two errors can be one and the same if

- their texts name a finding in common, as the built-in judge's lexicon reads them, or
- they mark a word of a report in common that can stand for a finding, or
- their texts share such a word and not both name a finding, or
- one of them is only counted, without a text, and they have a category in common.

Pairs of one category come first, among these the pairs that share most; each error is in one pair
at most. Where then one error of a category is left on each side, and not both name a finding, these
are a pair too ("invents a comparison" names nothing). Errors without a pair were seen by one rater
only. A pair of one category and level is agreement.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from judge.backends import lexicon
from judge.backends.lexicon.data import Lexicon
from judge.comparing.alignment import AlignedRuns
from judge.comparing.comparison import ComparedRuns
from judge.rubrics.contract import PART_FACETS, Label, Rubric
from judge.rubrics.quantities import common_level, significant_labels
from judge.running.folder import RunFolder
from judge.study.marks import highlights, naming_words
from judge.study.view import graded_items
from judge.text import counted
from judge.validating.raters import RatedStudies, Rater

_Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """A kind of difference; `worth` sorts them, the one to look at first has 0."""

    name: str
    label: str
    text: str
    worth: int


SIGNIFICANT_ALONE = Difference(
    "significant_alone",
    "significant, seen by one",
    "A significant error that only one of the two saw.",
    worth=0,
)
SIGNIFICANCE = Difference(
    "significance",
    "significant for one",
    "Both saw the error; it is significant for only one of them.",
    worth=1,
)
LEVEL = Difference(
    "level",
    "another level",
    "Both saw the error, at another level; it is significant for both, or for neither.",
    worth=2,
)
CATEGORY = Difference(
    "category",
    "another category",
    "Both saw the error at the same level, in another category.",
    worth=3,
)
ALONE = Difference(
    "alone",
    "not significant, seen by one",
    "An error that is not significant and that only one of the two saw.",
    worth=4,
)
AGREED = Difference(
    "agreed",
    "seen alike",
    "Both saw the error, in the same category and at the same level.",
    worth=5,
)
DIFFERENCES = (SIGNIFICANT_ALONE, SIGNIFICANCE, LEVEL, CATEGORY, ALONE)
"""What two raters see differently, what is most worth looking at first."""
KINDS = (*DIFFERENCES, AGREED)

HOW_PAIRED = (
    "Two errors are taken for one if their texts name a finding in common, as the built-in judge "
    "reads them, or if they mark the same word for a finding in a report; where not both texts "
    "name a finding, also if they share such a word or are the only ones left of a category; and "
    "if one of them is only counted, by its category. Pairs of one category come first; each error "
    "is in one pair at most."
)
NO_JUDGES = (
    "no two of these runs judged the same reports with a rubric that lists errors: give runs of "
    "one file of predictions by two judges, first=RUN second=RUN --allow judge"
)
HOW_SORTED = (
    "Studies with most significant errors that only one of the two saw come first; then those with "
    "most errors that are significant for one, then those with most at another level, in another "
    "category, and not significant and seen by one; then by id."
)


class RaterRun(NamedTuple):
    """A run of a judge or a reader and its name; `lacks` is what a reader was not asked for."""

    name: str
    run: RunFolder
    lacks: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenError:
    """An error as one rater has it: its `text`, empty where it is only counted, and its labels."""

    text: str
    categories: tuple[str, ...]
    level: Label
    is_significant: bool


@dataclass(frozen=True, slots=True)
class Aligned:
    """An error of both raters or, where the other side is None, of one."""

    difference: Difference
    a: SeenError | None
    b: SeenError | None

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of either side, each once."""
        names: dict[str, None] = {}
        for side in (self.a, self.b):
            if side is not None:
                names |= dict.fromkeys(side.categories)
        return tuple(names)


@dataclass(frozen=True, slots=True)
class StudyErrors:
    """The errors of a study, aligned; those to look at first come first."""

    study_id: str
    errors: tuple[Aligned, ...]

    @property
    def differing(self) -> tuple[Aligned, ...]:
        """The errors that the two see differently."""
        return tuple(error for error in self.errors if error.difference != AGREED)

    @property
    def worth(self) -> tuple[int, ...]:
        """How many differences of each kind it has, what is most worth looking at first."""
        counts = Counter(error.difference.name for error in self.errors)
        return tuple(counts[kind.name] for kind in DIFFERENCES)


@dataclass(frozen=True, kw_only=True)
class Disagreements:
    """What two raters see differently in the `n_studies` that both have scored.

    `studies` are those with an error of either, sorted as `HOW_SORTED` says. `level` is the level
    from which on errors are significant, None where each rubric has its own. `notes` say what could
    not be compared.
    """

    a: RaterRun
    b: RaterRun
    n_studies: int
    studies: tuple[StudyErrors, ...]
    level: str | None
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Who the two are."""
        return f"{self.a.name} and {self.b.name}"

    @property
    def differing(self) -> tuple[StudyErrors, ...]:
        """The studies in which the two see an error differently."""
        return tuple(study for study in self.studies if study.differing)

    def n_errors(self, kind: Difference) -> int:
        """Return how many errors differ in this way."""
        return sum(len(_of_kind(study, kind)) for study in self.studies)

    def n_studies_with(self, kind: Difference) -> int:
        """Return how many studies have an error that differs in this way."""
        return sum(bool(_of_kind(study, kind)) for study in self.studies)


def _of_kind(study: StudyErrors, kind: Difference) -> list[Aligned]:
    return [error for error in study.errors if error.difference == kind]


def why_not_compared(runs: Iterable[RunFolder]) -> str:
    """Return why the errors of these runs cannot be paired, empty where they can."""
    for run in runs:
        rubric = run.rubric
        if not rubric.graded:
            return f"{rubric.title} lists no errors that it grades"
        parts = {facet.name for facet in rubric.facets} & set(PART_FACETS.values())
        if parts:
            return f"{run.path.name} has the errors of several judges or references"
    return ""


def disagreements(
    a: RaterRun, b: RaterRun, runs: AlignedRuns, level: str | None = None
) -> Disagreements:
    """Align the errors of two raters on the studies that both have scored.

    `runs` has the studies; the two runs are among its runs. Errors are significant from `level` on,
    by default by the rubrics' own, or from `actionable` on where a rubric of two levels meets one
    of four.
    """
    if level is None:
        level = common_level((a.run.rubric, b.run.rubric))
    places = [runs.runs.index(a.run), runs.runs.index(b.run)]
    is_scored = np.asarray(runs.is_scored[:, places].all(axis=1))
    study_ids = {runs.study_ids[row] for row in is_scored.nonzero()[0]}
    of_a, of_b = (runs.records(place, study_ids) for place in places)
    sides = (_Rater(a, b, level), _Rater(b, a, level))
    studies = []
    for study_id in sorted(study_ids):
        errors = _aligned(sides, of_a[study_id], of_b[study_id])
        if errors:
            studies.append(StudyErrors(study_id, tuple(errors)))
    # The ids are in order already, and stay so where studies are worth the same.
    studies.sort(key=lambda study: study.worth, reverse=True)
    notes = []
    for side in sides:
        notes += side.notes()
    if not sides[0].categories_compared:
        notes.append("categories are not compared: the two do not share them")
    return Disagreements(
        a=a,
        b=b,
        n_studies=len(study_ids),
        studies=tuple(studies),
        level=level,
        notes=tuple(notes),
    )


@dataclass(slots=True)
class _Error:
    """An error while it is paired: how it is seen, and what tells it from others."""

    seen: SeenError
    is_counted: bool
    findings: frozenset[str]
    words: frozenset[str]
    item: Mapping[str, Any]


class _Rater:
    """Reads the errors of one rater, as far as the `other` was asked for such."""

    def __init__(self, rater: RaterRun, other: RaterRun, level: str | None) -> None:
        self._rater = rater
        self._rubric = rater.run.rubric
        self._significant = significant_labels(self._rubric, level)
        # What the other was not asked for cannot have been seen.
        self._other_asked = _asked(other, level)
        self._other_name = other.name
        self._other_lacks = set(other.lacks)
        self._n_left_out = 0
        self.categories_compared = _share_categories(rater.run.rubric, other.run.rubric)
        self.levels = _level_names(self._rubric)
        self._rules = lexicon.load()

    def errors(self, record: _Record) -> list[_Error]:
        errors = []
        for item in graded_items(record["annotation"], self._rubric):
            facet = self._rubric.kind(item["kind"]).graded_by
            level = self._rubric.facet(str(facet))[item["grade"]]
            if level.tone == "good":
                continue
            is_significant = level.name in self._significant
            categories = self._categories(item)
            is_lacking = bool(categories) and self._other_lacks.issuperset(categories)
            if is_lacking or is_significant not in self._other_asked:
                self._n_left_out += 1
                continue
            errors.append(
                _error(
                    item, categories, level, self._rules, is_significant=is_significant
                )
            )
        return errors

    def _categories(self, item: Mapping[str, Any]) -> tuple[str, ...]:
        codes = self._rubric.codes
        if codes is None:
            return ()
        return tuple(dict.fromkeys(item["labels"].get(codes.name, ())))

    def notes(self) -> list[str]:
        if not self._n_left_out:
            return []
        errors = counted(self._n_left_out, "error", "errors")
        return [
            f"{errors} of {self._rater.name} left out: {self._other_name} was not asked for such"
        ]


def _asked(rater: RaterRun, level: str | None) -> set[bool]:
    """Return whether a rater was asked for significant errors, and for others."""
    significant = significant_labels(rater.run.rubric, level)
    asked = set()
    for name, label in _level_names(rater.run.rubric).items():
        if name not in rater.lacks and label.tone != "good":
            asked.add(name in significant)
    return asked


def _level_names(rubric: Rubric) -> dict[str, Label]:
    labels = {}
    for kind in rubric.graded:
        for label in rubric.facet(str(kind.graded_by)).labels:
            labels[label.name] = label
    return labels


def _share_categories(a: Rubric, b: Rubric) -> bool:
    """Return whether categories of one name mean the same in both."""
    if a.codes is None or b.codes is None:
        return False
    of_a = {label.name: label.label for label in a.codes.labels}
    of_b = {label.name: label.label for label in b.codes.labels}
    shared = of_a.keys() & of_b.keys()
    return bool(shared) and all(of_a[name] == of_b[name] for name in shared)


def _error(
    item: Mapping[str, Any],
    categories: tuple[str, ...],
    level: Label,
    rules: Lexicon,
    *,
    is_significant: bool,
) -> _Error:
    text = item["text"]
    edit = item["edit"]
    if edit and edit["corrected"]:
        # What is put in its place says best what a correction without a text is about.
        about = f"{text} {edit['corrected']}".strip()
        text = text or edit["corrected"]
    else:
        about = text
    seen = SeenError(
        text=text, categories=categories, level=level, is_significant=is_significant
    )
    findings = frozenset(lexicon.named_findings(about, rules))
    return _Error(
        seen=seen,
        is_counted=not about.strip(),
        findings=findings,
        words=naming_words(about),
        item=item,
    )


def _aligned(
    sides: tuple[_Rater, _Rater], of_a: _Record, of_b: _Record
) -> list[Aligned]:
    rater_a, rater_b = sides
    errors_a, errors_b = rater_a.errors(of_a), rater_b.errors(of_b)
    aligned = []
    has_scale = rater_a.levels.keys() == rater_b.levels.keys()
    # A reader's file may lack the reports.
    reports = {}
    for side in ("reference", "candidate"):
        reports[side] = of_a[side] or of_b[side]
    pairs = _paired(
        errors_a, errors_b, reports, has_categories=rater_a.categories_compared
    )
    for place_a, place_b in pairs:
        a, b = errors_a[place_a].seen, errors_b[place_b].seen
        is_same_category = not rater_a.categories_compared or _share(
            a.categories, b.categories
        )
        kind = _difference(a, b, is_same_category=is_same_category, has_scale=has_scale)
        aligned.append((place_a, Aligned(kind, a, b)))
    paired_a = {place for place, _ in pairs}
    paired_b = {place for _, place in pairs}
    for place, error in enumerate(errors_a):
        if place not in paired_a:
            aligned.append((place, Aligned(_alone(error.seen), error.seen, None)))
    for place, error in enumerate(errors_b):
        if place not in paired_b:
            # Behind those of the first rater.
            behind = len(errors_a) + place
            aligned.append((behind, Aligned(_alone(error.seen), None, error.seen)))
    aligned.sort(key=lambda entry: (entry[1].difference.worth, entry[0]))
    return [error for _, error in aligned]


def _difference(
    a: SeenError, b: SeenError, *, is_same_category: bool, has_scale: bool
) -> Difference:
    if a.is_significant != b.is_significant:
        return SIGNIFICANCE
    # The levels of two scales are alike in significance only.
    if has_scale and a.level.name != b.level.name:
        return LEVEL
    if not is_same_category:
        return CATEGORY
    return AGREED


def _alone(error: SeenError) -> Difference:
    if error.is_significant:
        return SIGNIFICANT_ALONE
    return ALONE


def _share(a: Collection[str], b: Collection[str]) -> bool:
    """Return whether two errors have a category in common; one without any fits all."""
    return not a or not b or bool(set(a) & set(b))


class _Likeness(NamedTuple):
    """How alike two errors are; the larger, the likelier they are one."""

    is_same_category: bool
    n_findings: int
    n_marked: int
    n_words: int
    is_same_level: bool
    # Negated places: of equally likely pairs the first is taken.
    place_a: int
    place_b: int


def _paired(
    errors_a: Sequence[_Error],
    errors_b: Sequence[_Error],
    reports: Mapping[str, str],
    *,
    has_categories: bool,
) -> list[tuple[int, int]]:
    """Return the places of the errors that are one and the same, the likeliest pair first."""
    if not errors_a or not errors_b:
        return []
    marked = _marked_words(errors_a, errors_b, reports)
    likely = []
    for (i, a), (j, b) in product(enumerate(errors_a), enumerate(errors_b)):
        is_same_category = _share(a.seen.categories, b.seen.categories)
        if not has_categories:
            is_same_category = True
        likeness = _Likeness(
            is_same_category=is_same_category,
            n_findings=len(a.findings & b.findings),
            n_marked=marked[i, j],
            n_words=len(a.words & b.words),
            is_same_level=a.seen.is_significant == b.seen.is_significant,
            place_a=-i,
            place_b=-j,
        )
        if _may_be_one(a, b, likeness):
            likely.append(likeness)
    pairs: list[tuple[int, int]] = []
    used_a: set[int] = set()
    used_b: set[int] = set()
    for likeness in sorted(likely, reverse=True):
        i, j = -likeness.place_a, -likeness.place_b
        if i not in used_a and j not in used_b:
            pairs.append((i, j))
            used_a.add(i)
            used_b.add(j)
    left_a = {i: a for i, a in enumerate(errors_a) if i not in used_a}
    left_b = {j: b for j, b in enumerate(errors_b) if j not in used_b}
    return [*pairs, *_only_ones(left_a, left_b)]


def _only_ones(
    left_a: Mapping[int, _Error], left_b: Mapping[int, _Error]
) -> Iterator[tuple[int, int]]:
    """Yield the places of errors that are the only ones of a category on both sides."""
    of_a: dict[int, list[int]] = defaultdict(list)
    of_b: dict[int, list[int]] = defaultdict(list)
    for (i, a), (j, b) in product(left_a.items(), left_b.items()):
        if set(a.seen.categories) & set(b.seen.categories):
            of_a[i].append(j)
            of_b[j].append(i)
    for i, partners in of_a.items():
        if len(partners) > 1 or len(of_b[partners[0]]) > 1:
            continue
        j = partners[0]
        if not (left_a[i].findings and left_b[j].findings):
            yield i, j


def _may_be_one(a: _Error, b: _Error, likeness: _Likeness) -> bool:
    if a.is_counted or b.is_counted:
        # Nothing but the category tells what an error that is only counted is about.
        return likeness.is_same_category
    if likeness.n_findings or likeness.n_marked:
        return True
    # Texts of two findings may well have "small" or "consistent" in common.
    return likeness.n_words > 0 and not (a.findings and b.findings)


def _marked_words(
    errors_a: Sequence[_Error],
    errors_b: Sequence[_Error],
    reports: Mapping[str, str],
) -> Counter[tuple[int, int]]:
    """Return how many words for findings in the two reports each two errors mark together."""
    items = [error.item for error in (*errors_a, *errors_b)]
    first_b = len(errors_a)
    n_words: Counter[tuple[int, int]] = Counter()
    for segments in highlights(
        reports["reference"], reports["candidate"], items
    ).values():
        for segment in segments:
            of_a = [place for place in segment["errors"] if place < first_b]
            of_b = [place - first_b for place in segment["errors"] if place >= first_b]
            n = len(naming_words(segment["text"]))
            for pair in product(of_a, of_b):
                n_words[pair] += n
    return n_words


def rater_disagreements(studies: RatedStudies) -> list[Disagreements]:
    """Return what each judge and each reader see differently, then each two judges.

    Raters whose errors cannot be paired are left out.
    """
    judges = [_rater_run(rater) for rater in studies.judges]
    readers = [_rater_run(rater) for rater in studies.readers]
    found = []
    for a, b in (*product(judges, readers), *combinations(judges, 2)):
        if not why_not_compared((a.run, b.run)):
            found.append(disagreements(a, b, studies.runs, studies.level))
    return found


def _rater_run(rater: Rater) -> RaterRun:
    return RaterRun(rater.name, rater.run, rater.lacks)


def judge_disagreements(compared: ComparedRuns) -> list[Disagreements]:
    """Return what each two runs see differently that judged the same reports.

    Runs of other reports, and those whose errors cannot be paired, are left out.
    """
    several = len({run.rubric for run in compared.runs}) > 1
    raters = []
    for run in compared.runs:
        name = run.model
        if several:
            name = f"{name} ({run.run.rubric.title})"
        raters.append(RaterRun(name, run.run, _lacks(run.run)))
    found = []
    for places in compared.aligned.same_texts():
        for a, b in combinations(places, 2):
            if not why_not_compared((raters[a].run, raters[b].run)):
                found.append(disagreements(raters[a], raters[b], compared.aligned))
    return found


def _lacks(run: RunFolder) -> Mapping[str, str]:
    if run.reading is None:
        return {}
    return run.reading.lacks
