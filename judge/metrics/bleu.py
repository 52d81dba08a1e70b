"""BLEU-2 of one pair of reports, as ReXrank computes it, without a download.

Reports are put in lower case, full stops split off, and cut at spaces. The score is the
geometric mean of the clipped precisions of single words and of pairs of words, times the
brevity penalty [Papineni et al. 2002]. ReXrank's pipeline takes it from fast-bleu with the
weights 1/2 and 1/2, whose tests hold it to NLTK's first smoothing: where no pair of words
matches, 0.1 stands in for the count of matches [Chen and Cherry 2014]. Where no word
matches the score is 0. Of a set of studies, ReXrank prints the mean of the studies' scores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

_EPSILON = 0.1


def bleu2(reference: str, candidate: str) -> float:
    """Return the BLEU-2 of a candidate, from 0 to 1."""
    wanted, given = tokens(reference), tokens(candidate)
    words, n_words = _matches(wanted, given, 1)
    if not words:
        return 0.0
    pairs, n_pairs = _matches(wanted, given, 2)
    precision = math.sqrt(words / n_words * (pairs or _EPSILON) / max(n_pairs, 1))
    brevity = min(1.0, math.exp(1 - len(wanted) / len(given)))
    return precision * brevity


def tokens(report: str) -> list[str]:
    """Return the words of a report as ReXrank's metric scripts cut it."""
    return [token for token in report.lower().replace(".", " .").split(" ") if token]


def _matches(wanted: Sequence[str], given: Sequence[str], n: int) -> tuple[int, int]:
    """Return how many n-grams of `given` are in `wanted`, each at most as often, of how many."""
    there, here = _grams(wanted, n), _grams(given, n)
    return (there & here).total(), here.total()


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))
