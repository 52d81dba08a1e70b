"""`judge metrics` through the real package radeval, as far as that goes without its weights.

BERTScore takes a model by name, and a folder of that name is one: a small one with random
weights stands in for distilroberta-base. `.ci/radeval` runs this file.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.ci

MODEL = "distilroberta-base"
LAYER = 5
# radeval's rescale_baseline/en/distilroberta-base.tsv, F of layer 5.
BASELINE = 0.8473319
REFS = {
    "s1": "The lungs are clear. No pneumothorax.",
    "s2": "Small left pleural effusion. Heart size is normal.",
    "s3": "No acute cardiopulmonary abnormality.",
}
PREDS = {
    "s1": REFS["s1"],
    "s2": "Heart size is normal. The lungs are clear.",
    "s3": "Left effusion.",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reports and the small model."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel

    place = tmp_path_factory.mktemp("metrics")
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(
        [*REFS.values(), *PREDS.values()], 400, special_tokens=special
    )
    torch.manual_seed(0)
    model = RobertaModel(
        RobertaConfig(
            vocab_size=400,
            hidden_size=16,
            num_hidden_layers=6,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=130,
            type_vocab_size=1,
        )
    )
    model.save_pretrained(place / MODEL)
    tokenizer.save_model(str(place / MODEL))
    settings = {"model_max_length": 128, "tokenizer_class": "RobertaTokenizer"}
    (place / MODEL / "tokenizer_config.json").write_text(json.dumps(settings))
    for name, texts in (("refs", REFS), ("preds", PREDS)):
        (place / f"{name}.json").write_text(json.dumps(texts), "utf-8")
    return place


def judge_metrics(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(
                sys.executable,
                "-P",
                "-m",
                "judge",
                "metrics",
                "preds.json",
                "refs.json",
            ),
            *names,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
    )


def table_in(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics_preds.csv").open() as file:
        return list(csv.DictReader(file))


def bertscore(folder: Path, reference: str, candidate: str) -> float:
    """BERTScore's F1 [Zhang et al. 2020], rescaled, computed here from the model's own states.

    Each token's best cosine among all of the other side's; the first and last tokens, which
    are marks, do not count themselves.
    """
    import torch
    from transformers import AutoTokenizer, RobertaModel

    tokenizer = AutoTokenizer.from_pretrained(folder / MODEL)
    model = RobertaModel.from_pretrained(folder / MODEL).eval()

    def states(text: str) -> Any:
        with torch.no_grad():
            given = tokenizer(
                f" {text}", return_tensors="pt"
            )  # each word with its space
            found = model(**given, output_hidden_states=True).hidden_states[LAYER][0]
        return torch.nn.functional.normalize(found, dim=-1)

    cosines = states(candidate) @ states(reference).T
    precision = float(cosines.max(dim=1).values[1:-1].mean())
    recall = float(cosines.max(dim=0).values[1:-1].mean())
    f1 = 2 * precision * recall / (precision + recall)
    return (f1 - BASELINE) / (1 - BASELINE)


def test_bertscore_is_radevals_with_rexranks_settings(folder: Path) -> None:
    done = judge_metrics(folder, "--metric", "bleu2,bertscore")
    assert done.returncode == 0, done.stderr
    rows = table_in(folder)
    assert [row["study_id"] for row in rows] == list(REFS)
    for row in rows:
        key = row["study_id"]
        own = bertscore(folder, REFS[key], PREDS[key])
        assert float(row["bertscore"]) == pytest.approx(own, abs=1e-4)
    assert float(rows[0]["bertscore"]) == pytest.approx(1, abs=1e-4)
    assert len({row["bertscore"] for row in rows}) == len(REFS)


def test_what_has_no_weights_says_so_and_leaves_the_others_alone(folder: Path) -> None:
    done = judge_metrics(
        folder, "--metric", "semb,bertscore,radgraph,radcliq,ratescore,bleu2"
    )
    assert done.returncode == 3, done.stderr
    for name in ("SembScore", "RadGraph", "RadCliQ-v1", "RaTEScore"):
        assert f"{name} cannot be computed: radeval failed" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(table_in(folder)[0]) == ["study_id", "model", "bertscore", "bleu2"]
