"""What the figures show, as plain data: one class a kind of figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from judge.rubrics.contract import Tone
from judge.stats.panel import Cell

Method = Literal["pearson", "spearman", "kendall"]


@dataclass(frozen=True, slots=True)
class RatesPanel:
    """The rates in one study class: for each series one cell a model.

    `n` is the least and the largest number of scored studies of a model.
    """

    title: str
    n: tuple[int, int]
    series: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """A rubric's rates of models, a panel a study class.

    `axis` says of which studies they are the share.
    """

    models: tuple[str, ...]
    labels: tuple[str, ...]
    axis: str
    panels: tuple[RatesPanel, ...]


@dataclass(frozen=True, slots=True)
class Ranks:
    """The rank of each model (a row) in each group (a column), None for n/a; 1 is the best.

    `group` is what a group is, a site or a data set, and `n` its number of studies.
    """

    metric: str
    group: str
    models: tuple[str, ...]
    groups: tuple[str, ...]
    n: tuple[int, ...]
    ranks: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Correlation of metrics, -1 to 1, None for n/a; `n` is the range of pairs of values.

    The label of a metric whose values are negated begins with a minus. `dataset` is the one that
    the values are of, None for all. A cell has at least `least` pairs.
    """

    method: Method
    dataset: str | None
    least: int
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    n: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Box:
    """A metric's values over `n` studies.

    Quartiles by linear interpolation; what the whiskers `low` and `high` are is said by the
    `Boxes`.
    """

    n: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float


@dataclass(frozen=True, slots=True)
class BoxesPanel:
    """The boxes of one data set, one a model, None for n/a; `n` as in `RatesPanel`."""

    title: str
    n: tuple[int, int]
    boxes: tuple[Box | None, ...]


@dataclass(frozen=True, slots=True)
class Boxes:
    """A metric's values per study, a panel a data set.

    The whiskers end at the 5th and the 95th percentile; of a metric that `is_few`, with
    few different values, at the least and the largest. `scale` is the whole scale of a
    metric that has bounds; `is_whole` where all values are whole numbers.
    """

    metric: str
    models: tuple[str, ...]
    panels: tuple[BoxesPanel, ...]
    scale: tuple[float, float] | None
    is_few: bool
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Level:
    """How grave an item is: its label, and the tone that decides its colour."""

    label: str
    tone: Tone | None


@dataclass(frozen=True, slots=True)
class ErrorsPanel:
    """The errors of one category, or all: a bar a model, None where no study was scored.

    A bar has one number a level: the mean over the model's scored studies.
    """

    title: str
    bars: tuple[tuple[float, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Errors:
    """A rubric's items per scored study, stacked by how grave they are, a panel a category.

    `items` names them ("errors"). The gravest level comes first. An item of two categories is in
    the panels of both, and once in `whole`. `n` as in `RatesPanel`.
    """

    items: str
    facet: str
    models: tuple[str, ...]
    levels: tuple[Level, ...]
    whole: ErrorsPanel
    panels: tuple[ErrorsPanel, ...]
    n: tuple[int, int]


Data = Rates | Errors | Ranks | Matrix | Boxes


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure to draw: the stem of its files, its title, what it shows, and its data."""

    name: str
    title: str
    caption: str
    data: Data


def name_lists(data: Data) -> dict[str, tuple[str, ...]]:
    """Return the lists of names that a figure shows, each in its order, by what they are of."""
    match data:
        case Rates() | Boxes():
            return {"models": data.models, "panels": tuple(panel.title for panel in data.panels)}
        case Ranks():
            return {"models": data.models, f"{data.group}s": data.groups}
        case Matrix():
            return {"metrics": data.labels}
        case Errors():
            return {"models": data.models, "panels": tuple(one.title for one in data.panels)}
