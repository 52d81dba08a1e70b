"""What `annotate` takes and refuses, what it leaves on disk, and what `judge` shows of itself."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest
from click.testing import CliRunner

import judge
from judge import JudgeError, annotate
from judge.cli import main
from judge.running.folder import RunFolder
from judge.wording import for_python

CLEAR, EFFUSION, NODULE = (
    "The lungs are clear.",
    "Large left effusion.",
    "Nodule on the right.",
)


def ids_and_scores(frame: pd.DataFrame) -> dict[str, float]:
    return dict(zip(frame["study_id"], frame["green"], strict=True))


def test_dictionaries_are_joined_by_id_whatever_their_order() -> None:
    references = {"a": CLEAR, "b": EFFUSION}
    frame = annotate(references, {"b": EFFUSION, "a": EFFUSION})
    assert ids_and_scores(frame) == {"a": 0, "b": 1}
    assert list(frame["study_id"]) == ["a", "b"]


def test_dictionaries_of_records_are_read_as_a_file_is() -> None:
    references = {
        "a": {"report": f"Findings: {CLEAR} Impression: {EFFUSION}", "site": "north"}
    }
    frame = annotate(references, {"a": {"model_prediction": CLEAR}})
    assert ids_and_scores(frame) == {"a": 1}
    assert list(frame["site"]) == ["north"]
    assert "section:findings" in frame.attrs["signature"]
    whole = annotate(references, {"a": CLEAR}, section="report")
    assert ids_and_scores(whole)["a"] < 1


ONE_TABLE = pd.DataFrame({"id": ["a"], "report": [CLEAR]})


@pytest.mark.parametrize(
    ("references", "candidates", "beside", "says"),
    [
        (
            {"a": CLEAR, "b": CLEAR},
            {"a": CLEAR},
            {},
            r"only in REFS: 1 \(b\).*allow_missing",
        ),
        ({"a": CLEAR}, [CLEAR], {}, "ids"),
        ({"a": [CLEAR, NODULE]}, {"a": CLEAR}, {}, "'a' has 2 texts"),
        ({CLEAR}, [CLEAR], {}, "references is one set"),
        ([CLEAR], [CLEAR, CLEAR], {}, "2 records against 1"),
        ([CLEAR] * 2, [CLEAR] * 2, {"study_ids": [1, "1"]}, r"more than once: 1 \(1\)"),
        ([CLEAR] * 2, [CLEAR] * 2, {"fields": {"site": [1]}}, "'site' has 1 values"),
        (
            pd.Series([CLEAR] * 2, index=[7, 7]),
            pd.Series([CLEAR] * 2, index=[7, 7]),
            {},
            "7",
        ),
        (ONE_TABLE, [CLEAR], {}, "candidates has no ids"),
        (ONE_TABLE, ONE_TABLE, {"fields": {"site": ["n"]}}, "in it"),
        (
            [CLEAR],
            [CLEAR],
            {"section": "findings"},
            "choose another section .section=.",
        ),
        ([CLEAR], [CLEAR], {"rubric": "pink"}, "pink"),
        ([CLEAR], [CLEAR], {"context_fields": ["sex"]}, "'sex'"),
    ],
)
def test_what_cannot_be_joined_is_refused(
    references: Any, candidates: Any, beside: dict[str, Any], says: str
) -> None:
    with pytest.raises(JudgeError, match=says):
        annotate(references, candidates, **beside)


def test_studies_on_one_side_are_left_out_and_counted_where_they_may_be() -> None:
    frame = annotate(
        {"a": CLEAR, "b": CLEAR, "d": EFFUSION},
        {"a": CLEAR, "c": CLEAR, "d": CLEAR},
        allow_missing=True,
        study_classes=["normal", "normal", "abnormal"],
        fields={"site": ["north", "east", "south"]},
    )
    assert list(frame["study_id"]) == ["a", "d"]
    assert list(frame["study_class"]) == ["normal", "abnormal"]
    assert list(frame["site"]) == ["north", "south"]
    assert "omitted:2" in frame.attrs["signature"]


def test_the_index_of_a_series_is_its_ids() -> None:
    references = pd.Series([CLEAR, EFFUSION], index=["x", "y"])
    classes = pd.Series({"x": "a", "y": "b"})
    by_id = annotate(references, references[::-1], study_classes=classes)
    assert ids_and_scores(by_id) == {"x": 1, "y": 1}
    assert list(by_id["study_class"]) == ["a", "b"]
    with pytest.raises(JudgeError, match="index"):
        annotate(references, references, study_classes=classes[::-1])
    with pytest.raises(JudgeError, match="study_ids"):
        annotate(references, [EFFUSION, EFFUSION])
    named = annotate(references, [CLEAR, EFFUSION], study_ids=["1", "2"])
    assert ids_and_scores(named) == {"1": 1, "2": 1}
    part = pd.DataFrame({"r": [CLEAR, NODULE, EFFUSION]})["r"].iloc[1:]
    assert list(annotate(part, part)["study_id"]) == ["1", "2"]


def test_two_frames_are_joined_by_id_with_the_names_of_the_command_line() -> None:
    references = pd.DataFrame(
        {
            "accession": ["a", "b"],
            "section_findings": [CLEAR, EFFUSION],
            "site": ["n", "s"],
        }
    )
    candidates = pd.DataFrame(
        {"Study-ID": ["b", "a"], "model_prediction": [EFFUSION, EFFUSION]}
    )
    frame = annotate(references, candidates)
    assert ids_and_scores(frame) == {"a": 0, "b": 1}
    assert list(frame["site"]) == ["n", "s"]
    indexed = annotate(
        references.set_index("accession"), candidates.set_index("Study-ID")
    )
    assert ids_and_scores(indexed) == {"a": 0, "b": 1}
    unnamed = references.set_index("accession").rename_axis(None)
    assert ids_and_scores(annotate(unnamed, {"a": EFFUSION, "b": EFFUSION})) == {
        "a": 0,
        "b": 1,
    }


def test_a_run_folder_is_left_that_the_commands_open(tmp_path: Path) -> None:
    out = tmp_path / "run"
    given = ({"a": CLEAR, "b": EFFUSION}, {"a": CLEAR, "b": CLEAR})
    frame = annotate(*given, out=str(out), fields={"site": ["north", "south"]})
    assert frame.equals(annotate(*given, fields={"site": ["north", "south"]}))
    assert RunFolder.open(out).signature == frame.attrs["signature"]
    for command in (["rates", str(out), "--by", "site"], ["audit", str(out), "a"]):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    assert (
        "north" in CliRunner().invoke(main, ["rates", str(out), "--by", "site"]).output
    )
    with pytest.raises(JudgeError, match="another run"):
        annotate([CLEAR], [CLEAR], out=out)


def test_what_is_public_is_listed() -> None:
    assert dir(judge) == sorted(judge.__all__)
    assert {
        "annotate",
        "compare",
        "Run",
        "Rubric",
        "Annotated",
        "Unparsed",
        "Failed",
    } <= set(judge.__all__)
    assert judge.__version__ == version("radiology-judge")
    assert all(getattr(judge, name) is not None for name in dir(judge))
    with pytest.raises(AttributeError, match="nothing"):
        _ = judge.nothing  # type: ignore[attr-defined]


@pytest.mark.ci
def test_a_dataset_is_read_like_a_frame() -> None:
    import datasets

    references = datasets.Dataset.from_dict(
        {
            "study_id": ["a", "b"],
            "findings": [CLEAR, EFFUSION],
            "study_class": ["n", "s"],
        }
    )
    candidates = datasets.Dataset.from_dict(
        {"id": ["b", "a"], "generated": [EFFUSION, EFFUSION]}
    )
    frame = annotate(references, candidates)
    assert ids_and_scores(frame) == {"a": 0, "b": 1}
    assert list(frame["study_class"]) == ["n", "s"]
    both = datasets.Dataset.from_dict({"reference": [CLEAR], "prediction": [EFFUSION]})
    assert ids_and_scores(annotate(both.to_iterable_dataset())) == {"0": 0}
    with pytest.raises(JudgeError, match="candidates"):
        annotate(datasets.DatasetDict(train=both, test=both))


TABLE = pd.DataFrame(
    {
        "case": ["b", "a"],
        "ai_text": [CLEAR, EFFUSION],
        "gold": [CLEAR, EFFUSION],
        "age": [50, 60],
    }
)
COLUMNS = {"id": "case", "candidate": "ai_text", "reference": "gold"}


def test_columns_does_what_the_option_does(tmp_path: Path) -> None:
    frame = annotate(TABLE, columns=COLUMNS | {"context": ["age"]})
    assert ids_and_scores(frame) == {"b": 1, "a": 1}
    assert "context:age" in frame.attrs["signature"]
    done = judge.run(TABLE, columns=COLUMNS | {"class": "age"}, out=tmp_path / "run")
    assert sorted(done.table()["study_class"]) == ["50", "60"]
    apart = annotate(
        TABLE[["case", "gold"]], TABLE[["case", "ai_text"]][::-1], columns=COLUMNS
    )
    assert ids_and_scores(apart) == {"b": 1, "a": 1}


@pytest.mark.parametrize(
    ("columns", "more", "says"),
    [
        (
            {"candidates": "ai_text"},
            {},
            "no role 'candidates'; the roles are id, candidate",
        ),
        ({"id": 3}, {}, "the field of 'id' is a name, not 3"),
        ("ai_text", {}, "columns is a str"),
        (COLUMNS | {"prior": "age"}, {"prior_field": "age"}, "give one of them"),
        (COLUMNS | {"id": "nope"}, {}, r"no field 'nope', for columns=\{'id': ...\}"),
        ({"reference": "gold"}, {}, r"columns=\{'candidate': 'FIELD'\}"),
    ],
)
def test_columns_that_cannot_be(columns: Any, more: dict[str, Any], says: str) -> None:
    with pytest.raises(JudgeError, match=says) as caught:
        annotate(TABLE, columns=columns, **more)
    assert "--" not in str(caught.value)


def test_every_option_of_judging_has_a_word_in_python() -> None:
    green = main.get_command(click.Context(main), "green")
    assert green is not None
    options = [name for param in green.params for name in param.opts]
    names = [name for name in options if name.startswith("--") and "help" not in name]
    assert len(names) > 20
    for name in names:
        assert "--" not in for_python(f"leave {name} out, or say {name}=3"), name
    assert for_python("--column id=image_id or --column id=FIELD.") == (
        "columns={'id': 'image_id'} or columns={'id': 'FIELD'}."
    )
    # A server's own flags stay what they are.
    assert for_python("vLLM's --dtype") == "vLLM's --dtype"
