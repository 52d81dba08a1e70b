"""One number of a set of studies: its kinds, each a class that knows all that is done with it.

A rubric declares statistics, and whatever summarises, compares, tests, corrects, prints or draws
asks the class: how a study's value is made of its measures, the estimate with its interval, its
value in resamples. A new kind is a class of its own, in whatever module declares it: a subclass of
`Statistic` says `study_values`, `estimate`, `resampled` and what it is called; one that is a
function of sums over studies (`OfSums`), or of the mean of their values (`OfMean`), inherits more.

numpy is loaded when something is computed, since the command line reads the declarations of all
rubrics.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from judge.types import Scale

if TYPE_CHECKING:
    import pandas as pd

    from judge.stats.estimate import Estimate
    from judge.stats.intervals import Codes, Draws, Values

Where = Literal["head", "groups", "compare"]
EVERYWHERE: frozenset[Where] = frozenset(("head", "groups", "compare"))
"""Where a statistic is printed: of a run, of its groups, where models are compared."""


@dataclass(frozen=True, slots=True)
class Statistic(ABC):
    """One number of a set of studies, made of one value of each study.

    A study's value is made of its `measures`. Studies of which a measure is undefined are in no
    part of the number, and are counted beside it. `scale` has the least and the greatest value of a
    study, None for no such end; the whole is None where it is unknown.

    `label` is short; `definition` says what it is where other rubrics' statistics stand beside
    it. `study_label` is what it says of one study. `shown` is where it is printed: at the `head`
    of a run, for each of the `groups`, and where models are compared (`compare`). `rexrank` is
    the column of ReXrank's result tables that it fills. `clause` says the number in the methods
    section, with `{figure}` in its place: "the mean severity sum was {figure}"; what stands beside
    the number follows in brackets. Without it the clause is made of the definition, or the label.
    """

    name: str
    label: str
    _: KW_ONLY
    measures: tuple[str, ...]
    higher_is_better: bool
    scale: Scale | None = (0, None)
    definition: str | None = None
    study_label: str | None = None
    shown: frozenset[Where] = frozenset({"groups", "compare"})
    rexrank: str | None = None
    clause: str | None = None

    kind: ClassVar[str]
    """What it is called in files."""
    is_share: ClassVar[bool] = False
    """Whether a study's value is 1 or 0 and the number their mean: a percentage, k of n studies,
    which McNemar's test compares."""
    is_resampled: ClassVar[bool] = False
    """Whether its own interval is by bootstrap, so that seed and resamples are said beside it."""
    may_lack: ClassVar[bool] = False
    """Whether a set of scored studies, or a resample of it, may have no such number."""
    is_reversed: ClassVar[bool] = False
    """Whether it falls as the values of the studies rise."""
    has_own_scale: ClassVar[bool] = False
    """Whether `scale` is that of the number, not that of a measure."""
    interval_words: ClassVar[str]
    """How its interval is made, for the methods section: `for rates by Wilson's score method`."""
    interval_sources: ClassVar[tuple[str, ...]] = ()
    """The works that stand for it there, by their keys in `rubrics/sources.yaml`."""

    @abstractmethod
    def study_values(
        self, columns: Mapping[str, Values]
    ) -> tuple[Values, Values | None]:
        """Return each study's value, and what it is divided by where that is another number.

        `columns` has each measure by name, one value a study; NaN where it is undefined for the
        study, and so is then the value.
        """

    @abstractmethod
    def estimate(
        self, values: Values, per: Values | None, units: Codes | None, draws: Draws
    ) -> Estimate:
        """Return the number of these studies with its 95% interval.

        `values` has one value a study, none of them NaN, `per` what they are divided by. `units`
        has the number of each study's patient, None where studies are independent. `draws` are
        those of a bootstrap.
        """

    @abstractmethod
    def resampled(
        self, values: Values, per: Values | None, units: Codes, weights: Values
    ) -> Values:
        """Return the number in each resample, resamples by models; NaN where there is none.

        `values` (and `per`) are studies by models; a study that is NaN is left out for the model.
        `weights` says how often each unit is drawn, resamples by units.
        """

    @property
    @abstractmethod
    def formula(self) -> str:
        """How it is made of the measures, for the documentation: "mean of `n_errors`"."""

    @property
    def ends(self) -> Scale:
        """The least and the greatest value of a study, which worst cases take.

        None for no such end, and for both where no single value of a study is the worst.
        """
        return self.scale or (None, None)

    @property
    def study_higher_is_better(self) -> bool:
        """Whether a higher value of a study is better."""
        return self.higher_is_better != self.is_reversed

    @property
    def bare(self) -> Self:
        """The statistic without what it is made of: two of the same number are then equal."""
        return replace(self, measures=())

    def bounds(self, estimate: Estimate, n_more: int) -> tuple[float, float] | None:  # noqa: ARG002
        """Return its least and its greatest value if `n_more` studies were at one end of the scale.

        None where nothing is known of that, or there is no further study.
        """
        return None

    def difference_ends(
        self,
        ends: tuple[float, float],  # noqa: ARG002
        sides: tuple[float, float],  # noqa: ARG002
    ) -> tuple[float, float] | None:
        """Return the interval of a difference of two `sides` from that of the values' sums.

        `ends` are those of the difference of two means, or ratios, the first less the second. None
        where they say nothing of the number.
        """
        return None

    def linearised(
        self,
        ratio: Values,  # noqa: ARG002
        influence: Values,  # noqa: ARG002
    ) -> tuple[Values, Values] | None:
        """Return the number and each unit's influence on it, from those of a ratio of two sums.

        None where it is no function of sums.
        """
        return None

    def of_table(
        self,
        scored: pd.DataFrame,
        units: Codes | None = None,
        draws: Draws | None = None,
    ) -> Estimate:
        """Return the number of the scored studies of a table, which has a column for each measure.

        `units` has the number of each study's patient; `draws` are by default the usual ones.
        """
        import numpy as np

        from judge.stats.intervals import USUAL_DRAWS

        columns = {}
        for name in self.columns:
            columns[name] = scored[name].to_numpy(dtype=float, na_value=math.nan)
        values, per = self.study_values(columns)
        is_defined = ~np.isnan(values)
        if per is not None:
            per = per[is_defined]
        if units is not None:
            units = units[is_defined]
        estimate = self.estimate(
            values[is_defined],
            per,
            units=units,
            draws=draws or USUAL_DRAWS,
        )
        return replace(estimate, n_undefined=int((~is_defined).sum()))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all measures that it needs."""
        return self.measures


@dataclass(frozen=True, slots=True)
class OfSums(Statistic):
    """A function of the ratio of two sums over studies; the second may count the studies."""

    def study_values(
        self, columns: Mapping[str, Values]
    ) -> tuple[Values, Values | None]:
        """Return the sum of the measures of each study."""
        return sum_of(columns, self.measures), None

    def resampled(
        self, values: Values, per: Values | None, units: Codes, weights: Values
    ) -> Values:
        """Return it for each resample, as weights times sums: one product for all resamples."""
        import numpy as np

        from judge.stats.intervals import unit_sums

        if per is None:
            # Without a divisor the studies are counted that have a value.
            per = np.where(np.isnan(values), 0.0, 1.0)
        numerators = weights @ unit_sums(values, units)
        denominators = weights @ unit_sums(per, units)
        undefined = np.full_like(numerators, np.nan)
        has_ratio = denominators > 0
        ratios = np.divide(numerators, denominators, out=undefined, where=has_ratio)
        return self.of_ratios(np.asarray(ratios))

    def of_ratios(self, ratios: Values) -> Values:
        """Return the number for each ratio of the two sums."""
        return ratios

    def difference_ends(
        self,
        ends: tuple[float, float],
        sides: tuple[float, float],  # noqa: ARG002
    ) -> tuple[float, float] | None:
        """Return the ends as they are."""
        return ends

    def linearised(
        self, ratio: Values, influence: Values
    ) -> tuple[Values, Values] | None:
        """Return both as they are."""
        return ratio, influence


@dataclass(frozen=True, slots=True)
class OfMean(OfSums):
    """A function of the mean of the studies' values: it can be corrected by readings."""

    interval_words: ClassVar[str] = (
        "for means on the logit or logarithmic scale or, where all studies were at one end of the "
        "scale, by Wilson's score method"
    )
    interval_sources: ClassVar[tuple[str, ...]] = ("wilson1927probable",)

    def estimate(
        self,
        values: Values,
        per: Values | None,  # noqa: ARG002
        units: Codes | None,
        draws: Draws,  # noqa: ARG002
    ) -> Estimate:
        """Return it with the interval of the mean (`mean_interval`)."""
        from judge.stats.intervals import mean_interval

        return self.of_mean(mean_interval(values, self.scale, units))

    def of_mean(self, mean: Estimate) -> Estimate:
        """Return the number, with its interval, from the mean and its interval."""
        return mean

    def bounds(self, estimate: Estimate, n_more: int) -> tuple[float, float] | None:
        """Return the least and the greatest value with `n_more` studies at an end of the scale.

        None without such studies, without a value, and for a scale without an end.
        """
        low, high = self.ends
        if not n_more or low is None or high is None:
            return None
        if estimate.n is None or estimate.value is None:
            return None
        return self._bounds(estimate.n, estimate.value, n_more, (low, high))

    def _bounds(
        self, n: int, value: float, n_more: int, ends: tuple[float, float]
    ) -> tuple[float, float] | None:
        low, high = ends
        total = n * value
        n_all = n + n_more
        least = (total + n_more * low) / n_all
        most = (total + n_more * high) / n_all
        return least, most


@dataclass(frozen=True, slots=True)
class Mean(OfMean):
    """The mean over the studies of the sum of the `measures`.

    Its interval stays on the `scale`, which has to hold all values of the measure.
    """

    kind: ClassVar[str] = "mean"

    @property
    def formula(self) -> str:
        """How it is made of the measures."""
        return f"mean of {_words(self.measures)}"


@dataclass(frozen=True, slots=True)
class InverseMean(OfMean):
    """1 / the mean over the studies of the sum of the `measures`; undefined for a mean of 0."""

    kind: ClassVar[str] = "inverse"
    is_reversed: ClassVar[bool] = True
    may_lack: ClassVar[bool] = True

    @property
    def formula(self) -> str:
        """How it is made of the measures."""
        return f"1 / mean of {_words(self.measures)}"

    def of_mean(self, mean: Estimate) -> Estimate:
        """Return 1 / the mean, with the interval of `inverse`."""
        from judge.stats.intervals import inverse

        return inverse(mean, self.scale)

    def of_ratios(self, ratios: Values) -> Values:
        """Return 1 / each mean; NaN for one of 0 or less."""
        import numpy as np

        undefined = np.full_like(ratios, np.nan)
        return np.asarray(np.divide(1, ratios, out=undefined, where=ratios > 0))

    def _bounds(
        self, n: int, value: float, n_more: int, ends: tuple[float, float]
    ) -> tuple[float, float] | None:
        low, high = ends
        # A mean of 0 or less has no reciprocal.
        if low <= 0:
            return None
        total = n * (1 / value)
        n_all = n + n_more
        least_mean = (total + n_more * low) / n_all
        greatest_mean = (total + n_more * high) / n_all
        return 1 / greatest_mean, 1 / least_mean

    def difference_ends(
        self, ends: tuple[float, float], sides: tuple[float, float]
    ) -> tuple[float, float] | None:
        """Return the interval of a difference of reciprocals from that of the means' difference.

        `sides` are the two reciprocals. The middle of the two means is taken as it is.
        """
        first, second = sides
        middle = (1 / first + 1 / second) / 2
        # One of the two means would be 0 or less, and have no reciprocal.
        if max(map(abs, ends)) >= 2 * middle:
            return None
        low_of_means, high_of_means = ends
        # Reciprocals fall as means rise: the ends change places.
        low = 1 / (middle + high_of_means / 2) - 1 / (middle - high_of_means / 2)
        high = 1 / (middle + low_of_means / 2) - 1 / (middle - low_of_means / 2)
        return low, high

    def linearised(
        self, ratio: Values, influence: Values
    ) -> tuple[Values, Values] | None:
        """Return 1 / the mean, whose influence is that of the mean over minus its square."""
        import numpy as np

        mean = np.where(ratio > 0, ratio, np.nan)
        square = mean[:, None] ** 2
        return 1 / mean, -influence / square


@dataclass(frozen=True, slots=True)
class Rate(OfMean):
    """The share of the studies of which all the `measures` are 0; it has Wilson's interval."""

    scale: Scale | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "rate"
    is_share: ClassVar[bool] = True
    has_own_scale: ClassVar[bool] = True
    interval_words: ClassVar[str] = "for rates by Wilson's score method"

    @property
    def formula(self) -> str:
        """How it is made of the measures."""
        return f"share of studies in which {_words(self.measures)} is 0"

    @property
    def ends(self) -> Scale:
        """0 for a study that does not count, 1 for one that does."""
        return (0.0, 1.0)

    def study_values(
        self, columns: Mapping[str, Values]
    ) -> tuple[Values, Values | None]:
        """Return 1 for a study of which all measures are 0, and 0 for the others."""
        import numpy as np

        # Absolute values are added, so that measures of both signs do not cancel.
        sizes = {name: np.abs(column) for name, column in columns.items()}
        total = sum_of(sizes, self.measures)
        return np.where(np.isnan(total), np.nan, total == 0), None

    def estimate(
        self,
        values: Values,
        per: Values | None,  # noqa: ARG002
        units: Codes | None,
        draws: Draws,  # noqa: ARG002
    ) -> Estimate:
        """Return the share of the studies whose value is 1 (`rate_interval`)."""
        from judge.stats.intervals import rate_interval

        return rate_interval(values == 1, units)


@dataclass(frozen=True, slots=True)
class Ratio(OfSums):
    """The sum of the `measures` over all studies divided by that of `per`, with a bootstrap.

    The `scale` is that of the ratio.
    """

    per: tuple[str, ...] = field(default=(), kw_only=True)

    kind: ClassVar[str] = "ratio"
    is_resampled: ClassVar[bool] = True
    may_lack: ClassVar[bool] = True
    has_own_scale: ClassVar[bool] = True
    interval_words: ClassVar[str] = "for ratios by a bootstrap"
    interval_sources: ClassVar[tuple[str, ...]] = ("efron1993bootstrap",)

    @property
    def formula(self) -> str:
        """How it is made of the measures."""
        return f"sum of {_words(self.measures)} / sum of {_words(self.per)}"

    @property
    def ends(self) -> Scale:
        """None: how much a study would count is unknown."""
        return (None, None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all measures that it needs."""
        return (*self.measures, *self.per)

    @property
    def bare(self) -> Self:
        """The statistic without what it is made of."""
        return replace(self, measures=(), per=())

    def study_values(
        self, columns: Mapping[str, Values]
    ) -> tuple[Values, Values | None]:
        """Return numerator and denominator of each study; both NaN where one is undefined."""
        import numpy as np

        numerators = sum_of(columns, self.measures)
        denominators = sum_of(columns, self.per)
        is_undefined = np.isnan(numerators) | np.isnan(denominators)
        numerators = np.where(is_undefined, np.nan, numerators)
        denominators = np.where(is_undefined, np.nan, denominators)
        return numerators, denominators

    def estimate(
        self, values: Values, per: Values | None, units: Codes | None, draws: Draws
    ) -> Estimate:
        """Return the ratio of the two sums (`ratio_interval`)."""
        from judge.stats.intervals import ratio_interval

        if per is None:
            raise ValueError(f"{self.name} has nothing to divide by")
        return ratio_interval(values, per, units, draws)


def _words(measures: tuple[str, ...]) -> str:
    return " + ".join(f"`{name}`" for name in measures)


def sum_of(columns: Mapping[str, Values], names: Iterable[str]) -> Values:
    """Return each study's sum over the named columns, NaN where one of them is undefined."""
    import numpy as np

    total: Values = np.sum([columns[name] for name in names], axis=0)
    return total
