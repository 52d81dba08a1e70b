"""The contract of a rubric: its declarations, its reader of replies and its numbers.

Whatever prints, groups, tests, draws or serves works from these declarations. What a rubric
does not declare is shown nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import yaml

from judge.stats.statistic import Statistic, Where
from judge.types import (
    Annotation,
    Item,
    JudgeError,
    Measures,
    ReportComparison,
    Scale,
    Study,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from judge.rubrics.questions import Steps


@dataclass(frozen=True, slots=True)
class Source:
    """A published work, as an entry of a bibliography.

    `authors` are each "Family, Given", or a body's name in braces; with `is_longer` there are more.
    `fields` are further ones of BibTeX, such as `journal`, `doi` and `eprint` (of arXiv).
    """

    key: str
    kind: Literal["article", "book", "inproceedings", "misc"]
    title: str
    authors: Sequence[str]
    year: int
    fields: Mapping[str, str] = field(default_factory=dict)
    is_longer: bool = False

    @property
    def short(self) -> str:
        """Up to three authors and the year, as in "Chen and Cherry 2014"."""
        names = [name.partition(",")[0].strip("{}") for name in self.authors]
        if self.is_longer or len(names) > 3:
            return f"{names[0]} et al. {self.year}"
        *others, last = names
        if not others:
            return f"{last} {self.year}"
        return f"{', '.join(others)} and {last} {self.year}"

    @property
    def bibtex(self) -> str:
        """The entry for BibTeX; its title keeps its capitals in every style."""
        authors = list(self.authors)
        if self.is_longer:
            authors.append("others")
        fields = {
            "title": f"{{{self.title}}}",
            "author": " and ".join(authors),
            "year": str(self.year),
        }
        fields |= self.fields
        if "eprint" in fields:
            fields["archiveprefix"] = "arXiv"
        lines = [f"@{self.kind}{{{self.key},"]
        for name, value in fields.items():
            # A bare & is a column's end to TeX.
            lines.append(f"  {name} = {{{value}}},".replace("&", r"\&"))
        lines.append("}")
        return "\n".join(lines)


@lru_cache(1)
def _sources() -> dict[str, Source]:
    text = Path(__file__).with_name("sources.yaml").read_text("utf-8")
    works: dict[str, dict[str, Any]] = yaml.load(text, yaml.CSafeLoader)
    return {key: Source(key, **work) for key, work in works.items()}


def source(key: str) -> Source:
    """Return the work of sources.yaml with this key; raises KeyError."""
    return _sources()[key]


@dataclass(frozen=True, slots=True)
class Counted:
    """The items that a measure counts: those of a kind that carry all of the labels.

    An item with two values of a facet is counted for both.
    """

    kind: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a study, a column of the table of studies.

    `undefined` says in a few words when a study has none ("no fact in the candidate"); None for a
    measure that every scored study has. `role` is where it is shown: a `score` in lists, filters
    and histograms, a `count` in lists, a `check` with the scores of a single study, `other` in the
    table of studies. `needs` names what else than `counts` it is made of that a reader may not be
    asked for (`rubrics.derived`): a kind of items, a label, the `edit` of an item, the `reference`.
    """

    name: str
    label: str
    scale: Scale = (0, None)
    higher_is_better: bool = False
    role: Literal["score", "count", "check", "other"] = "other"
    unit: str = ""
    is_whole: bool = False
    undefined: str | None = None
    counts: Counted | None = None
    needs: tuple[str, ...] = ()

    def has(self, value: float) -> bool:
        """Whether a study can have this value."""
        low, high = self.scale
        # A plug-in's measure may give anything, NumPy's numbers among it.
        if not isinstance(value, (float, int, Real)) or not math.isfinite(value):
            return False
        if low is not None and value < low:
            return False
        if high is not None and value > high:
            return False
        return not self.is_whole or value % 1 == 0


@dataclass(frozen=True, slots=True)
class Order:
    """A measure that studies are sorted by, and whether its largest value comes first."""

    measure: str
    largest_first: bool


def sorted_by(*measures: str) -> tuple[Order, ...]:
    """Return the orders by these measures: smallest first, largest first with "-" before it."""
    return tuple(
        Order(name.lstrip("-"), largest_first=name[0] == "-") for name in measures
    )


Tone = Literal["good", "mild", "notable", "serious", "critical"]
"""How grave a label is: it decides the colour, and `serious` and worse are emphasised."""
TONES: tuple[Tone, ...] = get_args(Tone)
"""The tones, the gravest last."""
Meaning = Literal[
    "insignificant", "significant", "not actionable", "actionable", "urgent", "emergent"
]
"""The meaning of a level of errors, on a scale of two or of four."""


@dataclass(frozen=True, slots=True)
class Label:
    """One value of a facet; with a `modality`, a value that reports of that alone have.

    `tone` is None for a label that does not say how grave an item is. `means` is there for a level
    of errors: rubrics are compared by what their levels mean.
    """

    name: str
    label: str
    tone: Tone | None = None
    modality: str | None = None
    means: Meaning | None = None

    @property
    def is_grave(self) -> bool:
        """Whether it is emphasised."""
        return self.tone in ("serious", "critical")

    @property
    def weight(self) -> int:
        """How grave it is, the larger the graver; -1 for a label that does not say it."""
        if self.tone is None:
            return -1
        return TONES.index(self.tone)


PART_FACETS = {"judge": "said_by", "reference": "against"}
"""The facet that says which judge of a panel, or which reference, an item belongs to."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A question that an item's labels answer: its category, its severity, its verdict.

    With `has_codes` the names of its labels are printed before them, as a category's letter is.
    """

    name: str
    label: str
    plural: str
    labels: tuple[Label, ...]
    has_codes: bool = False

    def __getitem__(self, name: str) -> Label:
        """Return the label called `name`; raises KeyError where there is none."""
        return {label.name: label for label in self.labels}[name]

    def text(self, name: str) -> str:
        """Return the label called `name` as it is printed."""
        label = self[name]
        # A name that only spells the label, as that of a reader's own category, is no code.
        is_spelled = label.name == label.label.replace(" ", "_")
        if self.has_codes and not is_spelled:
            return f"({label.name}) {label.label}"
        return label.label


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of item, labelled by `facets`.

    `graded_by` is the facet that says how grave an item is; items of a kind without one are listed
    by their text alone. Where a judge states how many there are and lists none, `is_listed` is
    False.
    """

    name: str
    label: str
    plural: str
    facets: tuple[str, ...] = ()
    graded_by: str | None = None
    is_listed: bool = True


@dataclass(frozen=True, slots=True)
class Tally:
    """A table of how many items of a `kind` carry which labels of the facets `rows` and `columns`.

    The numbers are measures that count items with both labels, or the column's for all rows.
    """

    title: str
    kind: str
    rows: str
    columns: str


Parse = Callable[..., Annotation]
"""`parse(text, study, *, complete=False)`: the annotation that an answer expresses about a study.

It raises `UnparsedError` for an answer that cannot be read with certainty. `complete` says that the
judge reported to have ended by itself.
"""


@dataclass(frozen=True, slots=True)
class StructuredReply:
    """How a rubric whose answers are text is asked for a reply in its `reply_model`'s form."""

    prompt: str
    parse: Parse
    render: Callable[[Annotation], str]


@dataclass(frozen=True, slots=True)
class Rubric:
    """One way to judge a report, as a value.

    `version` changes whenever the same answer would give another number. `measure` is a pure
    function; it gives a value for each of the `measures`, None for one that is undefined for the
    study. `worst` is the order in which studies come that should be looked at first.

    What a rubric need not have: `render` writes an annotation as the answer a judge would give,
    `parse(render(x)) == x`, and raises ValueError for what none expresses. `baseline` makes an
    annotation of the findings of the built-in judge; it needs `render`. `editor` applies an
    annotation's edits to the candidate. `reply_model` gives the form of a reply that is JSON;
    `structured` is there where it can be either, and `parse`, `render` and `prompt` are then those
    of the text. `tally` is the table of its items. `steps` are there where a study takes several
    questions: `parse` and `render` are then of all answers together, `prompt` and `reply_model`
    those of one question. `takes_context` says that the judge is told the study's context.
    `on_scale` gives `parse` and `reply_model` for the scale that a prompt declares, `parse_for` the
    `parse` of answers to others' wording by the names of prompt and model, None where it is the
    usual. `sources` are the works that whoever reports its numbers cites.

    Raises ValueError for a declaration that would give a wrong number.
    """

    name: str
    version: int
    title: str
    summary: str
    prompt: str
    parse: Parse
    measure: Callable[[Annotation, Study], Measures]
    measures: tuple[Measure, ...]
    statistics: tuple[Statistic, ...]
    worst: tuple[Order, ...]
    kinds: tuple[Kind, ...] = ()
    facets: tuple[Facet, ...] = ()
    modality: str = "chest radiograph"
    takes_context: bool = False
    tally: Tally | None = None
    render: Callable[[Annotation], str] | None = None
    baseline: Callable[[ReportComparison, Study], Annotation] | None = None
    editor: Callable[[Annotation, Study], str] | None = None
    reply_model: Callable[[], type[BaseModel]] | None = None
    structured: StructuredReply | None = None
    steps: Steps | None = None
    on_scale: (
        Callable[[tuple[float, float]], tuple[Parse, Callable[[], type[BaseModel]]]]
        | None
    ) = None
    parse_for: Callable[[str, str], Parse | None] | None = None
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        for declared in (self.measures, self.statistics, self.kinds, self.facets):
            names = [declaration.name for declaration in declared]
            if len({*names}) < len(names):
                raise ValueError(
                    f"{self.name} declares a name twice: {', '.join(names)}"
                )
        scales: dict[tuple[str, ...], Scale] = {}
        for measure in self.measures:
            scales[measure.name,] = measure.scale
            counts = measure.counts
            if counts is None:
                continue
            labels = {facet: (label,) for facet, label in counts.labels.items()}
            wrong = self._undeclared(counts.kind, labels)
            if wrong is not None:  # it would count 0
                raise ValueError(f"{self.name}: {wrong}")
        for statistic in self.statistics:
            if statistic.has_own_scale:
                continue
            # A statistic of several measures has a scale of its own.
            scale = scales.get(statistic.measures, statistic.scale)
            if statistic.scale != scale:
                raise ValueError(
                    f"{self.name} declares {statistic.name!r} on another scale than it has"
                )

    def measured(self, annotation: Annotation, study: Study) -> Measures:
        """Return the numbers of a study; raises `JudgeError` for undeclared ones."""
        measures = self.measure(annotation, study)
        wrong = self._wrong(annotation, measures)
        if wrong:
            shown = f"as study {study.study_id!r} shows: {wrong}; update its package"
            raise JudgeError(f"the rubric {self.name} is wrong, {shown}")
        return measures

    def _wrong(self, annotation: Annotation, measures: object) -> str | None:
        if not isinstance(measures, Mapping):
            return f"measure() gives {measures!r:.80}, which is no mapping"
        declared = {measure.name for measure in self.measures}
        odd = measures.keys() ^ declared
        if odd:
            return f"measure() and the declared measures differ in {', '.join(sorted(odd))}"
        for measure in self.measures:
            value = measures[measure.name]
            if value is None:
                if measure.undefined is None:
                    return f"{measure.name} is None, and is declared never undefined"
            elif not measure.has(value):
                return f"{measure.name} cannot be {value}"
        for item in annotation.items:
            fault = self.item_fault(item.kind, item.labels)
            if fault is not None:
                return fault
        return None

    def item_fault(self, kind: str, labels: Mapping[str, Sequence[str]]) -> str | None:
        """Return why an item does not fit the declarations, None for one that does."""
        wrong = self._undeclared(kind, labels)
        if wrong:
            return wrong
        known = self.kind(kind)
        if known.graded_by is None:
            return None
        grades = labels.get(known.graded_by, ())
        if len(grades) != 1:
            return f"one {known.label} has no {known.graded_by}"
        return None

    def _undeclared(self, kind: str, labels: Mapping[str, Sequence[str]]) -> str | None:
        known = next((one for one in self.kinds if one.name == kind), None)
        if known is None:
            return f"{self.title} has no {kind!r}"
        for facet, values in labels.items():
            if facet not in known.facets:
                return f"{self.title} has no {facet!r} of one {known.label}"
            declared = {label.name for label in self.facet(facet).labels}
            odd = set(values) - declared
            if odd:
                return f"{self.title} has no {facet} {min(odd)!r}"
        return None

    def facet(self, name: str) -> Facet:
        """Return the facet called `name`; raises KeyError where there is none."""
        return {facet.name: facet for facet in self.facets}[name]

    def kind(self, name: str) -> Kind:
        """Return the kind called `name`; raises KeyError where there is none."""
        return {kind.name: kind for kind in self.kinds}[name]

    @property
    def graded(self) -> tuple[Kind, ...]:
        """The kinds whose items are listed and graded: numbered, marked and reviewed."""
        return tuple(
            kind for kind in self.kinds if kind.graded_by is not None and kind.is_listed
        )

    def grade(self, item: Item) -> Label:
        """Return how grave an item is; raises KeyError for one that is not graded."""
        graded_by = self.kind(item.kind).graded_by or ""
        return self.facet(graded_by)[item.label(graded_by)]

    @property
    def grades(self) -> Facet | None:
        """The facet that grades items, of the first kind that is graded, listed or not."""
        for kind in self.kinds:
            if kind.graded_by is not None:
                return self.facet(kind.graded_by)
        return None

    @property
    def codes(self) -> Facet | None:
        """The facet whose values are listed for each study: the rows of the tally."""
        if self.tally is None:
            return None
        return self.facet(self.tally.rows)

    def with_role(self, *roles: str) -> tuple[Measure, ...]:
        """Return the measures that have one of the roles, in their order."""
        return tuple(measure for measure in self.measures if measure.role in roles)

    def shown(self, where: Where) -> tuple[Statistic, ...]:
        """Return the statistics that are printed there, in their order."""
        return tuple(
            statistic for statistic in self.statistics if where in statistic.shown
        )

    def counting(self, kind: str, labels: Mapping[str, str]) -> tuple[Measure, ...]:
        """Return the measures whose sum counts the items of a kind with all of the labels.

        Those that have exactly these facets, else those that have the fewest more.
        """
        by_n_labels: dict[int, list[Measure]] = {}
        for measure in self.measures:
            counts = measure.counts
            if counts is None or counts.kind != kind:
                continue
            if labels.items() <= counts.labels.items():
                by_n_labels.setdefault(len(counts.labels), []).append(measure)
        if not by_n_labels:
            return ()
        return tuple(by_n_labels[min(by_n_labels)])
