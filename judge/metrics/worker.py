"""One metric of the package radeval, in a process of its own: `python -m judge.metrics.worker`."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Texts = list[str]


def _bertscore(references: Texts, candidates: Texts) -> Any:  # noqa: ANN401
    # radeval's own metric takes another model than ReXrank, whose settings these are.
    module = importlib.import_module("radeval.metrics.bertscore.bertscore")
    scorer = module.BertScore(
        model_type="distilroberta-base", num_layers=5, rescale_with_baseline=True, idf=False
    )
    return scorer(references, candidates)[1]


def _semb(references: Texts, candidates: Texts) -> Any:  # noqa: ANN401
    module = importlib.import_module("radeval.metrics.RadCliQv1.semb_score")
    return module.semantic_embedding_scores(references, candidates).tolist()


def _named(metric: str, key: str) -> Callable[[Texts, Texts], Any]:
    def scores(references: Texts, candidates: Texts) -> Any:  # noqa: ANN401
        registry = importlib.import_module("radeval.metrics._registry")
        scorer = registry.get_metric_class(metric)()
        return scorer.compute(references, candidates, per_sample=True)[key]

    return scores


SCORERS: dict[str, Callable[[Texts, Texts], Any]] = {
    "bertscore": _bertscore,
    "semb": _semb,
    # The mean of the F1 of entities and of relations, as in ReXrank.
    "radgraph": _named("radgraph_radcliq", "radgraph_radcliq"),
    "radcliq": _named("radcliq", "radcliq_v1"),
    "ratescore": _named("ratescore", "ratescore"),
}


def main() -> None:
    """Compute one metric: the name, a file of texts, the file to write the scores to."""
    name, texts, scores = sys.argv[1:]
    # Parts of radeval 2.2.1 import each other by its former name.
    sys.modules["RadEval"] = importlib.import_module("radeval")
    references, candidates = json.loads(Path(texts).read_text("utf-8"))
    found = SCORERS[name](references, candidates)
    Path(scores).write_text(json.dumps([float(value) for value in found]), "utf-8")


if __name__ == "__main__":
    main()
