"""One metric of the package radeval, in a process of its own: `python -m judge.metrics.worker`."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from judge.metrics.pooled import CHEXBERT, count_name

Texts = list[str]
Columns = dict[str, Any]
"""By name, a column with one value per study."""


def _bertscore(references: Texts, candidates: Texts) -> Columns:
    # The settings of ReXrank; radeval's own metric has another model.
    module = importlib.import_module("radeval.metrics.bertscore.bertscore")
    scorer = module.BertScore(
        model_type="distilroberta-base",
        num_layers=5,
        rescale_with_baseline=True,
        idf=False,
    )
    return {"bertscore": scorer(references, candidates)[1]}


def _semb(references: Texts, candidates: Texts) -> Columns:
    module = importlib.import_module("radeval.metrics.RadCliQv1.semb_score")
    return {"semb": module.semantic_embedding_scores(references, candidates).tolist()}


def _f1chexbert(references: Texts, candidates: Texts) -> Columns:
    device = "cpu"
    if importlib.import_module("torch").cuda.is_available():
        device = "cuda"
    module = importlib.import_module("radeval.metrics.f1chexbert.f1chexbert")
    scorer = module.F1CheXbert(device=device)
    # Counts are named by CheXbert's labels, whose order the labels of another model may not have.
    if tuple(scorer.TARGET_NAMES) != CHEXBERT:
        raise ValueError(
            f"its labels are others than CheXbert's: {scorer.TARGET_NAMES}"
        )
    reference_labels = scorer.get_labels(references)
    candidate_labels = scorer.get_labels(candidates)
    return label_counts(reference_labels, candidate_labels)


def label_counts(references: list[list[int]], candidates: list[list[int]]) -> Columns:
    """Return `tp`, `fp` and `fn` of each label, 0 or 1 per study, from labels of 0 or 1."""
    columns: Columns = {}
    # What the reference and the candidate say of a label, by the count that it adds to.
    counted = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0)}
    for number, label in enumerate(CHEXBERT):
        said = []
        for reference, candidate in zip(references, candidates, strict=True):
            said.append((reference[number], candidate[number]))
        for count, wanted in counted.items():
            name = count_name(count, label)
            columns[name] = [int(pair == wanted) for pair in said]
    return columns


def _registered(metric: str, **keys: str) -> Callable[[Texts, Texts], Columns]:
    def scores(references: Texts, candidates: Texts) -> Columns:
        registry = importlib.import_module("radeval.metrics._registry")
        scorer = registry.get_metric_class(metric)()
        values = scorer.compute(references, candidates, per_sample=True)
        return {name: values[key] for name, key in keys.items()}

    return scores


SCORERS: dict[str, Callable[[Texts, Texts], Columns]] = {
    "bertscore": _bertscore,
    "semb": _semb,
    # The mean of the F1 of entities and of relations, as in ReXrank.
    "radgraph": _registered("radgraph_radcliq", radgraph="radgraph_radcliq"),
    "radcliq": _registered("radcliq", radcliq="radcliq_v1"),
    "ratescore": _registered("ratescore", ratescore="ratescore"),
    "f1radgraph": _registered(
        "radgraph",
        radgraph_simple="radgraph_simple",
        radgraph_partial="radgraph_partial",
        radgraph_complete="radgraph_complete",
    ),
    "f1chexbert": _f1chexbert,
}


def main() -> None:
    """Compute the metric NAME of the texts in one file, and write the scores to another."""
    name, texts, scores = sys.argv[1:]
    # Parts of radeval 2.2.1 import each other by its former name.
    sys.modules["RadEval"] = importlib.import_module("radeval")
    references, candidates = json.loads(Path(texts).read_text("utf-8"))
    columns = SCORERS[name](references, candidates)
    floats = {}
    for column, values in columns.items():
        # Those of tensors and of NumPy are no JSON.
        floats[column] = list(map(float, values))
    Path(scores).write_text(json.dumps(floats), "utf-8")


if __name__ == "__main__":
    main()
