"""The strict join, and omissions that are counted."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge import annotate
from judge.studies import read_pair
from judge.studies.texts import says_nothing
from judge.types import JudgeError


def error(preds, refs, **options):
    with pytest.raises(JudgeError) as caught:
        read_pair(preds, refs, **options)
    return str(caught.value)


def test_everything_wrong_is_in_one_message(put):
    preds = put("p.json", '{"a": "1", "b": "1", "b": "2", "x": "", "n": null, "f": "", "h": ""}')
    refs = put(
        "r.json",
        [
            {"id": i, "findings": None if i in "fh" else "t"}
            for i in ("a", "b", "y", "y", "z", "n", "f", "h")
        ],
    )
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


def test_only_the_first_five_ids_are_shown(put):
    preds = put("p.json", {str(n): "x" for n in range(10)})
    assert "9 (1, 2, 3, 4, 5, ...)" in error(preds, put("r.json", {"0": "x"}))


def test_allow_missing_counts_what_it_leaves_out(put):
    preds = put("p.json", {"a": "1", "b": "2", "x": "3", "n": None})
    refs = put(
        "r.json",
        {
            "y": {"findings": "t"},
            "b": {"findings": "t"},
            "n": {"findings": "t"},
            "a": {"findings": ""},
        },
    )
    studies = read_pair(preds, refs, allow_missing=True)
    assert (studies.study_ids, studies.candidates) == (("b",), ("2",))
    assert studies.omitted == {
        "only in PREDS": 1,
        "only in REFS": 1,
        "no reference section": 1,
        "no candidate text": 1,
    }
    assert studies.omitted_ids == {
        "only in PREDS": ("x",),
        "only in REFS": ("y",),
        "no reference section": ("a",),
        "no candidate text": ("n",),
    }


@pytest.mark.parametrize("allow_missing", [False, True])
@pytest.mark.parametrize("side", ["preds", "refs"])
@pytest.mark.parametrize(
    "content",
    [
        '{"a": "1", "a": "1"}',
        '[{"id": 7, "text": "1"}, {"id": "7", "text": "1"}, {"id": "a", "text": "t"}]',
        "id,text\na,1\na,2\n",
    ],
)
def test_duplicates_are_never_allowed(put, content, side, allow_missing):
    files = {"preds": put("p.json", {"a": "1"}), "refs": put("r.json", {"a": "1"})}
    files[side] = put("d", content)
    assert f"ids more than once in {files[side]}: 1" in error(**files, allow_missing=allow_missing)


def test_duplicates_in_a_file_of_both_sides(put):
    both = put("b.csv", "id,reference,candidate\na,x,y\na,x,z\n")
    assert "ids more than once" in error(both, None, allow_missing=True)


@pytest.mark.parametrize("allow_missing", [False, True])
def test_ids_that_differ_by_type_only(put, allow_missing):
    preds = put("p.json", [{"id": 17, "text": "a"}, {"id": 18, "text": "a"}])
    refs = put("r.json", [{"id": "17", "text": "a"}, {"id": "18", "text": "a"}])
    message = error(preds, refs, allow_missing=allow_missing)
    assert f'by type only, the number 17 in {preds} and the text "17" in {refs}' in message
    some = put("p.json", [{"id": "17", "text": "a"}, {"id": 18, "text": "a"}])
    assert "ids that differ by type only: 1 (18)" in error(some, refs, allow_missing=allow_missing)


@pytest.mark.parametrize("allow_missing", [False, True])
@pytest.mark.parametrize(
    ("ours", "theirs", "hint"),
    [
        ("a", "b", ""),
        ("a ", "a", "without spaces around them, 'a ' and 'a' would match"),
        ("A", "a", "without upper and lower case"),
        ("007", "7", "without leading zeros"),
        ("a-1", "a_1", "without all but letters and digits"),
    ],
)
def test_no_study_in_common(put, ours, theirs, hint, allow_missing):
    message = error(
        put("p.json", {ours: ""}), put("r.json", {theirs: "x"}), allow_missing=allow_missing
    )
    assert message.startswith("no study in common")
    assert hint in message
    assert ("would match" in message) == bool(hint)


def test_all_left_out(put):
    message = error(put("p.json", {"a": None}), put("r.json", {"a": "x"}), allow_missing=True)
    assert "can be judged" in message


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


@pytest.mark.parametrize("text", ["___", ".", "\u200b", "N/A", "None", "nan", " - "])
def test_a_reference_that_says_nothing_is_none(put, text):
    preds = put("p.json", {"a": "Clear.", "b": "."})
    refs = put("r.json", {"a": {"findings": text}, "b": {"findings": "None."}})
    assert f"no reference findings in {refs}: 1 (a)" in error(preds, refs)
    found = read_pair(preds, refs, allow_missing=True)
    assert (found.study_ids, found.omitted) == (("b",), {"no reference section": 1})
    with pytest.raises(JudgeError, match="no reference report in references"):
        annotate([text, "Clear."], ["Clear.", "Clear."])
    assert says_nothing(text)
