"""`judge rates RUN --readings`: figures, groups, strata, readers, formats."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from support import Invoke
from validatinghelp import N, as_sample, chosen, corrected, errors_of, judged, read

from judge.running.folder import Run

TOLD = "--readings-at-random"
READ = sorted(np.random.default_rng(4).choice(N, 50, replace=False).tolist())
RATE = "no_significant_error"


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path) -> Path:
    return judged(invoke, tmp_path / "judge")


def judge_rate(run: Path) -> np.ndarray:
    return (Run(run).table()["n_significant"].to_numpy(dtype=float) == 0).astype(float)


def test_each_figure_has_the_corrected_one_beside_it(
    invoke: Invoke, tmp_path: Path, run: Path
) -> None:
    found = errors_of()
    ann = read(invoke, tmp_path / "readers", {"ann": chosen(READ, found)})["ann"]
    summary = corrected(invoke, run, "--readings", ann, TOLD)
    f = judge_rate(run)
    y = np.array([found[f"s{at:03}"][0] == 0 for at in READ], float)
    unread = np.setdiff1d(np.arange(N), READ)
    slope = np.mean((y - y.mean()) * (f[READ] - f[READ].mean())) / f.var(ddof=1)
    weight = slope * len(unread) / N
    expected = weight * f[unread].mean() + (y - weight * f[READ]).mean()
    figure = summary["statistics"][RATE]
    fixed = figure["corrected"]
    assert figure["value"] == f.mean()
    assert fixed["value"] == pytest.approx(expected)
    assert fixed["weight"] == pytest.approx(weight)
    assert fixed["labels"] == pytest.approx(y.mean())
    assert (fixed["n"], fixed["n_studies"], fixed["why_not"]) == (50, N, None)
    assert fixed["low"] < fixed["value"] < fixed["high"]
    assert fixed["high"] - fixed["low"] < fixed["labels_high"] - fixed["labels_low"]
    assert fixed["worth"] > 2
    errors = summary["statistics"]["errors"]["corrected"]
    counts = np.array([sum(found[f"s{at:03}"]) for at in READ], float)
    assert errors["labels"] == pytest.approx(counts.mean())
    assert "corrected" not in summary["statistics"]["green"]
    told = summary["readings"]
    assert told["not_corrected"] == {"green": "the readers marked no matched findings"}
    assert (told["drawn"], told["n_read"], told["several_readers"]) == ("told", 50, "averaged")
    assert told["runs"][0]["signature"] == Run(ann).signature
    assert "random:told" in told["signature"]


def test_readings_alone_are_what_the_readers_run_says(
    invoke: Invoke, tmp_path: Path, run: Path
) -> None:
    ann = read(invoke, tmp_path / "readers", {"ann": chosen(READ, errors_of())})["ann"]
    fixed = corrected(invoke, run, "--readings", ann, TOLD)["statistics"][RATE]["corrected"]
    own = corrected(invoke, ann)["statistics"][RATE]
    for end, name in (("value", "labels"), ("low", "labels_low"), ("high", "labels_high")):
        assert fixed[name] == pytest.approx(own[end])


def test_groups_are_corrected_by_their_own_readings(
    invoke: Invoke, tmp_path: Path, run: Path
) -> None:
    ann = read(invoke, tmp_path / "readers", {"ann": chosen(READ, errors_of())})["ann"]
    summary = corrected(invoke, run, "--readings", ann, TOLD, "--by", "site")
    by_site = {row["site"]: row["statistics"][RATE]["corrected"] for row in summary["rates"]}
    assert list(by_site) == ["north", "small", "south"]
    n = {name: fixed["n"] for name, fixed in by_site.items()}
    assert n["north"] == sum(at < 60 for at in READ)
    assert sum(n.values()) == 50
    small = by_site["small"]
    assert small["why_not"] == f"too few readings: {n['small']} of at least 10"
    assert small["value"] is small["low"] is small["labels"] is small["worth"] is None
    assert 0 < by_site["north"]["value"] < 1
    table = invoke("rates", run, "--readings", ann, TOLD, "--by", "site").stdout
    assert f"too few readings: {n['small']} of at least 10" in table
    assert f"{n['north']} of 60" in table


def test_two_readers_of_a_study_are_averaged(invoke: Invoke, tmp_path: Path, run: Path) -> None:
    one, other = errors_of(1), errors_of(2)
    readers = {"ann": chosen(READ, one), "bob": chosen(READ[10:], other)}
    paths = read(invoke, tmp_path / "readers", readers)
    options = [word for path in paths.values() for word in ("--readings", path)]
    fixed = corrected(invoke, run, *options, TOLD)["statistics"][RATE]["corrected"]
    y = [
        np.mean([said[f"s{at:03}"][0] == 0 for said in (one, other)[: 1 + (at in READ[10:])]])
        for at in READ
    ]
    assert fixed["labels"] == pytest.approx(np.mean(y))
    assert fixed["n"] == 50
    done = invoke("rates", run, *options, TOLD)
    assert "several readers  averaged, study by study" in done.stdout
    assert "ann: 50" in done.stdout
    assert "bob: 40" in done.stdout


def test_where_all_was_read_it_is_the_readers_rate_and_nothing_need_be_said(
    invoke: Invoke, tmp_path: Path, run: Path
) -> None:
    ann = read(invoke, tmp_path / "readers", {"ann": chosen(range(N), errors_of())})["ann"]
    summary = corrected(invoke, run, "--readings", ann)
    fixed, own = summary["statistics"][RATE]["corrected"], corrected(invoke, ann)
    for end in ("value", "low", "high"):
        assert fixed[end] == pytest.approx(own["statistics"][RATE][end])
    assert (summary["readings"]["drawn"], fixed["worth"]) == ("all", 0)


def test_a_sample_in_strata_is_weighted_by_them(invoke: Invoke, tmp_path: Path, run: Path) -> None:
    found = errors_of()
    abnormal = [at for at in range(N) if at % 4 == 0]
    normal = [at for at in range(N) if at % 4]
    read_of = {"abnormal": abnormal[:20], "normal": normal[5:20]}
    ids = sorted(at for rows in read_of.values() for at in rows)
    ann = read(invoke, tmp_path / "readers", {"ann": chosen(ids, found)})["ann"]
    as_sample(ann, ["study_class"], run, {("abnormal",): 20, ("normal",): 25})
    summary = corrected(invoke, run, "--readings", ann)
    told, fixed = summary["readings"], summary["statistics"][RATE]["corrected"]
    assert (told["drawn"], told["drawn_by"]) == ("drawn", ["study_class"])
    assert "strata:study_class" in told["signature"]
    means = {
        name: np.mean([found[f"s{at:03}"][0] == 0 for at in rows]) for name, rows in read_of.items()
    }
    assert fixed["labels"] == pytest.approx(0.25 * means["abnormal"] + 0.75 * means["normal"])
    assert fixed["n"] == 35
    # Of the site with six studies one was read, and no normal one: that is no rate.
    by_site = corrected(invoke, run, "--readings", ann, "--by", "site")["rates"]
    for row in by_site:
        one = row["statistics"][RATE]["corrected"]
        assert (one["value"] is None) == (one["why_not"] is not None)


def test_studies_of_a_patient_go_together(invoke: Invoke, tmp_path: Path) -> None:
    run = judged(invoke, tmp_path / "judge", patients=True)
    ids = [at for at in range(N) if at // 2 % 2]
    ann = read(invoke, tmp_path / "readers", {"ann": chosen(ids, errors_of())})["ann"]
    options = ("--readings", ann, TOLD)
    by_patient, by_study = (
        corrected(invoke, run, *options, *more) for more in ((), ("--patient-field", "none"))
    )
    assert by_patient["readings"]["patient_field"] == "subject"
    assert by_study["readings"]["patient_field"] is None
    one, other = (each["statistics"][RATE]["corrected"] for each in (by_patient, by_study))
    assert one["value"] == other["value"]
    assert one["low"] != other["low"]
    named = corrected(invoke, run, *options, "--patient-field", "site")
    why_not = named["statistics"][RATE]["corrected"]["why_not"]
    assert why_not == "too few patients: 3 of at least 10"


def test_readers_of_another_rubric_correct_what_both_have(
    invoke: Invoke, tmp_path: Path, run: Path
) -> None:
    levels = ("urgent", "not actionable")
    ann = read(invoke, tmp_path / "r", {"ann": chosen(READ, errors_of())}, levels=levels)["ann"]
    summary = corrected(invoke, run, "--readings", ann, TOLD)
    fixed = {name for name, one in summary["statistics"].items() if "corrected" in one}
    assert fixed == {"errors", RATE}
    notes = summary["readings"]["notes"]
    said = "ann used FineRadScore; no significant error is no error of severity 3 or 4"
    assert any(note.startswith(said) for note in notes)
    assert summary["readings"]["not_corrected"]["green"] == "FineRadScore has no such figure"


def test_the_actionable_and_the_score_where_both_are_of_the_rubric(
    invoke: Invoke, tmp_path: Path
) -> None:
    run = judged(invoke, tmp_path / "judge", rubric="fineradscore")
    levels = ("3", "2")
    ann = read(invoke, tmp_path / "r", {"ann": chosen(READ, errors_of())}, levels=levels)["ann"]
    found = corrected(invoke, run, "--readings", ann, TOLD)["statistics"]
    assert found["no_actionable_error"]["corrected"]["labels"] < found[RATE]["corrected"]["labels"]
    score, inverse = (found[name]["corrected"] for name in ("fineradscore", "inverse_fineradscore"))
    assert inverse["value"] == pytest.approx(1 / score["value"])
    assert 1 <= score["low"] < score["high"] <= 4


def test_csv_and_markdown_have_each_with_its_n(invoke: Invoke, tmp_path: Path, run: Path) -> None:
    ann = read(invoke, tmp_path / "readers", {"ann": chosen(READ, errors_of())})["ann"]
    options = ("rates", run, "--readings", ann, TOLD, "--by", "site", "--format")
    rows = list(csv.DictReader(io.StringIO(invoke(*options, "csv").stdout)))
    assert [row["site"] for row in rows] == ["north", "small", "south", ""]
    last = rows[-1]
    assert (last[f"{RATE}_read"], last[f"{RATE}_of"]) == ("50", str(N))
    fixed = corrected(invoke, run, "--readings", ann, TOLD)["statistics"][RATE]["corrected"]
    assert float(last[f"{RATE}_corrected"]) == fixed["value"]
    assert float(last[f"{RATE}_labels_low"]) == fixed["labels_low"]
    assert float(last[f"{RATE}_worth"]) == fixed["worth"]
    assert rows[1][f"{RATE}_corrected"] == ""
    assert rows[1][f"{RATE}_not_corrected"].startswith("too few readings")
    assert "random:told" in last["corrected_signature"]
    text = invoke(*options, "md").stdout
    assert "## no significant error, with the judge's bias taken out" in text
    assert f"| 50 of {N} |" in text
    assert "Corrected: `corrected:1|readers:ann|" in text
    assert f"Reader: `{Run(ann).signature}`" in text


def test_blank_scores_and_studies_that_were_not_judged_are_counted(
    invoke: Invoke, tmp_path: Path, run: Path
) -> None:
    rows = ["study_id,reader,level,count"]
    rows += [
        f"s{at:03},ann,{'significant' if at % 3 == 0 else ''},{int(at % 3 == 0)}" for at in READ
    ]
    rows[-2:] = [f"s{READ[-2]:03},ann,significant,", "elsewhere,ann,,0"]
    file = tmp_path / "blank.csv"
    file.write_text("\n".join(rows), "utf-8")
    out = tmp_path / "out"
    assert invoke("import", "tidy", file, "--section", "report", "--out", out).exit_code == 0
    summary = corrected(invoke, run, "--readings", out / "reader-ann", TOLD)
    assert summary["statistics"][RATE]["corrected"]["n"] == 48
    notes = summary["readings"]["notes"]
    assert "ann read 1 study that this run has not" in notes
    assert "blank scores of ann, taken for unread: 1" in notes
    assert any("holds no candidates" in note for note in notes)
