"""Metrics from elsewhere: BLEU-2, `judge metrics`, and files that join a comparison."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import EXAMPLES, Invoke, write_json

from judge import metrics
from judge.comparing.names import model_of
from judge.metrics import bleu2, tokens
from judge.metrics.worker import SCORERS
from judge.stats.metric import metric_for_column
from judge.types import JudgeError

REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
PREDS = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
IDS = list(REFS)
PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def table_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


# BLEU-2


@pytest.mark.parametrize(
    ("reference", "candidate", "wanted"),
    [
        ("the lungs are clear", "the lungs are clear", 1.0),
        # Words 3/4 and pairs 1/3, of equal length.
        ("no large pleural effusion", "no pleural effusion seen", math.sqrt(3 / 4 * 1 / 3)),
        # Full stop and case: "clear" and "." of three, "clear ." of two; 1 - 5/3 in the penalty.
        ("The lungs are clear.", "Mostly Clear.", math.sqrt(2 / 3 / 2) * math.exp(1 - 5 / 3)),
        # "the" counts no more often than in the reference, and no pair matches: 0.1 of 2.
        ("the heart", "the the the", math.sqrt(1 / 3 * 0.1 / 2)),
        # One word has no pairs: 0.1 of 1.
        ("no effusion", "effusion", math.sqrt(0.1) * math.exp(-1)),
        ("no effusion", "clear lungs", 0.0),
        ("no effusion", "", 0.0),
    ],
)
def test_bleu2_by_hand(reference: str, candidate: str, wanted: float) -> None:
    assert bleu2(reference, candidate) == pytest.approx(wanted)


def test_words_are_cut_as_in_rexranks_scripts() -> None:
    assert tokens("No effusion.  CLEAR, 2.5 cm\n") == [
        *("no", "effusion", ".", "clear,", "2", ".5", "cm\n")
    ]


@given(st.text("abc. ", max_size=40), st.text("abc. ", max_size=40))
def test_bleu2_is_a_share(reference: str, candidate: str) -> None:
    assert 0 <= bleu2(reference, candidate) <= 1


def test_bleu2_is_nltks() -> None:
    from nltk.translate import bleu_score as bleu

    smooth = bleu.SmoothingFunction(epsilon=0.1).method1
    pairs = [("a b c d .", "a b d c ."), ("a b", "b a"), ("a a b", "a"), ("x y z", "x y z w v")]
    pairs += [
        (reference["section_findings"], prediction["model_prediction"])
        for reference in REFS.values()
        for prediction in PREDS.values()
    ]
    for reference, candidate in pairs:
        theirs = bleu.sentence_bleu(
            [tokens(reference)], tokens(candidate), (0.5, 0.5), smoothing_function=smooth
        )
        assert bleu2(reference, candidate) == pytest.approx(theirs)


# judge metrics


def test_metrics_writes_a_row_a_study(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("metrics", *PAIR, "--metric", "bleu2")
    assert done.exit_code == 0, done.stderr
    rows = table_in(tmp_path / "metrics_preds.csv")
    assert [row["study_id"] for row in rows] == IDS
    values = [float(row["bleu2"]) for row in rows]
    assert f"{sum(values) / len(values):.3f}" in done.stdout
    assert "BLEU-2" in done.stdout


def test_studies_that_were_left_out_of_metrics_are_counted(invoke: Invoke, tmp_path: Path) -> None:
    preds = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
    write_json(tmp_path / "some.json", dict(list(preds.items())[2:]))
    line = ("metrics", "some.json", PAIR[1])
    refused = invoke(*line)
    assert refused.exit_code == 2
    assert "--allow-missing" in refused.stderr
    done = invoke(*line, "--allow-missing")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"studies +13\n", done.stdout)
    assert re.search(r"left out +2 only in REFS\n", done.stdout)
    assert "left out" not in invoke("metrics", *PAIR).stdout


def test_metrics_writes_parquet(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("metrics", *PAIR, "--out", "m.parquet", "--model", "x").exit_code == 0
    table = pd.read_parquet(tmp_path / "m.parquet")
    assert list(table.columns) == ["study_id", "model", "bleu2"]
    assert set(table["model"]) == {"x"}


def test_a_metric_that_cannot_be_had_leaves_the_others_alone(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("judge.metrics.importlib.util.find_spec", lambda _: None)
    done = invoke("metrics", *PAIR, "--metric", "radcliq,bleu2", "--out", "m.csv")
    assert done.exit_code == 3
    assert "RadCliQ-v1 is missing" in done.stderr
    assert "radeval<3,>=2.2.1" in done.stderr
    assert len(table_in(tmp_path / "m.csv")) == len(IDS)


def package(folder: Path, body: str) -> None:
    """A stand-in for the package, on the path of child processes alone."""
    for part in ("radeval", "radeval/metrics"):
        (folder / part).mkdir()
        (folder / part / "__init__.py").touch()
    (folder / "radeval/metrics/_registry.py").write_text(body)


GIVES = """
class M:
    def compute(self, refs, hyps, per_sample):
        return {}
def get_metric_class(name):
    return {{"ratescore": M, "radcliq": M}}[name]
"""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("raise Exception('Cannot download the weights')", "Cannot download the weights"),
        ("import os; os._exit(9)", "no reason given"),
        (GIVES.format("{'ratescore': [0.5]}"), "1 values for 2 studies"),
        (GIVES.format("{'ratescore': [float('nan')] * 2}"), "none at all"),
    ],
)
def test_whatever_goes_wrong_in_the_package_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, why: str
) -> None:
    package(tmp_path, body)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    found = metrics.compute("ratescore", ["a", "b"], ["a", "c"])
    assert isinstance(found, metrics.Missing)
    assert why in found.why
    assert "radeval.metrics" not in sys.modules


def test_the_packages_values_are_taken_study_by_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = "{'radcliq_v1': [len(a) + 10 * len(b) for a, b in zip(refs, hyps)]}"
    package(tmp_path, GIVES.format(values))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    found = metrics.compute("radcliq", ["a", "bb"], ["ccc", ""])
    assert isinstance(found, tuple)
    (found,) = found
    assert isinstance(found, metrics.Scored)
    assert found.values == (31, 2)
    assert (found.metric.label, found.metric.kind) == ("1/RadCliQ-v1", "inverse")


def test_the_worker_knows_what_can_be_asked_for() -> None:
    assert tuple(SCORERS) == metrics.NAMES[len(metrics.OVERLAP) :]


def test_an_unknown_metric_lists_what_there_is(invoke: Invoke) -> None:
    done = invoke("metrics", *PAIR, "--metric", "meteor")
    assert done.exit_code == 2
    assert "bertscore, semb, radgraph" in done.stderr


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("x/preds_a.json", "a"),
        ("MAIRA-2.json.gz", "MAIRA-2"),
        ("a-predictions.csv", "a"),
        ("RadPhi3.5Vision.json", "RadPhi3.5Vision"),
        ("preds.json", "preds"),
        ("x/predictions.csv.gz", "predictions"),
        ("hf_dd/test-00000-of-00001.parquet", "hf_dd"),
        ("-", None),
    ],
)
def test_a_model_is_named_after_its_file(path: str, model: str | None) -> None:
    assert model_of(path) == model


# Files of metrics


@pytest.fixture
def runs(invoke: Invoke, tmp_path: Path) -> list[str]:
    found = []
    for model in ("a", "b"):
        out = tmp_path / f"run-{model}"
        assert invoke("green", *PAIR, "--out", out).exit_code == 0
        found.append(f"{model}={out}")
    return found


def written(path: Path, columns: dict) -> Path:
    table = pd.DataFrame(columns)
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)
    return path


def both(**columns: object) -> dict:
    return {"study_id": IDS * 2, "model": ["a"] * len(IDS) + ["b"] * len(IDS), **columns}


def data(invoke: Invoke, *args: object) -> dict:
    done = invoke("compare", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert "NaN" not in done.stdout
    return json.loads(done.stdout)


def fails(invoke: Invoke, *args: object) -> str:
    done = invoke("compare", *args)
    assert done.exit_code == 2, done.stdout
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["m.csv", "m.parquet"])
def test_metrics_join_and_correlate(invoke: Invoke, runs, tmp_path: Path, name: str) -> None:
    n = len(IDS)
    scores = [0.1 * (at % 7) for at in range(2 * n)]
    costs = [1.0 + 0.1 * (at % 7) for at in range(2 * n)]
    file = written(tmp_path / name, both(BLEU=scores, **{"RadCliQ-v1": costs}))
    found = data(invoke, *runs, "--metrics", file, "--sort", "1/RadCliQ-v1")
    cells = found["groups"][0]["cells"]
    assert cells["bleu2"]["a"]["value"] == pytest.approx(sum(scores[:n]) / n)
    assert cells["radcliq"]["b"]["value"] == pytest.approx(n / sum(costs[n:]))
    assert cells["radcliq"]["b"]["n"] == n
    names = found["correlations"]["names"]
    at = names.index("bleu2"), names.index("radcliq")
    # More of one is more of the other, of which less is better.
    assert found["correlations"]["spearman"][at[0]][at[1]] == pytest.approx(-1)
    assert len(found["groups"][0]["tests"]["radcliq"]) == 1
    shown = invoke("compare", *runs, "--metrics", file, "--format", "rexrank").stdout
    assert shown.splitlines()[1].split(",")[5] == f"{cells['bleu2']['a']['value']:.3f}"


def test_files_of_single_models_fill_one_column(invoke: Invoke, runs, tmp_path: Path) -> None:
    for model in ("a", "b"):
        invoke("metrics", *PAIR, "--model", model, "--out", f"{model}.csv")
    files = ["--metrics", tmp_path / "a.csv", "--metrics", tmp_path / "b.csv"]
    found = data(invoke, *runs, *files)
    assert [metric["name"] for metric in found["metrics"]].count("bleu2") == 1
    assert found["groups"][0]["cells"]["bleu2"]["b"]["n"] == len(IDS)
    assert not any("is there for" in note for note in found["notes"])
    assert "in another file" in fails(invoke, *runs, *files, *files[:2])


def test_missing_values_are_counted_beside(invoke: Invoke, runs, tmp_path: Path) -> None:
    scores: list[float | None] = [0.5] * (2 * len(IDS))
    scores[0] = None
    file = written(tmp_path / "m.csv", both(bertscore=scores))
    found = data(invoke, *runs, "--metrics", file)
    cell = found["groups"][0]["cells"]["bertscore"]["a"]
    assert (cell["n"], cell["value"]) == (len(IDS) - 1, 0.5)
    assert any("BERTScore is there for a 14 of 15" in note for note in found["notes"])
    names = found["correlations"]["names"]
    assert found["correlations"]["pearson"][0][names.index("bertscore")] is None


def test_a_rubrics_own_metric_is_not_overwritten(invoke: Invoke, runs, tmp_path: Path) -> None:
    file = written(tmp_path / "m.csv", both(GREEN=[0.25] * (2 * len(IDS))))
    cells = data(invoke, *runs, "--metrics", file)["groups"][0]["cells"]
    assert cells["file_green"]["a"]["value"] == 0.25
    assert cells["green"]["a"]["value"] != 0.25


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (both(bleu=["good"] * 2 * len(IDS)), "is no metric: it holds 'good' for the study"),
        (both(bleu=[1e400] * 2 * len(IDS)), "is infinite"),
        (both(mine=[1.0] * 2 * len(IDS)), "--higher-is-better NAME"),
        (both(**{"1/RadCliQ-v1": [1.0] * 2 * len(IDS)}), "give 'RadCliQ-v1' for each study"),
        (both(), "holds no metric"),
        ({"id": IDS, "bleu": [1.0] * len(IDS)}, "no field 'study_id', for the id"),
        ({"study_id": IDS * 2, "bleu": [1.0] * 2 * len(IDS)}, "twice"),
        ({"study_id": IDS, "bleu": [1.0] * len(IDS)}, "add a column 'model'"),
        ({"study_id": ["x"], "model": ["a"], "bleu": [1.0]}, "nothing in"),
        (both(bleu=[1.0] * 2 * len(IDS), bleu2=[1.0] * 2 * len(IDS)), "several columns"),
    ],
)
def test_bad_files_of_metrics(invoke: Invoke, runs, tmp_path: Path, columns, said: str) -> None:
    file = written(tmp_path / "m.csv", columns)
    assert said in fails(invoke, *runs, "--metrics", file)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"PAR1nonsense", b"study_id,b\n1\n"])
def test_files_that_are_no_table(invoke: Invoke, runs, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m").write_bytes(content)
    fails(invoke, *runs, "--metrics", tmp_path / "m")
    fails(invoke, *runs, "--metrics", tmp_path / "absent")


def test_the_user_says_which_way_is_better(invoke: Invoke, runs, tmp_path: Path) -> None:
    n = len(IDS)
    file = written(tmp_path / "m.csv", both(mine=[1.0] * n + [2.0] * n))
    for way, first in (("higher", "b"), ("lower", "a")):
        found = data(
            invoke, *runs, "--metrics", file, f"--{way}-is-better", "mine", "--sort", "mine"
        )
        ranks = {model: cell["rank"] for model, cell in found["groups"][0]["cells"]["mine"].items()}
        assert ranks[first] == 1


@pytest.mark.parametrize(
    ("column", "label", "is_up"),
    [
        ("bleu_score", "BLEU-2", True),
        ("BertScore", "BERTScore", True),
        ("semb_score", "SembScore", True),
        ("radgraph_combined", "RadGraph", True),
        ("RadCliQ-v1", "1/RadCliQ-v1", True),
        ("RadCliQ-v0", "RadCliQ-v0", False),
        ("RaTEScore", "RaTEScore", True),
        ("green_score", "GREEN", True),
        ("FineRadScore", "1/FineRadScore", True),
    ],
)
def test_rexranks_names_have_its_directions(column: str, label: str, is_up: bool) -> None:
    metric = metric_for_column(column)
    assert metric is not None
    assert (metric.label, metric.higher_is_better) == (label, is_up)
    assert metric_for_column("unheard_of") is None


def test_a_mean_that_has_no_reciprocal_is_not_available(invoke: Invoke, runs, tmp_path) -> None:
    file = written(tmp_path / "m.csv", both(radcliq=[-0.5] * (2 * len(IDS))))
    cell = data(invoke, *runs, "--metrics", file)["groups"][0]["cells"]["radcliq"]["a"]
    assert (cell["n"], cell["value"], cell["rank"]) == (len(IDS), None, None)


def test_unknown_directions_are_all_named_at_once(tmp_path: Path) -> None:
    from judge.comparing.metric_files import read_metrics

    file = written(tmp_path / "m.csv", both(x=[1.0] * 2 * len(IDS), y=[1.0] * 2 * len(IDS)))
    with pytest.raises(JudgeError, match="'x', 'y'"):
        read_metrics(str(file))
