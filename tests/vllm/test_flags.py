"""The flags of `vllm serve`: passed on, refused, in the signature or not."""

from __future__ import annotations

import pytest

from judge.backends.vllm import flags
from judge.types import JudgeError


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), ()),
        (("--dtype=float32",), ("--dtype=float32",)),
        (("--dtype float32", "--enforce-eager"), ("--dtype", "float32", "--enforce-eager")),
        (("--dtype", "float32"), ("--dtype", "float32")),
        (("-tp", "2"), ("-tp", "2")),
        (('--hf-overrides={"a": 1}',), ('--hf-overrides={"a": 1}',)),
        (('--hf-overrides {"a": 1}',), ("--hf-overrides", '{"a": 1}')),
    ],
)
def test_they_are_passed_on_as_vllm_takes_them(given: tuple, words: tuple) -> None:
    assert flags.split(given) == words


@pytest.mark.parametrize("flag", ["--port=1", "--host 0.0.0.0", "--api-key=x", "--uds=/tmp/x"])
def test_where_the_server_is_and_who_may_ask_it_is_not_for_the_user(flag: str) -> None:
    with pytest.raises(JudgeError, match="judge sets that itself"):
        flags.split([flag])


def test_what_changes_an_answer_is_in_the_marks_and_nothing_else() -> None:
    words = flags.split(
        ["--quantization=awq", "--tensor-parallel-size 2", "--dtype", "float32", "--enforce-eager"]
    )
    assert flags.marks(words) == "dtype=float32,quantization=awq"
    assert flags.marks(flags.split(["--dtype=float32", "--quantization=awq"])) == flags.marks(words)
    assert flags.marks(()) == ""
