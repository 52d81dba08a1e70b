"""Corpus BLEU, ROUGE-L and F1-CheXbert beside the package radeval's own; `.ci/radeval` runs this.

CheXbert's weights cannot be had here: a small BERT with random ones stands in, in the place where
radeval looks for them. What it says is nonsense; that it is counted as radeval counts it is not.
"""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import EXAMPLES

from judge import metrics
from judge.metrics.pooled import CHEXBERT, CORPUS_BLEU, F1_CHEXBERT

pytestmark = pytest.mark.ci

REFS = [
    one["section_findings"]
    for one in json.loads((EXAMPLES / "refs.json").read_text("utf-8")).values()
]
PREDS = [
    one["model_prediction"]
    for one in json.loads((EXAMPLES / "preds.json").read_text("utf-8")).values()
]
ODD = [
    ("", "Clear."),
    ("Clear lungs.", ""),
    ("No  effusion.\nNo pneumothorax.", "no effusion . NO PNEUMOTHORAX"),
    ("Heart 2.5 cm, enlarged", "Hearts enlarged"),
]
REFERENCES = [*REFS, *(one for one, _ in ODD)]
CANDIDATES = [*PREDS, *(one for _, one in ODD)]


@pytest.mark.parametrize("figure", CORPUS_BLEU, ids=lambda figure: figure.name)
def test_corpus_bleu_is_radevals(figure) -> None:
    from radeval.metrics.bleu.bleu import Bleu

    n = CORPUS_BLEU.index(figure) + 1
    theirs, _ = Bleu(n=n)(REFERENCES, CANDIDATES)
    counts = metrics.compute("corpus_bleu", REFERENCES, CANDIDATES).columns
    sums = np.array([sum(counts[name]) for name in figure.measures])
    assert float(figure.compute(sums)) == pytest.approx(theirs, rel=1e-6)
    assert 0.1 < theirs < 0.9


def test_rouge_l_is_radevals() -> None:
    from radeval.metrics.rouge.adapter import RougeMetric

    theirs = RougeMetric().compute(REFERENCES, CANDIDATES, per_sample=True)["rougeL"]
    values = metrics.compute("rougel", REFERENCES, CANDIDATES).columns["rougel"]
    assert values == pytest.approx(theirs)
    assert len(set(theirs)) > 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports, and with a small CheXbert where radeval looks for the real one."""
    import torch
    from transformers import BertConfig, BertModel

    place = tmp_path_factory.mktemp("chexbert")
    words = sorted(
        {word for text in [*REFERENCES, *CANDIDATES] for word in text.lower().split()}
    )
    bert = place / "bert-base-uncased"
    bert.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (bert / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.5,  # so that reports differ in their labels
    )
    config.save_pretrained(bert)
    (bert / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer"})
    )
    torch.manual_seed(3)
    state = {
        f"bert.{name}": value for name, value in BertModel(config).state_dict().items()
    }
    for at, _ in enumerate(CHEXBERT):
        head = torch.nn.Linear(16, 2 if at == len(CHEXBERT) - 1 else 4)
        state |= {
            f"linear_heads.{at}.{name}": value
            for name, value in head.state_dict().items()
        }
    hub = place / "cache" / "chexbert" / "models--StanfordAIMI--RRG_scorers"
    (hub / "snapshots" / "0").mkdir(parents=True)
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text("0")
    torch.save({"model_state_dict": state}, hub / "snapshots" / "0" / "chexbert.pth")
    ids = [f"s{n}" for n in range(len(REFS))]
    for name, texts in (("refs", REFS), ("preds", PREDS)):
        written = json.dumps(dict(zip(ids, texts, strict=True)))
        (place / f"{name}.json").write_text(written, "utf-8")
    return place


# What radeval's own `forward` does with the labels; itself it fails with scikit-learn 1.9.
THEIRS = """
import json
from radeval.metrics.f1chexbert.f1chexbert import F1CheXbert
from sklearn.metrics import classification_report
scorer = F1CheXbert(device="cpu")
labels = [scorer.get_labels(list(json.load(open(f"{name}.json")).values()))
          for name in ("refs", "preds")]
five = [[[row[at] for at in scorer.top5_idx] for row in side] for side in labels]
print(json.dumps({
    f"f1chexbert_{which}_{how}": classification_report(
        *sides, target_names=names, output_dict=True, zero_division=0
    )[f"{how} avg"]["f1-score"]
    for which, sides, names in (("all", labels, scorer.TARGET_NAMES), ("5", five, scorer.TOP5))
    for how in ("micro", "macro")
}))
"""


def test_f1_chexbert_is_radevals(folder: Path) -> None:
    env = os.environ | {"HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    line = [
        *(sys.executable, "-P", "-m", "judge"),
        "metrics",
        "preds.json",
        "refs.json",
    ]
    asked = {
        "cwd": folder,
        "env": env,
        "capture_output": True,
        "text": True,
        "check": False,
    }
    done = subprocess.run([*line, "--metric", "f1chexbert"], **asked)
    assert done.returncode == 0, done.stderr
    theirs = subprocess.run([sys.executable, "-P", "-c", THEIRS], **asked)
    assert theirs.returncode == 0, theirs.stderr
    wanted = json.loads(theirs.stdout.splitlines()[-1])
    with (folder / "metrics_preds.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(REFS)
    for figure in F1_CHEXBERT:
        sums = np.array(
            [sum(float(row[name]) for row in rows) for name in figure.measures]
        )
        ours = float(figure.compute(sums))
        assert ours == pytest.approx(wanted[figure.name], abs=1e-12)
        assert f"{figure.label} " in done.stdout
        assert f"{ours:.3f}" in done.stdout
    assert 0 < wanted["f1chexbert_5_micro"] < 1
    assert not math.isclose(
        wanted["f1chexbert_all_micro"], wanted["f1chexbert_all_macro"]
    )


def test_radevals_own_values_come_back_by_study(tmp_path: Path) -> None:
    def ran(*line: object) -> str:
        done = subprocess.run(
            [sys.executable, "-P", *map(str, line)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    pair = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
    ran("-m", "judge", "green", *pair, "--out", "run")
    ran(EXAMPLES / "radeval_scores.py", "run", "scores.csv", "bleu", "rouge")
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    values = metrics.compute("rougel", REFS, PREDS).columns["rougel"]
    assert [float(row["rougel"]) for row in rows] == pytest.approx(values)
    table = ran(
        "-m", "judge", "compare", "run", "--metrics", "scores.csv", "--format", "csv"
    )
    assert set(next(csv.reader(table.splitlines()))) >= {"rougel", "radeval_bleu"}
