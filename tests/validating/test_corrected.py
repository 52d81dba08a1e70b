"""`judge rates RUN --readers`: figures, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answered_runs import records_of, rewrite
from click.testing import CliRunner
from support import Invoke

from judge.cli import main
from judge.running.folder import RunFolder

N = 120
CLEAR = "The lungs are clear. No pleural effusion. The heart is normal in size."
EFFUSION = (
    "The lungs are clear. Large left pleural effusion. The heart is normal in size."
)
AT_RANDOM = "--drawn-at-random"
READ = sorted(np.random.default_rng(4).choice(N, 50, replace=False).tolist())
RATE = "no_significant_error"
# Every third candidate has an effusion too many; two studies a patient.
STUDIES = [
    {
        "study_id": f"s{at:03}",
        "report": CLEAR,
        "prediction": EFFUSION if at % 3 == 0 else CLEAR,
        "study_class": "normal" if at % 4 else "abnormal",
        "site": ("north", "south", "small")[0 if at < 60 else 1 if at < 114 else 2],
        "subject": at // 2,
    }
    for at in range(N)
]
Counts = Mapping[str, tuple[int, int]]


def call(*words: object) -> None:
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.stderr


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in judge's runs: `m` and `n` by GREEN, `fine`, and `patients` who are named."""
    work = tmp_path_factory.mktemp("judges")
    for name, rubric in (("m", "green"), ("n", "green"), ("fine", "fineradscore")):
        rows = [{key: one[key] for key in one if key != "subject"} for one in STUDIES]
        (work / f"{name}.json").write_text(json.dumps(rows))
        options = ("--section", "report", "--model", name[0], "--out", work / name)
        call(rubric, work / f"{name}.json", *options)
    (work / "patients.json").write_text(json.dumps(STUDIES))
    options = ("--section", "report", "--model", "m", "--out", work / "patients")
    call("green", work / "patients.json", *options)
    return work


def errors_of(seed: int = 0) -> dict[str, tuple[int, int]]:
    """Significant and insignificant errors of a reader, who agrees with the judge on most."""
    rng = np.random.default_rng(seed)
    found = {}
    for at in range(N):
        wrong = at % 3 == 0
        significant = int(wrong) if rng.random() < 0.8 else int(not wrong)
        found[f"s{at:03}"] = (significant, int(rng.random() < 0.2))
    return found


def chosen(rows: Iterable[int], seed: int = 0) -> Counts:
    every = errors_of(seed)
    return {f"s{at:03}": every[f"s{at:03}"] for at in rows}


def read(
    out: Path,
    by_reader: Mapping[str, Counts],
    levels: Sequence[str] = ("significant", "insignificant"),
) -> list[Path]:
    """Readers' runs of counts of errors, by reader and study."""
    about = {one["study_id"]: one for one in STUDIES}
    lines = [["study_id", "reader", "level", "count", "reference", "candidate"]]
    for reader, studies in by_reader.items():
        for study_id, counts in studies.items():
            of = about.get(study_id, STUDIES[0])
            texts = [of["report"], of["prediction"]]
            if not any(counts):
                lines.append([study_id, reader, "", 0, *texts])
            for level, count in zip(levels, counts, strict=True):
                if count:
                    lines.append([study_id, reader, level, count, *texts])
    file = out.parent / f"{out.name}.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows(lines)
    call(
        "readers",
        "import",
        "tidy",
        file,
        "--section",
        "report",
        "--model",
        "m",
        "--out",
        out,
    )
    return [out / f"reader-{reader}" for reader in by_reader]


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty readings of one reader. Read it; do not write to it."""
    return read(tmp_path_factory.mktemp("ann") / "readers", {"ann": chosen(READ)})[0]


def change_manifest(path: Path, **reading: Any) -> None:
    file = path / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest["reading"] |= reading
    file.write_text(json.dumps(manifest), "utf-8")


def sample(by: Sequence[str], n_drawn: Mapping[Any, int]) -> dict[str, Any]:
    """A sample as a reader's run keeps it: `n_drawn` of each key of `by`."""
    keys = [tuple(one[name] for name in by) for one in STUDIES]
    strata = [
        {
            "key": dict(zip(by, k, strict=True)),
            "n_studies": keys.count(k),
            "n_drawn": n_drawn[k],
        }
        for k in dict.fromkeys(keys)
    ]
    return {"seed": 1, "by": list(by), "strata": strata}


def corrected(invoke: Invoke, *words: object) -> dict[str, Any]:
    done = invoke("rates", *words, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert "NaN" not in done.stdout
    return json.loads(done.stdout)


def readings(paths: Iterable[Path]) -> list[object]:
    return [word for path in paths for word in ("--readers", path)]


def test_each_figure_has_the_corrected_beside_it(
    invoke: Invoke, judges: Path, ann: Path
) -> None:
    run = judges / "m"
    summary = corrected(invoke, run, "--readers", ann, AT_RANDOM)
    f = (RunFolder.open(run).table()["n_significant"].to_numpy(float) == 0).astype(
        float
    )
    y = np.array([errors_of()[f"s{at:03}"][0] == 0 for at in READ], float)
    unread = np.setdiff1d(np.arange(N), READ)
    slope = np.mean((y - y.mean()) * (f[READ] - f[READ].mean())) / f.var(ddof=1)
    weight = slope * len(unread) / N
    figure, fixed = (
        summary["statistics"][RATE],
        summary["statistics"][RATE]["corrected"],
    )
    assert figure["value"] == f.mean()
    expected = weight * f[unread].mean() + (y - weight * f[READ]).mean()
    assert (fixed["value"], fixed["weight"]) == pytest.approx((expected, weight))
    assert (fixed["n"], fixed["n_studies"], fixed["why_not"]) == (50, N, None)
    own = corrected(invoke, ann)["statistics"][RATE]
    for end, name in (
        ("value", "labels"),
        ("low", "labels_low"),
        ("high", "labels_high"),
    ):
        assert fixed[name] == pytest.approx(own[end])
    assert "corrected" not in summary["statistics"]["green"]
    about = summary["readings"]
    assert set(about["not_corrected"]) == {"green"}
    assert (about["drawn"], about["n_read"]) == ("told", 50)
    assert about["runs"][0]["signature"] == RunFolder.open(ann).signature


def test_groups_are_corrected_by_their_own_readings(
    invoke: Invoke, judges: Path, ann: Path
) -> None:
    words = (judges / "m", "--readers", ann, AT_RANDOM, "--by", "site")
    found = {
        row["site"]: row["statistics"][RATE]["corrected"]
        for row in corrected(invoke, *words)["rates"]
    }
    n = {name: fixed["n"] for name, fixed in found.items()}
    assert n["north"] == sum(at < 60 for at in READ)
    assert sum(n.values()) == 50
    assert found["small"]["why_not"] == f"too few readings: {n['small']} of at least 10"
    assert found["small"]["value"] is found["small"]["labels"] is None
    text = invoke("rates", *words, "--format", "csv", "--table", "corrected").stdout
    rows = [
        row for row in csv.DictReader(io.StringIO(text)) if row["statistic"] == RATE
    ]
    assert float(rows[0]["corrected"]) == found["north"]["value"]
    assert (rows[1]["corrected"], rows[1]["corrected_why"] != "") == ("", True)


def test_several_readers_of_a_study_are_averaged(
    invoke: Invoke, judges: Path, tmp_path: Path
) -> None:
    readers = {"ann": chosen(READ, 1), "bob": chosen(READ[10:], 2)}
    paths = read(tmp_path / "readers", readers)
    found = corrected(invoke, judges / "m", *readings(paths), AT_RANDOM)
    fixed = found["statistics"][RATE]["corrected"]
    y = [
        np.mean([of[s][0] == 0 for of in readers.values() if s in of])
        for s in readers["ann"]
    ]
    assert (fixed["labels"], fixed["n"]) == (pytest.approx(np.mean(y)), 50)


def test_a_sample_in_strata_is_weighted_by_them(
    invoke: Invoke, judges: Path, tmp_path: Path
) -> None:
    abnormal, normal = (
        [at for at in range(N) if bool(at % 4) is of] for of in (False, True)
    )
    read_of = {0.25: abnormal[:20], 0.75: normal[5:20]}
    (ann,) = read(
        tmp_path / "readers", {"ann": chosen(sorted(read_of[0.25] + read_of[0.75]))}
    )
    drawn = sample(["study_class"], {("abnormal",): 20, ("normal",): 25})
    change_manifest(ann, sample=drawn)
    summary = corrected(invoke, judges / "m", "--readers", ann)
    assert (summary["readings"]["drawn"], summary["readings"]["drawn_by"]) == (
        "drawn",
        ["study_class"],
    )
    found = errors_of()
    expected = sum(
        weight * np.mean([found[f"s{at:03}"][0] == 0 for at in rows])
        for weight, rows in read_of.items()
    )
    fixed = summary["statistics"][RATE]["corrected"]
    assert (fixed["labels"], fixed["n"]) == (pytest.approx(expected), 35)


def test_studies_of_a_patient_go_together(
    invoke: Invoke, judges: Path, tmp_path: Path
) -> None:
    (ann,) = read(
        tmp_path / "readers", {"ann": chosen(at for at in range(N) if at // 2 % 2)}
    )
    words = (judges / "patients", "--readers", ann, AT_RANDOM)
    by_patient, by_study, by_site = (
        corrected(invoke, *words, *more)
        for more in ((), ("--patient-field", "none"), ("--patient-field", "site"))
    )
    assert by_patient["readings"]["patient_field"] == "subject"
    assert by_study["readings"]["patient_field"] is None
    one, other, third = (
        each["statistics"][RATE]["corrected"]
        for each in (by_patient, by_study, by_site)
    )
    assert one["value"] == other["value"]
    assert one["low"] != other["low"]
    assert third["why_not"] == "too few patients: 3 of at least 10"


def refused(invoke: Invoke, *words: object, names: str) -> None:
    done = invoke(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert names in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_ground_for_a_correction_is_refused(
    invoke: Invoke, judges: Path, ann: Path, tmp_path: Path
) -> None:
    run = judges / "m"
    (other,) = read(
        tmp_path / "other", {"cy": {f"other-{at}": (0, 1) for at in range(12)}}
    )
    of_run, twice = ("rates", run, "--readers"), ("--readers", ann)
    refused(invoke, *of_run, ann, names="--drawn-at-random")
    refused(invoke, *of_run, other, AT_RANDOM, names=str(other))
    refused(invoke, "rates", ann, "--readers", ann, AT_RANDOM, names="reader's run")
    refused(invoke, *of_run, run, AT_RANDOM, names="not of a reader")
    refused(invoke, *of_run, tmp_path, AT_RANDOM, names=str(tmp_path))
    refused(invoke, *of_run, ann, *twice, AT_RANDOM, names=str(ann))
    refused(invoke, *of_run, ann, AT_RANDOM, "--patient-field", "ward", names="'ward'")


@pytest.mark.parametrize("field", ["candidate", "reference"])
def test_readings_of_other_texts_are_refused(
    invoke: Invoke, judges: Path, ann: Path, tmp_path: Path, field: str
) -> None:
    other = shutil.copytree(ann, tmp_path / "ann")
    records = records_of(other)
    for record in records[2:5]:
        record[field] = "No focal consolidation."
    records[7][field] = f"  {records[7][field]}\n".replace(
        ". ", ".   "
    )  # the same words
    rewrite(other, records)
    names = f"{field}s in 3 studies, such as {records[2]['study_id']!r}"
    refused(invoke, "rates", judges / "m", "--readers", other, AT_RANDOM, names=names)


def test_a_sample_that_is_not_of_this_run_is_refused(
    invoke: Invoke, judges: Path, tmp_path: Path
) -> None:
    run = judges / "m"
    (ann,) = read(tmp_path / "readers", {"ann": chosen(range(0, N, 3))})
    right = sample(["study_class"], {("abnormal",): 30, ("normal",): 90})
    change_manifest(ann, sample=right)
    assert corrected(invoke, run, "--readers", ann)["readings"]["drawn"] == "drawn"
    first, second = right["strata"]
    for damaged, names in (
        ({**right, "by": ["ward"]}, "'ward'"),
        (
            {**right, "strata": [{**first, "n_studies": 7}, second]},
            "sample of other studies",
        ),
    ):
        change_manifest(ann, sample=damaged)
        refused(invoke, "rates", run, "--readers", ann, names=names)


@pytest.mark.parametrize("text", ["", "Another part of the report."])
def test_readings_of_another_section_are_refused(
    invoke: Invoke, judges: Path, tmp_path: Path, text: str
) -> None:
    rows = [[study_id, "ann", "significant", 1, text] for study_id in chosen(READ)]
    with (tmp_path / "ann.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["study_id", "reader", "level", "count", "candidate"], *rows]
        )
    call(
        "readers",
        "import",
        "tidy",
        tmp_path / "ann.csv",
        "--section",
        "findings",
        "--out",
        tmp_path / "ann",
    )
    done = invoke("rates", judges / "m", "--readers", tmp_path / "ann", AT_RANDOM)
    assert done.exit_code == 2
    assert "--section" in done.stderr
