"""Figures of a set of studies computed from sums of counts: corpus BLEU, micro and macro F1.

The counts of studies add up, so a subset or a resample has its figure without computing a metric
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    Codes,
    Draws,
    Values,
    bootstrap_estimate,
    unit_sums,
    units_of,
)
from judge.stats.metric import Metric
from judge.stats.statistic import Statistic

_ORDERS = (1, 2, 3, 4)
CHEXBERT = (
    "Enlarged Cardiomediastinum",
    "Cardiomegaly",
    "Lung Opacity",
    "Lung Lesion",
    "Edema",
    "Consolidation",
    "Pneumonia",
    "Atelectasis",
    "Pneumothorax",
    "Pleural Effusion",
    "Pleural Other",
    "Fracture",
    "Support Devices",
    "No Finding",
)
"""CheXbert's labels, in its order [Smit et al. 2020]."""

_FIVE = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")


@dataclass(frozen=True, slots=True)
class OfCounts(Statistic):
    """A number computed from the sums of several counts, its `measures`, over the studies.

    `compute` takes sums, with the counts as last axis, and returns the numbers, NaN for undefined.
    """

    compute: Callable[[Values], Values] = field(kw_only=True)

    kind: ClassVar[str] = "mean"
    is_resampled: ClassVar[bool] = True
    may_lack: ClassVar[bool] = True
    has_own_scale: ClassVar[bool] = True
    interval_words: ClassVar[str] = "for figures of counts by a bootstrap"

    @property
    def metric(self) -> Metric:
        """The number as a metric of the tables."""
        return Metric(
            name=self.name, label=self.label, statistic=self, study_label=self.label
        )

    @property
    def formula(self) -> str:
        """How it is made of the counts."""
        return f"of the sums of {', '.join(f'`{name}`' for name in self.measures)}"

    def study_values(
        self, columns: Mapping[str, Values]
    ) -> tuple[Values, Values | None]:
        """Return the counts of each study, studies by counts."""
        return np.stack([columns[name] for name in self.measures], axis=1), None

    def estimate(
        self,
        values: Values,
        per: Values | None,  # noqa: ARG002
        units: Codes | None,
        draws: Draws,
    ) -> Estimate:
        """Return the number of `values`, studies by counts, with a 95% bootstrap interval.

        There is no interval for fewer than ten studies, or patients, and if more than 1% of the
        resamples have no number.
        """
        n_studies = len(values)
        sums = unit_sums(values, units_of(units, n_studies))
        return bootstrap_estimate(sums, self.compute, n_studies, draws=draws)

    def resampled(
        self,
        values: Values,
        per: Values | None,  # noqa: ARG002
        units: Codes,
        weights: Values,
    ) -> Values:
        """Return the number of one model in each resample; `values` is studies by counts."""
        return self.compute(weights @ unit_sums(values, units))[:, None]


def count_name(count: str, label: str) -> str:
    """Return the column of a label's `tp`, `fp` or `fn`, such as `chexbert_tp_lung_opacity`."""
    return f"chexbert_{count}_{label.lower().replace(' ', '_')}"


def _share(above: Values, below: Values, *, of_none: float) -> Values:
    none = np.full(np.shape(above), of_none)
    shares: Values = np.divide(above, below, out=none, where=below > 0)
    return shares


def _bleu(sums: Values) -> Values:
    """Return BLEU [Papineni et al. 2002] without smoothing; 0 if some order has no match.

    The columns are the clipped matches of n-grams, the numbers of n-grams, and the words of the
    references. The figure is NaN if there is no n-gram of some order.
    """
    matches, totals = np.split(sums[..., :-1], 2, axis=-1)
    shares = _share(matches, totals, of_none=np.nan)
    with np.errstate(divide="ignore"):
        precision = np.exp(np.log(shares).mean(axis=-1))
    # The words of the references by those of the candidates.
    ratio = _share(sums[..., -1], totals[..., 0], of_none=np.nan)
    brevity = np.exp(np.minimum(0.0, 1 - ratio))
    bleu: Values = precision * brevity
    return bleu


def _f1(sums: Values) -> Values:
    tp, fp, fn = np.split(sums, 3, axis=-1)
    return _share(2 * tp, 2 * tp + fp + fn, of_none=0.0)


def _macro(sums: Values) -> Values:
    return np.asarray(_f1(sums).mean(axis=-1))


def _micro(sums: Values) -> Values:
    tp, fp, fn = np.split(sums, 3, axis=-1)
    over_labels = [tp.sum(axis=-1), fp.sum(axis=-1), fn.sum(axis=-1)]
    f1 = _f1(np.stack(over_labels, axis=-1))
    return f1[..., 0]


def _of_counts(
    name: str,
    label: str,
    columns: tuple[str, ...],
    compute: Callable[[Values], Values],
) -> OfCounts:
    """Return a number of counts from 0 to 1, of which more is better."""
    return OfCounts(
        name,
        label,
        measures=columns,
        higher_is_better=True,
        scale=(0, 1),
        compute=compute,
    )


def _corpus_bleu(n: int) -> OfCounts:
    matches = [f"bleu_matches_{order}" for order in _ORDERS[:n]]
    ngrams = [f"bleu_ngrams_{order}" for order in _ORDERS[:n]]
    columns = (*matches, *ngrams, "bleu_reference_words")
    return _of_counts(f"corpus_bleu{n}", f"BLEU-{n} (corpus)", columns, _bleu)


def _f1_chexbert(name: str, labels: Sequence[str], average: str) -> OfCounts:
    columns: list[str] = []
    for count in ("tp", "fp", "fn"):
        columns += [count_name(count, label) for label in labels]
    label = f"F1-CheXbert {len(labels)} {average}"
    compute = _micro
    if average == "macro":
        compute = _macro
    return _of_counts(f"f1chexbert_{name}_{average}", label, tuple(columns), compute)


CORPUS_BLEU = tuple(map(_corpus_bleu, _ORDERS))
F1_CHEXBERT = (
    _f1_chexbert("5", _FIVE, "micro"),
    _f1_chexbert("5", _FIVE, "macro"),
    _f1_chexbert("all", CHEXBERT, "micro"),
    _f1_chexbert("all", CHEXBERT, "macro"),
)
COLUMNS = frozenset[str]().union(
    *(figure.measures for figure in (*CORPUS_BLEU, *F1_CHEXBERT))
)
"""All columns of counts; a count by itself is no metric."""
