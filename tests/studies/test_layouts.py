"""Text files, folders, JSON in other people's shapes, workbooks, and what Excel adds to a CSV."""

from __future__ import annotations

import builtins
import io
import json
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import SHARED, Invoke

from judge.studies import NamedFields, StudySet, read_pair
from judge.types import JudgeError

Put = Callable[..., str]
CASES = SHARED.parent / "cases"


def error(*files: str, **options: Any) -> str:
    with pytest.raises(JudgeError) as caught:
        read_pair(*files, **options)  # type: ignore[arg-type]
    return str(caught.value)


def texts(studies: StudySet) -> list[tuple[str, str]]:
    return list(zip(studies.references, studies.candidates, strict=True))


# A report a line, and a folder.


def test_a_report_a_line(put: Put) -> None:
    preds = put("hyps.txt", "Clear lungs.\r\n\r\n[Sic] no, effusion; none\n")
    refs = put("refs.txt", "The lungs are clear.\nLeft effusion.\nNo effusion.")
    studies = read_pair(preds, refs)
    assert texts(studies) == [
        ("The lungs are clear.", "Clear lungs."),
        ("Left effusion.", ""),
        ("No effusion.", "[Sic] no, effusion; none"),
    ]
    assert (studies.read_from["id"], studies.study_ids) == ("position", ("1", "2", "3"))
    assert any("joined by position" in note for note in studies.notes)
    assert "3 records against 1" in error(preds, put("one.txt", "No effusion."))
    # Without .txt, a report would be taken for the names of columns.
    assert "is a .txt" in error(preds, put("refs.csv", "No effusion."))
    assert "call it .txt" in error(
        preds, put("refs.csv", "No effusion.\nClear, too.\n")
    )
    assert "is empty" in error(preds, put("empty.txt", ""))


def test_a_txt_may_be_a_table_or_json(put: Put) -> None:
    refs = put("r.json", {"a": "x.", "b": "y."})
    for content in ("study_id\tprediction\nb\tY.\na\tX.\n", "id,text\nb,Y.\na,X.\n"):
        assert texts(read_pair(put("p.txt", content), refs)) == [
            ("x.", "X."),
            ("y.", "Y."),
        ]
    assert texts(read_pair(put("p.txt", '{"b": "Y.", "a": "X."}'), refs))[0] == (
        "x.",
        "X.",
    )


def test_a_folder_of_text_files(tmp_path: Path, put: Put) -> None:
    folder = tmp_path / "preds"
    (folder / "p10").mkdir(parents=True)
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / "s1.txt").write_text("FINDINGS:\nClear lungs.\n", "utf-8")
    (folder / "p10" / "s2.0.TXT").write_bytes("Mühe.".encode("cp1252"))
    (folder / "s3.txt").write_text("", "utf-8")
    (folder / ".ipynb_checkpoints" / "s1.txt").write_text("old", "utf-8")
    (folder / "log.json").write_text("{}", "utf-8")
    refs = put(
        "r.json",
        {
            "s3": {"findings": "C."},
            "s2.0": {"findings": "B."},
            "s1": {"findings": "A."},
        },
    )
    assert "--encoding" in error(str(folder), refs)
    studies = read_pair(str(folder), refs, fields=NamedFields(encoding="cp1252"))
    assert texts(studies) == [("C.", ""), ("B.", "Mühe."), ("A.", "Clear lungs.")]
    assert studies.model == "preds"
    assert studies.inputs[0].n_records == 3
    again = read_pair(str(folder), refs, fields=NamedFields(encoding="cp1252"))
    assert again.inputs == studies.inputs
    # A folder may be REFS too.
    both = read_pair(
        str(folder),
        str(folder),
        fields=NamedFields(encoding="cp1252"),
        section="report",
        allow_missing=True,
    )
    assert both.study_ids == ("s2.0", "s1")
    (folder / "p10" / "s1.txt").write_text("Again.", "utf-8")
    assert "more than once: 1 (s1)" in error(
        str(folder), refs, fields=NamedFields(encoding="cp1252")
    )


def test_a_folder_that_has_none(
    tmp_path: Path, put: Put, judged_examples: Path
) -> None:
    refs = put("r.json", {"a": "x"})
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "without .txt files; it has: nothing" in error(str(empty), refs)
    assert "the folder of a run" in error(str(judged_examples), refs)


# Texts in lists.


def test_a_list_of_one_text_is_that_text(put: Put) -> None:
    preds, refs = {"a": ["X."], "b": []}, {"a": ["x."], "b": ["y."]}
    assert texts(read_pair(put("p.json", preds), put("r.json", refs))) == [
        ("x.", "X."),
        ("y.", ""),
    ]
    records = [{"id": one, "report": text} for one, text in refs.items()]
    assert texts(read_pair(put("p.json", preds), put("r.json", records)))[0] == (
        "x.",
        "X.",
    )
    frame = pd.DataFrame(records)
    frame.to_parquet(path := Path(put("r.parquet", b"")))
    assert texts(read_pair(put("p.json", preds), str(path)))[0] == ("x.", "X.")
    refs_file = put("r.json", {"a": "x", "b": "y"})
    assert "has 2 texts" in error(put("p.json", {"a": ["x", "y"], "b": "z"}), refs_file)


# JSON.

RECORDS = [{"id": "a", "report": "x."}, {"id": "b", "report": "y."}]


@pytest.mark.parametrize(
    "value",
    [
        {"data": RECORDS},
        {"name": "test", "version": {"major": 1}, "reports": RECORDS, "n": 2},
        {"train": [], "val": [], "test": RECORDS},
        {"results": {"records": RECORDS}},
        {"id": {"0": "a", "1": "b"}, "report": {"0": "x.", "1": "y."}},
        {"report": {"a": "x.", "b": "y."}, "site": {"a": "n", "b": "s"}},
        {"id": ["a", "b"], "report": ["x.", "y."]},
        {
            "columns": ["id", "report"],
            "index": [0, 1],
            "data": [["a", "x."], ["b", "y."]],
        },
        {"columns": ["report"], "index": ["a", "b"], "data": [["x."], ["y."]]},
        {"schema": {"fields": []}, "data": RECORDS},
        {"a": "x.", "b": "y."},
        {"a": {"report": "x."}, "b": {"report": "y."}},
        {"0": {"id": "a", "report": "x."}, "1": {"id": "b", "report": "y."}},
    ],
)
def test_the_shapes_of_json(put: Put, value: Any) -> None:
    preds = put("p.json", {"b": "Y.", "a": "X."})
    assert texts(read_pair(preds, put("r.json", value))) == [("x.", "X."), ("y.", "Y.")]


@pytest.mark.parametrize("orient", ["columns", "records", "index", "split", "table"])
def test_what_pandas_writes(tmp_path: Path, put: Put, orient: Any) -> None:
    frame = pd.DataFrame(
        {"image_id": ["a", "b"], "reference": ["x.", "y."], "age": [1, 2]}
    )
    frame.to_json(tmp_path / "r.json", orient=orient)
    preds = put(
        "p.json",
        [{"image_id": "b", "prediction": "Y."}, {"image_id": "a", "prediction": "X."}],
    )
    assert texts(read_pair(preds, str(tmp_path / "r.json"))) == [
        ("x.", "X."),
        ("y.", "Y."),
    ]


def test_columns_of_other_names_by_row(put: Put) -> None:
    rows = {
        "key": {"0": "a", "1": "b"},
        "gold": {"0": "x.", "1": "y."},
        "ai": {"0": "X.", "1": "Y."},
    }
    fields = NamedFields(id="key", candidate="ai", reference="gold")
    assert texts(read_pair(put("b.json", rows), None, fields=fields)) == [
        ("x.", "X."),
        ("y.", "Y."),
    ]


def test_one_record_and_lists_of_texts(put: Put) -> None:
    one = put("one.json", {"id": "a", "reference": "x.", "prediction": "X."})
    assert texts(read_pair(one, None)) == [("x.", "X.")]
    preds, refs = (
        put("p.json", {"predictions": ["X.", "Y."]}),
        put("r.json", ["x.", "y."]),
    )
    studies = read_pair(preds, refs)
    assert texts(studies) == [("x.", "X."), ("y.", "Y.")]
    assert f"{preds}: the records are those below 'predictions'" in studies.notes


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (
            {"train": RECORDS, "test": RECORDS},
            "has the keys train, test, with lists under train, test",
        ),
        (
            {"images": [{"id": 1}], "annotations": [{"caption": "x"}]},
            "keys images, annotations",
        ),
        (
            {"generated_reports": ["x"], "sentences": [{}], "refs": ["y"]},
            "generated_reports, sentences",
        ),
        ({"a": {"report": "x"}, "b": [{"report": "y"}]}, "record of 'b' is a list"),
        ([{"id": "a", "report": "x"}, "y"], "record 2 is a text"),
        (3, "the number 3"),
        ("x", "a text"),
    ],
)
def test_other_shapes_are_named_by_their_keys(put: Put, value: Any, named: str) -> None:
    found = error(put("p.json", {"a": "x"}), put("r.json", json.dumps(value)))
    assert named in found
    assert "\n" not in found


@pytest.mark.data
@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")
def test_the_published_shapes() -> None:
    folder = CASES / "nested-and-columnar-json"
    preds = str(folder / "preds.json")
    assert len(read_pair(preds, str(folder / "r2gen_annotation.json"))) == 2
    for name in ("pandas", "wrapped"):
        assert len(read_pair(str(folder / f"{name}.json"), None)) in (1, 2)
        assert "no id in common" in error(preds, str(folder / f"{name}.json"))
    assert "input_image_name" in error(preds, str(folder / "vlm3d.json"))
    fields = NamedFields(id="input_image_name")
    vlm3d = str(folder / "vlm3d.json")
    assert read_pair(vlm3d, vlm3d, fields=fields).study_ids == (
        "valid_1_a_1.mha",
        "valid_2_a_1.mha",
    )
    keys = "generated_reports, removed_similar_generated_sentences, reference_reports"
    assert keys in error(preds, str(folder / "rgrg.json"))


# Excel.


def test_the_line_that_names_the_separator(put: Put) -> None:
    refs = put("r.json", {"a": "x, y."})
    for first in ("sep=;\r\n", '"sep=;"\n', "SEP=;\n", "\ufeffsep=;\r\n"):
        preds = put("p.csv", f"{first}id;prediction\r\na;X, Y, Z.\r\n")
        assert texts(read_pair(preds, refs)) == [("x, y.", "X, Y, Z.")]
    tabs = put("p.csv", "sep=\t\nid\tprediction\na\tX.\n")
    assert texts(read_pair(tabs, refs)) == [("x, y.", "X.")]
    assert "line 3" in error(put("p.csv", "sep=;\nid;prediction\na;b;c\n"), refs)


def workbook(*sheets: list[list[Any]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"Sheet{number + 1}")
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_workbook(put: Put) -> None:
    rows = [
        ["study_id", "findings", "read on", "", None],
        [17, "Clear lungs.\nNo effusion.", datetime(2024, 5, 1), None, None],  # noqa: DTZ001 - as in Excel
        [None, None, None, None, None],
        ["018", "None.", date(2024, 5, 2), None, None],
    ]
    preds = put("p.json", {"17": "Clear.", "018": "Clear."})
    for name in ("r.xlsx", "r.csv", "r"):
        studies = read_pair(preds, put(name, workbook(rows, [])), allow_missing=True)
        assert studies.study_ids == ("17",)
        assert studies.references == ("Clear lungs.\nNo effusion.",)
        assert studies.fields["read on"] == ("2024-05-01",)
        assert studies.omitted == {"no reference section": 1}
    assert "several sheets with rows (Sheet1, Sheet2)" in error(
        preds, put("r.xlsx", workbook(rows, rows))
    )
    assert "holds no study" in error(preds, put("r.xlsx", workbook(rows[:1])))
    twice = [["id", "text", "text"], ["a", "x", "y"]]
    assert "two columns named text" in error(preds, put("r.xlsx", workbook(twice)))
    whole = workbook(rows)
    assert "unpack it" in error(preds, put("r.xlsx", whole[: len(whole) // 2]))


def test_a_damaged_workbook_and_one_without_openpyxl(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook")
    refs = put("r.xlsx", out.getvalue())
    preds = put("p.json", {"a": "x"})
    pytest.importorskip("openpyxl")
    assert "damaged workbook" in error(preds, refs)
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name == "openpyxl":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install" in error(preds, refs)
    assert "or save it as CSV" in error(preds, refs)


def test_the_option_encoding(put: Put, invoke: Invoke) -> None:
    preds = put("p.csv", "id,prediction\na,Kein Erguß.\n".encode("cp1252"))
    refs = put("r.csv", "id,reference\na,Kein Erguß.\n".encode())
    done = invoke("check", preds, refs)
    assert done.exit_code == 2
    assert "--encoding" in done.stderr
    done = invoke("check", preds, refs, "--encoding", "cp1252", "--format", "json")
    assert json.loads(done.stdout)["first"][0]["candidate"] == "Kein Erguß."
    done = invoke("check", preds, refs, "--encoding", "none-such")
    assert (done.exit_code, "none-such" in done.stderr) == (2, True)
