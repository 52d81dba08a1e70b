"""The strict join, and omissions that are counted."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.studies import read_pair
from judge.types import JudgeError


def error(preds, refs, **options):
    with pytest.raises(JudgeError) as caught:
        read_pair(preds, refs, **options)
    return str(caught.value)


def test_everything_wrong_is_in_one_message(put):
    preds = put("p.json", '{"a": "1", "b": "1", "b": "2", "x": "", "n": null, "f": "", "h": ""}')
    ids = ("a", "b", "y", "y", "z", "n", "f", "h")
    refs = put("r.json", [{"id": i, "findings": None if i in "fh" else "t"} for i in ids])
    message = error(preds, refs)
    for line in (
        f"ids more than once in {preds}: 1 (b)",
        f"ids more than once in {refs}: 1 (y)",
        f"only in {preds}: 1 (x)",
        f"only in {refs}: 3 (y, y, z)",
        f"no reference findings in {refs}: 2 (f, h)",
        f"no candidate text in {preds}: 1 (n)",
        "--allow-missing",
    ):
        assert line in message
    assert "--allow-missing" not in error(preds, refs, allow_missing=True)


def test_allow_missing_counts_what_it_leaves_out(put):
    preds = put("p.json", {"a": "1", "b": "2", "x": "3", "n": None})
    texts = {"y": "t", "b": "t", "n": "t", "a": "___"}
    refs = put("r.json", {study: {"findings": text} for study, text in texts.items()})
    studies = read_pair(preds, refs, allow_missing=True)
    assert (studies.study_ids, studies.candidates) == (("b",), ("2",))
    assert set(studies.omitted.values()) == {1}
    assert studies.omitted_ids == {
        "only in PREDS": ("x",),
        "only in REFS": ("y",),
        "no reference section": ("a",),
        "no candidate text": ("n",),
    }


@pytest.mark.parametrize(
    "content",
    [
        '{"a": "1", "a": "1"}',
        '[{"id": 7, "text": "1"}, {"id": "7", "text": "1"}, {"id": "a", "text": "t"}]',
        "id,text\na,1\na,2\n",
    ],
)
def test_duplicates_are_never_allowed(put, content):
    other, twice = put("p.json", {"a": "1"}), put("d", content)
    for files in ((other, twice), (twice, other)):
        assert f"more than once in {twice}: 1" in error(*files, allow_missing=True)


def test_ids_that_differ_by_type_only(put):
    preds = put("p.json", [{"id": 17, "text": "a"}, {"id": 18, "text": "a"}])
    refs = put("r.json", [{"id": "17", "text": "a"}, {"id": "18", "text": "a"}])
    message = error(preds, refs, allow_missing=True)
    assert all(part in message for part in (preds, refs, "by type only, as 17"))


@pytest.mark.parametrize(("ours", "theirs"), [("a", "b"), ("a ", "a"), ("007", "7")])
def test_no_study_in_common(put, ours, theirs):
    message = error(put("p.json", {ours: ""}), put("r.json", {theirs: "x"}), allow_missing=True)
    assert message.startswith("no study in common")
    assert f"({ours})" in message


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["", "x", None])),
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["", "x", None])),
)
def test_every_id_is_a_study_or_an_omission(put, preds, refs):
    preds, refs = preds | {"z": "x"}, refs | {"z": "x"}
    studies = read_pair(put("p.json", preds), put("r.json", refs), allow_missing=True)
    omitted = set().union(*map(set, studies.omitted_ids.values()))
    assert len(studies) + sum(studies.omitted.values()) == len(preds.keys() | refs.keys())
    assert not omitted & set(studies.study_ids)
    assert list(studies.study_ids) == [i for i in refs if i in studies.study_ids]
    for study in studies:
        assert (study.reference, study.candidate) == (refs[study.study_id], preds[study.study_id])
    if studies.omitted:
        error(put("p.json", json.dumps(preds)), put("r.json", refs))
