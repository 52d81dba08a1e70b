"""What is said of files that may not be what they are taken for."""

import json

import pytest

from judge.studies import NamedFields, from_given, read_pair
from judge.types import JudgeError

GIVEN = ["The lungs are clear.", "Left effusion."]
SAID = ["Clear lungs.", "Right effusion."]
OTHER = ["A log.", "Another log."]


def message(*args, **options):
    with pytest.raises(JudgeError) as caught:
        read_pair(*args, **options)
    return str(caught.value)


def rows(**columns):
    ids = {} if "id" in columns else {"id": ["1", "2"]}
    columns = {name: column for name, column in {**ids, **columns}.items() if column}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        (
            {"gt": GIVEN, "prediction": SAID, "response": OTHER},
            (
                "candidates are read from prediction; response could be meant too, and differs: "
                "--candidate-field response takes that"
            ),
        ),
        (
            {"gt": GIVEN, "generated_report": SAID, "response": OTHER, "output": OTHER},
            (
                "from generated_report; output, response could be meant too, and differ: "
                "--candidate-field output"
            ),
        ),
        (
            {"reference": GIVEN, "gt": OTHER, "prediction": SAID},
            (
                "references are read from reference; gt could be meant too, and differs: "
                "--reference-field gt"
            ),
        ),
        (
            {"report": GIVEN, "text": OTHER, "prediction": SAID},
            "references are read from report; text could be meant too",
        ),
    ],
)
def test_a_field_of_a_less_likely_name_that_differs_is_noted(put, fields, note):
    studies = read_pair(put("b.json", rows(**fields)), None)
    assert (studies.references, studies.candidates) == (tuple(GIVEN), tuple(SAID))
    (found,) = [text for text in studies.notes if "could be meant too" in text]
    assert note in found
    option = found.partition("--")[2].partition("-field")[0]
    name = found.partition("-field ")[2].split()[0]
    chosen = read_pair(put("b.json", rows(**fields)), None, fields=NamedFields(**{option: name}))
    assert getattr(chosen, f"{option}s") == tuple(OTHER), "the option that the note names"
    assert not [text for text in chosen.notes if "could be meant too" in text]


def test_a_field_of_a_less_likely_name_that_is_the_same_or_no_text_is_not_noted(put):
    both = rows(reference=GIVEN, gt=GIVEN, target=[0, 1], prediction=SAID, response=SAID)
    studies = read_pair(put("b.json", both), None)
    assert not [text for text in studies.notes if "could be meant too" in text]
    sections = rows(findings=GIVEN, gt=OTHER, prediction=SAID)
    assert not read_pair(put("s.json", sections), None).notes, "the findings are a field's"


def test_a_note_to_a_caller_in_python_names_no_option():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(rows(gt=GIVEN, prediction=SAID, response=OTHER))
    (note,) = [text for text in from_given(table).notes if "could be meant too" in text]
    assert note.endswith("rename the one that is meant")


def test_equals_that_differ_are_refused_in_plain_words(put):
    refused = message(put("b.json", rows(gt=GIVEN, pred=SAID, hyp=OTHER)), None)
    assert "could be the candidate, and they differ: pred, hyp; say which" in refused
    refused = message(put("b.json", rows(gt=GIVEN, ref=OTHER, pred=SAID)), None)
    assert "could be the reference, and they differ: gt, ref; say which" in refused


def test_two_that_could_be_the_reference_may_be_both_sides(put):
    both = put("b.json", rows(report=SAID, reference=GIVEN))
    refused = message(both, None)
    assert "has no field for the candidates; its fields are: id, report, reference. " in refused
    studies = read_pair(both, None, fields=NamedFields(candidate="report"))
    assert (studies.references, studies.candidates) == (tuple(GIVEN), tuple(SAID))


def test_no_reference_among_several_fields(put):
    lines = "\n".join(json.dumps(r) for r in rows(prompt=OTHER, response=SAID, label=GIVEN))
    path = put("d.jsonl", lines)
    assert message(path, None).startswith(
        f"{path} has no field for the references; its fields are: id, prompt, response, label. "
        "Name the one that holds them: --reference-field FIELD, or give two files, PREDS and REFS "
        "(usual names: report, "
    )
    one = message(put("o.json", rows(response=SAID, label=GIVEN)), None)
    assert "Name the one that holds them: --reference-field label, or give" in one


def test_a_forgotten_second_file(put):
    refused = message(put("p.json", rows(prediction=SAID)), None)
    assert "its fields are: id, prediction. Give two files, PREDS and REFS (usual" in refused
    for name, content in (("p.txt", "\n".join(SAID)), ("p.json", SAID)):
        refused = message(put(name, content), None)
        assert refused.endswith("holds one unnamed text a study, so one side alone; "
                                "give two files, PREDS and REFS")  # fmt: skip


def test_a_field_of_lists(put):
    refused = message(put("l.jsonl", json.dumps({"gt": GIVEN, "pred": SAID})), None)
    assert refused.endswith("The field pred holds lists, not texts: one text a record")


def test_text_files_of_different_length(put):
    refs = put("r.txt", "a\n\nb\n")
    refused = message(put("p.txt", "a\nb\n"), refs, allow_missing=True)
    assert "p.txt has 2 lines and " in refused
    assert "r.txt has 3 lines (1 of them empty): line n belongs to line n, so leave" in refused
    assert "--id-field" not in refused
    refused = message(put("p.txt", "a\nb\n"), put("r.json", ["a", "b", "c"]))
    assert "text n belongs to text n" in refused


def test_row_for_files_of_different_length(put):
    refs = put("r.json", {key: {"report": "x", "site": "n"} for key in "abc"})
    refused = message(put("p.txt", "a\nb\n"), refs, fields=NamedFields("row"))
    assert "2 records and" in refused
    assert "--id-field row joins them record by record, for which both must have" in refused
    assert "no id says" not in refused


def test_a_section_that_no_candidate_has(put):
    preds, refs = put("p.json", rows(findings=SAID)), put("r.json", rows(impression=GIVEN))
    for allow_missing in (False, True):
        refused = message(preds, refs, section="impression", allow_missing=allow_missing)
        assert "no candidate in " in refused
        assert "has the section impression; they have: findings, report; choose with" in refused


def test_findings_against_whole_reports(put):
    preds = put("p.json", rows(findings=SAID))
    refs = put("r.json", rows(findings=GIVEN, impression=GIVEN))
    wanted = "the candidates have no impression and the references do"
    assert [note for note in read_pair(preds, refs, section="report").notes if wanted in note]
    assert not [note for note in read_pair(preds, refs).notes if wanted in note]
    whole = put("w.json", rows(findings=SAID, impression=SAID))
    assert not [note for note in read_pair(whole, refs, section="report").notes if wanted in note]
    prose = put("t.json", rows(prediction=SAID))
    assert not read_pair(prose, refs, section="report").notes, "without headings nobody knows"


@pytest.mark.parametrize(
    ("preds", "refs", "is_noted"),
    [
        (("a.json", ["findings", "impression"]), ("b.json", ["findings"]), True),
        (("a.json", ["findings"]), ("b.json", ["findings", "impression"]), False),
        (("c_refs.csv.json", ["findings"]), ("c_preds.json", ["findings"]), True),
        (("gt.json", ["report"]), ("b.json", ["report"]), True),
        (("a.json", ["report"]), ("predictions.json", ["report"]), True),
        (("preds_with_refs.json", ["report"]), ("b.json", ["report"]), False),
        (("refs.json", ["prediction"]), ("b.json", ["report"]), False),
    ],
)
def test_sides_that_may_be_swapped(put, preds, refs, is_noted):
    paths = [
        put(name, rows(**dict.fromkeys(fields, texts)))
        for (name, fields), texts in ((preds, SAID), (refs, GIVEN))
    ]
    notes = [note for note in read_pair(*paths).notes if "swapped" in note]
    assert len(notes) == is_noted
    assert not is_noted or notes[0].endswith("are they swapped? PREDS comes first")


def test_one_file_given_twice(put):
    refs, wanted = put("a.json", rows(report=GIVEN)), "PREDS and REFS hold the same: each report"
    copy = put("b.json", rows(report=GIVEN))
    assert [note for note in read_pair(refs, copy).notes if wanted in note]
    both = put("c.json", rows(report=GIVEN, prediction=SAID))
    assert not [note for note in read_pair(both, both).notes if wanted in note]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"id": "1', "Unterminated string starting at line 1, column 9"),
        ('[{"id": "\n"}]', "Invalid control character at line 1, column 10"),
        ('{"results": [{"id": "1", "text": "x"}], "config": {}}',
         "its records stand under 'results'; give that list alone"),
        (b'{"a": "\0"}', "it holds NUL bytes); give JSON, JSONL, CSV, TSV, Parquet or text (.txt)"),
    ],
)  # fmt: skip
def test_files_that_are_nearly_right(put, content, expected):
    assert expected in message(put("p.json", content), put("r.json", {"1": "x"}))


def test_the_patient_is_among_what_was_read(put):
    both = put("b.json", rows(subject_id=[1, 2], mrn=["p", "q"], gt=GIVEN, pred=SAID))
    assert read_pair(both, None).read_from["patient"] == "subject_id"
    named = read_pair(both, None, fields=NamedFields(patient="MRN"))
    assert named.read_from["patient"] == "mrn", "as the file calls it"


@pytest.fixture
def saved(tmp_path):
    """Folders that `datasets` writes, one of two splits."""
    datasets = pytest.importorskip("datasets")
    kinds = datasets.Features(
        {
            **dict.fromkeys(("id", "reference", "prediction"), datasets.Value("string")),
            "study_class": datasets.ClassLabel(names=["normal", "abnormal"]),
        }
    )
    columns = {"id": ["1", "2", "3"], "reference": [*GIVEN, "x"], "prediction": [*SAID, "y"]}
    plain = datasets.Dataset.from_dict({**columns, "study_class": [1, 0, -1]}, features=kinds)
    datasets.DatasetDict({"train": plain, "test": plain}).save_to_disk(str(tmp_path / "hf_dd"))
    plain.to_parquet(str(tmp_path / "hf_dd/test-00000-of-00001.parquet"))
    return tmp_path / "hf_dd"


def test_a_class_label_is_read_by_its_names(saved):
    studies = read_pair(str(saved / "test"), None)
    assert studies.study_classes == ("abnormal", "normal", None)


def test_a_dataset_s_folder_names_the_model(saved, monkeypatch):
    assert read_pair(str(saved / "test"), None).model == "hf_dd"
    shard = "test-00000-of-00001.parquet"
    assert read_pair(str(saved / shard), None).model == "hf_dd"
    monkeypatch.chdir(saved / "test")
    assert read_pair(".", None).model == "hf_dd"
    monkeypatch.chdir(saved)
    assert read_pair(shard, None).model == "hf_dd"


def test_parts_of_a_dataset_s_folder(saved):
    assert f"no such split: {saved}/tset; {saved} has splits: test, train" in message(
        str(saved / "tset"), None
    )
    (arrow,) = (saved / "test").glob("*.arrow")
    for path, folder in ((arrow, saved / "test"), (saved / "dataset_dict.json", saved)):
        refused = message(str(path), None)
        assert refused == f"{path} is a part of a folder of datasets; give {folder}"
    (saved / "dataset_dict.json").unlink()
    assert f"give a file such as {saved}/test-00000-of-00001.parquet" in message(str(saved), None)
