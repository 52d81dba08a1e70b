"""Metrics from elsewhere, study by study: of words, those of the package radeval, and added ones.

What ReXrank prints has its name and direction there. BLEU-2 is computed here, ROUGE-L and corpus
BLEU by libraries (the extra `overlap`); the others are models with weights to download, which
`radeval` (the extra `metrics`) knows how to get. A package of
somebody else's adds a metric by an entry point of the group `judge.metrics` that refers to
an `AddedMetric`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.plugins import METRICS, install
from judge.rubrics.contract import Scale
from judge.stats.metric import KNOWN, Metric
from judge.stats.pooled import CORPUS_BLEU, F1_CHEXBERT, Pooled
from judge.types import JudgeError

OVERLAP = ("bleu2", "rougel", "corpus_bleu")
"""Metrics that compare words, and need no model."""

NAMES = (
    *OVERLAP,
    *("bertscore", "semb", "radgraph", "radcliq", "ratescore", "f1radgraph", "f1chexbert"),
)
"""All but those of words are what `judge.metrics.worker` can compute."""

_F1_RADGRAPH = tuple(KNOWN[f"radgraph_{level}"] for level in ("simple", "partial", "complete"))
_OF_SEVERAL: dict[str, tuple[str, tuple[Metric, ...], tuple[Pooled, ...]]] = {
    "corpus_bleu": ("corpus BLEU", (), CORPUS_BLEU),
    "f1radgraph": ("F1-RadGraph", _F1_RADGRAPH, ()),
    "f1chexbert": ("F1-CheXbert", (), F1_CHEXBERT),
}
"""What is computed at once and printed as several: its label, metrics, and figures of sums."""

_SHOWN = 300


@dataclass(frozen=True, slots=True)
class AddedMetric:
    """A metric that a package adds; its column is called as its entry point is.

    `compute` takes n references and n candidates and gives n finite values. `scale` holds the least
    and the greatest value that a study can have, None for no greatest; None where it is unknown.
    """

    label: str
    compute: Callable[[Sequence[str], Sequence[str]], Sequence[float]]
    higher_is_better: bool
    scale: Scale | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A metric's values, one a study."""

    metric: Metric
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts, one of each column a study, whose sums make the figures of a set of studies."""

    figures: tuple[Pooled, ...]
    counts: Mapping[str, tuple[float, ...]]


Found = Scored | Counted


@dataclass(frozen=True, slots=True)
class Missing:
    """A metric that could not be had, by its label, and why."""

    label: str
    why: str


def names() -> tuple[str, ...]:
    """Return the names of all metrics, those that packages add last."""
    return (*NAMES, *METRICS.names(NAMES))


def check(asked: Sequence[str]) -> tuple[str, ...]:
    """Return the names, each once."""
    unknown = [name for name in asked if name not in names()]
    if unknown:
        raise JudgeError(
            f"unknown metric {', '.join(map(repr, unknown))}; there are: {', '.join(names())}"
        )
    for name in NAMES:
        if name in asked:
            METRICS.check_unique(name)
    return tuple(dict.fromkeys(asked))


def compute(
    name: str, references: Sequence[str], candidates: Sequence[str]
) -> tuple[Found, ...] | Missing:
    """Return what a metric says of each pair of reports, or why it cannot be had here."""
    if name not in NAMES:
        return _added(name, references, candidates)
    label, metrics, figures = _OF_SEVERAL.get(name, (None, None, ()))
    if metrics is None:
        metrics = (KNOWN[name],)
    label = label or metrics[0].study_label
    columns: Columns | str
    if name in OVERLAP:
        columns = _of_words(name, references, candidates)
    else:
        columns = _asked(name, references, candidates)
    if isinstance(columns, str):
        return Missing(label, columns)
    found: list[Found] = [Scored(metric, columns[metric.name]) for metric in metrics]
    return (*found, *([Counted(figures, columns)] if figures else []))


def columns_of(name: str) -> tuple[str, ...]:
    """Return the columns of values of single studies that a metric has, its counts aside."""
    several = _OF_SEVERAL.get(name)
    return tuple(metric.name for metric in several[1]) if several else (name,)


Columns = dict[str, tuple[float, ...]]
"""One value a study in each column, by its name."""

_COMES_WITH = {"rougel": ("rouge_score", "rouge-score"), "corpus_bleu": ("sacrebleu", "sacrebleu")}


def _of_words(name: str, references: Sequence[str], candidates: Sequence[str]) -> Columns | str:
    if name == "bleu2":
        return {name: tuple(map(bleu2, references, candidates))}
    module, package = _COMES_WITH[name]
    if importlib.util.find_spec(module) is None:
        return f"it comes with the package {package}: {install(package)}"
    from judge.metrics.overlap import corpus_bleu, rouge_l, unread_by_rouge

    if name == "rougel":
        if n := unread_by_rouge((*references, *candidates)):
            return (
                f"{n} of {2 * len(references)} reports are in another script than Latin, and it "
                "reads the letters a to z and digits alone"
            )
        return {name: rouge_l(references, candidates)}
    return corpus_bleu(references, candidates)


def bleu2(reference: str, candidate: str) -> float:
    """Return the BLEU-2 of a candidate, from 0 to 1, as ReXrank computes it.

    The geometric mean of the clipped precisions of single words and of pairs of words, times the
    brevity penalty [Papineni et al. 2002]. As in fast-bleu, where no pair of words matches, 0.1
    stands in for the count of matches [Chen and Cherry 2014]. Where no word matches the score is 0.
    """
    wanted, given = tokens(reference), tokens(candidate)
    words, n_words = _matches(wanted, given, 1)
    if not words:
        return 0.0
    pairs, n_pairs = _matches(wanted, given, 2)
    precision = math.sqrt(words / n_words * (pairs or 0.1) / max(n_pairs, 1))
    brevity = min(1.0, math.exp(1 - len(wanted) / len(given)))
    return precision * brevity


def tokens(report: str) -> list[str]:
    """Return the words of a report as ReXrank's metric scripts cut it."""
    return [token for token in report.lower().replace(".", " .").split(" ") if token]


def _matches(wanted: Sequence[str], given: Sequence[str], n: int) -> tuple[int, int]:
    there, here = (
        Counter(zip(*(words[at:] for at in range(n)), strict=False)) for words in (wanted, given)
    )
    return (there & here).total(), here.total()


def _asked(name: str, references: Sequence[str], candidates: Sequence[str]) -> Columns | str:
    if importlib.util.find_spec("radeval") is None:
        return f"it comes with the package radeval: {install('radeval', 'six')}"
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
            said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            why = said[-1][:_SHOWN] if said else "no reason given"
            return f"radeval could not compute it (are its weights here?): {why}"
        columns: Columns = {
            column: tuple(map(float, values))
            for column, values in json.loads(scores.read_text("utf-8")).items()
        }
    faults = (_wrong(values, len(references)) for values in columns.values())
    wrong = next(filter(None, faults), None)
    return f"radeval {wrong}" if wrong else columns


def _wrong(values: Sequence[float], n: int) -> str | None:
    if len(values) == n and all(map(math.isfinite, values)):
        return None
    return f"gave {len(values)} values for {n} studies, or none at all"


def added(name: str) -> Metric | None:
    """Return the metric that a package adds by this name, None where none does."""
    if name not in METRICS.names(NAMES):
        return None
    found = METRICS.load(name)
    if not isinstance(found, AddedMetric):
        raise METRICS.error(name, f"is no AddedMetric but {found!r:.80}")
    up = found.higher_is_better
    return Metric(name, found.label, "mean", up, found.label, up, scale=found.scale)


def _added(
    name: str, references: Sequence[str], candidates: Sequence[str]
) -> tuple[Scored] | Missing:
    metric = None
    try:
        metric = added(name)
        work = METRICS.guarded(name, METRICS.load(name).compute)
        values = METRICS.guarded(name, lambda: tuple(map(float, work(references, candidates))))()
        if wrong := _wrong(values, len(references)):
            raise METRICS.error(name, wrong)
    except JudgeError as error:
        return Missing(metric.label if metric else name, str(error))
    assert metric is not None
    return (Scored(metric, values),)
