"""Files as new users have them: fields of any name, no ids, a report a line, datasets."""

import json

import pytest

from judge.studies import NamedFields, read_pair
from judge.types import JudgeError

GIVEN = ["The lungs are clear.", "Left effusion."]
SAID = ["Clear lungs.", "Right effusion."]


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


def test_a_csv_of_pairs_without_ids(put, forms):
    table = rows(image_path=["a.png", "b.png"], reference_report=GIVEN, generated_report=SAID)
    studies = check(read_pair(put("pairs.csv", forms["table.csv"](table)), None))
    assert studies.fields["image_path"] == ("a.png", "b.png")
    assert studies.read_from == {
        "id": "row", "reference": "reference_report", "candidate": "generated_report"
    }  # fmt: skip
    assert [text for text in studies.notes if "its 2 records are numbered" in text]


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [("gt", "pred"), ("ref", "hyp"), ("refs", "hyps"), ("target", "output"), ("gt", "generated")],
)
def test_short_names(put, reference, candidate):
    check(read_pair(put("pairs.json", rows(**{reference: GIVEN, candidate: SAID})), None))


def test_lines_without_ids_are_joined_by_their_order(put, forms):
    preds = put("p.jsonl", forms["lines.jsonl"](rows(prompt=["p", "q"], response=SAID)))
    studies = check(read_pair(preds, put("r.jsonl", forms["lines.jsonl"](rows(gt=GIVEN)))))
    assert [text for text in studies.notes if "record by record" in text] == [studies.notes[0]]


def test_a_list_of_texts(put):
    check(read_pair(put("p.json", SAID), put("r.json", GIVEN)))


@pytest.mark.parametrize("end", ["\n", "\r\n", "", "\r"])
def test_a_report_a_line(put, end):
    texts = [(end or "\n").join(lines) + end for lines in (SAID, GIVEN)]
    check(read_pair(put("p.txt", texts[0]), put("r.txt", texts[1])))


def test_an_empty_line_is_an_empty_report(put):
    studies = read_pair(put("p.txt", "\nRight effusion.\n"), put("r.txt", "\n".join(GIVEN)))
    assert studies.candidates == ("", SAID[1])
    assert "no reference section" not in studies.omitted
    refused = message(put("p.txt", "\n".join(SAID)), put("r.txt", "\nLeft effusion.\n"))
    assert "no reference report in" in refused


def test_a_text_with_a_header_is_a_table(put):
    preds = put("p.txt", "id,prediction\n1,Clear lungs.\n2,Right effusion.\n")
    check(read_pair(preds, put("r.csv", "id,report\n1,The lungs are clear.\n2,Left effusion.\n")))


def test_sides_of_different_length_without_ids(put):
    refused = message(put("p.json", rows(pred=SAID)), put("r.json", rows(gt=[*GIVEN, "More."])))
    assert "p.json has 2 records and " in refused
    assert "r.json 3, and no id says which belong together; name the field" in refused
    assert "--id-field" in refused
    assert "pred; of " in refused


def test_one_side_without_ids(put):
    preds, refs = put("p.txt", "\n".join(SAID)), put("r.json", {"a": GIVEN[0], "b": GIVEN[1]})
    assert "--id-field row" in message(preds, refs)
    check(read_pair(preds, refs, fields=NamedFields("row")))
    table = put("r2.json", rows(study_id=["a", "b"], gt=GIVEN))
    studies = check(read_pair(preds, table, fields=NamedFields("row")))
    assert studies.fields["field_study_id"] == ("a", "b")


def test_a_field_that_is_called_row_is_the_id(put):
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
    assert "has no field 'theirs', for --candidate-field; its fields are: key, " in unknown
    twice = message(both, None, fields=NamedFields(candidate="ours", reference="ours"))
    assert "both name ours" in twice


def test_a_named_field_settles_which_of_two_is_meant(put):
    both = put("b.json", rows(id=["1", "2"], report=GIVEN, prediction=SAID, generated=GIVEN))
    refused = message(both, None)
    assert "could be the candidate, and they differ: prediction, generated" in refused
    assert "--candidate-field" in refused
    check(read_pair(both, None, fields=NamedFields(candidate="prediction")))
    texts = put("t.json", rows(id=["1", "2"], report=SAID, reference=GIVEN))
    check(read_pair(texts, None, fields=NamedFields(candidate="report")))


def test_a_named_section_is_that_section(put):
    both = put("b.json", rows(id=["1", "2"], findings=GIVEN, report=["x", "y"], prediction=SAID))
    studies = check(read_pair(both, None, fields=NamedFields(reference="findings")))
    assert studies.section == "findings"


def test_the_patient_is_kept_by_a_known_name(put):
    both = rows(id=["1", "2"], mrn=["p", "q"], patient=["x", "y"], gt=GIVEN, pred=SAID)
    studies = read_pair(put("b.json", both), None, fields=NamedFields(patient="MRN"))
    assert studies.fields["patient"] == ("p", "q")
    assert studies.fields["field_patient"] == ("x", "y")
    assert "the field mrn is kept as patient" in studies.notes
    assert "no field 'no', for --patient-field; the fields beside the reports are: mrn" in message(
        put("b.json", both), None, fields=NamedFields(patient="no")
    )
    two = rows(id=["1", "2"], subject_id=[1, 2], patient=["x", "y"], gt=GIVEN, pred=SAID)
    chosen = read_pair(put("t.json", two), None, fields=NamedFields(patient="subject_id"))
    assert chosen.fields["patient"] == (1, 2), "the one that was named, not the usual one"
    subject = rows(id=["1", "2"], subject_id=[1, 2], gt=GIVEN, pred=SAID)
    kept = read_pair(put("s.json", subject), None, fields=NamedFields(patient="subject_id"))
    assert kept.fields == {"subject_id": (1, 2)}


@pytest.mark.parametrize(
    ("name", "column", "model"),
    [
        ("preds_maira2.json", None, "maira2"),
        ("preds.json", None, "preds"),
        ("predictions.json", None, "predictions"),
        ("maira2-preds.json.gz", None, "maira2"),
        ("preds_maira2.json", ["b", "b"], "b"),
        ("preds_maira2.json", ["b", "c"], "maira2"),
    ],
)
def test_the_model(put, name, column, model):
    preds = rows(id=["1", "2"], pred=SAID, **({"model": column} if column else {}))
    refs = put("r.json", rows(id=["1", "2"], gt=GIVEN, model=["a scanner"] * 2))
    assert read_pair(put(name, json.dumps(preds)), refs).model == model
    assert read_pair(put(name, json.dumps(preds)), refs, model="given").model == "given"


@pytest.fixture
def saved(tmp_path):
    """A dataset as `save_to_disk` leaves it, with a picture, and one of two splits."""
    datasets = pytest.importorskip("datasets")
    columns = {"study_id": ["1", "2"], "reference": GIVEN, "prediction": SAID}
    plain = datasets.Dataset.from_dict(columns)
    plain.save_to_disk(str(tmp_path / "plain"))
    picture = datasets.Features(
        {**plain.features, "image": datasets.Image(decode=True)}
    )  # read without its pictures, which nothing here could open
    pictured = datasets.Dataset.from_dict(
        {**columns, "image": [{"bytes": b"x", "path": None}] * 2}, features=picture
    )
    pictured.save_to_disk(str(tmp_path / "pictured"))
    both = {"train": plain.select([0]), "test": plain}
    datasets.DatasetDict(both).save_to_disk(str(tmp_path / "splits"))
    datasets.DatasetDict({"test": plain}).save_to_disk(str(tmp_path / "one"))
    return tmp_path


def test_folders_of_datasets(saved):
    studies = check(read_pair(str(saved / "plain"), None))
    assert len(studies.inputs[0].sha256) == 64
    assert studies.model == "plain"
    check(read_pair(str(saved / "splits/test"), None))
    check(read_pair(str(saved / "one"), None))
    pictured = check(read_pair(str(saved / "pictured"), None))
    assert "the field image is not read: it holds no text" in pictured.notes[0]


def test_folders_that_cannot_be_read(saved):
    assert f"has splits: test, train; name one of them, such as {saved}/splits/test" in message(
        str(saved / "splits"), None
    )
    assert "none that datasets has written" in message(str(saved), None)
    for path in (saved / "plain").glob("*.arrow"):
        path.write_bytes(path.read_bytes()[:100])
    assert "is a broken folder of datasets" in message(str(saved / "plain"), None)


def test_a_model_field_that_names_nothing(put):
    both = rows(id=["1", "2"], model=[{"a": 1}, {"a": 1}], gt=GIVEN, pred=SAID)
    assert read_pair(put("preds_m.json", both), None).model == "m"
