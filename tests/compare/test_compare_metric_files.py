"""Files of metrics that join a comparison: whose column is which metric, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from judged_runs import IDS, data, refused
from support import Invoke

from judge.comparing.metric_files import read_files, read_metrics
from judge.stats.metric import KNOWN
from judge.types import JudgeError

N = len(IDS)
Two = tuple[Path, Path]


def table(path: Path, **columns: object) -> str:
    """A CSV file with the example studies, and in each column one value or a list."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["study_id", *columns])
        filled = [c if isinstance(c, list) else [c] * N for c in columns.values()]
        rows.writerows(zip(IDS, *filled, strict=True))
    return str(path)


def not_read(path: str, **directions: list[str]) -> str:
    with pytest.raises(JudgeError) as error:
        read_metrics(path, **directions)
    return str(error.value)


# Joining


def test_metrics_join_by_study_and_model_and_correlate(
    invoke: Invoke, two: Two, tmp_path: Path
) -> None:
    rows = [(m, key, at) for m in ("good", "bad") for at, key in enumerate(IDS)]
    rows = [rows[7 * at % len(rows)] for at in range(2 * N)]  # in no order
    models, ids, at = zip(*rows, strict=True)
    scores = [
        0.05 * x if m == "good" else 0.04 * x for m, x in zip(models, at, strict=True)
    ]
    columns = {"study_id": ids, "model": models, "BLEU": scores}
    columns["RadCliQ-v1"] = [1 + score for score in scores]
    path = tmp_path / "m.parquet"
    pq.write_table(pa.table(columns), path)
    found = data(invoke, *two, "--metrics", path, "--sort", "1/RadCliQ-v1")
    cells = found["groups"][0]["cells"]
    mean = 0.05 * (N - 1) / 2
    assert cells["bleu2"]["good"]["value"] == pytest.approx(mean)
    assert cells["radcliq"]["good"]["value"] == pytest.approx(1 / (1 + mean))
    assert cells["radcliq"]["bad"]["rank"] == 1
    names = found["correlations"]["names"]
    # More of one is more of the other, of which less is better.
    pair = found["correlations"]["spearman"][names.index("bleu2")][
        names.index("radcliq")
    ]
    assert pair == pytest.approx(-1)
    assert len(found["groups"][0]["tests"]["radcliq"]) == 1


def test_values_that_are_missing_or_of_no_study_are_counted(
    invoke: Invoke, two: Two, tmp_path: Path
) -> None:
    good = table(tmp_path / "1.csv", model="good", bertscore=["", *[0.5] * (N - 1)])
    bad = table(
        tmp_path / "2.csv", model=["bad"] * (N - 1) + ["another"], bertscore=0.5
    )
    found = data(invoke, *two, "--metrics", good, "--metrics", bad, "--no-tests")
    cell = found["groups"][0]["cells"]["bertscore"]["good"]
    assert (cell["n"], cell["value"]) == (N - 1, 0.5)
    assert "BERTScore is there for good 14, bad 14 of 15" in found["notes"]
    assert "in another file" in refused(
        invoke, *two, "--metrics", good, "--metrics", good
    )
    file = table(tmp_path / "m.csv", bleu=1)  # whose they are is not clear
    assert "'model'" in refused(invoke, *two, "--metrics", file)
    file = table(tmp_path / "n.csv", rougel=1.5)
    assert "'rougel'" in refused(invoke, two[0], "--metrics", file)  # off its scale


def test_a_column_with_the_name_of_a_rubrics_metric_is_refused(
    invoke: Invoke, two: Two, tmp_path: Path
) -> None:
    file = table(tmp_path / "m.csv", model="good", GREEN=0.25)
    assert "rename the file's column" in refused(invoke, two[0], "--metrics", file)


# Names and directions


def test_spellings_of_a_known_metric_are_that_metric(
    invoke: Invoke, two: Two, tmp_path: Path
) -> None:
    first = table(tmp_path / "1.csv", radcliq=[0.5] * 5 + [""] * (N - 5))
    second = table(tmp_path / "2.csv", **{"RadCliQ-v1": [""] * 5 + [1] * (N - 5)})
    files = ("--metrics", first, "--metrics", second, "--lower-is-better", "radcliq")
    cells = data(invoke, two[0], *files)["groups"][0]["cells"]
    assert cells["radcliq"]["good"]["value"] == pytest.approx(N / (0.5 * 5 + (N - 5)))
    assert "RadCliQ-v1" not in cells
    assert (KNOWN["radcliq"].label, KNOWN["radcliq"].higher_is_better) == (
        "1/RadCliQ-v1",
        True,
    )
    # A true direction changes nothing.
    assert read_metrics(first, lower=["radcliq"]).columns[0][0] == KNOWN["radcliq"]


def test_directions_that_say_nothing_or_the_wrong_thing_are_errors(
    tmp_path: Path,
) -> None:
    file = table(tmp_path / "m.csv", mine=1)
    with pytest.raises(JudgeError, match="both"):
        read_files([file], higher=["mine"], lower=["mine"])
    assert "'mine'" in not_read(file)
    known = table(tmp_path / "k.csv", **{"RadCliQ-v1": 1.5})
    assert "--higher-is-better RadCliQ-v1" in not_read(known, higher=["RadCliQ-v1"])


# Values


@pytest.mark.parametrize("value", ["-1e160", "-inf", "1_0", "١٢", "True", "good"])
def test_values_that_are_no_measurement(tmp_path: Path, value: str) -> None:
    values = ["0.5"] * N
    values[2] = value
    text = not_read(table(tmp_path / "m.csv", bleu=values))
    assert f"{IDS[2]!r} (row 3 of {N})" in text
    assert "'bleu'" in text


# Forms


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("study_id,bleu\ns1,good\n", "'good'"),
        ("study_id,model\ns1,a\n", "no metric"),
        ("id,bleu\ns1,1\n", "'study_id'"),
        ("study_id,bleu\ns1,1\ns1,1\n", "twice"),
        ("study_id,bleu,\ns1,0.5,1\n", "'column_3'"),
        ("study_id,model,bleu\ns,a,1\n,b,1\n", "'study_id'"),
        ("study_id,model,bleu\ns,a,1\nt,,1\n", "'model'"),
        ("", "m.csv"),
        ("PAR1nonsense", "m.csv"),
    ],
)
def test_files_that_are_no_table_of_metrics(
    tmp_path: Path, text: str, named: str
) -> None:
    (tmp_path / "m.csv").write_text(text, "utf-8")
    assert named in not_read(str(tmp_path / "m.csv"))
