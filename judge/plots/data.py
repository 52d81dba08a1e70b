"""What the figures show, as plain data: one class a kind of figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judge.rubrics.contract import Tone
from judge.stats.rates import Estimate
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
    """A rubric's rates of models, a panel a study class; or of changes, a panel a judge.

    `axis` says of which studies they are the share. A line stands above each row in `breaks`; the
    field of the rows in `marked` is shaded. A panel may lack the last series.
    """

    models: tuple[str, ...]
    labels: tuple[str, ...]
    axis: str
    panels: tuple[RatesPanel, ...]
    breaks: tuple[int, ...] = ()
    marked: tuple[int, ...] = ()


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


@dataclass(frozen=True, slots=True)
class ForestPanel:
    """How judges agree with the readers on one quantity: an estimate a row, None where undefined.

    `ceiling` is how readers agree among themselves: the mean, the least and the greatest of
    theirs; None where none has one. `n` as in `RatesPanel`.
    """

    title: str
    n: tuple[int, int]
    rows: tuple[Estimate | None, ...]
    ceiling: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class Forest:
    """A coefficient of agreement of judges, and of scores, with the readers; a panel a quantity."""

    coefficient: str
    rows: tuple[str, ...]
    panels: tuple[ForestPanel, ...]


@dataclass(frozen=True, slots=True)
class PointsPanel:
    """A judge's studies, a point each, moved so that equal ones can be seen.

    `levels` are drawn across with their intervals, the first one solid; `said` stands above.
    """

    title: str
    said: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    levels: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """Counts of judges beside those of readers, a panel a judge, all on one scale.

    `is_square` where both axes are counts of the same thing: the panels are square, and a line
    says where they are equal; elsewhere it says where nothing differs.
    """

    quantity: str
    across: str
    down: str
    panels: tuple[PointsPanel, ...]
    is_square: bool


Data = Rates | Errors | Ranks | Matrix | Boxes | Forest | Points


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure to draw: the stem of its files, its title, what it shows, and its data."""

    name: str
    title: str
    caption: str
    data: Data


@dataclass(frozen=True, slots=True)
class Plan:
    """The figures to draw, and one line for each that cannot be drawn, with the reason.

    `of` is what they are of, `signature` and `notes` are its own, and `names` are lists of the
    names that stand in the figures, in their order, by what they are of.
    """

    of: str
    drawings: tuple[Drawing, ...]
    left_out: tuple[str, ...]
    signature: str
    notes: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
