"""A comparison made from a seed, for what is drawn and shown of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judge.rubrics import Rubric, load
from judge.stats.metric import KNOWN, Metric, rubric_metrics
from judge.stats.scores import ScoreMatrix, cuts
from judge.stats.significance import Comparison, Resampling, compare

NAMES = (
    "CheXpertPlus_CheX_MIMIC",
    "MedVersa",
    "a",
    "Cvt2distilgpt2-fine-tuned-on-findings-only-version-1.2-of-last-spring",
)
SIGNATURE = "compare:1|seeded <for> tests & nothing else"


def model_names(n: int) -> tuple[str, ...]:
    """Long names that differ only in their middle, after a few ordinary ones."""
    more = (
        f"a-model-with-quite-a-long-name-{at:03d}-checkpoint-of-the-last-epoch"
        for at in range(n)
    )
    return (*NAMES, *more)[:n]


def metrics_of(*, others: bool = True) -> tuple[Metric, ...]:
    found = [*rubric_metrics(load("green")), *rubric_metrics(load("fineradscore"))]
    return (*found, *(KNOWN[name] for name in ("bleu2", "radcliq") if others))


def seeded_panel(
    n_models: int,
    n: int = 120,
    *,
    n_sites: int = 14,
    fields: Sequence[str] = ("study_class", "site", "dataset"),
    models: Sequence[str] | None = None,
    others: bool = True,
) -> ScoreMatrix:
    """The first model is the best. The second has no scored study at the site `Site 2`."""
    rng = np.random.default_rng(n_models)
    skill = np.linspace(0.8, 0.3, n_models)
    q = np.clip(
        skill + rng.normal(0, 0.15, (n, 1)) + rng.normal(0, 0.1, (n, n_models)), 0, 1
    )
    values = {}
    for metric in metrics_of(others=others):
        if metric.what == "count":
            column = rng.poisson(3 * (1 - q)).astype(float)
        elif metric.kind == "rate":
            column = (
                q > (0.55 if "no_significant_error" in metric.name else 0.75)
            ).astype(float)
        elif metric.name == "inverse_fineradscore":
            column = np.clip(np.round(4 - 3 * q), 1, 4)
        elif not metric.study_higher_is_better:
            column = np.round(6 * (1 - q), 3) + 0.1
        else:
            column = np.round(q, 3)
        values[metric.name] = column
    sites = [f"Site {at + 1}" for at in range(n_sites)]
    columns = {
        "study_class": tuple(
            "abnormal" if x else "normal" for x in rng.random(n) < 0.6
        ),
        "site": tuple(sites[at] for at in np.sort(rng.geometric(0.3, n) % n_sites)),
        "dataset": tuple(f"a data set {at}" for at in rng.integers(0, 4, n)),
    }
    tallies = {name: _tally(load(name), q) for name in ("green", "fineradscore")}
    if n_models > 1:
        unscored = np.array([site == "Site 2" for site in columns["site"]])
        for column in values.values():
            column[unscored, 1] = np.nan
        for counts in tallies.values():
            counts[1][:, unscored] = np.nan
    return ScoreMatrix(
        tuple(models or model_names(n_models)),
        tuple(f"study-{at:04d}" for at in range(n)),
        metrics_of(others=others),
        values,
        {name: columns[name] for name in fields},
        tallies=tallies,
    )


def _tally(rubric: Rubric, q: np.ndarray) -> np.ndarray:
    """The counts, models by cuts by studies: fewer as `q` rises, no item of two categories."""
    rng = np.random.default_rng(3)
    found = {
        (row, column): rng.poisson((1 - q) * 0.8 / (1 + at % 7)).astype(float)
        for at, (row, column) in enumerate(cuts(rubric))
        if row is not None
    }
    all_cuts = [
        found[row, column]
        if row
        else sum(of for (_, own), of in found.items() if own == column)
        for row, column in cuts(rubric)
    ]
    return np.array(all_cuts, np.float32).transpose(2, 0, 1)


def seeded(
    n_models: int,
    n: int = 120,
    *,
    by: Sequence[str] = (),
    tests: bool = False,
    fields: Sequence[str] = ("study_class", "site", "dataset"),
    models: Sequence[str] | None = None,
    others: bool = True,
) -> Comparison:
    """Compare the models of `seeded_panel`, ranked by GREEN."""
    panel = seeded_panel(n_models, n, fields=fields, models=models, others=others)
    how = Resampling(seed=7, resamples=50, flips=200) if tests else None
    return compare(
        panel,
        sort="green",
        by=by,
        how=how,
        signature=SIGNATURE,
        notes=("a note <b>of</b> it",),
    )
