"""JSON that others wrote: one value, once, within limits, or one kind of error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import jsonio

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=20,
)


@given(VALUES)
def test_what_json_writes_is_read(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert jsonio.read(text) == value
    assert jsonio.read(f"\ufeff {text}\n".encode()) == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": "\xff"}', "not UTF-8"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "duplicate key"),
        ("[NaN]", "not JSON"),
        ("[-Infinity]", "not JSON"),
        ("[1e999]", "not JSON"),
        ("9" * 5000, "not JSON"),
        ("[1, ]", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("", "cut short"),
        ('{"a": [1', "cut short"),
        ('{"a": "b', "cut short"),
        ('{"a": 1} {"a": 2}', "several values"),
        ("[" * 101 + "]" * 101, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_refused(data: bytes | str, reason: str) -> None:
    with pytest.raises(jsonio.JsonError) as caught:
        jsonio.read(data)
    assert caught.value.reason == reason


def test_values_that_follow_one_another() -> None:
    found = jsonio.values('{"a": NaN, "b": 1}\n[2]\n')
    assert str(found) == "[{'a': nan, 'b': 1}, [2]]"
    with pytest.raises(jsonio.JsonError, match="line 2 column 1"):
        jsonio.values('{"a": 1}\n}')


def test_brackets_in_texts_are_no_depth() -> None:
    text = json.dumps(['[{"\\' * 200, "]" * 200])
    assert jsonio.read(text) == ['[{"\\' * 200, "]" * 200]


def test_pairs_keep_a_key_that_repeats() -> None:
    found = jsonio.read('{"a": 1, "a": {"b": 2}}', pairs=True)
    assert isinstance(found, jsonio.Pairs)
    assert found == [("a", 1), ("a", [("b", 2)])]
