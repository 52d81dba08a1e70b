"""`judge validate`, from readers' files and a judge's run to figures, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from radprefdata import radpref_files
from scipy import stats
from support import ROOT, Invoke

from judge import Run, validate

DATA = ROOT / "tests" / "readers" / "data"
COLUMNS = ("study_id", "reader", "category", "significant", "count", "text")


@pytest.fixture
def runs(read_examples: Path) -> tuple[Path, Path]:
    """The lexicon's run of the examples that three readers read, and the readers' folder."""
    return read_examples / "judged", read_examples / "readers"


def called(invoke: Invoke, *words: object) -> str:
    done = invoke(*words)
    assert done.exit_code == 0, (done.stderr, done.exception)
    return str(done.stdout)


def validated(invoke: Invoke, *words: object) -> dict[str, Any]:
    found = called(invoke, "validate", *words, "--format", "json")
    assert "NaN" not in found
    return json.loads(found)


def imported(
    invoke: Invoke,
    out: Path,
    rows: Sequence[Sequence[object]],
    further: Mapping[str, Any],
) -> Path:
    """Import readers' rows; `further` has for each study's id its other columns."""
    names = list(next(iter(further.values())))
    path = out.with_suffix(".csv")
    with path.open("w", newline="") as file:
        lines = [[*row, *further[str(row[0])].values()] for row in rows]
        csv.writer(file).writerows([[*COLUMNS, *names], *lines])
    called(
        invoke, "readers", "import", "tidy", path, "--section", "report", "--out", out
    )
    return out


def judged(invoke: Invoke, out: Path, reports: Path, rubric: str = "green") -> Path:
    called(invoke, rubric, reports, "--judge", "lexicon", "--out", out)
    return out


def one(rows: Sequence[Mapping[str, Any]], **keys: object) -> Mapping[str, Any]:
    """Return the one row that has these values."""
    (found,) = [
        row for row in rows if all(row.get(key) == value for key, value in keys.items())
    ]
    return found


def counts(run: Path) -> dict[str, float]:
    table = Run.open(run).table()
    errors = table["n_significant"].astype(float) + table["n_insignificant"].astype(
        float
    )
    return dict(zip(table["study_id"], errors, strict=True))


def test_figures_are_those_of_the_runs_tables(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    found = validated(invoke, runs[0], "--readers", runs[1])
    fern, moss, reed = by_reader = [counts(path) for path in sorted(runs[1].iterdir())]
    judge = counts(runs[0])
    ids = sorted(judge)
    mean = [np.mean([of[name] for of in by_reader if name in of]) for name in ids]
    x = [judge[name] for name in ids]
    row = one(found["agreement"], quantity="errors", own=True)
    expected = {
        "kendall": stats.kendalltau,
        "spearman": stats.spearmanr,
        "pearson": stats.pearsonr,
    }
    for method, function in expected.items():
        assert row["all_readers"][method]["value"] == pytest.approx(
            function(x, mean)[0]
        )
    both = [name for name in ids if name in reed]
    others = [(fern[name] + moss[name]) / 2 for name in both]
    ceiling = one(found["ceiling"], quantity="errors", reader="reed")
    tau = stats.kendalltau([reed[name] for name in both], others)[0]
    assert (ceiling["n"], ceiling["kendall"]["value"]) == (13, pytest.approx(tau))
    limits = one(found["limits"], quantity="errors")
    assert limits["bias"]["value"] == pytest.approx(np.mean(np.array(x) - mean))
    assert limits["sd"] == pytest.approx(np.std(np.array(x) - mean, ddof=1))
    rates = [row for row in found["no_significant_error"] if "judge" in row]
    clean = int((Run.open(runs[0]).table()["n_significant"] == 0).sum())
    assert (
        one(rates, study_class=None, against="all readers")["judge_rate"]["k"] == clean
    )
    by_reader = dict(zip(("fern", "moss", "reed"), by_reader, strict=True))
    in_place = []
    for name, own in by_reader.items():
        others = [
            np.mean(
                [
                    of[study]
                    for reader, of in by_reader.items()
                    if reader != name and study in of
                ]
            )
            for study in own
        ]
        in_place.append(stats.kendalltau([judge[study] for study in own], others)[0])
    assert row["n_sets"] == 3
    assert row["kendall"]["value"] == pytest.approx(np.mean(in_place))


def test_formats_and_python_say_the_same(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    words = ("validate", runs[0], "--readers", runs[1], "--format")
    found = json.loads(called(invoke, *words, "json"))
    rows = list(
        csv.DictReader(
            io.StringIO(called(invoke, *words, "csv", "--table", "agreement"))
        )
    )
    assert {row["signature"] for row in rows} == {found["signature"]}
    own = one(found["agreement"], quantity="errors", own=True)["kendall"]
    row = next(row for row in rows if row["quantity"] == "errors")
    assert (float(row["kendall"]), float(row["kendall_low"])) == (
        own["value"],
        own["low"],
    )
    shown = f"{own['value']:.3f} [{own['low']:.3f}, {own['high']:.3f}]"
    for form in ("table", "md", "latex"):
        text = called(invoke, *words, form)
        assert shown in text
        assert found["signature"] in text
        assert "nan" not in text.lower()
    again = validate([runs[0]], [runs[1]])
    assert len(again.frame("agreement")) == len(rows)
    assert json.loads(json.dumps(again.data)) == found
    assert "Kendall tau-b" in str(again)


def test_a_metric_of_a_file_is_held_against_the_readers(
    invoke: Invoke, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    lines = [f"{name},readings,{errors}" for name, errors in counts(runs[0]).items()]
    (tmp_path / "m.csv").write_text("\n".join(["study_id,model,badness", *lines]))
    words = (runs[0], "--readers", runs[1], "--metrics", tmp_path / "m.csv")
    found = validated(invoke, *words, "--lower-is-better", "badness")
    own = one(found["agreement"], quantity="errors", own=True)["kendall"]
    assert one(found["agreement"], quantity="errors", judge="badness")["kendall"] == own
    turned = validated(invoke, *words, "--higher-is-better", "badness")
    metric = one(turned["agreement"], quantity="errors", judge="badness")
    assert metric["measure"] == "\N{MINUS SIGN}badness"
    assert metric["kendall"]["value"] == pytest.approx(-own["value"])
    assert turned["signature"] != found["signature"]


# Published layouts.


@pytest.mark.parametrize(
    ("layout", "files", "rubric", "options"),
    [
        ("rexval", ("rexval_reports.csv", "rexval_counts.csv"), "green", ()),
        ("radpref", (), "fineradscore", ()),
        ("radevalx", ("radevalx.csv",), "green", ("--reader", "ann")),
    ],
)
def test_from_a_layouts_files_to_agreement_and_a_corrected_rate(
    invoke: Invoke,
    tmp_path: Path,
    layout: str,
    files: Sequence[str],
    rubric: str,
    options: Any,
) -> None:
    readers = tmp_path / "readers"
    paths = [DATA / name for name in files] or radpref_files(tmp_path)[0]
    called(invoke, "readers", "import", layout, *paths, *options, "--out", readers)
    first = sorted(readers.iterdir())[0]
    judge = judged(invoke, tmp_path / "judge", first, rubric)
    found = validated(invoke, judge, "--readers", readers)
    names = {row["quantity"] for row in found["agreement"]}
    assert {"errors", "significant"} <= names
    assert (
        ("actionable" in names)
        == ("no_actionable_error" in found)
        == (layout == "radpref")
    )
    assert len(found["ceiling"]) == len(found["readers"]) * len(names)
    called(invoke, "rates", judge, "--readers", first, "--drawn-at-random")


# What is refused.


def refused(invoke: Invoke, *words: object, names: str) -> None:
    done = invoke("validate", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert names in done.stderr


def test_what_is_no_judge_or_no_reader_is_refused(
    invoke: Invoke, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    judge, readers = runs
    fern = readers / "reader-fern"
    refused(invoke, fern, "--readers", readers, names=str(fern))
    refused(invoke, judge, "--readers", judge, names=str(judge))
    refused(
        invoke,
        judge,
        "--readers",
        fern,
        "--readers",
        f"x={fern}",
        names="same readings",
    )
    refused(invoke, judge, judge, "--readers", readers, names="'lexicon'")
    refused(invoke, judge, "--readers", tmp_path / "none", names="none")
    texts = {
        key: Run.open(judge).record("ex-003")[key] for key in ("reference", "candidate")
    }
    other = imported(
        invoke, tmp_path / "e", [["else", "ann", "", "", 0, ""]], {"else": texts}
    )
    refused(invoke, judge, "--readers", other, names="no study")
    refused(
        invoke, judge, "--readers", readers, "--patient-field", "ward", names="'ward'"
    )


# What "significant" means.

_MILD, _GRAVE = (
    ("scarring", "hyperinflation", "old rib fractures"),
    (*("pleural effusion", "consolidation", "cardiomegaly", "pulmonary edema"),),
)


def graded_radpref(folder: Path, n: int = 24) -> list[Path]:
    """RadPref's files: errors a GREEN judge calls significant are *actionable*, few *urgent*."""
    rng = np.random.default_rng(3)
    reports, annotations = [], {}
    for number in range(n):
        report = {
            "ground_truth_report": "Clear lungs.",
            "ground_truth_findings": ["Clear lungs."],
        }
        sides = {}
        for side in ("C1", "C2"):
            named = [*rng.choice(_GRAVE, rng.integers(0, 4), replace=False)]
            named += [*rng.choice(_MILD, rng.integers(0, 3), replace=False)]
            findings = [f"There is {one}." for one in named]
            report |= {
                f"{side}_findings": findings,
                f"{side}_report": " ".join(findings) or "Clear lungs.",
            }
            errors = {
                str(at): _radpref_error(one, number * 7 + at)
                for at, one in enumerate(named)
            }
            sides[side] = {
                "finding_errors": errors,
                "missing_findings": {},
                "rating": 3,
            }
        reports.append({"id": f"p{number}", **report})
        annotations[f"p{number}"] = sides
    files = [
        folder / "preference_data.json",
        folder / "user_1.json",
        folder / "user_2.json",
    ]
    files[0].write_text(json.dumps(reports))
    for file in files[1:]:
        file.write_text(json.dumps({"user_id": file.stem, "annotations": annotations}))
    return files


def _radpref_error(finding: str, turn: int) -> dict[str, Any]:
    is_mild = finding in _MILD
    if turn % 5 == 0:
        name, weight = (
            ("certainty", "negligible") if is_mild else ("severity", "significant")
        )
        return {"error_type": "attribute", "attributes": {name: weight}}
    grave = "urgent" if turn % 23 == 0 else "actionable_not_urgent"
    return {
        "error_type": "false",
        "clinical_significance": "benign_expected" if is_mild else grave,
    }


def test_significant_is_compared_at_a_level_that_judge_and_readers_both_have(
    invoke: Invoke, tmp_path: Path
) -> None:
    readers = tmp_path / "readers"
    called(
        invoke,
        "readers",
        "import",
        "radpref",
        *graded_radpref(tmp_path),
        "--out",
        readers,
    )
    green = judged(invoke, tmp_path / "green", readers / "reader-user_1", "green")
    options = ("--readers", readers, "--resamples", 100)
    found = validated(invoke, green, *options)
    tau = {
        (one["quantity"], one["measure"]): one["kendall"]["value"]
        for one in found["agreement"]
    }
    assert tau["significant", "significant errors"] > 0.65
    assert (
        found["significant"] == "readers actionable or worse, judge GREEN significant"
    )
    assert found["significant"] in called(invoke, "validate", green, *options)
    assert "level:actionable" in found["signature"]
    assert "no_actionable_error" not in found
    for level in ("urgent", "emergent", "significant"):
        refused(invoke, green, *options, "--level", level, names="--level")

    graded = judged(
        invoke, tmp_path / "fine", readers / "reader-user_1", "fineradscore"
    )
    found = validated(invoke, graded, *options)
    assert found["significant"] == "readers urgent or worse, judge urgent or worse"
    assert "no_actionable_error" in found
    counts = {one["quantity"]: one["bias"]["value"] for one in found["limits"]}
    chosen = validated(invoke, graded, *options, "--level", "actionable")
    bias = {one["quantity"]: one["bias"]["value"] for one in chosen["limits"]}
    assert bias["significant"] == pytest.approx(counts["actionable"])
    refused(invoke, graded, *options, "--level", "emergent", names="user_1")


# Candidates of one reference, severities, two judges, random readers.


def test_several_candidates_severities_and_two_judges(
    invoke: Invoke, tmp_path: Path
) -> None:
    readers = tmp_path / "readers"
    called(
        invoke,
        "readers",
        "import",
        "radpref",
        *graded_radpref(tmp_path),
        "--out",
        readers,
    )
    judge = judged(
        invoke, tmp_path / "judge", readers / "reader-user_1", "fineradscore"
    )
    words = (f"a={judge}", f"b={judge}", "--readers", readers, "--resamples", 100)
    found = validated(invoke, *words)
    assert found["n_references"] == 24
    row = one(
        found["ranking"],
        quantity="actionable",
        judge="a",
        against="all readers",
        own=True,
    )
    assert row["n_pairs"] + row["n_tied_by_readers"] == 24
    assert row["n_right"] + row["n_tied"] + row["n_wrong"] == row["n_pairs"]
    accuracy = (row["n_right"] + row["n_tied"] / 2) / row["n_pairs"]
    assert row["preference_accuracy"]["value"] == pytest.approx(accuracy)
    # Grades: no such error, actionable, urgent.
    assert found["severities"] == ["actionable", "urgent"]
    assert {entry["against"] for entry in found["severity"]} == {
        "all readers",
        "leave one out",
        "other readers",
    }
    same = [entry for entry in found["differences"] if entry["figure"] == "kendall"]
    assert same
    assert {entry["difference"]["value"] for entry in same} <= {0.0, None}
    text = called(invoke, "validate", *words)
    for title in (
        "Candidates of one reference in the readers' order: 24 references",
        "Highest severity of a study: no such error, actionable, urgent",
        "Differences between judges",
        "for other studies, read by these readers",
    ):
        assert title in text
    for table in ("ranking", "severity", "differences", "agreement_significant_error"):
        rows = csv.DictReader(
            io.StringIO(
                called(invoke, "validate", *words, "--format", "csv", "--table", table)
            )
        )
        assert list(rows)


def test_random_readers_are_said_and_widen_intervals(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    fixed = validated(invoke, runs[0], "--readers", runs[1])
    random = validated(invoke, runs[0], "--readers", runs[1], "--random-readers")
    assert (fixed["readers_are"], random["readers_are"]) == ("fixed", "random")
    assert fixed["signature"] != random["signature"]
    rows = [
        one(found["agreement"], quantity="errors", own=True)
        for found in (fixed, random)
    ]
    widths = [row["kendall"]["high"] - row["kendall"]["low"] for row in rows]
    assert widths[1] > widths[0]
    assert rows[0]["kendall"]["value"] == rows[1]["kendall"]["value"]
    assert "other readers like these" in called(
        invoke, "validate", runs[0], "--readers", runs[1], "--random-readers"
    )
    alone = runs[1] / "reader-fern"
    few = validated(invoke, runs[0], "--readers", alone, "--random-readers")
    assert any("need 3 readers, there are 1" in note for note in few["notes"])
    assert one(few["agreement"], quantity="errors", own=True)["kendall"]["low"] is None


def test_a_refused_ceiling_says_why(invoke: Invoke, runs: tuple[Path, Path]) -> None:
    text = called(invoke, "validate", runs[0], "--readers", runs[1] / "reader-fern")
    assert "no ceiling for" in text
    assert "there is one reader" in text


def test_references_are_told_apart_by_id_and_text(
    invoke: Invoke, runs: tuple[Path, Path]
) -> None:
    """The examples have one candidate each, so nothing is ranked within a reference."""
    found = validated(invoke, runs[0], "--readers", runs[1])
    assert (found["n_references"], found["ranking"]) == (0, [])
    assert "Candidates of one reference" not in called(
        invoke, "validate", runs[0], "--readers", runs[1]
    )
