"""Figures of a set of studies that are no mean: each is a function of sums over the studies.

Corpus BLEU and micro or macro F1 are such. What a study gives is counts, which add up; so a part of
the studies, or a resample of them, has its own figure without anything being computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge.stats.bootstrap import Values, interval, resampled
from judge.stats.metric import Metric
from judge.stats.scores import Cell

_ORDERS = (1, 2, 3, 4)

CHEXBERT = (
    *("Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion", "Edema"),
    *("Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices", "No Finding"),
)
"""CheXbert's labels, in its order [Smit et al. 2020]."""

_FIVE = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")


@dataclass(frozen=True, slots=True)
class Pooled:
    """A figure made of the sums of some columns; more is better, from 0 to 1.

    `of` takes sums, with the columns last, and gives the figures, NaN where there is none.
    """

    name: str
    label: str
    columns: tuple[str, ...]
    of: Callable[[Values], Values]

    @property
    def metric(self) -> Metric:
        """The same as a column of a table."""
        return Metric(
            self.name,
            self.label,
            "mean",
            higher_is_better=True,
            study_label=self.label,
            study_higher_is_better=True,
            scale=(0, 1),
        )


def count_name(what: str, label: str) -> str:
    """Return the column of a label's `tp`, `fp` or `fn`, such as `chexbert_tp_lung_opacity`."""
    return f"chexbert_{what}_{label.lower().replace(' ', '_')}"


def _share(above: Values, below: Values, *, of_none: float) -> Values:
    none = np.full(np.shape(above), of_none)
    found: Values = np.divide(above, below, out=none, where=below > 0)
    return found


def _bleu(sums: Values) -> Values:
    """Return BLEU [Papineni et al. 2002] without smoothing; 0 where some order has no match.

    The columns are the clipped matches of n-grams, how many n-grams there are, and the words of
    the references. Where there is no n-gram of some order a share of them is none.
    """
    matches, totals = np.split(sums[..., :-1], 2, axis=-1)
    shares = _share(matches, totals, of_none=np.nan)
    with np.errstate(divide="ignore"):
        precision = np.exp(np.log(shares).mean(axis=-1))
    longer = _share(sums[..., -1], totals[..., 0], of_none=np.nan)
    found: Values = precision * np.exp(np.minimum(0.0, 1 - longer))
    return found


def _f1(sums: Values) -> Values:
    tp, fp, fn = np.split(sums, 3, axis=-1)
    return _share(2 * tp, 2 * tp + fp + fn, of_none=0.0)


def _macro(sums: Values) -> Values:
    return np.asarray(_f1(sums).mean(axis=-1))


def _micro(sums: Values) -> Values:
    whole = np.stack([part.sum(axis=-1) for part in np.split(sums, 3, axis=-1)], axis=-1)
    return _f1(whole)[..., 0]


def _corpus_bleu(n: int) -> Pooled:
    orders = _ORDERS[:n]
    columns = (
        *(f"bleu_matches_{order}" for order in orders),
        *(f"bleu_ngrams_{order}" for order in orders),
        "bleu_reference_words",
    )
    return Pooled(f"corpus_bleu{n}", f"BLEU-{n} (corpus)", columns, _bleu)


def _f1_chexbert(which: str, labels: Sequence[str], how: str) -> Pooled:
    columns = tuple(count_name(what, label) for what in ("tp", "fp", "fn") for label in labels)
    label = f"F1-CheXbert {len(labels)} {how}"
    return Pooled(f"f1chexbert_{which}_{how}", label, columns, _macro if how == "macro" else _micro)


CORPUS_BLEU = tuple(map(_corpus_bleu, _ORDERS))
F1_CHEXBERT = tuple(
    _f1_chexbert(which, labels, how)
    for which, labels in (("5", _FIVE), ("all", CHEXBERT))
    for how in ("micro", "macro")
)
COLUMNS = frozenset(column for figure in (*CORPUS_BLEU, *F1_CHEXBERT) for column in figure.columns)
"""All columns of counts, which are no metric by themselves."""


def pooled_cell(figure: Pooled, counts: Mapping[str, Values], rows: Sequence[int]) -> Cell:
    """Return the figure of some studies, with a 95% interval: a bootstrap of them.

    There is no figure for no study, and where it is undefined; no interval for fewer than ten
    studies, and where a draw has no figure.
    """
    table = np.stack([counts[name] for name in figure.columns], axis=1)[list(rows)]
    value = float(figure.of(table.sum(axis=0))) if len(table) else np.nan
    if np.isnan(value):
        return Cell(len(table), None, None, None, None, None)
    drawn = resampled(table, figure.of)
    low, high, _ = interval(drawn, len(table), most=0)
    return Cell(len(table), None, value, low, high, None)
