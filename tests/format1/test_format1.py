"""Runs that were written before rubrics declared items and measures: folders of format 1.

`green/` and `fineradscore/` were written by the release before, of `examples/`. What their own
`summary.json` says is what every command must say of them, to the last digit.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import EXAMPLES, Invoke

from judge import rubrics
from judge.rubrics.contract import Rubric
from judge.running.folder import Run
from judge.running.format1 import record_of_today
from judge.running.forms import record_fault
from judge.running.records import outcome_of, study_of
from judge.types import JudgeError

HERE = Path(__file__).parent


@pytest.fixture(params=["green", "fineradscore"])
def rubric(request: pytest.FixtureRequest) -> Rubric:
    return rubrics.load(request.param)


@pytest.fixture
def old(tmp_path: Path, rubric: Rubric) -> Path:
    return Path(shutil.copytree(HERE / rubric.name, tmp_path / "old"))


@pytest.fixture
def own(old: Path) -> dict[str, Any]:
    """What the run says of itself."""
    found: dict[str, Any] = json.loads((old / "summary.json").read_text("utf-8"))
    return found


def same_statistics(now: Mapping[str, Any], own: Mapping[str, Any], rubric: Rubric) -> int:
    """Assert that a block of statistics has the numbers of the block of format 1."""
    n_held = 0
    for statistic in rubric.statistics:
        found = dict(now["statistics"][statistic.name])
        assert found.pop("n_undefined") == 0
        if statistic.kind == "rate":
            wanted = own[statistic.name]
            assert found == {"value" if k == "rate" else k: v for k, v in wanted.items()}
        elif wanted := {**own["scores"], **own.get("checks", {})}.get(statistic.name):
            assert found == {"value" if k == "mean" else k: v for k, v in wanted.items()}
        else:
            continue
        n_held += 1
    return n_held


def test_every_statistic_is_the_one_that_the_run_was_written_with(
    old: Path, own: dict[str, Any], rubric: Rubric
) -> None:
    now = Run(old).summary()
    for name in (
        "signature",
        "judge",
        "n_studies",
        "n_scored",
        "n_unparsed",
        "n_failed",
        "reasons",
    ):
        assert now[name] == own[name]
    assert now["warnings"] == own["remarks"]
    old_names = {*own["scores"], *own["checks"]}
    old_names |= {name for name in ("no_significant_error", "no_actionable_error") if own[name]}
    assert same_statistics(now, own, rubric) == len(old_names)
    for group, wanted in zip(now["rates"], own["rates"], strict=True):
        assert group["study_class"] == wanted["study_class"]
        assert same_statistics(group, wanted, rubric) >= len(own["scores"])
    (kind,) = rubric.graded
    for grade, wanted in own["levels"].items():
        (measure,) = rubric.counting(kind.name, {str(kind.graded_by): grade})
        assert now["totals"][measure.name] == wanted
        for row in own["errors"]:
            labels = {str(kind.graded_by): grade, "category": row["category"]}
            (measure,) = rubric.counting(kind.name, labels)
            assert now["totals"][measure.name] == row[grade]
    if own["matched"]:
        assert now["totals"]["n_matched"] == own["matched"]
    assert now["statistics"]["errors"]["value"] == pytest.approx(
        sum(each["per_study"] for each in own["levels"].values()), rel=1e-15
    )


def test_every_study_has_the_numbers_it_was_written_with(old: Path, rubric: Rubric) -> None:
    lines = [
        json.loads(line) for line in (old / "annotations.jsonl").read_text("utf-8").splitlines()
    ]
    run = Run(old)
    table = run.table().set_index("study_id")
    written = pd.read_csv(old / "studies.csv").set_index("study_id")
    for record, line in zip(run.records(), lines, strict=True):
        for name, value in record["measures"].items():
            assert value == {**line["scores"], **line["counts"]}[name]
            assert value == table.loc[line["study_id"], name]
            assert value == pytest.approx(written.loc[line["study_id"], name], rel=1e-15)
        items = record["annotation"]["items"]
        (kind,) = rubric.graded
        assert [
            (item["text"], item["labels"]["category"], item["labels"][kind.graded_by], item["edit"])
            for item in items
            if item["kind"] == kind.name
        ] == [
            (error["text"], error["categories"], [error["level"]], error["edit"])
            for error in line["annotation"]["errors"]
        ]
        matched = [item["text"] for item in items if item["kind"] == "matched"]
        assert matched == line["annotation"]["matched"]
        # What is read from the raw answer today is what was written then.
        outcome = outcome_of(record)
        answer = line["answer"]["text"]
        assert rubric.parse(answer, study_of(record), complete=True) == outcome.annotation  # type: ignore[union-attr]


def test_each_command_opens_it_as_it_lies(invoke: Invoke, old: Path, rubric: Rubric) -> None:
    before = {file.name: file.read_bytes() for file in old.iterdir()}
    printed = invoke("rates", old)
    assert printed.exit_code == 0, printed.output
    tables = (HERE / f"{rubric.name}.txt").read_text("utf-8")
    for number in set(re.findall(r"\d+\.\d{3} \[[^]]+\]|\d+/\d+ [\d.]+% \[[^]]+\]", tables)):
        assert number in printed.stdout, number
    summary = json.loads(invoke("rates", old, "--format", "json").stdout)
    rows = list(csv.DictReader(io.StringIO(invoke("rates", old, "--format", "csv").stdout)))
    for statistic in rubric.shown("groups"):
        value = float(rows[-1][f"{statistic.name}_{statistic.kind}"])
        assert value == summary["statistics"][statistic.name]["value"]
    by_site = invoke("rates", old, "--by", "site")
    assert "harbour" in by_site.stdout
    audited = invoke("audit", old, "ex-008")
    assert "wrong location" in audited.stdout
    assert "ex-015" in invoke("audit", old, "--worst", "3").stdout
    page = invoke("audit", old, "--html", "page.html")
    assert page.exit_code == 0, page.output
    assert Path("page.html").stat().st_size > 50_000
    compared = json.loads(invoke("compare", old, "--format", "json").stdout)
    cells = compared["groups"][0]["cells"]
    for metric in rubric.shown("compare"):
        (name,) = (name for name in cells if name in (metric.name, f"{rubric.name}_{metric.name}"))
        (cell,), wanted = cells[name].values(), summary["statistics"][metric.name]
        assert cell["value"] == pytest.approx(wanted["value"], rel=1e-12)
        assert [cell["low"], cell["high"]] == pytest.approx([wanted["low"], wanted["high"]])
    assert {file.name: file.read_bytes() for file in old.iterdir()} == before


def test_rescore_brings_it_to_the_form_of_today(
    invoke: Invoke, old: Path, own: dict[str, Any], rubric: Rubric
) -> None:
    before = Run(old)
    then, records, table = before.summary(), list(before.records()), before.table()
    done = invoke("rescore", old)
    assert done.exit_code == 0, done.output
    assert "0 of 15 studies read differently" in done.stderr
    now = Run(old)
    assert (before.format, now.format) == (1, 2)
    assert now.manifest["rescored"][0]["from_signature"] == own["signature"]
    assert now.summary() == then
    assert list(now.records()) == records
    pd.testing.assert_frame_equal(now.table(), table)
    fresh = invoke(rubric.name, EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", "fresh")
    assert fresh.exit_code == 0, fresh.output
    for name in ("annotations.jsonl", "studies.csv"):
        assert (old / name).read_bytes() == Path("fresh", name).read_bytes()


@pytest.mark.parametrize("outcome", ["unparsed", "failed"])
def test_a_study_without_a_score_and_one_with_warnings(outcome: str, rubric: Rubric) -> None:
    line = (HERE / rubric.name / "annotations.jsonl").read_text("utf-8").splitlines()[2]
    record = json.loads(line)
    record["annotation"]["remarks"] = ["odd"]
    found = record_of_today(record, rubric)
    assert record_fault(found) is None
    assert found["annotation"]["warnings"] == ["odd"]
    lost = record | {"outcome": outcome, "reason": "empty", "detail": None}
    lost |= dict.fromkeys(("annotation", "scores", "counts"))
    found = record_of_today(lost, rubric)
    assert record_fault(found) is None
    assert found["measures"] is found["annotation"] is None


def test_a_field_whose_name_is_taken_today_has_another(invoke: Invoke, old: Path) -> None:
    """The user's own `site` is called `warnings`, which is a column of ours since format 2."""
    for name in ("manifest.json", "annotations.jsonl", "summary.json"):
        text = (old / name).read_text("utf-8")
        (old / name).write_text(text.replace('"site"', '"warnings"'), "utf-8")
    pd.read_parquet(old / "studies.parquet").rename(columns={"site": "warnings"}).to_parquet(
        old / "studies.parquet", index=False
    )
    run = Run(old)
    assert run.manifest["fields"] == ["field_warnings", "context"]
    assert set(run.table()["field_warnings"]) == {"harbour", "riverside"}
    assert run.table()["warnings"].isna().all()
    assert run.record("ex-001")["fields"]["field_warnings"] == "riverside"
    for command in (("rates", old), ("compare", old)):
        assert "harbour" in invoke(*command, "--by", "field_warnings").stdout
    table = run.table()
    assert invoke("rescore", old).exit_code == 0
    assert Run(old).table().equals(table)


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "no object": lambda _: [1],
    "no annotation": lambda r: {**r, "annotation": None},
    "no errors": lambda r: {**r, "annotation": {"matched": []}},
    "no scores": lambda r: {key: value for key, value in r.items() if key != "scores"},
    "odd scores": lambda r: {**r, "scores": [1]},
    "odd error": lambda r: {**r, "annotation": {**r["annotation"], "errors": [7]}},
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_record_is_told_by_its_line(
    invoke: Invoke, old: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    path = old / "annotations.jsonl"
    lines = path.read_text("utf-8").splitlines()
    lines[4] = json.dumps(change(json.loads(lines[4])))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.raises(JudgeError, match=r"annotations\.jsonl is damaged: in line 5, \S"):
        list(Run(old).records())
    for command in (("rescore", old), ("audit", old, "--html", "page.html")):
        done = invoke(*command)
        assert done.exit_code == 2
        assert "in line 5" in " ".join(done.stderr.split())
        assert isinstance(done.exception, SystemExit)


def test_a_format_that_nobody_wrote_is_not_opened(old: Path) -> None:
    manifest = json.loads((old / "manifest.json").read_text("utf-8"))
    for form in (0, 3, 1.5, "1", True, None, [1]):
        (old / "manifest.json").write_text(json.dumps({**manifest, "format": form}), "utf-8")
        with pytest.raises(JudgeError, match=r"format|damaged"):
            Run(old)
