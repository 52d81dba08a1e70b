"""`judge metrics`: BLEU-2, ROUGE-L, corpus BLEU, RadEval's metrics and its values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from judged_runs import IDS, PAIR, PREDS, REFS, data, refused
from support import Invoke, write_json

from judge import metrics
from judge.metrics import bleu2, tokens
from judge.metrics.pooled import CHEXBERT, CORPUS_BLEU, F1_CHEXBERT, OfCounts
from judge.metrics.worker import label_counts
from judge.stats.estimate import Estimate
from judge.stats.intervals import USUAL_DRAWS, tail

REFERENCES = [one["section_findings"] for one in REFS.values()]
CANDIDATES = [PREDS[study_id]["model_prediction"] for study_id in IDS]


# BLEU-2


def test_bleu2_is_nltks_and_words_are_cut_as_in_rexranks_scripts() -> None:
    from nltk.translate import bleu_score as bleu

    assert tokens("No effusion.  CLEAR, 2.5 cm\n") == [
        *("no", "effusion", ".", "clear,", "2", ".5", "cm\n")
    ]
    smooth = bleu.SmoothingFunction(epsilon=0.1).method1
    pairs = [
        ("a b c d .", "a b d c ."),
        ("a b", "b a"),
        ("the heart", "the the the"),
        ("a b", ""),
    ]
    pairs += [
        (reference, candidate) for reference in REFERENCES for candidate in CANDIDATES
    ]
    for reference, candidate in pairs:
        theirs = bleu.sentence_bleu(
            [tokens(reference)],
            tokens(candidate),
            (0.5, 0.5),
            smoothing_function=smooth,
        )
        assert bleu2(reference, candidate) == pytest.approx(theirs)
        assert 0 <= theirs <= 1


# Corpus BLEU and F1-CheXbert: figures of sums


def counts_of(references: list[str], candidates: list[str]) -> dict[str, np.ndarray]:
    scores = metrics.compute("corpus_bleu", references, candidates)
    return {name: np.array(column) for name, column in scores.columns.items()}


def estimate_of(
    one: OfCounts, counts: dict[str, np.ndarray], rows: Sequence[int]
) -> Estimate:
    values, _ = one.study_values(counts)
    return one.estimate(values[list(rows)], None, units=None, draws=USUAL_DRAWS)


def bleus(references: list[str], candidates: list[str]) -> list[float | None]:
    counts, rows = counts_of(references, candidates), range(len(references))
    return [estimate_of(figure, counts, rows).value for figure in CORPUS_BLEU]


def test_corpus_bleu_is_sacrebleus_and_not_the_mean_of_studies() -> None:
    from sacrebleu.metrics import BLEU

    found = bleus(REFERENCES, CANDIDATES)
    for n, value in enumerate(found, 1):
        scorer = BLEU(
            tokenize="none", force=True, max_ngram_order=n, smooth_method="none"
        )
        assert value == pytest.approx(
            scorer.corpus_score(CANDIDATES, [REFERENCES]).score / 100
        )
    alone = [
        bleus([one], [other])[3]
        for one, other in zip(REFERENCES, CANDIDATES, strict=True)
    ]
    assert abs(np.mean(alone) - found[3]) > 0.02
    # A number only where candidates have as many words.
    assert bleus([""], ["Clear."]) == [0, None, None, None]
    assert bleus(["Clear."], [""]) == [None] * 4


def test_the_interval_is_of_resampled_sums() -> None:
    counts = counts_of(REFERENCES, CANDIDATES)
    cell = estimate_of(CORPUS_BLEU[3], counts, range(15))
    table = np.stack([counts[name] for name in CORPUS_BLEU[3].measures], axis=1)
    random = np.random.default_rng(1)
    drawn = [
        float(CORPUS_BLEU[3].compute(table[random.integers(0, 15, 15)].sum(axis=0)))
        for _ in range(4000)
    ]
    share = tail(15)
    assert (cell.low, cell.high) == pytest.approx(
        np.quantile(drawn, [share, 1 - share]), abs=0.02
    )
    assert estimate_of(CORPUS_BLEU[3], counts, range(9)).low is None
    assert estimate_of(CORPUS_BLEU[3], counts, []).value is None


def test_f1_chexbert_by_hand() -> None:
    def labels(*found: str) -> list[int]:
        return [int(name in found) for name in CHEXBERT]

    wanted = [labels("Edema"), labels("Edema", "Fracture"), labels("No Finding")]
    given = [labels("Edema"), labels("Fracture", "Cardiomegaly"), labels()]
    counts = {
        name: np.array(c, float) for name, c in label_counts(wanted, given).items()
    }
    found = {one.name: estimate_of(one, counts, range(3)).value for one in F1_CHEXBERT}
    assert found == pytest.approx(
        {
            # Of five: Edema tp 1 fn 1, Cardiomegaly fp 1. Of all also Fracture tp 1, none fn 1.
            "f1chexbert_5_micro": 2 / (2 + 1 + 1),
            "f1chexbert_5_macro": (2 / 3) / 5,
            "f1chexbert_all_micro": 4 / (4 + 1 + 2),
            "f1chexbert_all_macro": (2 / 3 + 1) / 14,
        }
    )


# ROUGE-L


def test_rouge_l_by_hand_and_what_it_cannot_read() -> None:
    # "effusions" and "effusion" have one stem; in order: no, effusion; case and stop do not count.
    scores = metrics.compute("rougel", ["No large effusion."], ["no pleural EFFUSIONS"])
    assert scores.columns == {"rougel": (pytest.approx(2 / 3),)}
    assert metrics.compute("rougel", [""], ["Clear."]).columns["rougel"] == (0,)
    for report in ("胸部CT：两肺清晰。", "КТ (CT): узел 12 мм в S3."):  # noqa: RUF001
        with pytest.raises(metrics.MissingMetricError, match="1 reports"):
            metrics.compute(
                "rougel", ["CT: clear lungs.", "Clear."], [report, "Clear."]
            )
    for report in (
        "Größe, keine Ergüsse.",
        "Cœur élargi.",
        "Se\u0301quelles (~30 \u03bcL).",
        "12",
    ):
        assert metrics.compute("rougel", [report], [report]).columns["rougel"] == (1.0,)


# The command


def test_metrics_are_a_row_a_study_and_join_a_comparison(
    invoke: Invoke, tmp_path: Path, stock: dict[str, Path]
) -> None:
    words = ("--metric", "bleu2,rougel,corpus_bleu", "--model", "x", "--out")
    done = invoke("metrics", *PAIR, *words, "m.csv")
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv(tmp_path / "m.csv")
    assert list(table["study_id"]) == IDS
    pairs = zip(REFERENCES, CANDIDATES, strict=True)
    assert list(table["bleu2"]) == pytest.approx([bleu2(*pair) for pair in pairs])
    assert f"{table['bleu2'].mean():.3f}" in done.stdout
    found = data(invoke, f"x={stock['green-bad']}", "--metrics", "m.csv")
    cells = found["groups"][0]["cells"]
    assert cells["rougel"]["x"]["value"] == pytest.approx(table["rougel"].mean())
    # Counts of a whole set are no metric of single studies.
    assert not any("corpus" in name for name in cells)
    table[["study_id", "model", *(n for n in table if "corpus" in n)]].to_csv(
        "b.csv", index=False
    )
    assert "b.csv" in refused(invoke, f"x={stock['green-bad']}", "--metrics", "b.csv")


def test_metrics_by_group_skip_what_has_no_such_section(
    invoke: Invoke, tmp_path: Path
) -> None:
    # As in RRG24: one source has both sections, one findings alone.
    refs = {}
    for at, (study_id, one) in enumerate(REFS.items()):
        names = ("section_findings", "section_impression")[: 1 + at % 2]
        refs[study_id] = {
            "source": ("one", "both")[at % 2],
            **{n: one[n] for n in names},
        }
    preds = {
        study_id: {"section_findings": text, "section_impression": "No acute disease."}
        for study_id, text in zip(IDS, CANDIDATES, strict=True)
    }
    files = (
        write_json(tmp_path / "p.json", preds),
        write_json(tmp_path / "r.json", refs),
    )
    line = ("metrics", *files, "--metric", "rougel,corpus_bleu", "--by", "source")
    done = invoke(*line, "--section", "impression", "--allow-missing", "--out", "m.csv")
    assert done.exit_code == 0, done.stderr
    lines = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()]
    rows = {(one[0], one[1]): one[2:] for one in lines if len(one) > 2}
    assert ("source one", "ROUGE-L") not in rows
    assert rows["source both", "ROUGE-L"][0] == "7"
    assert len(pd.read_csv("m.csv")) == 7


def test_a_metric_that_cannot_be_had_leaves_the_others_alone(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("judge.metrics.importlib.util.find_spec", lambda _: None)
    names = "rougel,corpus_bleu,f1chexbert,radcliq,bleu2"
    done = invoke("metrics", *PAIR, "--metric", names, "--out", "m.csv")
    assert done.exit_code == 3
    for package in ("rouge-score", "sacrebleu", "radeval<3,>=2.2.1"):
        assert package in done.stderr
    assert list(pd.read_csv(tmp_path / "m.csv")) == ["study_id", "model", "bleu2"]


GIVES = """
class M:
    def compute(self, refs, hyps, per_sample):
        return {}
def get_metric_class(name):
    return {{"ratescore": M, "radcliq": M}}[name]
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A stand-in for the package `radeval`, on the path of child processes alone."""

    def make(body: str) -> None:
        for part in ("radeval", "radeval/metrics"):
            (tmp_path / part).mkdir()
            (tmp_path / part / "__init__.py").touch()
        (tmp_path / "radeval/metrics/_registry.py").write_text(body)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.syspath_prepend(tmp_path)

    return make


def test_the_packages_values_are_taken_study_by_study(package) -> None:
    package(
        GIVES.format(
            "{'radcliq_v1': [len(a) + 10 * len(b) for a, b in zip(refs, hyps)]}"
        )
    )
    scores = metrics.compute("radcliq", ["a", "bb"], ["ccc", ""])
    assert scores.columns == {"radcliq": (31, 2)}
    (metric,) = scores.metrics
    assert (metric.label, metric.kind) == ("1/RadCliQ-v1", "inverse")
