"""`judge readers import pairs`: any file of pairs with their errors, by the names of its fields."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from readersfiles import by_reader, measures
from support import EXAMPLES, Invoke

from judge.cli.readers import import_
from judge.readers.pair_names import new_name, read_category, read_level
from judge.running.folder import RunFolder

DOCS = EXAMPLES.parent / "docs" / "readers.md"
MEANINGS = {
    "category:Omission": "b",
    "category:Size": "d",
    "level:Critical": "significant",
    "level:Minor": "insignificant",
}
MAPS = [word for old, new in MEANINGS.items() for word in ("--map", f"{old}={new}")]
PAIRS: list[dict[str, Any]] = [
    {
        "id": "p1",
        "reference": "Small left effusion.",
        "candidate": "No effusion.",
        "modality": "CT",
        "errors": [{"category": "Omission", "level": "Critical", "text": "effusion"}],
    },
    {
        "id": "p2",
        "reference": "Clear lungs.",
        "candidate": "Clear lungs.",
        "modality": "MR",
        "errors": [],
    },
    {
        "id": "p3",
        "reference": "6 mm nodule.",
        "candidate": "No nodule. 4 mm cyst.",
        "modality": "MR",
        "errors": [
            {"category": "Size", "level": "Minor", "text": "4 mm"},
            {"category": "Omission", "level": "Critical", "text": "nodule"},
        ],
    },
]


def options(**columns: str) -> list[str]:
    return [
        word
        for role, name in columns.items()
        for word in ("--column", f"{role}={name}")
    ]


def read(invoke: Invoke, file: Path, *words: str) -> dict[str, RunFolder]:
    out = file.parent / f"out-{file.name}"
    done = invoke("readers", "import", "pairs", file, "--out", out, *words)
    assert done.exit_code == 0, done.stderr
    return by_reader(out)


def refused(invoke: Invoke, file: Path, *words: str) -> str:
    out = file.parent / "refused"
    done = invoke("readers", "import", "pairs", file, "--out", out, *words)
    assert done.exit_code == 2, done.stdout
    assert not out.exists()
    message: str = done.stderr
    assert "Traceback" not in message
    return message


def counts(run: RunFolder) -> dict[str, tuple[Any, Any]]:
    return {
        study: (numbers["n_significant"], numbers["n_insignificant"])
        for study, numbers in measures(run).items()
    }


FOUND = {"p1": (1, 0), "p2": (0, 0), "p3": (1, 1)}


@pytest.mark.parametrize(
    "form", ["json", "jsonl", "csv", "python.csv", "tsv", "parquet", "nested", "xlsx"]
)
def test_a_list_in_a_field_of_each_form(
    invoke: Invoke, tmp_path: Path, form: str
) -> None:
    file = tmp_path / f"pairs.{form}"
    words = list(MAPS)
    as_text = [{**pair, "errors": json.dumps(pair["errors"])} for pair in PAIRS]
    if form == "json":
        file.write_text(json.dumps({"data": PAIRS}))
    elif form == "jsonl":
        file.write_text("\n".join(map(json.dumps, PAIRS)))
    elif form == "csv":
        pd.DataFrame(as_text).to_csv(file, index=False)
    elif form == "python.csv":
        # As pandas writes a list that nobody turned into JSON.
        pd.DataFrame(PAIRS).to_csv(file, index=False)
    elif form == "tsv":
        pd.DataFrame(as_text).to_csv(file, index=False, sep="\t")
    elif form == "parquet":
        pd.DataFrame(PAIRS).to_parquet(file)
    elif form == "xlsx":
        pytest.importorskip("openpyxl")
        pd.DataFrame(as_text).to_excel(file, index=False)
    else:
        records = []
        for pair in PAIRS:
            rest = {name: value for name, value in pair.items() if name != "errors"}
            records.append({**rest, "read": {"by": {"errors": pair["errors"]}}})
        file.write_text(json.dumps(records))
        words += options(errors="read.by.errors")
    (run,) = read(invoke, file, "--reader", "fern", *words).values()
    assert run.manifest.judge.name == "reader:fern"
    assert counts(run) == FOUND
    record = run.record("p3")
    items = record["annotation"]["items"]
    labels = [(one["labels"]["category"], one["text"]) for one in items]
    assert labels == [(["d"], "4 mm"), (["b"], "nodule")]
    assert record["fields"]["modality"] == "MR"
    assert record["candidate"] == "No nodule. 4 mm cyst."
    # How the words were read goes with the run.
    notes = " ".join(run.summary().notes)
    assert "Omission is b (2), Size is d (1)" in notes
    assert "Critical is significant (2), Minor is insignificant (1)" in notes
    # What no error of the file is of is undefined, and never 0.
    assert measures(run)["p3"]["significant_e"] is None
    assert measures(run)["p3"]["significant_a"] is None


def test_a_row_for_each_error(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    rows = [("p2", "", "No error", "")]
    for pair in PAIRS:
        for error in pair["errors"]:
            rows.append((pair["id"], error["level"], error["category"], error["text"]))
    frame = pd.DataFrame(rows, columns=["id", "level", "category", "why"])
    frame.to_csv(file, index=False)
    words = [*MAPS, *options(text="why"), "--map", "category:no error=none"]
    (run,) = read(invoke, file, *words).values()
    assert counts(run) == FOUND
    # Without the reports no number that needs them.
    assert measures(run)["p1"]["n_significant"] == 1
    # A blank row is no reading: the study is left out, and named.
    frame.loc[0, "category"] = ""
    frame.to_csv(file, index=False)
    (run,) = read(invoke, file.rename(tmp_path / "blank.csv"), *MAPS).values()
    assert counts(run) == {name: FOUND[name] for name in ("p1", "p3")}
    assert run.manifest.omitted_ids == {"unreadable": ["p2"]}
    # A row that is there twice may be an error of a join.
    file = tmp_path / "twice.csv"
    frame = pd.concat([frame.iloc[1:], frame.iloc[-1:]])
    frame.to_csv(file, index=False)
    (run,) = read(invoke, file, *MAPS).values()
    assert run.manifest.omitted_ids == {"unreadable": ["p3"]}


def test_whether_a_row_is_an_error(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "flags.csv"
    file.write_text(
        "id,is_error,category,level,said\n"
        "a,0,,,Same.\na,0,,,Same.\na,1,missing finding,significant,Gone.\n"
        "b,2,,,Neutral.\nc,,missing finding,significant,Gone.\n"
    )
    words = options(error="is_error", text="said")
    assert "'2' (1)" in refused(invoke, file, *words)
    (run,) = read(invoke, file, *words, "--map", "error:2=no").values()
    assert counts(run) == {"a": (1, 0), "b": (0, 0)}
    assert run.manifest.omitted_ids == {"unreadable": ["c"]}


def test_counts_in_columns(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    file.write_text("id,missed,made_up,style\np1,2,no,1\np2,0,yes,0\np3,,yes,0\n")
    words = ["--count", "b:significant=missed", "--count", "a:significant=made_up"]
    words += ["--count", "poor wording:significant=style"]
    (run,) = read(invoke, file, *words).values()
    found = measures(run)
    assert {k: v["n_significant"] for k, v in found.items()} == {"p1": 3, "p2": 1}
    assert found["p1"]["significant_b"] == 2
    assert found["p1"]["significant_poor_wording"] == 1
    # Nothing counts these: they are undefined.
    assert found["p1"]["significant_c"] is None
    assert found["p1"]["n_insignificant"] is None
    assert run.manifest.omitted_ids == {"unreadable": ["p3"]}
    assert "category" in refused(invoke, file, *words, *options(category="style"))
    assert "twice" in refused(invoke, file, *words[:2], *words[:2])


@pytest.mark.parametrize("form", ["list", "object", "column"])
def test_several_readers(invoke: Invoke, tmp_path: Path, form: str) -> None:
    file = tmp_path / "readers.json"
    records: list[dict[str, Any]] = []
    words = list(MAPS)
    for pair in PAIRS:
        errors = pair["errors"]
        rest = {name: value for name, value in pair.items() if name != "errors"}
        if form == "column":
            records.append({**rest, "reader": "ann", "errors": errors})
            records.append({**rest, "reader": "ben", "errors": []})
        elif form == "object":
            records.append({**rest, "by": {"ann": errors, "ben": []}})
        else:
            both = [{"who": "ann", "found": errors}, {"who": "ben", "found": []}]
            records.append({**rest, "by": both})
    if form == "object":
        words += options(errors="by.*")
    elif form == "list":
        words += options(errors="by.*.found", reader="by.*.who")
    file.write_text(json.dumps(records))
    runs = read(invoke, file, *words)
    assert counts(runs["ann"]) == FOUND
    assert counts(runs["ben"]) == dict.fromkeys(FOUND, (0, 0))
    assert "--reader" in refused(invoke, file, *words, "--reader", "x")


def test_severities_and_several_ids_and_models(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "graded.json"
    records = []
    for model in ("alder", "birch"):
        for case in ("c1", "c2"):
            error = {"category": ["missing finding", "wrong severity"]}
            grades = ["Urgent"] if model == "alder" else ["not actionable", "emergent"]
            errors = [{**error, "level": grade} for grade in grades]
            records.append({"case": case, "model": model, "errors": errors})
    file.write_text(json.dumps(records))
    (run,) = read(invoke, file, *options(id="case,model")).values()
    found = measures(run)
    assert {k: v["fineradscore"] for k, v in found.items()} == {
        "c1/alder": 3,
        "c2/alder": 3,
        "c1/birch": 4,
        "c2/birch": 4,
    }
    assert run.record("c1/birch")["fields"]["patient"] == "c1"
    assert found["c1/alder"]["severity3_b"] == found["c1/alder"]["severity3_d"] == 1
    # The same ids by the model alone.
    file = file.rename(tmp_path / "models.json")
    (run,) = read(invoke, file, *options(id="case")).values()
    assert set(measures(run)) == {"c1/alder", "c2/alder", "c1/birch", "c2/birch"}


def test_what_cannot_be_read_is_left_out_with_its_place(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = tmp_path / "some.json"
    broken = [
        {"id": "x1", "errors": None},
        {"id": "x2", "errors": "none at all"},
        {"id": "x3", "errors": [{"category": "Omission"}]},
        {"id": "x4", "errors": ["Omission"]},
        {"id": "x5", "errors": [], "n": 2},
        {"id": "x6", "errors": [{"level": "Minor"}], "n": 1},
        *[{"id": "x7", "errors": [], "n": 0}] * 2,
    ]
    good = [{**pair, "n": len(pair["errors"])} for pair in PAIRS]
    file.write_text(json.dumps(good + broken))
    words = [*MAPS, *options(total="n")]
    (run,) = read(invoke, file, *words).values()
    assert counts(run) == FOUND
    left_out = run.manifest.omitted_ids["unreadable"]
    assert left_out == ["x1", "x2", "x3", "x4", "x5", "x6", "x7"]
    done = invoke(
        *("readers", "import", "pairs", file, "--out", "o", *words),
        *("--dry-run", "--format", "json"),
    )
    assert not (tmp_path / "o").exists()
    (reader,) = json.loads(done.stdout)["readers"]
    assert (reader["pairs"], reader["without_error"], reader["errors"]) == (3, 1, 3)
    places = [
        text.split(":")[0].rpartition("record ")[2] for text in reader["left_out"]
    ]
    assert places == ["4", "5", "6", "7", "8", "9", "10"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "'Omission' (2), 'Size' (1)"),
        (MAPS[:4], "'Critical' (2), 'Minor' (1)"),
        ([*MAPS, *options(errors="mistakes")], "the fields are: id, reference"),
        ([*MAPS, *options(category="kind")], "an error are: category, level, text"),
        ([*MAPS, *options(id="uid")], "--column id"),
        ([*MAPS, *options(model="more.model")], "'more.model'"),
        ([*MAPS[:4], *options(level="none")], "an error are"),
        ([*MAPS, "--map", "category:Omission=c"], "given twice"),
        (["--map", "category:Omission=z"], "b (missing finding)"),
        (["--map", "kind:Omission=b"], "category, level, error"),
        (["--map", "level:Critical=3", *MAPS[:4], *MAPS[6:]], "mixed"),
        (["--count", "b:grave=id"], "significant, insignificant"),
        (["--count", "b:significant=id", *options(errors="errors")], "not both"),
    ],
)
def test_what_is_refused_says_what_to_write(
    invoke: Invoke, tmp_path: Path, words: list[str], message: str
) -> None:
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps(PAIRS))
    assert message in refused(invoke, file, *words)


def test_a_code_of_the_file_is_never_taken_for_a_code_of_the_rubric(
    invoke: Invoke, tmp_path: Path
) -> None:
    for code in ("a", "(b)", "3", "1.", "A)"):
        assert read_category(code) is None
    for code in ("1", "severity 2", "0", "true"):
        assert read_level(code) is None
    assert read_category("Omission of finding") == "b"
    assert (read_level("Clinically significant"), read_level("urgent")) == (
        "significant",
        "severity3",
    )
    assert new_name("category:a: b=c=d").old == "a: b=c"
    file = tmp_path / "codes.json"
    errors = [{"category": 2, "level": True}]
    file.write_text(json.dumps([{"id": "s", "errors": errors}]))
    assert "'2' (1)" in refused(invoke, file)
    words = ["--map", "category:2=a", "--map", "category:9=c"]
    words += ["--map", "level:true=insignificant"]
    (run,) = read(invoke, file, *words).values()
    found = measures(run)["s"]
    # A category that is mapped was asked for, and is counted.
    assert (found["insignificant_a"], found["insignificant_c"]) == (1, 0)


def test_options_of_pairs_are_refused_elsewhere(invoke: Invoke, tmp_path: Path) -> None:
    tidy = EXAMPLES / "readers" / "readings.csv"
    for words in (options(id="x"), MAPS[:2], ["--count", "b:significant=x"]):
        done = invoke("readers", "import", "tidy", tidy, "--out", "o", *words)
        assert done.exit_code == 2
        assert f"{words[0]} is for judge readers import pairs" in done.stderr
    assert not (tmp_path / "o").exists()


def test_the_roles_are_in_the_help() -> None:
    (option,) = [one for one in import_.params if one.name == "columns"]
    assert all(role in str(option.help) for role in ("errors", "total", "reader"))


def command_for(name: str) -> list[str]:
    """The words of the command on the page that imports the file of a public set."""
    lines = DOCS.read_text("utf-8").splitlines()
    (line,) = [one for one in lines if f"import pairs {name}" in one]
    return shlex.split(line)[1:]


def test_the_command_for_chest2error_bench(invoke: Invoke, tmp_path: Path) -> None:
    """As its page shows it: a list of objects as JSON in a column of Parquet."""
    rows = []
    made = [
        ("a1", "GT-U", "V1", [(2, "Minor", "Cardiovascular")]),
        ("a1", "GT-S", "V1", [(2, "Minor", "Cardiovascular")]),
        ("a1", "GT-U", "V2", []),
        ("a2", "GT-U", "V1", [(1, "Critical", "Pleura"), (4, "Critical", "Pleura")]),
    ]
    for anchor, style, variant, errors in made:
        keys = ("category", "criticality", "section")
        entries = [dict(zip(keys, error, strict=True)) for error in errors]
        rows.append(
            {
                "anchor_id": anchor,
                "reference_style": style,
                "variant_id": variant,
                "reference_report": f"The pleura of {anchor} is normal.",
                "candidate_report": f"Pleural effusion, by {variant}.",
                "rad_error_count": len(errors),
                "rad_has_critical_error": "Critical" in str(errors),
                "rad_errors": json.dumps(entries),
            }
        )
    pd.DataFrame(rows).to_parquet(tmp_path / "gold_pairs.parquet")
    done = invoke(*command_for("gold_pairs.parquet"))
    assert done.exit_code == 0, done.stderr
    (run,) = by_reader(tmp_path / "chest2error").values()
    assert counts(run) == {
        "a1/GT-U/V1": (0, 1),
        "a1/GT-S/V1": (0, 1),
        "a1/GT-U/V2": (0, 0),
        "a2/GT-U/V1": (2, 0),
    }
    assert run.record("a1/GT-U/V2")["fields"]["patient"] == "a1"
    assert measures(run)["a1/GT-U/V2"]["significant_f"] == 0


def test_the_command_for_rexerr(invoke: Invoke, tmp_path: Path) -> None:
    """As its README says: a row for each sentence, with 0, 1 or 2 and the kind of error."""
    head = "dicom_id,study_id,subject_id,original_sentence,error_sentence,"
    lines = [
        f"{head}error_present,error_type",
        "d,11,7,Clear lungs.,Clear lungs.,0,",
        "d,11,7,Clear lungs.,Clear lungs.,0,",
        "d,11,7,Small effusion.,Large effusion.,1,Change Severity",
        "d,11,7,As before.,As before.,2,",
        "e,12,7,Normal heart.,Normal heart.,0,",
        "f,13,8,Normal heart.,Nomral heart.,1,Add Typo",
    ]
    (tmp_path / "ReXErr-sentence-level_test.csv").write_text("\n".join(lines))
    done = invoke(*command_for("ReXErr-sentence-level_test.csv"))
    assert done.exit_code == 0, done.stderr
    (run,) = by_reader(tmp_path / "rexerr").values()
    found = measures(run)
    assert {k: v["n_significant"] for k, v in found.items()} == {
        "11": 1,
        "12": 0,
        "13": 1,
    }
    assert found["11"]["significant_d"] == 1
    assert found["13"]["significant_add_typo"] == 1
    assert run.record("12")["fields"]["patient"] == "7"


def test_the_command_for_injected_errors(invoke: Invoke, tmp_path: Path) -> None:
    """As its page says: JSON Lines of pairs with a list of categories and a number of errors."""
    records = []
    made = [("s1", "single", ["negation_error"], 1), ("s1", "clean", [], 0)]
    # A list of the kinds of two errors that are of one kind.
    made.append(("s2", "multi", ["negation_error"], 2))
    for source, split, categories, n in made:
        record = {
            "source_id": source,
            "modality": "ct",
            "split": split,
            "reference": "No effusion.",
            "candidate": "Effusion.",
            "n_errors": n,
            "categories": categories,
        }
        records.append(json.dumps(record))
    (tmp_path / "ct.jsonl").write_text("\n".join(records))
    done = invoke(*command_for("ct.jsonl"))
    assert done.exit_code == 0, done.stderr
    (run,) = by_reader(tmp_path / "injected").values()
    found = {k: v["n_significant"] for k, v in measures(run).items()}
    assert found == {"s1/single": 1, "s1/clean": 0}
    assert run.manifest.omitted_ids == {"unreadable": ["s2/multi"]}
