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
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from judge.metrics.pooled import CORPUS_BLEU, F1_CHEXBERT, OfCounts
from judge.plugins import METRICS, install
from judge.stats.estimate import Estimate
from judge.stats.intervals import USUAL_DRAWS, Codes, Draws, n_different
from judge.stats.metric import KNOWN, Metric, file_metric
from judge.stats.scores import ScoreMatrix, group_figures, groups_of
from judge.stats.summary import patients
from judge.studies.study_set import StudySet
from judge.types import JudgeError, Scale

OVERLAP = ("bleu2", "rougel", "corpus_bleu")
"""Metrics of word overlap, which need no model."""

_OF_MODELS = (
    "bertscore",
    "semb",
    "radgraph",
    "radcliq",
    "ratescore",
    "f1radgraph",
    "f1chexbert",
)
NAMES = (*OVERLAP, *_OF_MODELS)
"""All metrics but those of plugins; `judge.metrics.worker` computes those that need a model."""

_F1_RADGRAPH = tuple(
    KNOWN[f"radgraph_{level}"] for level in ("simple", "partial", "complete")
)
_GROUPS: dict[str, tuple[str, tuple[Metric, ...], tuple[OfCounts, ...]]] = {
    "corpus_bleu": ("corpus BLEU", (), CORPUS_BLEU),
    "f1radgraph": ("F1-RadGraph", _F1_RADGRAPH, ()),
    "f1chexbert": ("F1-CheXbert", (), F1_CHEXBERT),
}
"""Metrics computed together: a label, the metrics of studies, and the figures of sets."""

Columns = dict[str, tuple[float, ...]]
"""By name, a column with one value per study."""

_SHOWN = 300


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
    figures: tuple[OfCounts, ...] = ()


class MissingMetricError(JudgeError):
    """A metric cannot be computed; the message has its name and the reason."""


def names() -> tuple[str, ...]:
    """Return the names of all metrics, those of plugins last."""
    return (*NAMES, *METRICS.names(NAMES))


def check(requested: Sequence[str]) -> tuple[str, ...]:
    """Return the requested names without duplicates; raises `JudgeError` for an unknown one."""
    unknown = ", ".join(repr(name) for name in requested if name not in names())
    if unknown:
        raise JudgeError(f"unknown metric {unknown}; there are: {', '.join(names())}")
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
        metrics: tuple[Metric, ...]
        figures: tuple[OfCounts, ...]
        metric = added(name) or KNOWN.get(name)
        if metric:
            label = metric.study_label
            metrics, figures = (metric,), ()
        else:
            _, metrics, figures = _GROUPS[name]
        if name in OVERLAP:
            columns = _word_overlap(name, references, candidates)
        elif name in NAMES:
            columns = _by_radeval(name, references, candidates)
        else:
            columns = _by_plugin(name, references, candidates)
        _check_columns(name, columns, len(references))
    except JudgeError as error:
        raise MissingMetricError(f"{label} cannot be computed: {error}") from error
    return Scores(columns, metrics, figures)


def _check_columns(name: str, columns: Columns, n: int) -> None:
    """Raise `JudgeError` where a metric lacks a number for one of the `n` studies."""
    for values in columns.values():
        if len(values) == n and all(map(math.isfinite, values)):
            continue
        wrong = f"does not give {n} finite values for {n} studies"
        if name in NAMES:
            raise JudgeError(f"it {wrong}")
        raise METRICS.error(name, wrong)


def _by_plugin(
    name: str, references: Sequence[str], candidates: Sequence[str]
) -> Columns:
    # What a plugin raises, when it computes or in its values, is named as its own.
    work = METRICS.guarded(name, METRICS.load(name).compute)

    def floats() -> tuple[float, ...]:
        return tuple(map(float, work(references, candidates)))

    guarded = METRICS.guarded(name, floats)
    return {name: guarded()}


def _word_overlap(
    name: str, references: Sequence[str], candidates: Sequence[str]
) -> Columns:
    if name == "bleu2":
        return {name: tuple(map(bleu2, references, candidates))}
    package, by_library = _BY_LIBRARY[name]
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        raise JudgeError(f"it needs the package {package}: {install(package)}")
    return by_library(references, candidates)


def _rouge_l(references: Sequence[str], candidates: Sequence[str]) -> Columns:
    """Return the ROUGE-L of each candidate, from 0 to 1, as RRG24 and RadEval compute it.

    By rouge-score, with stems, of the whole report as one text [Lin 2004].
    """
    from rouge_score.rouge_scorer import RougeScorer

    n = sum(map(_is_other_script, (*references, *candidates)))
    if n:
        raise JudgeError(
            f"{n} reports are in another script than Latin, and it reads a to z alone"
        )
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    values = []
    for reference, candidate in zip(references, candidates, strict=True):
        score = scorer.score(reference, candidate)["rougeL"]
        values.append(score.fmeasure)
    return {"rougel": tuple(values)}


def _is_other_script(text: str) -> bool:
    """Return whether less than half of a text's letters are Latin."""
    letters = [char for char in text if char.isalpha()]
    # Latin with its extensions ends before the phonetic letters.
    n_latin = sum(char < "\u0250" for char in letters)
    return 2 * n_latin < len(letters)


def _corpus_bleu(references: Sequence[str], candidates: Sequence[str]) -> Columns:
    """Return the counts of each pair for corpus BLEU, with the tokens of RRG24."""
    from sacrebleu.metrics.bleu import BLEU

    order = len(CORPUS_BLEU)
    scorer = BLEU(
        tokenize="none",
        force=True,
        max_ngram_order=order,
        effective_order=True,
    )
    counts = []
    for candidate, reference in zip(candidates, references, strict=True):
        score = scorer.sentence_score(candidate, [reference])
        counts.append((*score.counts, *score.totals, score.ref_len))
    # BLEU-4 has all columns; those of lower orders are among them.
    names = CORPUS_BLEU[-1].measures
    columns = zip(*counts, strict=True)
    by_name = {}
    for name, column in zip(names, columns, strict=True):
        by_name[name] = tuple(map(float, column))
    return by_name


_BY_LIBRARY = {
    "rougel": ("rouge-score", _rouge_l),
    "corpus_bleu": ("sacrebleu", _corpus_bleu),
}


def bleu2(reference: str, candidate: str) -> float:
    """Return the BLEU-2 of a candidate, from 0 to 1, as ReXrank computes it.

    The geometric mean of the clipped precisions of single words and of pairs of words, times the
    brevity penalty [Papineni et al. 2002]. As in fast-bleu, where no pair of words matches, 0.1
    stands in for the count of matches [Chen and Cherry 2014]. Where no word matches the score is 0.
    """
    expected = tokens(reference)
    words = tokens(candidate)
    # Clipped: a word counts as often as the reference has it.
    matching_words = (Counter(expected) & Counter(words)).total()
    if not matching_words:
        return 0.0
    pairs = Counter(pairwise(words))
    matching_pairs = (Counter(pairwise(expected)) & pairs).total()
    n_words = len(words)
    n_pairs = max(n_words - 1, 1)
    product = matching_words / n_words * (matching_pairs or 0.1) / n_pairs
    precision = math.sqrt(product)
    brevity = min(1.0, math.exp(1 - len(expected) / n_words))
    return precision * brevity


def tokens(report: str) -> list[str]:
    """Return the words of a report as in ReXrank's metric scripts."""
    return [token for token in report.lower().replace(".", " .").split(" ") if token]


def _by_radeval(
    name: str, references: Sequence[str], candidates: Sequence[str]
) -> Columns:
    """Compute a metric of radeval in a process of its own, as its models stay in memory."""
    if importlib.util.find_spec("radeval") is None:
        raise JudgeError(f"it needs the package radeval: {install('radeval', 'six')}")
    with tempfile.TemporaryDirectory() as folder:
        texts, scores = Path(folder, "texts.json"), Path(folder, "scores.json")
        texts.write_text(json.dumps([list(references), list(candidates)]), "utf-8")
        done = subprocess.run(  # noqa: S603 - our own module
            [
                sys.executable,
                "-P",
                "-m",
                "judge.metrics.worker",
                name,
                str(texts),
                str(scores),
            ],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode or not scores.is_file():
            # The last line of a traceback is the error.
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            why = lines[-1].strip()[:_SHOWN]
            raise JudgeError(f"radeval failed (are its weights downloaded?): {why}")
        columns = json.loads(scores.read_text("utf-8"))
        return {name: tuple(values) for name, values in columns.items()}


def added(name: str) -> Metric | None:
    """Return the metric of a plugin, None if there is none of this name."""
    if name not in METRICS.names(NAMES):
        return None
    added = METRICS.load(name)
    if not isinstance(added, AddedMetric):
        raise METRICS.error(name, f"is not an AddedMetric but {added!r:.80}")
    return file_metric(
        name,
        added.label,
        higher_is_better=added.higher_is_better,
        scale=added.scale,
    )


@dataclass(frozen=True, slots=True)
class ScoredReports:
    """The studies of one model, and their metrics so far.

    Intervals are by patient where patients have several studies; `patient_field` names the field,
    by default the usual one, and `none` takes studies as independent. Figures from sums of counts
    have a bootstrap with these `draws`.
    """

    studies: StudySet
    model: str
    scores: list[Scores] = field(default_factory=list)
    patient_field: str | None = None
    draws: Draws = USUAL_DRAWS

    def patients(self) -> tuple[str, Codes] | None:
        """Return the field of the patient and each study's patient, by number.

        None where no patient has several studies. Raises `JudgeError` for an unknown field.
        """
        table = pd.DataFrame(dict(self.fields), dtype=object)
        return patients(table, self.patient_field)

    def set_of_draws(self) -> Draws:
        """Return the seed and the number of resamples for these studies."""
        found = self.patients()
        if found is None:
            return self.draws.of(len(self.studies))
        _, clusters = found
        return self.draws.of(n_different(clusters))

    @property
    def fields(self) -> dict[str, tuple[object, ...]]:
        """The fields that figures can be grouped by."""
        fields: dict[str, tuple[object, ...]] = {}
        classes = self.studies.study_classes
        if any(name is not None for name in classes):
            fields["study_class"] = classes
        return {**fields, **self.studies.fields}

    def compute(self, name: str) -> None:
        """Add a metric; raises `MissingMetricError` where it cannot be computed."""
        studies = self.studies
        self.scores.append(compute(name, studies.references, studies.candidates))

    def table(self) -> pd.DataFrame:
        """Return the metrics, one row a study."""
        table = pd.DataFrame({"study_id": self.studies.study_ids, "model": self.model})
        return table.assign(**self._columns())

    def _columns(self) -> Columns:
        """Return the columns of all metrics so far."""
        columns: Columns = {}
        for scores in self.scores:
            columns |= scores.columns
        return columns

    def figures(
        self, by: Sequence[str]
    ) -> list[tuple[dict[str, object], tuple[tuple[Metric, Estimate], ...]]]:
        """Return the figures of all studies, and of each combination of values of the fields."""
        metrics: tuple[Metric, ...] = ()
        pooled: tuple[OfCounts, ...] = ()
        for scores in self.scores:
            metrics += scores.metrics
            pooled += scores.figures
        arrays = {name: np.array(column) for name, column in self._columns().items()}
        values = {metric.name: arrays[metric.name][:, None] for metric in metrics}
        name, clusters = self.patients() or (None, None)
        draws = self.set_of_draws()
        matrix = ScoreMatrix(
            models=(self.model,),
            study_ids=self.studies.study_ids,
            metrics=metrics,
            values=values,
            fields=self.fields,
            clusters=clusters,
            patient_field=name,
            draws=draws,
        )
        parts: list[tuple[dict[str, object], ScoreMatrix]] = [({}, matrix)]
        if by:
            parts += groups_of(matrix, by)
        figures = []
        for key, part in parts:
            estimates = group_figures(part).estimates
            of_part = [(metric, estimates[metric.name][0]) for metric in metrics]
            is_in_part = np.isin(self.studies.study_ids, part.study_ids)
            rows = np.flatnonzero(is_in_part).tolist()
            units = None
            if clusters is not None:
                units = clusters[rows]
            for statistic in pooled:
                counts, _ = statistic.study_values(arrays)
                estimate = statistic.estimate(
                    counts[rows],
                    None,
                    units=units,
                    draws=draws,
                )
                of_part.append((statistic.metric, estimate))
            figures.append((key, tuple(of_part)))
        return figures
