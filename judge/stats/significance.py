"""Models compared on the same studies: paired tests, ranks and correlations.

Means: an interval of the difference from the paired bootstrap, and a p-value by a sign-flip
permutation test: the sign of each patient's difference is flipped at random [Noreen 1989]. Its null
hypothesis is that the differences are symmetric about 0; a studentised statistic would order the
flips alike, since flips leave the squares as they are. Rates: the interval of Agresti and Min and
McNemar's test with the mid-p value, or the same as means where a patient has several studies.
Where interval and p-value disagree about 0 the interval is that of the inverted test.

Everything is computed from additive sums: a model's figure on a resample is weights times sums.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from judge import rubrics
from judge.stats.correlation import Correlations, correlations
from judge.stats.intervals import (
    LEAST_UNITS,
    MOST_UNDEFINED,
    USUAL_DRAWS,
    Z_95,
    Bools,
    Codes,
    Draws,
    Values,
    bootstrap_weights,
    generator,
    interval,
    n_different,
    sign_flips,
    unit_sums,
    units_of,
)
from judge.stats.metric import Metric, find
from judge.stats.scores import (
    ROUNDING,
    Group,
    ItemCounts,
    RankShares,
    ScoreMatrix,
    canonical,
    group_figures,
    item_counts,
    parts_of,
    rank_shares,
    round_mantissa,
)
from judge.types import JudgeError

Method = Literal["sign-flip permutation test", "mcnemar mid-p"]
IntervalMethod = Literal["paired bootstrap", "wald", "inverted test"]
Family = Literal["groups", "table", "metric", "all"]

ALPHA = 0.05
FLIPS = 10_000
"""The flips of every test, where the user names no number."""

FLIPS_A_TEST = 200
"""How many flips there are for each test of a family: the least p-value times the number of tests,
which is Holm's first step, is then 0.005."""

_FEW_REACHED = 100
"""A test that fewer of the first flips reach has a p-value below 0.01: more flips make it exact."""

_MOST_WORK = 1.4e12
"""The most multiplications of signs and sums in all tables of a comparison: a minute on two cores.
"""

_SIGN_WORK, _LACKING_WORK, _PAIR_WORK = 75, 3.3, 46
"""What a sign, a product of a study that a model lacks, and a sum compared with the observed one
cost, in multiplications (measured, `bench/bench_tests.py`)."""

Pairs = tuple[Codes, Codes]
"""The number of the first and of the second model of each pair, the first before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTest:
    """The test of one pair of models, `a` before `b` in the panel.

    `n` studies of `n_units` patients (or studies) were scored for both, and `difference` is a's
    figure minus b's on these. `low` and `high` are its 95% interval, made as `interval_by` says;
    None for fewer than ten units and where no resample differs. `p_holm` is `p` corrected for all
    tests of its family; both are None for fewer than two units.
    """

    a: int
    b: int
    n: int
    n_units: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    interval_by: IntervalMethod | None = None
    p: float | None = None
    p_holm: float | None = None
    method: Method = "sign-flip permutation test"

    @property
    def is_significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm is not None and self.p_holm < ALPHA

    @property
    def contradicts(self) -> bool:
        """Whether the interval leaves 0 out and `p` is 0.05 or more, or the other way round."""
        if self.low is None or self.high is None or self.p is None:
            return False
        leaves_0_out = self.low > 0 or self.high < 0
        is_below_alpha = self.p < ALPHA
        return leaves_0_out != is_below_alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How often to resample, from which seed, and which tests are corrected together.

    `flips` is the number of sign flips of each test. By default it is 10,000; a test that few of
    them reach then has `refined_flips`, 200 for each test that it is corrected with, as far as all
    flips take about a minute. A comparison sets `refined_flips`.

    `resamples` None is the usual number of `Draws`.

    `family` names the tests whose p-values Holm's method corrects together:

    - `groups`: those of all studies, and those of all groups of studies. Where there are groups
      each of the two families has half of the 5%, so that the chance of any false claim in the
      comparison is 5% at most.
    - `table`: all metrics and pairs of one group of studies.
    - `metric`: all pairs of one metric in one group of studies.
    - `all`: all tests of the comparison.

    `primary` is a metric, by name or label, that was chosen before the numbers were seen. Its tests
    are families of their own; those of the other metrics are called secondary.
    """

    seed: int = USUAL_DRAWS.seed
    resamples: int | None = None
    flips: int | None = None
    family: Family = "groups"
    primary: str | None = None
    refined_flips: int | None = None

    def role(self, metric: str) -> Literal["primary", "secondary"] | None:
        """Return whether a metric is primary or secondary, None where no metric is primary."""
        if self.primary is None:
            return None
        if metric == self.primary:
            return "primary"
        return "secondary"

    @property
    def draws(self) -> Draws:
        """What of it a bootstrap needs."""
        return Draws(self.seed, self.resamples)

    def of(self, n_units: int) -> Resampling:
        """Return it with the number of resamples for a set of so many patients or studies."""
        return replace(self, resamples=self.draws.count(n_units))


@dataclass(frozen=True)
class GroupTests:
    """All tests of one group of studies: for each metric the pairs, and how sure the ranks are.

    The rank shares are None for fewer than two units, and where a reciprocal or a ratio has no
    value in more than 1% of the resamples; up to that these are left out.
    """

    pairs: Mapping[str, tuple[PairTest, ...]]
    rank_shares: Mapping[str, tuple[RankShares | None, ...]]


@dataclass(frozen=True)
class Comparison:
    """A leaderboard with its tests.

    `order` lists the models' numbers in the panel, best first by the metric `sort`; those
    without a figure come last. `groups` begins with all studies, then has the groups of each
    grouping in `by`, such as `site`, or `site,study_class` for the pairs of two fields.
    `tests` and `rank_shares` have one entry a group, by metric; they are empty where no tests
    were asked for.
    """

    panel: ScoreMatrix
    sort: str
    order: tuple[int, ...]
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    tests: tuple[Mapping[str, tuple[PairTest, ...]], ...]
    rank_shares: tuple[Mapping[str, tuple[RankShares | None, ...]], ...]
    correlations: Correlations | None
    how: Resampling | None
    signature: str
    notes: tuple[str, ...] = ()

    @cached_property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The studies of each of the `groups`, in their order."""
        return tuple(part for _, part in parts_of(self.panel, self.by))

    @cached_property
    def errors(self) -> tuple[Mapping[str, Sequence[ItemCounts]], ...]:
        """The items of each model by category and level: for each of the `groups`, by rubric."""
        return tuple(_items_by_rubric(part) for part in self.parts)

    @property
    def sorted_by(self) -> Metric:
        """The metric that the models are ranked by."""
        return self.panel.metric(self.sort)

    @property
    def correction(self) -> str:
        """What Holm's method corrects for, empty where there is one test or none."""
        if self.how is None or not self.tests:
            return ""
        family, primary = self.how.family, self.how.primary
        sizes = _family_sizes(self.tests, self.how)
        n = max(sizes.values(), default=0)
        if n < 2:
            return ""
        has_groups = len(self.tests) > 1
        if family == "metric":
            tests = f"the pairs of each metric in a table, up to {n:,}"
        elif family == "all":
            tests = f"all tests of all tables, {n:,}"
        elif family == "groups" and has_groups:
            tests = (
                "all tests of all studies, and for those of all groups together, "
                f"up to {n:,}, each at half of 5%"
            )
        else:
            tests = f"all tests of a table, up to {n:,}"
        text = f"p (Holm) is corrected for {tests}"
        if primary is not None:
            label = self.panel.metric(primary).label
            text += (
                f"; the primary metric, {label}, by itself, the secondary ones together"
            )
        return text


def _items_by_rubric(panel: ScoreMatrix) -> dict[str, Sequence[ItemCounts]]:
    return {name: item_counts(panel, rubrics.load(name)) for name in panel.tallies}


Track = Callable[[Iterable[GroupTests], int], Iterable[GroupTests]]
"""Passes results on as they come, such as a progress bar; the number is how many will come."""


def compare(
    panel: ScoreMatrix,
    *,
    sort: str | None = None,
    by: Sequence[str] = (),
    how: Resampling | None = None,
    signature: str = "",
    notes: Sequence[str] = (),
    track: Track = lambda tested, _n: tested,
) -> Comparison:
    """Compare the models of `panel`, ranked by `sort`, a metric's name or label.

    The default is the primary metric, else the first that the most models have. Without
    `how` nothing is tested. `track` is given the groups' tests as they end, and how many there
    will be. Raises `JudgeError` for an unknown metric or field, and where no study
    is left to compare.
    """
    if not panel.study_ids:
        raise JudgeError("no study to compare")
    parts = parts_of(panel, by)
    if how is not None:
        tables = [part for _, part in parts]
        how = plan(panel.metrics, tables, how.of(panel.n_units))
    # An unknown metric is said before anything takes time.
    sorted_by = None
    if sort is not None:
        sorted_by = find(panel.metrics, sort)
    elif how is not None and how.primary is not None:
        sorted_by = panel.metric(how.primary)
    groups = tuple(group_figures(part, key) for key, part in parts)
    if sorted_by is None:
        sorted_by = _most_common(panel.metrics, groups[0])
    all_notes = list(notes)
    if panel.is_clustered:
        note = f"intervals of single figures are by {panel.patient_field}"
        all_notes.append(note)
    results: list[GroupTests] = []
    if how is not None:
        tested = (_test_table(part, key, how) for key, part in parts)
        tracked = track(tested, len(parts))
        results = _corrected(list(tracked), how)
        all_notes += _test_notes([result.pairs for result in results], how)
    scores = [metric for metric in panel.metrics if metric.what in ("score", "other")]
    correlated = None
    if len(scores) > 1:
        correlated = correlations(panel)
    return Comparison(
        panel=panel,
        sort=sorted_by.name,
        order=model_order(groups[0], sorted_by.name),
        by=tuple(dict.fromkeys(by)),
        groups=groups,
        tests=tuple(result.pairs for result in results),
        rank_shares=tuple(result.rank_shares for result in results),
        correlations=correlated,
        how=how,
        signature=signature,
        notes=tuple(all_notes),
    )


def _most_common(metrics: Sequence[Metric], group: Group) -> Metric:
    """Return the first of the metrics of which the most models have a figure."""

    def n_models(metric: Metric) -> int:
        estimates = group.estimates[metric.name]
        return sum(estimate.value is not None for estimate in estimates)

    return max(metrics, key=n_models)


def model_order(group: Group, metric: str) -> tuple[int, ...]:
    """Return the models' numbers by their rank in a group, those without one last."""
    ranks = group.ranks[metric]
    models = range(len(ranks))
    last = len(ranks) + 1
    return tuple(sorted(models, key=lambda model: ranks[model] or last))


def plan(
    metrics: Sequence[Metric], tables: Sequence[ScoreMatrix], how: Resampling
) -> Resampling:
    """Return `how` with the name of the primary metric and the numbers of flips.

    `tables` are the studies of each table. Raises `JudgeError` for an unknown metric, and for a
    primary one where each metric is corrected by itself anyway.
    """
    if how.primary is not None:
        if how.family == "metric":
            raise JudgeError(
                "with a primary metric the others are corrected together: leave out the family "
                "metric, which corrects each metric by itself"
            )
        how = replace(how, primary=find(metrics, how.primary).name)
    if how.flips is not None:
        return how
    n_models = len(tables[0].models)
    n_pairs = n_models * (n_models - 1) // 2
    sizes: Counter[tuple[object, ...]] = Counter()
    for index in range(len(tables)):
        for metric in metrics:
            sizes[_family_of(index, metric.name, how)] += n_pairs
    # A p-value is compared with its share of the 5%, so each of the shares needs as many flips.
    largest = max(sizes.values(), default=0)
    refined = FLIPS_A_TEST * largest * _n_shares(len(tables), how)
    work = sum(_flip_work(metrics, table, n_pairs) for table in tables)
    if work:
        refined = min(refined, int(_MOST_WORK / work))
    if refined <= FLIPS:
        return replace(how, flips=FLIPS)
    # Rounded, since a number of flips is printed and quoted.
    return replace(how, flips=FLIPS, refined_flips=round(refined, -3))


def _flip_work(metrics: Sequence[Metric], table: ScoreMatrix, n_pairs: int) -> float:
    """Return what a flip of all units of a table costs, in multiplications."""
    by_flips = [metric for metric in metrics if _is_by_flips(metric, table)]
    if not by_flips:
        return 0.0
    n_models = len(table.models)
    n_metrics = len(by_flips)
    n_missing = 0
    for metric in by_flips:
        n_missing += int(np.isnan(table.values[metric.name]).sum())
    signs_and_sums = table.n_units * (_SIGN_WORK + n_metrics * n_models)
    lacking = n_missing * n_models * _LACKING_WORK
    pairs = n_metrics * n_pairs * _PAIR_WORK
    return signs_and_sums + lacking + pairs


def _is_by_flips(metric: Metric, table: ScoreMatrix) -> bool:
    """Return whether a metric is tested by sign flips: all but rates of independent studies."""
    return not metric.is_share or table.is_clustered


def _family_of(table: int, metric: str, how: Resampling) -> tuple[object, ...]:
    """Return the key of the family of a metric's tests in a table, numbered from 0."""
    role = how.role(metric)
    if how.family == "metric":
        return table, metric
    if how.family == "table":
        return table, role
    if how.family == "groups":
        return table > 0, role
    return (role,)


def _n_shares(n_tables: int, how: Resampling) -> int:
    """Return among how many families the 5% is shared."""
    has_groups = n_tables > 1
    if how.family == "groups" and has_groups:
        return 2
    return 1


def _family_sizes(
    tables: Sequence[Mapping[str, Sequence[PairTest]]], how: Resampling
) -> Counter[tuple[object, ...]]:
    sizes: Counter[tuple[object, ...]] = Counter()
    for index, pairs in enumerate(tables):
        for name, tests in pairs.items():
            family = _family_of(index, name, how)
            sizes[family] += sum(test.p is not None for test in tests)
    return sizes


def _corrected(results: Sequence[GroupTests], how: Resampling) -> list[GroupTests]:
    """Return the tables' tests with their p-values corrected, family by family."""
    # A test by its table, its metric and its pair.
    families: dict[tuple[object, ...], dict[tuple[int, str, int], float | None]] = {}
    for index, result in enumerate(results):
        for name, tests in result.pairs.items():
            family = families.setdefault(_family_of(index, name, how), {})
            for pair, test in enumerate(tests):
                family[index, name, pair] = test.p
    n_shares = _n_shares(len(results), how)
    p_holm: dict[tuple[int, str, int], float | None] = {}
    for family in families.values():
        corrected = holm(list(family.values()))
        for key, p in zip(family, corrected, strict=True):
            if p is None:
                p_holm[key] = None
            else:
                p_holm[key] = min(1.0, n_shares * p)
    tables = []
    for index, result in enumerate(results):
        pairs = {}
        for name, tests in result.pairs.items():
            pairs[name] = tuple(
                replace(test, p_holm=p_holm[index, name, pair])
                for pair, test in enumerate(tests)
            )
        tables.append(replace(result, pairs=pairs))
    return tables


def _test_notes(
    tables: Sequence[Mapping[str, Sequence[PairTest]]], how: Resampling
) -> list[str]:
    notes = []
    largest = max(_family_sizes(tables, how).values(), default=0)
    n = largest * _n_shares(len(tables), how)
    flips = how.refined_flips or how.flips or FLIPS
    # Holm's first step multiplies the least p-value by the number of tests.
    if n / (1 + flips) >= ALPHA:
        notes.append(
            f"{flips:,} flips are too few for {n:,} tests: none by sign flips can be significant "
            f"after Holm's correction. Name a --primary metric, compare fewer groups, or give "
            f"--flips {round(n / ALPHA)}"
        )
    every: list[PairTest] = []
    for pairs in tables:
        for tests in pairs.values():
            every += tests
    n_inverted = sum(test.interval_by == "inverted test" for test in every)
    if n_inverted:
        notes.append(
            f"intervals of {n_inverted:,} of {len(every):,} differences are those of the inverted "
            "test, since the usual ones disagree with p or have no value"
        )
    return notes


def compare_pairs(
    panel: ScoreMatrix, key: Mapping[str, object], how: Resampling
) -> GroupTests:
    """Test every pair of models by every metric on the studies of `panel`, as one table.

    One set of resamples serves all metrics and models, so differences are paired. `key` names the
    group, from which the random numbers come: they do not depend on which other groups there are.
    Neither the order of the studies nor the names of their ids change a number.
    """
    how = plan(panel.metrics, [panel], how)
    return _corrected([_test_table(panel, key, how)], how)[0]


def _test_table(
    panel: ScoreMatrix, key: Mapping[str, object], how: Resampling
) -> GroupTests:
    """Return the tests of a table, with p-values that are not yet corrected."""
    panel = canonical(panel)
    units = units_of(panel.clusters, len(panel.study_ids))
    n_units = int(units.max()) + 1
    pairs = np.triu_indices(len(panel.models), k=1)
    firsts, seconds = pairs
    rng = generator(how.seed, "bootstrap", key)
    draws = bootstrap_weights(rng, n_units, how.draws.count(n_units))
    # The first row is the studies as they are.
    weights = np.concatenate([np.ones((1, n_units)), *draws])
    flip_tests = {}
    for metric in panel.metrics:
        if _is_by_flips(metric, panel):
            flip_tests[metric.name] = _FlipTest.of(panel, metric, units, pairs)
    p_values = _flip_p_values(flip_tests, pairs, n_units, key, how)
    by_metric: dict[str, tuple[PairTest, ...]] = {}
    shares: dict[str, tuple[RankShares | None, ...]] = {}
    for metric in panel.metrics:
        values = panel.values[metric.name]
        is_scored = ~np.isnan(values)
        in_both = is_scored[:, firsts] & is_scored[:, seconds]
        resampled = partial(
            _resampled,
            panel=panel,
            metric=metric,
            units=units,
            weights=weights,
        )
        of_models = resampled(slice(None), among=is_scored)
        of_first = resampled(firsts, among=in_both)
        of_second = resampled(seconds, among=in_both)
        # Equal but for rounding is equal: such a resample must not count for either model.
        is_equal = round_mantissa(of_first) == round_mantissa(of_second)
        differences = np.where(is_equal, 0.0, of_first - of_second)
        tests = []
        for pair, (a, b) in enumerate(np.transpose(pairs).tolist()):
            rows = in_both[:, pair]
            test = PairTest(
                a=a,
                b=b,
                n=int(rows.sum()),
                n_units=n_different(units[rows]),
            )
            if metric.name in p_values:
                p = float(p_values[metric.name][pair])
                test = _by_flips(test, differences[:, pair], p)
            else:
                first_counts = values[rows, a] == 1
                second_counts = values[rows, b] == 1
                test = _by_discordance(test, first_counts, second_counts)
            tests.append(test)
        if metric.name in flip_tests:
            tests = _inverted_where_needed(
                tests,
                flip_tests[metric.name],
                metric,
                figures=(of_first[0], of_second[0]),
                n_units=n_units,
                key=key,
                how=how,
            )
        by_metric[metric.name] = tuple(tests)
        has_score = is_scored.any(axis=1)
        shares[metric.name] = _rank_shares(
            metric,
            draws=of_models[1:],
            has_figure=np.asarray(is_scored.any(axis=0)),
            n_units=n_different(units[has_score]),
        )
    return GroupTests(by_metric, shares)


def _rank_shares(
    metric: Metric, draws: Values, has_figure: Bools, n_units: int
) -> tuple[RankShares | None, ...]:
    """Return how sure the ranks are; `draws` is resamples by models."""
    none: tuple[RankShares | None, ...] = (None,) * int(draws.shape[1])
    if n_units < 2:
        return none
    if metric.statistic.may_lack:
        is_undefined = np.isnan(draws[:, has_figure]).any(axis=1)
        if is_undefined.mean() > MOST_UNDEFINED:
            return none
        draws = draws[~is_undefined]
    return rank_shares(draws, higher=metric.higher_is_better)


def _resampled(
    models: Codes | slice,
    *,
    among: Bools,
    panel: ScoreMatrix,
    metric: Metric,
    units: Codes,
    weights: Values,
) -> Values:
    """Return the figures of models, or of the sides of pairs, resamples by models.

    They are of the studies that are `among` those of the model, or pair. NaN is not defined.
    """
    values = panel.values[metric.name][:, models]
    denominators = None
    per = panel.per.get(metric.name)
    if per is not None:
        denominators = np.where(among, per[:, models], np.nan)
    return metric.statistic.resampled(
        np.where(among, values, np.nan),
        denominators,
        units=units,
        weights=weights,
    )


def _by_flips(test: PairTest, differences: Values, p: float) -> PairTest:
    """Return the test with the difference, its bootstrap interval and its p-value."""
    observed, drawn = differences[0], differences[1:]
    if np.isnan(observed):
        return test
    test = replace(test, difference=float(observed))
    if test.n_units > 1:
        test = replace(test, p=p)
    low, high, _ = interval(drawn, test.n_units)
    if low is None:
        return test
    return replace(test, low=low, high=high, interval_by="paired bootstrap")


def _by_discordance(test: PairTest, first: Bools, second: Bools) -> PairTest:
    """Return the test of two rates, by the studies that one model alone counts."""
    test = replace(test, method="mcnemar mid-p")
    if not test.n:
        return test
    b = int((first & ~second).sum())
    c = int((second & ~first).sum())
    test = replace(test, difference=(b - c) / test.n)
    if test.n_units > 1:
        test = replace(test, p=mcnemar(b, c))
    if test.n_units < LEAST_UNITS:
        return test
    low, high = rate_difference(test.n, b, c)
    test = replace(test, low=low, high=high, interval_by="wald")
    if test.contradicts:
        low, high = inverted_mcnemar(test.n, b, c)
        test = replace(test, low=low, high=high, interval_by="inverted test")
    return test


def mcnemar(b: int, c: int) -> float:
    """Return McNemar's mid-p value of two models' rates.

    b and c count the studies, scored for both, that one model alone counts. Two-sided
    mid-p = 2 P(X < min(b, c)) + P(X = min(b, c)) with X binomial(b + c, 1/2), and where b is c
    1 - P(X = b) / 2; 1 where b + c is 0 [Fagerland, Lydersen and Laake 2013].
    """
    # Takes a quarter of a second to import (`scipy.stats` three), for those who compare only.
    from scipy.special import bdtr

    n = b + c
    least = min(b, c)
    if n == 0:
        return 1.0
    below = 0.0
    if least:
        below = float(bdtr(least - 1, n, 0.5))
    up_to = float(bdtr(least, n, 0.5))
    if b == c:
        exactly = up_to - below
        return 1 - exactly / 2
    # 2 P(X < least) + P(X = least) = P(X <= least) + P(X <= least - 1)
    return min(1.0, up_to + below)


def rate_difference(n: float, b: float, c: float) -> tuple[float, float]:
    """Return the 95% interval of a difference (b - c) / n of paired rates.

    Wald's with half a study more in each cell [Agresti and Min 2005]: where few studies differ a
    bootstrap of them is far too narrow.
    """
    # Four cells with half a study more each.
    n += 2
    difference = (b - c) / n
    variance = b + c + 1 - (b - c) ** 2 / n
    half = Z_95 * math.sqrt(variance) / n
    low = max(difference - half, -1.0)
    high = min(difference + half, 1.0)
    return low, high


def inverted_mcnemar(n: int, b: int, c: int) -> tuple[float, float]:
    """Return the 95% interval of (b - c) / n that holds what McNemar's mid-p test does not reject.

    The test takes b as binomial(b + c, share). The ends of the share are where the one-sided mid-p
    values are 2.5%, P(X > b) + P(X = b) / 2 and the same from below; a share is turned into the
    difference (2 share - 1) (b + c) / n [Fagerland, Lydersen and Laake 2014]. 0 is within the
    interval where `mcnemar` is 0.05 or more.
    """
    discordant = b + c
    if not discordant:
        return 0.0, 0.0
    low_share = _mid_p_share(b, discordant)
    high_share = 1 - _mid_p_share(c, discordant)
    low = (2 * low_share - 1) * discordant / n
    high = (2 * high_share - 1) * discordant / n
    return low, high


def _mid_p_share(k: int, n: int) -> float:
    """Return the share at which k of n or more, k itself by half, has the probability 2.5%."""
    from scipy.special import bdtr, bdtrc

    if k == 0:
        return 0.0

    def at_least(share: float) -> float:
        more = bdtrc(k, n, share)
        exactly = bdtr(k, n, share) - bdtr(k - 1, n, share)
        return float(more + exactly / 2)

    low, high = 0.0, 1.0
    # Halved until the ends are equal as floats go.
    for _ in range(60):
        middle = (low + high) / 2
        if at_least(middle) < ALPHA / 2:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p-values corrected for their number, step down [Holm 1979].

    Those that are None are no tests: they stay None and do not count.
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for n_done, (p, index) in enumerate(known):
        n_left = len(known) - n_done
        # No test has a smaller corrected p-value than one whose p-value is smaller.
        largest = max(largest, min(1.0, n_left * p))
        corrected[index] = largest
    return corrected


@dataclass(frozen=True, kw_only=True)
class _FlipTest:
    """What the signs of units are multiplied with, to test the pairs of one metric.

    The statistic is the sum of the differences. Of a reciprocal it is that of its mean, whose null
    hypothesis is the same, and of a ratio the sums of numerator - R x denominator, where R is the
    ratio over all models: for two models whose labels are exchangeable its expected difference is
    0, for any R.

    The sum of a pair is the difference of two models' sums, `by_model`, units by models, less what
    a model adds on the studies that the other lacks. `lacking` has, for each model that lacks some,
    its number, the units of these studies and the sums of all models over them. `observed` is the
    absolute sum of each pair, less what sums in another order may differ by. `values` are the
    studies' values, studies by models, and `sizes` what a difference of 1 in the figures adds to a
    study's difference.
    """

    by_model: Values
    lacking: Sequence[tuple[int, Codes, Values]]
    observed: Values
    values: Values
    sizes: Values
    units: Codes
    pairs: Pairs

    @classmethod
    def of(
        cls, panel: ScoreMatrix, metric: Metric, units: Codes, pairs: Pairs
    ) -> _FlipTest:
        """Make the test of a metric."""
        values = panel.values[metric.name]
        sizes = np.ones_like(values)
        per = panel.per.get(metric.name)
        if per is not None:
            denominator = np.nansum(per)
            # R, the ratio over all models.
            overall = 0.0
            if denominator:
                overall = np.nansum(values) / denominator
            values = values - overall * per
            sizes = per
        lacking = []
        for model, is_missing in enumerate(np.isnan(values).T):
            # No pair of a model without any value is tested.
            if is_missing.any() and not is_missing.all():
                unit_numbers, within = np.unique(units[is_missing], return_inverse=True)
                sums = unit_sums(values[is_missing], within)
                lacking.append((model, unit_numbers, sums))
        first, second = (values[:, side] for side in pairs)
        sums_of_pairs = np.nansum(first - second, axis=0)
        # Sums in another order must count as equal.
        near = ROUNDING * np.nansum(np.abs(first) + np.abs(second), axis=0)
        return cls(
            by_model=unit_sums(values, units),
            lacking=lacking,
            observed=np.abs(sums_of_pairs) - near,
            values=values,
            sizes=sizes,
            units=units,
            pairs=pairs,
        )

    def reached(self, signs: Values, of_models: Values, wanted: Codes) -> Codes:
        """Return how many flips reach the observed sum, for each of the `wanted` pairs.

        `of_models` is `signs` times `by_model`.
        """
        first, second = (side[wanted] for side in self.pairs)
        sums = of_models[:, first] - of_models[:, second]
        for model, units, by_model in self.lacking:
            without = signs[:, units] @ by_model
            # The studies that the second lacks are in the first's sum, and the other way round.
            is_first = first == model
            is_second = second == model
            sums[:, is_second] -= without[:, first[is_second]]
            sums[:, is_first] += without[:, second[is_first]]
        is_reached = np.abs(sums) >= self.observed[wanted]
        return np.asarray(is_reached.sum(axis=0))

    def of_pairs(self, wanted: Codes) -> tuple[Values, Values]:
        """Return the units' differences of the `wanted` pairs, and what one of 1 would add."""
        first, second = (side[wanted] for side in self.pairs)
        differences = self.values[:, first] - self.values[:, second]
        sizes = (self.sizes[:, first] + self.sizes[:, second]) / 2
        sizes = np.where(np.isnan(differences), 0.0, sizes)
        return unit_sums(differences, self.units), unit_sums(sizes, self.units)


def _flip_p_values(
    tests: Mapping[str, _FlipTest],
    pairs: Pairs,
    n_units: int,
    key: Mapping[str, object],
    how: Resampling,
) -> dict[str, Values]:
    """Return (1 + flips with at least the observed difference) / (1 + flips), which is never 0
    [Phipson and Smyth 2010].

    Where `how` has refined flips, a test that fewer than 100 of the first 10,000 reach has more, as
    in sequential tests [Besag and Clifford 1991]: the p-values below 0.01 are those of all flips.
    The chance of one of x or less, where models are equal, is x at most for any x.
    """
    n_pairs = len(pairs[0])
    if not tests or not n_pairs:
        return {name: np.empty(0) for name in tests}
    rng = generator(how.seed, "flips", key)
    first_flips = how.flips or FLIPS
    every = {name: np.arange(n_pairs) for name in tests}
    reached = _count_reached(tests, every, rng, n_units, first_flips)
    p_values: dict[str, Values] = {}
    few: dict[str, Codes] = {}
    for name, counts in reached.items():
        p_values[name] = (1 + counts) / (1 + first_flips)
        rarely_reached = np.flatnonzero(counts < _FEW_REACHED)
        if len(rarely_reached):
            few[name] = rarely_reached
    if how.refined_flips is None:
        return p_values
    refined = {name: tests[name] for name in few}
    more_flips = how.refined_flips - first_flips
    more = _count_reached(refined, few, rng, n_units, more_flips)
    for name, counts in more.items():
        rarely_reached = few[name]
        total = reached[name][rarely_reached] + counts
        p_values[name][rarely_reached] = (1 + total) / (1 + how.refined_flips)
    return p_values


def _count_reached(
    tests: Mapping[str, _FlipTest],
    wanted: Mapping[str, Codes],
    rng: np.random.Generator,
    n_units: int,
    flips: int,
) -> dict[str, Values]:
    """Return how many of the next flips reach the observed sums of each metric's wanted pairs."""
    reached = {name: np.zeros(len(wanted[name])) for name in tests}
    if not tests:
        return reached
    # One product for all metrics.
    by_model = np.hstack([test.by_model for test in tests.values()])
    n_models = by_model.shape[1] // len(tests)
    for signs in sign_flips(rng, n_units, flips):
        sums = signs @ by_model
        for index, (name, test) in enumerate(tests.items()):
            start = index * n_models
            of_models = sums[:, start : start + n_models]
            reached[name] += test.reached(signs, of_models, wanted[name])
    return reached


_INVERTED_AT_ONCE = 2_000_000
"""Flips times pairs whose sums are held at a time (32 MB)."""


def _inverted_where_needed(
    tests: Sequence[PairTest],
    flip_test: _FlipTest,
    metric: Metric,
    *,
    figures: tuple[Values, Values],
    n_units: int,
    key: Mapping[str, object],
    how: Resampling,
) -> list[PairTest]:
    """Return the tests, with the inverted test's interval where the bootstrap's is not to be used.

    That is where interval and p-value disagree about 0, and where too many resamples of a
    reciprocal or a ratio have no value. `figures` are those of the two sides of each pair.
    """
    may_lack = metric.statistic.may_lack
    first_figures, second_figures = figures
    wanted = []
    for pair, test in enumerate(tests):
        if test.contradicts or (may_lack and _lacks_interval(test)):
            wanted.append(pair)
    tests = list(tests)
    flips = how.flips or FLIPS
    at_once = max(1, _INVERTED_AT_ONCE // flips)
    for start in range(0, len(wanted), at_once):
        some = np.array(wanted[start : start + at_once])
        differences, sizes = flip_test.of_pairs(some)
        # The same flips as those of the p-values.
        rng = generator(how.seed, "flips", key)
        difference_chunks, size_chunks = [], []
        for signs in sign_flips(rng, n_units, flips):
            difference_chunks.append(signs @ differences)
            size_chunks.append(signs @ sizes)
        flipped = np.concatenate(difference_chunks)
        flipped_sizes = np.concatenate(size_chunks)
        for column, pair in enumerate(some.tolist()):
            ends = invert_flips(
                total=float(differences[:, column].sum()),
                size=float(sizes[:, column].sum()),
                flipped=flipped[:, column],
                flipped_sizes=flipped_sizes[:, column],
            )
            if ends is not None:
                # From the mean that the flips are of to the statistic, as to a reciprocal.
                sides = float(first_figures[pair]), float(second_figures[pair])
                ends = metric.statistic.difference_ends(ends, sides)
            tests[pair] = _with_inverted(tests[pair], ends)
    return tests


def _lacks_interval(test: PairTest) -> bool:
    """Return whether a test has no interval though models differ and there are enough units."""
    if test.low is not None or test.p is None:
        return False
    return test.difference not in (None, 0) and test.n_units >= LEAST_UNITS


def _with_inverted(test: PairTest, ends: tuple[float, float] | None) -> PairTest:
    """Return the test with the inverted test's interval, with none where it is not about it."""
    difference = test.difference
    assert difference is not None
    if ends is not None:
        low, high = ends
        if low <= difference <= high:
            return replace(test, low=low, high=high, interval_by="inverted test")
    return replace(test, low=None, high=None, interval_by=None)


def invert_flips(
    total: float, size: float, flipped: Values, flipped_sizes: Values
) -> tuple[float, float] | None:
    """Return the differences that the sign-flip test does not reject at 5%, or None.

    The units' differences add up to `total`, and to `flipped` with the signs of each flip; `size`
    and `flipped_sizes` are the same of what a difference of 1 would add (for a mean the units'
    numbers of studies). If the difference is x, the flip's sum is flipped - x flipped_size. It
    reaches the observed one from the smaller of two ratios on, that of the units whose signs are
    flipped and that of the others: the ends of the interval are order statistics of these
    [Hartigan 1969]. 0 is within it where p is 0.05 or more by the same flips.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        of_flipped = (total - flipped) / (size - flipped_sizes)
        of_others = (total + flipped) / (size + flipped_sizes)
    # Sums in another order must count as equal, so what is nearly 0 is 0.
    near = 0.0
    if size:
        every_total = np.concatenate([flipped, [total]])
        largest = float(np.abs(every_total).max())
        near = ROUNDING * largest / size
    least = np.minimum(of_flipped, of_others)
    most = np.maximum(of_flipped, of_others)
    least[np.abs(least) <= near] = 0
    most[np.abs(most) <= near] = 0
    # Where all signs are alike the flip reaches the observed sum whatever the difference is.
    none_flipped = size - flipped_sizes <= ROUNDING * size
    all_flipped = size + flipped_sizes <= ROUNDING * size
    is_always = none_flipped | all_flipped
    least[is_always] = -np.inf
    most[is_always] = np.inf
    # The least number of flips that must reach the sum for p, (1 + reached) / (1 + flips), of 5%.
    n = -(-(1 + len(flipped)) // 20) - 1
    if n < 1:
        return None
    low_place = n - 1
    high_place = len(most) - n
    low = float(np.partition(least, low_place)[low_place])
    high = float(np.partition(most, high_place)[high_place])
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    # Differences that are all the same do not prove that there is no spread.
    if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12):
        return None
    return low, high
