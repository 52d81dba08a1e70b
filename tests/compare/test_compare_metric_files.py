"""Files of metrics: whose column is which metric, and what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from panels import SCORE, panel_of
from support import EXAMPLES, Invoke

from judge.comparing.metric_files import check_directions, read_metrics
from judge.stats.metric import KNOWN, Metric
from judge.types import JudgeError

IDS = list(json.loads((EXAMPLES / "refs.json").read_text("utf-8")))
PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path) -> str:
    assert invoke("green", *PAIR, "--out", tmp_path / "run").exit_code == 0
    return f"a={tmp_path / 'run'}"


def table(path: Path, **columns: object) -> str:
    """A CSV file with the example studies, and in each column one value or a list."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["study_id", *columns])
        filled = [c if isinstance(c, list) else [c] * len(IDS) for c in columns.values()]
        rows.writerows(zip(IDS, *filled, strict=True))
    return str(path)


def parquet(path: Path, **columns: object) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


def figures(invoke: Invoke, *args: object) -> dict:
    done = invoke("compare", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    groups = json.loads(done.stdout)["groups"]
    return {name: cells["a"]["value"] for name, cells in groups[0]["cells"].items()}


def refused(path: str, **directions: list[str]) -> str:
    with pytest.raises(JudgeError) as error:
        read_metrics(path, **directions)
    return str(error.value)


# One name, one metric


def test_two_metrics_of_one_name_never_overwrite_each_other(invoke: Invoke, run, tmp_path) -> None:
    file = table(tmp_path / "m.csv", GREEN=0.5, file_green=0.9)
    done = invoke("compare", run, "--metrics", file, "--higher-is-better", "file_green")
    assert done.exit_code == 2
    assert "'file_green'" in done.stderr
    assert "rename" in done.stderr


@pytest.mark.parametrize(
    ("one", "other", "way", "name"),
    [
        ("radcliq", "RadCliQ-v1", "--lower-is-better", "radcliq"),
        ("BLEU", "bleu2", "--higher-is-better", "bleu2"),
    ],
)
def test_spellings_of_a_known_metric_are_that_metric(
    invoke: Invoke, run, tmp_path: Path, one: str, other: str, way: str, name: str
) -> None:
    n = len(IDS)
    first = table(tmp_path / "1.csv", **{one: [0.5] * 5 + [""] * (n - 5)})
    second = table(tmp_path / "2.csv", **{other: [""] * 5 + [1] * (n - 5)})
    found = figures(invoke, run, "--metrics", first, "--metrics", second, way, one)
    mean = (0.5 * 5 + (n - 5)) / n
    wanted = 1 / mean if KNOWN[name].kind == "inverse" else mean
    assert found[name] == pytest.approx(wanted)
    assert not {one, other} & set(found) - {name}


def test_a_true_direction_changes_nothing(tmp_path: Path) -> None:
    file = table(tmp_path / "m.csv", radcliq=1.5)
    metric = read_metrics(file, lower=["radcliq"]).columns[0][0]
    assert metric == KNOWN["radcliq"]
    assert (metric.kind, metric.rexrank) == ("inverse", "1/RadCliQ-v1")


def test_a_direction_that_contradicts_what_is_known_is_an_error(tmp_path: Path) -> None:
    file = table(tmp_path / "m.csv", **{"RadCliQ-v1": 1.5, "mine": 1})
    said = refused(file, higher=["RadCliQ-v1", "mine"])
    assert "--higher-is-better RadCliQ-v1" in said
    assert "less is better" in said
    reciprocal = table(tmp_path / "r.csv", **{"1/RadCliQ-v1": 0.7})
    assert "give 'RadCliQ-v1'" in refused(reciprocal, higher=["1/RadCliQ-v1"])


def test_a_rubrics_reciprocal_and_that_of_a_file_stand_apart(
    invoke: Invoke, tmp_path: Path
) -> None:
    assert invoke("fineradscore", *PAIR, "--out", tmp_path / "fine").exit_code == 0
    file = table(tmp_path / "m.csv", FineRadScore=4)
    args = ("compare", f"a={tmp_path / 'fine'}", "--metrics", file)
    found = figures(invoke, *args[1:])
    assert found["file_fineradscore"] == 0.25
    shown = invoke(*args, "--format", "rexrank").stdout
    row = next(csv.DictReader(io.StringIO(shown)))
    assert row["1/FineRadScore"] == f"{found['inverse_fineradscore']:.3f}"


@pytest.mark.parametrize(
    "other",
    [
        Metric("score", "another", "mean", False, "another", False),
        Metric("another", "score", "mean", False, "another", False),
    ],
)
def test_a_panel_has_no_two_metrics_of_one_name_or_label(other: Metric) -> None:
    with pytest.raises(JudgeError, match="'score'"):
        panel_of({SCORE: np.ones((2, 2)), other: np.zeros((2, 2))})


# Directions


@pytest.mark.parametrize(
    ("higher", "lower", "said"),
    [
        (["mine", "mien"], [], "--higher-is-better mien: no file of metrics has that column"),
        (["mine"], ["Mine"], "--lower-is-better Mine"),
    ],
)
def test_directions_that_say_nothing_are_errors(tmp_path: Path, higher, lower, said) -> None:
    files = [read_metrics(table(tmp_path / "m.csv", mine=1), higher=["mine"])]
    with pytest.raises(JudgeError, match=said):
        check_directions(files, higher, lower)


def test_both_directions_are_refused_when_the_file_is_read(tmp_path: Path) -> None:
    assert "both" in refused(table(tmp_path / "m.csv", x=1), higher=["x"], lower=["x"])


def test_a_direction_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="--metrics FILE"):
        check_directions([], [], ["radcliq"])
    check_directions([], [], [])
    files = [
        read_metrics(table(tmp_path / f"{n}.csv", **{n: 1}), higher=["x"]) for n in ("x", "bleu")
    ]
    check_directions(files, ["x", "bleu"], [])


# Values


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("1e-310", "nearer to 0"),
        ("-1e-170", "nearer to 0"),
        ("1e308", "beyond 1e+12"),
        ("-1e160", "beyond 1e+12"),
        ("1e400", "infinite"),
        ("-inf", "infinite"),
        ("1_0", "no metric"),
        ("١٢", "no metric"),
        ("True", "no metric"),
        ("-nan", "no metric"),
        ("0x10", "no metric"),
    ],
)
def test_values_that_are_no_measurement(tmp_path: Path, value: str, said: str) -> None:
    values = ["0.5"] * len(IDS)
    values[2] = value
    text = refused(table(tmp_path / "m.csv", bleu=values))
    assert said in text
    assert f"{IDS[2]!r} (row 3 of {len(IDS)})" in text
    assert "'bleu'" in text


@pytest.mark.parametrize(
    ("value", "number"),
    [("0", 0), ("-0.0", 0), ("1e-12", 1e-12), ("+1.e12", 1e12), (".5", 0.5), (" 2E-3 ", 0.002)],
)
def test_values_that_are_numbers(tmp_path: Path, value: str, number: float) -> None:
    _, column = read_metrics(table(tmp_path / "m.csv", mine=value), higher=["mine"]).columns[0]
    assert set(column) == {number}


@pytest.mark.filterwarnings("error")
def test_the_outermost_values_make_whole_tables(invoke: Invoke, run, tmp_path: Path) -> None:
    n = len(IDS)
    tiny = table(tmp_path / "1.csv", radcliq=[1e-12, 3e-12] * (n // 2) + [2e-12])
    huge = table(tmp_path / "2.csv", mine=[1e12, -1e12] * (n // 2) + [1.0])
    for form in ("table", "json", "csv", "latex"):
        files = ("--metrics", tiny, "--metrics", huge, "--higher-is-better", "mine")
        done = invoke("compare", run, *files, "--format", form)
        assert done.exit_code == 0, done.stderr
        assert "nan" not in done.stdout.lower().split()
        assert "inf" not in done.stdout.lower().split()


# Parquet, and columns without a name


def test_parquet_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    columns = [pa.array(["s1"]), pa.array([0.5]), pa.array([0.6])]
    pq.write_table(pa.table(columns, names=["study_id", "bleu", "bleu"]), tmp_path / "m")
    assert "columns of the same name: bleu" in refused(str(tmp_path / "m"))


def test_parquet_texts_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    data = pa.py_buffer(b"\xff\xfe")
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], dtype=np.int32)), data)
    said = refused(parquet(tmp_path / "m", study_id=broken, bleu=[0.5]))
    assert "is a broken Parquet file" in said


def test_csv_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes("study_id,bleu\nmüller,0.5\n".encode("latin-1"))
    assert "is not UTF-8" in refused(tmp_path / "m.csv")


@pytest.mark.parametrize("text", ['[{"study_id": "s1", "bleu": 0.5}]', "study_id\tbleu\ns1\t0.5\n"])
def test_metrics_have_any_form_that_reports_have(tmp_path: Path, text: str) -> None:
    (tmp_path / "m").write_bytes(gzip.compress(text.encode()))
    found = read_metrics(str(tmp_path / "m"))
    assert (found.study_ids, found.columns[0][1].tolist()) == (("s1",), [0.5])


def test_parquet_bytes_are_text_and_decimals_numbers(tmp_path: Path) -> None:
    ids = pa.array([b"s1", "ö".encode()], pa.binary())
    found = read_metrics(
        parquet(tmp_path / "m", study_id=ids, bleu=[Decimal("0.5"), Decimal("0.25")])
    )
    assert found.study_ids == ("s1", "ö")
    assert found.columns[0][1].tolist() == [0.5, 0.25]


def test_truth_values_are_no_metric(tmp_path: Path) -> None:
    said = refused(parquet(tmp_path / "m", study_id=["s1"], bleu=[True]))
    assert "no metric: it holds 'True'" in said


@pytest.mark.parametrize("column", ["study_id", "model"])
def test_every_row_needs_its_study_and_model(tmp_path: Path, column: str) -> None:
    columns = {"study_id": ["s1", "s2"], "model": ["a", "a"], "bleu": [0.5, 0.5]}
    columns[column] = [columns[column][0], None]
    said = refused(parquet(tmp_path / "m", **columns))
    assert f"record 2 of 2 has no value in {column!r}" in said
    (tmp_path / "m.csv").write_text(
        f"{column},{'model' if column == 'study_id' else 'study_id'},bleu\ns,a,1\n,b,1\n"
    )
    assert "record 2 of 2 has no value" in refused(str(tmp_path / "m.csv"))


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_an_index_without_a_name_is_passed_over(tmp_path: Path, index: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"{index},study_id,bleu\n0,s1,0.5\n1,s2,0.7\n")
    assert [metric.name for metric, _ in read_metrics(str(path)).columns] == ["bleu2"]
    path.write_text("study_id,bleu,\ns1,0.5,1\n")
    assert "'column_3'" in refused(str(path))


def test_parquets_index_without_a_name_is_passed_over(tmp_path: Path) -> None:
    found = read_metrics(
        parquet(tmp_path / "m", __index_level_0__=[7], study_id=["s1"], bleu=[0.5])
    )
    assert found.names == ("bleu",)
