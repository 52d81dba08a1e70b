"""Files as new users have them: fields of any name, no ids, a report a line, datasets."""

import json

import pytest

from judge.studies import NamedFields, read_pair
from judge.types import JudgeError

GIVEN = ["The lungs are clear.", "Left effusion."]
SAID = ["Clear lungs.", "Right effusion."]
OTHER = ["A log.", "Another log."]


def message(*args, **options):
    with pytest.raises(JudgeError) as caught:
        read_pair(*args, **options)
    return str(caught.value)


def check(studies, ids=("1", "2")):
    assert (studies.study_ids, studies.references) == (ids, tuple(GIVEN))
    assert studies.candidates == tuple(SAID)
    return studies


def rows(**columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        *(("gt", "pred"), ("ref", "hyp"), ("target", "output"), ("Ground-Truth", "generated")),
        *(("reference report", "model_prediction"), ("radiologist_report", "generated report")),
    ],
)
def test_names_of_reports_in_one_file_without_ids(put, reference, candidate):
    table = rows(**{"image": ["a.png", "b.png"], reference: GIVEN, candidate: SAID})
    studies = check(read_pair(put("pairs.json", table), None))
    assert studies.fields["image"] == ("a.png", "b.png")
    assert studies.read_from == {"id": "row", "reference": reference, "candidate": candidate}
    assert any("records are numbered" in text for text in studies.notes)


def test_sides_without_ids_are_joined_by_their_order(put, forms):
    preds = put("p.jsonl", forms["lines.jsonl"](rows(prompt=["p", "q"], response=SAID)))
    check(read_pair(preds, put("r.jsonl", forms["lines.jsonl"](rows(gt=GIVEN)))))
    check(read_pair(put("p.json", SAID), put("r.json", GIVEN)))
    refused = message(put("p.json", rows(pred=SAID)), put("r.json", rows(gt=[*GIVEN, "More."])))
    assert "p.json has 2 records and " in refused
    assert "--id-field" in refused


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_report_a_line(put, end):
    check(read_pair(put("p.txt", end.join([*SAID, ""])), put("r.txt", end.join(GIVEN))))
    refused = message(put("p.txt", "a\nb\n"), put("r.txt", "a\n\nb\n"), allow_missing=True)
    assert "r.txt 3" in refused
    empty = read_pair(put("p.txt", "\nRight effusion.\n"), put("r.txt", "\n".join(GIVEN)))
    assert empty.candidates == ("", SAID[1])


def test_one_side_without_ids(put):
    preds, refs = put("p.txt", "\n".join(SAID)), put("r.json", {"a": GIVEN[0], "b": GIVEN[1]})
    assert "--id-field row" in message(preds, refs)
    check(read_pair(preds, refs, fields=NamedFields("row")))
    both = put("b.json", rows(row=[7, 8], gt=GIVEN, pred=SAID))
    check(read_pair(both, None, fields=NamedFields("row")), ("7", "8"))


def test_named_fields(put):
    both = put("b.csv", "key,Their Report,ours\n1,The lungs are clear.,Clear lungs.\n"
                        "2,Left effusion.,Right effusion.\n")  # fmt: skip
    fields = NamedFields("key", candidate="ours", reference="their_report")
    assert check(read_pair(both, None, fields=fields)).read_from["candidate"] == "ours"
    refused = message(both, None)
    for needed in ("key, Their Report, ours", "model_prediction", "--candidate-field"):
        assert needed in refused
    unknown = message(both, None, fields=NamedFields(candidate="theirs"))
    assert "'theirs', for --candidate-field; its fields are: key, " in unknown
    twice = message(both, None, fields=NamedFields(candidate="ours", reference="ours"))
    assert "both name ours" in twice
    section = put("s.json", rows(id=[1, 2], findings=GIVEN, report=["x", "y"], prediction=SAID))
    assert check(read_pair(section, None, fields=NamedFields(reference="findings")))


def test_equals_that_differ_are_refused(put):
    both = put("b.json", rows(id=["1", "2"], gt=GIVEN, pred=SAID, hyp=OTHER))
    refused = message(both, None)
    assert "could be the candidate, and they differ: pred, hyp" in refused
    assert "--candidate-field" in refused
    check(read_pair(both, None, fields=NamedFields(candidate="pred")))
    same = put("s.json", rows(id=["1", "2"], gt=GIVEN, pred=SAID, hyp=SAID))
    assert not check(read_pair(same, None)).notes


def test_no_field_for_a_side(put):
    path = put("d.jsonl", "\n".join(map(json.dumps, rows(id=[1, 2], response=SAID, label=GIVEN))))
    refused = message(path, None)
    assert f"{path} has no field for the references; its fields are: id, response, label" in refused
    assert "--reference-field" in refused
    for content in (rows(id=[1, 2], prediction=SAID), SAID):
        assert "two files, PREDS and REFS" in message(put("p.json", content), None)
    lists = put("l.jsonl", json.dumps({"gt": GIVEN, "pred": SAID}))
    assert "pred holds lists" in message(lists, None)


def test_a_section_that_one_side_lacks(put):
    preds = put("p.json", rows(id=[1, 2], findings=SAID))
    refs = put("r.json", rows(id=[1, 2], findings=GIVEN, impression=GIVEN))
    refused = message(preds, refs, section="impression", allow_missing=True)
    assert "section impression; they have: findings, report" in refused


@pytest.mark.ci
def test_folders_of_datasets(tmp_path):
    import datasets

    columns = {"id": ["1", "2"], "reference": GIVEN, "prediction": SAID, "study_class": [1, -1]}
    columns["image"] = [{"bytes": b"x", "path": None}] * 2
    features = datasets.Features(
        {
            **dict.fromkeys(("id", "reference", "prediction"), datasets.Value("string")),
            "study_class": datasets.ClassLabel(names=["normal", "abnormal"]),
            "image": datasets.Image(decode=True),
        }
    )
    plain = datasets.Dataset.from_dict(columns, features=features)
    folder = tmp_path / "maira2"
    datasets.DatasetDict({"train": plain, "test": plain}).save_to_disk(str(folder))
    plain.remove_columns("image").to_parquet(str(folder / "test-00000-of-00001.parquet"))
    studies = check(read_pair(str(folder / "test"), None))
    assert len(studies.inputs[0].sha256) == 64
    assert (studies.model, studies.study_classes) == ("maira2", ("abnormal", None))
    assert "the field image is not read" in studies.notes[0]
    assert read_pair(str(folder / "test-00000-of-00001.parquet"), None).model == "maira2"
    (arrow,) = (folder / "test").glob("*.arrow")
    for path, named in (
        (folder, f"test, train; name one of them, such as {folder}/test"),
        (folder / "tset", "no such split"),
        (tmp_path, "give a file"),
        (arrow, f"give {folder}/test"),
    ):
        assert named in message(str(path), None)
    arrow.write_bytes(arrow.read_bytes()[:100])
    assert "is a broken folder of datasets" in message(str(folder / "test"), None)
