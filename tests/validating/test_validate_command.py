"""`judge validate`, from run folders to figures, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from support import Invoke
from validatehelp import TIDY, imported, judged, one, validated

from judge import JudgeError, Run, validate


@pytest.fixture
def runs(invoke: Invoke, tmp_path: Path) -> tuple[Path, Path]:
    """The lexicon's run of the examples that three readers read, and the readers' folder."""
    readers = tmp_path / "readers"
    done = invoke("import", "tidy", TIDY, "--section", "findings", "--out", readers)
    assert done.exit_code == 0, done.stderr
    return judged(invoke, tmp_path / "judge", readers / "reader-fern"), readers


def counts(run: Path) -> dict[str, float]:
    """The errors of each study."""
    table = Run(run).table()
    errors = table["n_significant"].astype(float) + table["n_insignificant"].astype(float)
    return dict(zip(table["study_id"], errors, strict=True))


def test_a_ceiling_of_some_of_the_readers_says_so(invoke: Invoke, runs: tuple[Path, Path]) -> None:
    # Reed marks no such comparison anywhere, and so has no correlation with the others.
    rows = invoke("validate", runs[0], "--readers", runs[1]).stdout.splitlines()
    ceilings = [row for row in rows if "(readers, each against the others)" in row]
    some = [row for row in ceilings if "2 of 3 readers" in row]
    assert len(ceilings) == 8
    assert [row.split("  ")[1] for row in some] == ["(e) comparison not in the reference"]
    assert some[0].count("1.000 (1.000 to 1.000; 2 of 3 readers)") == 3


def test_correlations_are_those_of_the_runs_tables(invoke: Invoke, runs: tuple[Path, Path]) -> None:
    found = validated(invoke, runs[0], "--readers", runs[1])
    by_reader = [counts(path) for path in sorted(runs[1].iterdir())]
    judge = counts(runs[0])
    ids = sorted(judge)
    mean = [np.mean([of[name] for of in by_reader if name in of]) for name in ids]
    x = [judge[name] for name in ids]
    row = one(found["agreement"], quantity="errors", own=True)
    expected = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}
    for method, function in expected.items():
        assert row[method]["value"] == pytest.approx(function(x, mean)[0])
        assert row[method]["low"] <= row[method]["value"] <= row[method]["high"]
    fern, moss, reed = by_reader
    both = [name for name in ids if name in reed]
    others = [(fern[name] + moss[name]) / 2 for name in both]
    ceiling = one(found["ceiling"], quantity="errors", reader="reed")
    assert ceiling["n"] == len(both) == 13
    tau = stats.kendalltau([reed[name] for name in both], others)[0]
    assert ceiling["kendall"]["value"] == pytest.approx(tau)
    pair = one(found["ceiling_pairs"], quantity="errors", readers=["fern", "moss"])
    tau = stats.kendalltau([fern[name] for name in ids], [moss[name] for name in ids])[0]
    assert pair["kendall"]["value"] == pytest.approx(tau)
    limits = one(found["limits"], quantity="errors")
    assert limits["bias"]["value"] == pytest.approx(np.mean(np.array(x) - mean))
    assert limits["sd"] == pytest.approx(np.std(np.array(x) - mean, ddof=1))


def test_studies_without_a_significant_error_are_counted_by_class(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    found = validated(invoke, runs[0], "--readers", runs[1])
    rows = found["no_significant_error"]
    everything = one([row for row in rows if "judge" in row], study_class=None)
    table = Run(runs[0]).table()
    assert everything["judge_rate"]["k"] == int((table["n_significant"] == 0).sum())
    assert everything["n"] == 15
    by_class = {row["study_class"]: row["n"] for row in rows if row.get("judge")}
    assert by_class == {None: 15, "abnormal": 10, "normal": 5}
    assert {row["reader"] for row in rows if "reader" in row} == {"fern", "moss", "reed"}
    assert "no_actionable_error" not in found


def test_every_quantity_that_is_there_is_held_against_the_readers(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    found = validated(invoke, runs[0], "--readers", runs[1])
    names = ["errors", "significant", *(f"errors_{code}" for code in "abcdef")]
    assert list(dict.fromkeys(row["quantity"] for row in found["agreement"])) == names
    assert any("GREEN cannot be held against" in note for note in found["notes"])
    score = one(found["agreement"], quantity="errors", own=False)
    assert (score["judge"], score["measure"]) == ("lexicon", "\N{MINUS SIGN}GREEN")
    assert score["kendall"]["value"] > 0  # better turned round
    assert {row["quantity"]: row["passes"] for row in found["alt_test"]} == {
        "errors": True,
        "significant": True,
        "no_significant_error": True,
    }
    test = one(found["alt_test"], quantity="errors")
    assert test["omega"] == np.mean([of["won"] for of in test["readers"]])
    assert test["epsilon"] == 0.2
    assert 0 <= test["rho"] <= 1


def test_two_judges_are_told_apart_by_their_differences(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    found = validated(invoke, f"one={runs[0]}", f"two={runs[0]}", "--readers", runs[1])
    for row in found["differences"]:
        if row["own"] and row["quantity"] == "errors":
            assert row["judges"] == ["one", "two"]
            assert row["kendall"] == row["kendall"] | {"value": 0.0}
            break
    else:
        pytest.fail("no difference")
    assert [judge["name"] for judge in found["judges"]] == ["one", "two"]


def test_a_metric_of_a_file_is_held_against_the_readers(
    invoke: Invoke, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    rows = [f"{name},{errors}" for name, errors in counts(runs[0]).items()]
    (tmp_path / "m.csv").write_text("\n".join(["study_id,badness", *rows]))
    words = (runs[0], "--readers", runs[1], "--metrics", tmp_path / "m.csv")
    found = validated(invoke, *words, "--lower-is-better", "badness")
    own = one(found["agreement"], quantity="errors", own=True)
    metric = one(found["agreement"], quantity="errors", judge="badness")
    assert metric["kendall"] == own["kendall"]
    assert metric["measure"] == "badness"
    turned = validated(invoke, *words, "--higher-is-better", "badness")
    metric = one(turned["agreement"], quantity="errors", judge="badness")
    assert metric["measure"] == "\N{MINUS SIGN}badness"
    assert metric["kendall"]["value"] == pytest.approx(-own["kendall"]["value"])
    assert turned["signature"] != found["signature"]  # which way round it is read moves a number


def test_a_file_of_metrics_may_name_the_model(
    invoke: Invoke, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    rows = [f"{name},readings,{errors}" for name, errors in counts(runs[0]).items()]
    (tmp_path / "m.csv").write_text("\n".join(["study_id,model,badness", *rows]))
    words = (runs[0], "--readers", runs[1], "--metrics", tmp_path / "m.csv")
    found = validated(invoke, *words, "--lower-is-better", "badness")
    own = one(found["agreement"], quantity="errors", own=True)
    assert one(found["agreement"], quantity="errors", judge="badness")["kendall"] == own["kendall"]
    (tmp_path / "m.csv").write_text("study_id,model,badness\nex-001,another,1\n")
    text = refused(invoke, *words, "--lower-is-better", "badness")
    assert "is about these runs" in text


def test_one_reader_is_no_ceiling_and_no_test(invoke: Invoke, runs: tuple[Path, Path]) -> None:
    found = validated(invoke, runs[0], "--readers", runs[1] / "reader-fern")
    assert found["agreement"][0]["kendall"]["value"] is not None
    ceiling = one(found["ceiling_mean"], quantity="errors")
    assert ceiling["kendall"]["value"] is None
    assert ceiling["kendall"]["reason"]
    assert {row["passes"] for row in found["alt_test"]} == {None}
    assert any("the test needs 3 readers" in note for note in found["notes"])
    text = invoke("validate", runs[0], "--readers", runs[1] / "reader-fern").stdout
    assert "Alternative" not in text
    assert "nan" not in text.lower()


def flat(invoke: Invoke, tmp_path: Path, n: int, texts: tuple[str, str]) -> tuple[Path, Path]:
    """Runs of studies that the judge finds no error in, with readers who find every other one."""
    further = {f"q{at}": {"reference": texts[0], "candidate": texts[1]} for at in range(n)}
    rows: list[list[object]] = []
    for reader in ("ann", "ben", "cy"):
        for at in range(n):
            row = ["a", "yes", "", "effusion"] if at % 2 else ["", "", 0, ""]
            rows.append([f"q{at}", reader, *row])
    readers = imported(invoke, tmp_path / "flat", rows, further)
    return judged(invoke, tmp_path / "flat-judge", readers / "reader-ann"), readers


def test_a_judge_that_never_varies_has_reasons_and_no_number(
    invoke: Invoke, tmp_path: Path
) -> None:
    judge, readers = flat(invoke, tmp_path, 12, ("The lungs are clear.", "The lungs are clear."))
    found = validated(invoke, judge, "--readers", readers)
    row = one(found["agreement"], quantity="errors", own=True)
    assert row["kendall"]["value"] is None
    assert "the judge" in row["kendall"]["reason"]
    level = next(row for row in found["no_significant_error"] if "judge" in row)
    assert level["sensitivity"]["value"] == 0
    assert level["kappa"]["value"] == 0
    ceiling = one(found["ceiling_mean"], quantity="errors")
    assert ceiling["kendall"]["value"] == 1


def test_fewer_than_ten_readings_have_no_interval(invoke: Invoke, tmp_path: Path) -> None:
    judge, readers = flat(invoke, tmp_path, 7, ("No effusion.", "Large effusion."))
    found = validated(invoke, judge, "--readers", readers)
    assert "only 7 studies were read: correlations have no interval" in found["notes"]
    for row in found["ceiling"]:
        assert row["kendall"]["low"] is None
        assert row["kendall"]["reason"]


def refused(invoke: Invoke, *words: object) -> str:
    done = invoke("validate", *words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return str(done.stderr)


def test_what_is_no_judge_or_no_reader_is_refused(
    invoke: Invoke, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    judge, readers = runs
    assert "is the run of a reader" in refused(
        invoke, readers / "reader-fern", "--readers", readers
    )
    assert "no reader's" in refused(invoke, judge, "--readers", judge)
    fern = readers / "reader-fern"
    for again in (fern, f"other={fern}"):
        said = refused(invoke, judge, "--readers", fern, "--readers", again)
        assert "are the same readings" in said
    assert "are both of 'lexicon'" in refused(invoke, judge, judge, "--readers", readers)
    (tmp_path / "none").mkdir()
    assert "holds no run" in refused(invoke, judge, "--readers", tmp_path / "none")
    assert "no such run" in refused(invoke, judge, "--readers", tmp_path / "nowhere")
    assert "no run has the field 'ward'" in refused(
        invoke, judge, "--readers", readers, "--patient-field", "ward"
    )


def test_readings_of_other_texts_or_studies_are_refused(
    invoke: Invoke, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    judge = runs[0]
    record = Run(judge).record("ex-003")
    for name, change in (
        ("references", {"reference": "Other words."}),
        ("candidates", {"candidate": "Other words."}),
    ):
        further = {"ex-003": {key: record[key] for key in ("reference", "candidate")} | change}
        rows = [["ex-003", "ann", "", "", 0, ""]]
        other = imported(invoke, tmp_path / name, rows, further)
        text = refused(invoke, judge, "--readers", other)
        assert f"have other {name} for 1 of 1 studies, 'ex-003' among them" in text
    further = {"else": {"reference": "Clear.", "candidate": "Clear."}}
    rows = [["else", "ann", "", "", 0, ""]]
    other = imported(invoke, tmp_path / "else", rows, further)
    assert "no study was both judged and read" in refused(invoke, judge, "--readers", other)


def test_texts_that_a_reader_has_not_are_noted(
    invoke: Invoke, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    rows = [[name, "ann", "", "", 0, ""] for name in counts(runs[0])]
    further = {str(row[0]): {"patient": "p1"} for row in rows}
    other = imported(invoke, tmp_path / "textless", rows, further)
    found = validated(invoke, runs[0], "--readers", other)
    assert sum("could not be checked" in note for note in found["notes"]) == 2
    assert found["patient_field"] == "patient"  # which the reader's file alone has


def test_formats_say_the_same(invoke: Invoke, runs: tuple[Path, Path]) -> None:
    words = (runs[0], "--readers", runs[1])
    found = validated(invoke, *words)
    rows = list(csv.DictReader(io.StringIO(invoke("validate", *words, "--format", "csv").stdout)))
    assert {row["signature"] for row in rows} == {found["signature"]}
    agreed = [row for row in rows if (row["table"], row["quantity"]) == ("agreement", "errors")]
    kendall = next(row for row in agreed if row["statistic"] == "kendall")
    own = one(found["agreement"], quantity="errors", own=True)["kendall"]
    assert float(kendall["value"]) == own["value"]
    assert float(kendall["low"]) == own["low"]
    n_figures = sum(3 for _ in found["agreement"]) + sum(3 for _ in found["ceiling"])
    tables = ("agreement", "ceiling")
    assert sum(row["table"] in tables for row in rows) == n_figures
    frame = validate([runs[0]], [runs[1]])
    assert len(frame.figures) == len(rows)
    assert frame.signature == found["signature"]
    assert json.loads(json.dumps(frame.data)) == found
    shown = f"{own['value']:.3f} [{own['low']:.3f}, {own['high']:.3f}]"
    for form in ("table", "md", "latex"):
        text = invoke("validate", *words, "--format", form).stdout
        assert shown in text
        assert "0.761" in text
        assert found["signature"] in text


def test_the_same_runs_have_the_same_numbers_whatever_their_order(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    folders = sorted(runs[1].iterdir())
    one_way = validated(invoke, runs[0], *(w for path in folders for w in ("--readers", path)))
    other = validated(
        invoke, runs[0], *(w for path in reversed(folders) for w in ("--readers", path))
    )
    assert one_way["signature"] == other["signature"]
    assert one_way["agreement"] == other["agreement"]
    seeded = validated(invoke, runs[0], "--readers", runs[1], "--seed", 5)
    assert seeded["signature"] != one_way["signature"]
    row = one(seeded["agreement"], quantity="errors", own=True)["kendall"]
    assert row["value"] == one_way["agreement"][0]["kendall"]["value"]
    wider = validated(invoke, runs[0], "--readers", runs[1], "--epsilon", "0")
    assert wider["signature"] != one_way["signature"]


def test_from_python_readers_are_named_as_asked(runs: tuple[Path, Path]) -> None:
    found = validate({"rules": Run(runs[0])}, {"F": runs[1] / "reader-fern"})
    assert [row["name"] for row in found.data["readers"]] == ["F"]
    assert set(found.figures["rater"].dropna()) >= {"rules", "F"}
    with pytest.raises(JudgeError, match="no such run"):
        validate(["nowhere"], [runs[1]])
