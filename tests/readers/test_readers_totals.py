"""What each layout's synthetic file holds, counted by hand, is what the runs say."""

from __future__ import annotations

from pathlib import Path

from readersfiles import DATA, RADPREF, REXVAL, TIDY, imported, items, measures, totals
from support import Invoke

from judge.running.folder import Run


def test_tidy(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", TIDY)
    assert {name: run.summary()["n_scored"] for name, run in runs.items()} == {
        "fern": 15,
        "moss": 15,
        "reed": 13,  # who did not read ex-005 and ex-009: no zero for them
    }
    assert {"ex-005", "ex-009"}.isdisjoint(measures(runs["reed"]))
    undefined = {"n_matched": None}
    assert totals(runs["fern"]) == {
        **undefined,
        "n_significant": 12,
        "significant_a": 4,
        "significant_b": 4,
        "significant_c": 1,
        "significant_d": 2,
        "significant_f": 1,
        "n_insignificant": 6,
        "insignificant_a": 2,
        "insignificant_b": 1,
        "insignificant_c": 1,
        "insignificant_e": 1,
        "insignificant_poor_wording": 1,
    }
    assert totals(runs["reed"]) == {
        **undefined,
        "n_significant": 13,
        "significant_a": 5,
        "significant_b": 5,
        "significant_c": 1,
        "significant_d": 1,
        "significant_f": 1,
        "n_insignificant": 2,
        "insignificant_b": 1,
        "insignificant_d": 1,
    }
    # A count of three is three items without text.
    assert (
        items(runs["reed"], "ex-015")
        == [("b", "significant", "")] * 3 + [("a", "significant", "")] * 2
    )


def test_a_score_that_was_not_asked_for_is_undefined_and_says_why(
    invoke: Invoke, tmp_path: Path
) -> None:
    run = imported(invoke, tmp_path / "out", TIDY)["fern"]
    assert {each["green"] for each in measures(run).values()} == {None}
    found = run.summary()["statistics"]["green"]
    assert (found["value"], found["n"], found["n_undefined"]) == (None, 0, 15)
    why = "the readers marked no matched findings"
    assert f"GREEN and matched findings are undefined: {why}" in run.summary()["notes"]
    shown = invoke("audit", run.path, "ex-003").stdout
    assert f"GREEN undefined ({why})" in shown
    assert "Matched findings" not in shown


def test_matched_findings_of_a_reader_make_the_score(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "full.csv"
    file.write_text(
        "study_id,reader,category,significant,count\n"
        "1,ann,matched,,3\n1,ann,b,yes,1\n1,ann,a,no,2\n"
        "2,ann,matched finding,,0\n2,ann,a,true,1\n"
    )
    (run,) = imported(invoke, tmp_path / "out", file).values()
    assert {k: v["green"] for k, v in measures(run).items()} == {"1": 0.75, "2": 0.0}
    assert run.reading is not None
    assert set(run.reading["lacks"]) == {"reference"}


def test_severities_make_it_fineradscore(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "levels.csv"
    file.write_text(
        "study_id,reader,category,level,count,text,model\n"
        "1,ann,b,4,,pneumothorax left out,m\n1,ann,Poor wording,not actionable,2,,m\n"
        "2,ann,,,0,,m\n"
        "1,ann,c,3,1,,n\n"
    )
    (run,) = imported(invoke, tmp_path / "out", file).values()
    found = measures(run)
    # Two candidates of study 1; the study's own id is the patient.
    assert set(found) == {"1/m", "1/n", "2"}
    assert [run.record(one)["fields"]["patient"] for one in ("1/m", "1/n", "2")] == ["1", "1", None]
    one = found["1/m"]
    assert (one["fineradscore"], one["fineradscore_sum"]) == (4.0, 6.0)
    assert (one["n_significant"], one["n_insignificant"], one["n_actionable"]) == (1, 2, 1)
    assert (one["severity1_poor_wording"], one["severity4_b"]) == (2, 1)
    assert one["closeness_corrected"] is None
    assert found["2"]["fineradscore"] == 1.0


def test_refisco(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", DATA / "refisco.csv")
    ann, ben = measures(runs["ann"]), measures(runs["ben"])
    score = {k: (v["fineradscore"], v["fineradscore_sum"]) for k, v in ann.items()}
    assert score == {"s1/alder": (3.0, 6.0), "s1/birch": (1.0, 0.0), "s2": (4.0, 5.0)}
    counts = {
        name: n for name, n in totals(runs["ann"]).items() if n and not name.startswith("closeness")
    }
    assert counts == {
        "n_significant": 2,
        "n_insignificant": 3,
        "n_actionable": 3,
        "n_severity1": 2,
        "n_severity2": 1,
        "n_severity3": 1,
        "n_severity4": 1,
    }
    assert ann["s1/alder"]["severity3_c"] is None  # no category was given: not 0
    # A blank score is no "no error": the study is not scored, and that is said.
    assert set(ben) == {"s1/alder"}
    record = runs["ben"].record("s2")
    assert (record["outcome"], record["reason"]) == ("unparsed", "blank score")
    assert record["detail"] == "row 13: the score is blank"
    assert "not scored, a score is blank: 1 (s2)" in runs["ben"].summary()["notes"]


def test_refisco_edits_the_lines(invoke: Invoke, tmp_path: Path) -> None:
    run = imported(invoke, tmp_path / "out", DATA / "refisco.csv")["ann"]
    record = run.record("s1/alder")
    assert record["candidate"] == "No pneumothorax.\nSmall left effusion.\nOld rib fracture."
    assert [one["edit"] for one in record["annotation"]["items"]] == [
        {"kind": "change", "line": 1, "corrected": "Small right effusion."},
        {"kind": "delete", "line": 2, "corrected": ""},
        {"kind": "insert", "line": None, "corrected": "Nodule in the right upper lobe."},
    ]
    assert record["corrected"] == (
        "No pneumothorax.\nSmall right effusion. Nodule in the right upper lobe."
    )
    # Of a row of three sentences the one that is changed; two at once have no line.
    other = run.record("s2")
    assert [one["edit"] for one in other["annotation"]["items"]] == [
        {"kind": "change", "line": 2, "corrected": "Heart is normal."},
        None,
    ]
    assert other["corrected"] is None
    shown = invoke("audit", run.path, "s2").stdout
    assert '2. [4 emergent] "Stable lines. No edema." should say "New central line.' in shown


def _rexval(runs: dict[str, Run]) -> dict[str, dict[str, tuple[float | None, ...]]]:
    return {
        reader: {
            study: (found["n_significant"], found["n_insignificant"])
            for study, found in measures(run).items()
        }
        for reader, run in runs.items()
    }


def test_rexval(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", *REXVAL)
    assert _rexval(runs) == {
        "0": {
            "p10/radgraph": (0, 1),
            "p10/bertscore": (1, 0),
            "p11/radgraph": (1, 0),
            "p11/bertscore": (2, 0),
            "p11/s_emb": (1, 0),
        },
        "1": {
            "p10/radgraph": (0, 0),
            "p10/bertscore": (1, 1),
            "p11/radgraph": (1, 0),
            "p11/bertscore": (0, 1),
        },
    }
    found = measures(runs["0"])["p11/bertscore"]
    assert (found["significant_d"], found["significant_c"]) == (2, 0)  # category 4 is d
    record = runs["0"].record("p11/s_emb")
    assert record["reference"] == "Large right pneumothorax."
    assert record["candidate"] == "Large left pneumothorax."
    assert record["fields"] == {"model": "s_emb", "patient": "p11"}


def test_the_published_table_of_counts_says_the_same(invoke: Invoke, tmp_path: Path) -> None:
    with_texts = (REXVAL[0], DATA / "rexval_table.csv")
    same = _rexval(imported(invoke, tmp_path / "texts", *with_texts))
    assert same == _rexval(imported(invoke, tmp_path / "rows", *REXVAL))
    alone = _rexval(imported(invoke, tmp_path / "alone", DATA / "rexval_table.csv"))
    assert alone["0"]["1/bertscore"] == same["0"]["p11/bertscore"]
    assert {reader: len(found) for reader, found in alone.items()} == {"0": 5, "1": 4}


def test_radevalx(invoke: Invoke, tmp_path: Path) -> None:
    options = ("--reader", "team")
    (run,) = imported(invoke, tmp_path / "o", DATA / "radevalx.csv", options=options).values()
    assert run.manifest["judge"]["name"] == "reader:team"
    assert totals(run) == {
        "n_matched": None,
        "n_significant": 2,
        "significant_a": 1,
        "significant_seven": 1,
        "n_insignificant": 3,
        "insignificant_d": 1,
        "insignificant_eight": 2,
    }
    table = invoke("rates", run.path).stdout
    assert "  eight " in table
    assert "(eight)" not in table


def test_radpref(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", *RADPREF)
    found = measures(runs["user_1"])
    assert set(found) == {"q1/C1", "q1/C2", "q2/C1"}  # q2/C2 was not read
    one = found["q1/C1"]
    assert (one["n_significant"], one["n_actionable"], one["n_insignificant"]) == (1, 2, 2)
    assert (one["severity2_a"], one["severity3_b"], one["severity1_b"]) == (1, 1, 1)
    assert found["q1/C2"]["severity3_attribute"] == 1
    # The readers' scale has no "emergent", and no category of wrong locations.
    for name in ("fineradscore", "fineradscore_sum", "n_severity4", "severity3_c"):
        assert one[name] is None, name
    fields = runs["user_1"].record("q1/C1")["fields"]
    assert fields == {
        "model": "C1",
        "patient": "q1",
        "rating": 1,
        "preference": "C2",
        "benign_expected": 1,
    }
    blank = runs["user_2"].record("q1/C1")
    assert (blank["outcome"], blank["reason"]) == ("unparsed", "blank score")
