"""The file of reviews: appended to, by many at once, torn by a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import rubrics
from judge.service import reviews
from judge.types import JudgeError


def said(reader: str, error: str | None, verdict: str, **more: object) -> reviews.Event:
    return reviews.new_event(reader, "s", error, verdict, **more)


def test_what_was_appended_is_read(tmp_path: Path) -> None:
    events = [
        said("anna", "e1", "right", comment="ja\nnein <b>\ud800"),
        said("bob", None, "comment", comment="hm"),
        said("anna", None, "missed", categories=("b",), level="significant", text="nodule"),
    ]
    for event in events:
        reviews.append(tmp_path, event)
    assert reviews.read(tmp_path) == events


def test_there_are_none_where_there_is_no_file(tmp_path: Path) -> None:
    assert reviews.read(tmp_path) == []


@pytest.mark.parametrize("torn", [b'{"id": "x", "read', b"\xff\x00", b"{}", b"[]", b"null\n"])
def test_a_torn_line_costs_nothing_but_itself(tmp_path: Path, torn: bytes) -> None:
    first, second = said("anna", "e1", "right"), said("anna", "e2", "wrong")
    reviews.append(tmp_path, first)
    with (tmp_path / reviews.FILE).open("ab") as file:
        file.write(torn)
    assert reviews.read(tmp_path) == [first]
    reviews.append(tmp_path, second)
    assert reviews.read(tmp_path) == [first, second]


@given(cut=st.integers(min_value=0))
def test_wherever_a_write_was_cut_the_rest_is_whole(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    for at in range(3):
        reviews.append(folder, said("anna", f"e{at}", "right"))
    file = folder / reviews.FILE
    whole = file.read_bytes()
    file.write_bytes(whole[: cut % (len(whole) + 1)])
    before = reviews.read(folder)
    last = said("bob", "e9", "wrong")
    reviews.append(folder, last)
    after = reviews.read(folder)
    assert after[-1] == last
    # A line that lacked only its newline is whole after all.
    assert after[:-1] == before


def test_many_processes_lose_and_mix_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from judge.service import reviews\n"
        "for at in range(100):\n"
        "    reviews.append(Path(sys.argv[1]), reviews.new_event(sys.argv[2], 's', f'e{at}', "
        "'right', comment='x' * 3000))\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name])
        for name in ("anna", "bob", "eve")
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    events = reviews.read(tmp_path)
    for name in ("anna", "bob", "eve"):
        assert [e.error for e in events if e.reader == name] == [f"e{at}" for at in range(100)]


def test_a_readers_last_word_counts() -> None:
    events = [
        said("anna", "e1", "right"),
        said("bob", "e1", "wrong"),
        said("anna", "e1", "wrong_severity"),
        said("anna", "e2", "right"),
        said("anna", "e2", "none"),
        said("anna", None, "comment", comment="one"),
        said("anna", None, "comment", comment="two"),
    ]
    found = [(e.reader, e.error, e.verdict, e.comment) for e in reviews.latest(events)]
    assert found == [
        ("bob", "e1", "wrong", ""),
        ("anna", "e1", "wrong_severity", ""),
        ("anna", None, "comment", "two"),
    ]


def test_missed_errors_stand_beside_each_other_and_can_be_taken_back() -> None:
    one = said("anna", None, "missed", categories=("b",), text="nodule")
    other = said("anna", None, "missed", categories=("b",), text="fracture")
    assert reviews.latest([one, other]) == [one, other]
    changed = said("anna", one.id, "missed", categories=("a",), text="a nodule")
    assert reviews.latest([one, other, changed]) == [other, changed]
    assert reviews.latest([one, other, said("anna", one.id, "none")]) == [other]


def test_a_link_in_the_files_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    (tmp_path / reviews.FILE).symlink_to(target)
    with pytest.raises(JudgeError, match="not kept"):
        reviews.append(tmp_path, said("anna", "e1", "right"))
    assert not target.exists()


def test_reviews_of_errors_that_are_gone_are_stale_and_count_nowhere() -> None:
    record = {
        "annotation": {
            "items": [
                {
                    "kind": "error",
                    "text": "x",
                    "labels": {"category": ["a"], "significance": ["significant"]},
                    "side": None,
                    "links": [],
                    "edit": None,
                }
            ]
        }
    }
    green = rubrics.load("green")
    (there,) = reviews.errors_of(record, green)
    events = [
        said("anna", there, "right", categories=("a",)),
        said("anna", "gone", "wrong", categories=("a",)),
    ]
    found = reviews.measured(events, lambda _: {there}, green)
    assert (found["n_reviewed_errors"], found["stale"]) == (1, 1)
    assert found["precision"][0]["value"] == 1.0
    assert reviews.measured(events, lambda _: (), green)["stale"] == 2


def test_the_csv_has_a_row_for_each_review_that_counts() -> None:
    event = said("anna", "e1", "right", categories=("a", "b"), comment='so, "so"\n')
    text = reviews.as_csv([said("anna", "e1", "wrong"), event])
    assert (
        text.splitlines()[0] == "id,at,reader,study_id,error,verdict,comment,categories,level,text"
    )
    assert '"so, ""so""\n"' in text
    assert json.loads(json.dumps(text)).count("anna") == 1
