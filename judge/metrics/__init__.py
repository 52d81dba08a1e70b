"""Automatic metrics of each study: word overlap, the metrics of radeval, and those of plugins.

Metrics of ReXrank have its names and directions. BLEU-2 is computed here, ROUGE-L and corpus BLEU
by libraries (the extra `overlap`); the others are models whose weights `radeval` (the extra
`metrics`) downloads. A plugin adds a metric by an entry point of the group `judge.metrics` that
refers to an `AddedMetric`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.metrics.pooled import CORPUS_BLEU, F1_CHEXBERT, Pooled
from judge.plugins import METRICS, install
from judge.rubrics.contract import Scale
from judge.stats.metric import KNOWN, Metric
from judge.types import JudgeError

OVERLAP = ("bleu2", "rougel", "corpus_bleu")
"""Metrics of word overlap, which need no model."""

NAMES = (
    *OVERLAP,
    *("bertscore", "semb", "radgraph", "radcliq", "ratescore", "f1radgraph", "f1chexbert"),
)
"""All metrics but those of plugins; `judge.metrics.worker` computes those that need a model."""

_F1_RADGRAPH = tuple(KNOWN[f"radgraph_{level}"] for level in ("simple", "partial", "complete"))
_GROUPS: dict[str, tuple[str, tuple[Metric, ...], tuple[Pooled, ...]]] = {
    "corpus_bleu": ("corpus BLEU", (), CORPUS_BLEU),
    "f1radgraph": ("F1-RadGraph", _F1_RADGRAPH, ()),
    "f1chexbert": ("F1-CheXbert", (), F1_CHEXBERT),
}
"""Metrics computed together: a label, the metrics of studies, and the figures of sets."""

Columns = dict[str, tuple[float, ...]]
"""By name, a column with one value per study."""

_PACKAGES = {"rougel": ("rouge_score", "rouge-score"), "corpus_bleu": ("sacrebleu", "sacrebleu")}
_SHOWN = 300
_N = len(CORPUS_BLEU)
_LETTER = re.compile(r"[^\W_]")
_LATIN = re.compile(r"[a-z0-9]", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class AddedMetric:
    """A metric of a plugin; its column has the name of the entry point.

    `compute` takes n references and n candidates and returns n finite values. `scale` has the least
    and the greatest value of a study (None for no limit); it is None where they are unknown.
    """

    label: str
    compute: Callable[[Sequence[str], Sequence[str]], Sequence[float]]
    higher_is_better: bool
    scale: Scale | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """The columns of `metrics`, and of the counts from whose sums `figures` are computed."""

    columns: Columns
    metrics: tuple[Metric, ...]
    figures: tuple[Pooled, ...] = ()


class MissingMetricError(JudgeError):
    """A metric cannot be computed; the message has its name and the reason."""


def names() -> tuple[str, ...]:
    """Return the names of all metrics, those of plugins last."""
    return (*NAMES, *METRICS.names(NAMES))


def check(requested: Sequence[str]) -> tuple[str, ...]:
    """Return the requested names without duplicates; raises `JudgeError` for an unknown one."""
    unknown = [name for name in requested if name not in names()]
    if unknown:
        raise JudgeError(
            f"unknown metric {', '.join(map(repr, unknown))}; there are: {', '.join(names())}"
        )
    for name in NAMES:
        if name in requested:
            METRICS.check_unique(name)
    return tuple(dict.fromkeys(requested))


def compute(name: str, references: Sequence[str], candidates: Sequence[str]) -> Scores:
    """Compute a metric for each pair of reports.

    Raises `MissingMetricError` if a package or its weights are missing.
    """
    label = name
    try:
        if name not in _GROUPS:
            metric = KNOWN[name] if name in NAMES else _added(name)
        label, metrics, figures = _GROUPS.get(name) or (metric.study_label, (metric,), ())
        if name not in NAMES:
            work = METRICS.guarded(name, METRICS.load(name).compute)
            values = METRICS.guarded(name, lambda: tuple(map(float, work(references, candidates))))
            columns = {name: values()}
        elif name in OVERLAP:
            columns = _word_overlap(name, references, candidates)
        else:
            columns = _by_radeval(name, references, candidates)
        _check_values(name, columns, len(references))
    except JudgeError as error:
        raise MissingMetricError(f"{label} cannot be computed: {error}") from error
    return Scores(columns, metrics, figures)


def _check_values(name: str, columns: Columns, n: int) -> None:
    for values in columns.values():
        if len(values) != n or not all(map(math.isfinite, values)):
            wrong = f"gave {len(values)} values for {n} studies, or values that are not finite"
            raise METRICS.error(name, wrong) if name not in NAMES else JudgeError(f"it {wrong}")


def _word_overlap(name: str, references: Sequence[str], candidates: Sequence[str]) -> Columns:
    if name == "bleu2":
        return {name: tuple(map(bleu2, references, candidates))}
    module, package = _PACKAGES[name]
    if importlib.util.find_spec(module) is None:
        raise JudgeError(f"it needs the package {package}: {install(package)}")
    if name == "corpus_bleu":
        return _corpus_bleu(references, candidates)
    if n := sum(map(_is_other_script, (*references, *candidates))):
        raise JudgeError(
            f"{n} of {2 * len(references)} reports are in another script than Latin, and it "
            "reads only the letters a to z and digits"
        )
    return {name: _rouge_l(references, candidates)}


def _rouge_l(references: Sequence[str], candidates: Sequence[str]) -> tuple[float, ...]:
    """Return the ROUGE-L of each candidate, from 0 to 1, as RRG24 and RadEval compute it.

    By rouge-score, with stems, of the whole report as one text [Lin 2004].
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = zip(references, candidates, strict=True)
    return tuple(scorer.score(*pair)["rougeL"].fmeasure for pair in pairs)


def _is_other_script(text: str) -> bool:
    """Return whether a text is mostly in other letters than a to z, with or without accents."""
    if not _LATIN.search(text):
        return bool(_LETTER.search(text))
    letters = [char for char in text if char.isalpha()]
    n_other = sum(
        not (char.isascii() or _LATIN.match(unicodedata.normalize("NFKD", char)))
        for char in letters
    )
    return 2 * n_other > len(letters)


def _corpus_bleu(references: Sequence[str], candidates: Sequence[str]) -> Columns:
    """Return the counts of each pair for corpus BLEU, with the tokens of RRG24."""
    from sacrebleu.metrics.bleu import BLEU

    scorer = BLEU(tokenize="none", force=True, max_ngram_order=_N, effective_order=True)
    rows = []
    for reference, candidate in zip(references, candidates, strict=True):
        score = scorer.sentence_score(candidate, [reference])
        rows.append((*score.counts, *score.totals, score.ref_len))
    columns = zip(CORPUS_BLEU[-1].columns, zip(*rows, strict=True), strict=True)
    return {name: tuple(map(float, values)) for name, values in columns}


def bleu2(reference: str, candidate: str) -> float:
    """Return the BLEU-2 of a candidate, from 0 to 1, as ReXrank computes it.

    The geometric mean of the clipped precisions of single words and of pairs of words, times the
    brevity penalty [Papineni et al. 2002]. As in fast-bleu, where no pair of words matches, 0.1
    stands in for the count of matches [Chen and Cherry 2014]. Where no word matches the score is 0.
    """
    expected, words = tokens(reference), tokens(candidate)
    unigrams, n_unigrams = _matches(expected, words, 1)
    if not unigrams:
        return 0.0
    bigrams, n_bigrams = _matches(expected, words, 2)
    precision = math.sqrt(unigrams / n_unigrams * (bigrams or 0.1) / max(n_bigrams, 1))
    brevity = min(1.0, math.exp(1 - len(expected) / len(words)))
    return precision * brevity


def tokens(report: str) -> list[str]:
    """Return the words of a report as in ReXrank's metric scripts."""
    return [token for token in report.lower().replace(".", " .").split(" ") if token]


def _matches(expected: Sequence[str], words: Sequence[str], n: int) -> tuple[int, int]:
    """Return how many n-grams of `words` match, and how many there are."""
    there, here = (
        Counter(zip(*(text[start:] for start in range(n)), strict=False))
        for text in (expected, words)
    )
    return (there & here).total(), here.total()


def _by_radeval(name: str, references: Sequence[str], candidates: Sequence[str]) -> Columns:
    """Compute a metric of radeval in a process of its own, as its models stay in memory."""
    if importlib.util.find_spec("radeval") is None:
        raise JudgeError(f"it needs the package radeval: {install('radeval', 'six')}")
    with tempfile.TemporaryDirectory() as folder:
        texts, scores = Path(folder, "texts.json"), Path(folder, "scores.json")
        texts.write_text(json.dumps([list(references), list(candidates)]), "utf-8")
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", "judge.metrics.worker", name, str(texts), str(scores)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode or not scores.is_file():
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            why = lines[-1].strip()[:_SHOWN]
            raise JudgeError(f"radeval failed (are its weights downloaded?): {why}")
        columns: dict[str, list[float]] = json.loads(scores.read_text("utf-8"))
    return {column: tuple(map(float, values)) for column, values in columns.items()}


def added(name: str) -> Metric | None:
    """Return the metric of a plugin, None if there is none of this name."""
    return _added(name) if name in METRICS.names(NAMES) else None


def _added(name: str) -> Metric:
    added = METRICS.load(name)
    if not isinstance(added, AddedMetric):
        raise METRICS.error(name, f"is not an AddedMetric but {added!r:.80}")
    up = added.higher_is_better
    return Metric(name, added.label, "mean", up, added.label, up, scale=added.scale)
