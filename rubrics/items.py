"""What a judge writes down: kinds of item, and the facets whose labels each carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Tone = Literal["good", "mild", "notable", "serious", "critical"]
"""How grave a label is: it decides the colour, and `serious` and worse are emphasised."""


@dataclass(frozen=True, slots=True)
class Label:
    """One value of a facet; with a `modality`, a value that reports of that alone have.

    `tone` says how grave it is, by which it is coloured: `good`, `mild`, `notable`, `serious` or
    `critical`, of which the last two are emphasised; None for a label that says nothing of that.
    Raises ValueError for another.
    """

    name: str
    label: str
    tone: Tone | None = None
    modality: str | None = None

    def __post_init__(self) -> None:
        if self.tone is not None and self.tone not in get_args(Tone):
            tones = ", ".join(get_args(Tone))
            raise ValueError(f"the label {self.name!r} has the tone {self.tone!r}, none of {tones}")

    @property
    def is_grave(self) -> bool:
        """Whether it is emphasised."""
        return self.tone in ("serious", "critical")


@dataclass(frozen=True, slots=True)
class Facet:
    """A question that an item's labels answer: its category, its severity, its verdict.

    `plural` is the name of several values. `has_codes` says that the names of its labels are
    codes of the field's own, such as the letter of a category, which are printed before the
    label.
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
        is_code = self.has_codes and label.name != label.label.replace(" ", "_")
        return f"({label.name}) {label.label}" if is_code else label.label


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of item.

    `facets` are those that label it. `graded_by` is the one of them that says how grave an item
    is: it divides the list, colours the item and its words in the reports. Items of a kind that
    is not graded are listed by their text alone. Where a judge states how many there are and lists
    none, `is_listed` is False.
    """

    name: str
    label: str
    plural: str
    facets: tuple[str, ...] = ()
    graded_by: str | None = None
    is_listed: bool = True


@dataclass(frozen=True, slots=True)
class Tally:
    """A table of how many items carry which labels: the values of one facet by those of another.

    `rows` and `columns` are facets of the `kind`. The numbers are the measures that count the
    kind with both labels, and with the column's alone for the row of all.
    """

    title: str
    kind: str
    rows: str
    columns: str
