"""Figures of a set of studies computed from sums of counts: corpus BLEU, micro and macro F1.

The counts of studies add up, so a subset or a resample has its figure without computing a metric
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge.stats.intervals import (
    USUAL_DRAWS,
    Codes,
    Draws,
    Values,
    bootstrap_estimate,
    unit_sums,
    units_of,
)
from judge.stats.metric import Metric
from judge.stats.scores import Cell

_ORDERS = (1, 2, 3, 4)
CHEXBERT = (
    *(
        "Enlarged Cardiomediastinum",
        "Cardiomegaly",
        "Lung Opacity",
        "Lung Lesion",
        "Edema",
    ),
    *("Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices", "No Finding"),
)
"""CheXbert's labels, in its order [Smit et al. 2020]."""

_FIVE = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")


@dataclass(frozen=True, slots=True)
class Pooled:
    """A figure computed from the sums of `columns`, from 0 to 1; more is better.

    `compute` takes sums, with the columns as last axis, and returns the figures, NaN for undefined.
    """

    name: str
    label: str
    columns: tuple[str, ...]
    compute: Callable[[Values], Values]

    @property
    def metric(self) -> Metric:
        """The figure as a metric of the tables."""
        return Metric(self.name, self.label, "mean", True, self.label, scale=(0, 1))  # noqa: FBT003


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
    longer = _share(sums[..., -1], totals[..., 0], of_none=np.nan)
    bleu: Values = precision * np.exp(np.minimum(0.0, 1 - longer))
    return bleu


def _f1(sums: Values) -> Values:
    tp, fp, fn = np.split(sums, 3, axis=-1)
    return _share(2 * tp, 2 * tp + fp + fn, of_none=0.0)


def _macro(sums: Values) -> Values:
    return np.asarray(_f1(sums).mean(axis=-1))


def _micro(sums: Values) -> Values:
    whole = np.stack(
        [part.sum(axis=-1) for part in np.split(sums, 3, axis=-1)], axis=-1
    )
    return _f1(whole)[..., 0]


def _corpus_bleu(n: int) -> Pooled:
    counts = [
        f"bleu_{count}_{order}"
        for count in ("matches", "ngrams")
        for order in _ORDERS[:n]
    ]
    columns = (*counts, "bleu_reference_words")
    return Pooled(f"corpus_bleu{n}", f"BLEU-{n} (corpus)", columns, _bleu)


def _f1_chexbert(name: str, labels: Sequence[str], average: str) -> Pooled:
    columns = tuple(
        count_name(count, label) for count in ("tp", "fp", "fn") for label in labels
    )
    label = f"F1-CheXbert {len(labels)} {average}"
    compute = _macro if average == "macro" else _micro
    return Pooled(f"f1chexbert_{name}_{average}", label, columns, compute)


CORPUS_BLEU = tuple(map(_corpus_bleu, _ORDERS))
F1_CHEXBERT = tuple(
    _f1_chexbert(name, labels, average)
    for name, labels in (("5", _FIVE), ("all", CHEXBERT))
    for average in ("micro", "macro")
)
COLUMNS = frozenset(
    column for figure in (*CORPUS_BLEU, *F1_CHEXBERT) for column in figure.columns
)
"""All columns of counts; a count by itself is no metric."""


def pooled_cell(
    figure: Pooled,
    counts: Mapping[str, Values],
    rows: Sequence[int],
    units: Codes | None = None,
    draws: Draws = USUAL_DRAWS,
) -> Cell:
    """Return the figure of some studies with a 95% bootstrap interval.

    Patients are drawn where `units` has the number of each study's patient. There is no interval
    for fewer than ten studies, or patients, and if more than 1% of the resamples have no figure.
    """
    table = np.stack([counts[name] for name in figure.columns], axis=1)[rows]
    sums = unit_sums(table, units_of(units, len(table)))
    pooled = bootstrap_estimate(sums, figure.compute, len(table), draws=draws)
    return Cell(pooled.n, None, pooled.value, pooled.low, pooled.high, None)
