"""RadEval's values of single studies: `judge metrics --radeval`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from support import EXAMPLES, Invoke

from judge.metrics.radeval_file import read_results
from judge.types import JudgeError

IDS = list(json.loads((EXAMPLES / "refs.json").read_text("utf-8")))
PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def results(tmp_path: Path, **columns: object) -> Path:
    path = tmp_path / "radeval.json"
    path.write_text(json.dumps(columns), "utf-8")
    return path


def test_values_off_a_metrics_scale_are_refused(invoke: Invoke, tmp_path: Path) -> None:
    given = results(tmp_path, rougeL=[35.0, 20.0, 50.0])
    with pytest.raises(JudgeError, match=r"has 35 for 'rougeL', which goes from 0 to 1"):
        read_results(given, ["a", "b", "c"])
    with pytest.raises(JudgeError, match="among the values of 'bleu'"):
        read_results(results(tmp_path, bleu=[10**400, 0, 0]), ["a", "b", "c"])
    assert invoke("green", *PAIR, "--out", "run").exit_code == 0
    rows = "\n".join(f"{one},1.5" for one in IDS)
    (tmp_path / "m.csv").write_text(f"study_id,rougel\n{rows}\n")
    done = invoke("compare", "one=run", "two=run", "--metrics", "m.csv", "--allow", "judge")
    assert done.exit_code == 2
    assert "has 1.5 in the column 'rougel', which is read as ROUGE-L and goes from 0" in done.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000 + "]" * 100_000, "can't be read as JSON: maximum recursion depth"),
        ('{"bleu": [[[1]]], "bleu": [1, 2]}', "has 'bleu' more than once, with different values"),
        ('{"bleu": ' + "[" * 500 + "]" * 500 + "}", "nests more than 100 objects and lists"),
        ('{"": [1, 2]}', "values of a metric without a name"),
        ('{"bleu": [1, 2]} {"rougeL": [1, 2]}', "is no JSON object"),
        ("[1, 2]", "is no JSON object"),
        ('{"bleu": [1,', "is not JSON: "),
        ("", "is empty"),
    ],
)
def test_a_file_that_is_no_json_of_lists_is_one_message(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "radeval.json"
    path.write_text(text, "utf-8")
    with pytest.raises(JudgeError, match=re.escape(why)):
        read_results(path, ["a", "b"])


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "radeval.json"
    path.write_text('{"bleu": [0.5, null]}', "utf-8-sig")
    (found,) = read_results(path, ["a", "b"])
    assert found.values[0] == 0.5


def test_radevals_values_have_names_of_their_own(invoke: Invoke, tmp_path: Path) -> None:
    values = [at / 20 for at in range(15)]
    shuffled = [14 - at for at in range(15)]
    results(
        tmp_path,
        study_id=[IDS[at] for at in shuffled],
        bleu=[values[at] for at in shuffled],
        rougeL=[values[at] for at in shuffled],
        radcliq_v1=[values[at] + 0.1 for at in shuffled],
        green=[None, *[values[at] for at in shuffled][1:]],
    )
    done = invoke("metrics", *PAIR, "--radeval", "radeval.json", "--out", "m.csv")
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv(tmp_path / "m.csv")
    # Its bleu is BLEU-4: never the column that is ReXrank's BLEU-2.
    assert list(table)[2:] == ["radeval_bleu", "rougel", "radcliq", "radeval_green"]
    assert list(table["study_id"]) == IDS
    assert list(table["radeval_bleu"]) == pytest.approx(values)
    assert math.isnan(table["radeval_green"].iloc[14])
    assert re.search(r"green \(RadEval\) +14 ", done.stdout)
    assert invoke("green", *PAIR, "--out", "run").exit_code == 0
    shown = invoke("compare", "run", "--metrics", "m.csv", "--format", "json")
    assert shown.exit_code == 0, shown.stderr
    cells = json.loads(shown.stdout)["groups"][0]["cells"]
    assert {"radeval_bleu", "rougel", "radcliq", "radeval_green"} < set(cells)
    assert "bleu2" not in cells


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"bleu": 0.4}, "per_sample=True"),
        ({"bleu": [0.4]}, "1 values of 'bleu' for 2 studies"),
        ({"bleu": [0.4, "x"]}, "'x' among the values of 'bleu'"),
        ({"bleu": [0.4, True]}, "'True' among the values"),
        ({"bleu": [0.4, float("inf")]}, "'inf' among the values"),
        ({"study_id": ["a", "c"], "bleu": [0.4, 0.2]}, "has no study 'b'"),
        ({}, "no object of lists"),
    ],
)
def test_what_is_no_result_of_radeval_is_refused(tmp_path: Path, columns: dict, why: str) -> None:
    with pytest.raises(JudgeError, match=re.escape(why)):
        read_results(results(tmp_path, **columns), ["a", "b"])


def test_an_unknown_metric_of_radevals_asks_for_its_direction(
    invoke: Invoke, tmp_path: Path
) -> None:
    results(tmp_path, temporal_f1=[0.5] * 15)
    assert invoke("green", *PAIR, "--out", "run").exit_code == 0
    assert invoke("metrics", *PAIR, "--radeval", "radeval.json", "--out", "m.csv").exit_code == 0
    done = invoke("compare", "run", "--metrics", "m.csv")
    assert done.exit_code == 2
    assert "whether more is better is unknown of 'radeval_temporal_f1'" in done.stderr


def test_radevals_values_are_for_one_section_and_not_computed_again(
    invoke: Invoke, tmp_path: Path
) -> None:
    results(tmp_path, radgraph_partial=[0.5] * 15)
    line = ("metrics", *PAIR, "--radeval", "radeval.json")
    several = invoke(*line, "--section", "findings,report")
    assert several.exit_code == 2
    assert "name one --section" in several.stderr
    again = invoke(*line, "--metric", "f1radgraph")
    assert again.exit_code == 2
    assert "has radgraph_partial already; leave --metric f1radgraph out" in again.stderr
