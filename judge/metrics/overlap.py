"""ROUGE-L, and the counts of corpus BLEU, by their libraries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from judge.metrics.pooled import CORPUS_BLEU

_N = len(CORPUS_BLEU)
_LETTER = re.compile(r"[^\W_]")
_LATIN = re.compile(r"[a-z0-9]", re.IGNORECASE | re.ASCII)


def rouge_l(references: Sequence[str], candidates: Sequence[str]) -> tuple[float, ...]:
    """Return the ROUGE-L of each candidate, from 0 to 1, as RRG24 and RadEval compute it.

    By rouge-score, with stems, of the whole report as one text [Lin 2004].
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = zip(references, candidates, strict=True)
    return tuple(scorer.score(*pair)["rougeL"].fmeasure for pair in pairs)


def unread_by_rouge(texts: Iterable[str]) -> int:
    """Return how many texts are mostly in other letters than a to z, with or without accents."""
    return sum(map(_is_unread, texts))


def _is_unread(text: str) -> bool:
    if not _LATIN.search(text):
        return bool(_LETTER.search(text))
    letters = [char for char in text if char.isalpha()]
    n_other = sum(
        not (char.isascii() or _LATIN.match(unicodedata.normalize("NFKD", char)))
        for char in letters
    )
    return 2 * n_other > len(letters)


def corpus_bleu(
    references: Sequence[str], candidates: Sequence[str]
) -> dict[str, tuple[float, ...]]:
    """Return the counts of each pair for corpus BLEU, with the tokens of RRG24."""
    from sacrebleu.metrics.bleu import BLEU

    scorer = BLEU(tokenize="none", force=True, max_ngram_order=_N, effective_order=True)
    rows = []
    for reference, candidate in zip(references, candidates, strict=True):
        score = scorer.sentence_score(candidate, [reference])
        rows.append((*score.counts, *score.totals, score.ref_len))
    columns = zip(*rows, strict=True)
    named = zip(CORPUS_BLEU[-1].columns, columns, strict=True)
    return {name: tuple(map(float, values)) for name, values in named}
