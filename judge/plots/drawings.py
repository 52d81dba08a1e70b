"""What is drawn: a figure's numbers and words, before any drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["pearson", "spearman", "kendall"]


@dataclass(frozen=True, slots=True)
class Point:
    """A rate with its interval, all between 0 and 1; the interval is None where undefined."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class RatesPanel:
    """The rates in one study class: for each series one point a model, None for n/a.

    `n` is the least and the largest number of scored studies of a model.
    """

    title: str
    n: tuple[int, int]
    series: tuple[tuple[Point | None, ...], ...]


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
    """The rank of each model (a row) at each site (a column), None for n/a; 1 is the best.

    `n` is the number of studies of each site.
    """

    metric: str
    models: tuple[str, ...]
    sites: tuple[str, ...]
    n: tuple[int, ...]
    ranks: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Correlation of metrics, -1 to 1, None for n/a; `n` is the range of pairs of values.

    The label of a metric whose values are negated begins with a minus.
    """

    method: Method
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


Data = Rates | Ranks | Matrix | Boxes


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
            return {"models": data.models, "sites": data.sites}
        case Matrix():
            return {"metrics": data.labels}
