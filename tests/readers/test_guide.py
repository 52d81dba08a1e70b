"""What a reader needs to read by a rubric: `reading.yaml` in its folder."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, TOYS

from judge import JudgeError, plugins, prompts, rubrics
from judge.pages.reading import reading_queue
from judge.readers.annotation_store import MarkedItem, why_unreadable
from judge.readers.guide import (
    PAGE_KEYS,
    Guide,
    ReadingFile,
    guide_of,
    made_guide,
    quoted,
)
from judge.readers.practice import feedback
from judge.rubrics.derived import Aggregation
from judge.types import Edit

READABLE = [
    name for name in rubrics.built_in() if why_unreadable(rubrics.load(name)) is None
]
PROMPT = """\
Decide which it is,
and say so.

  - false: it is not
    there.
  - missing: it is left out.

Nothing else counts. Be brief.
"""


def guide(name: str) -> Guide:
    return guide_of(rubrics.load(name))


def test_these_rubrics_can_be_read() -> None:
    assert READABLE == ["attributes", "counts", "crimson", "fineradscore", "green"]


@pytest.mark.parametrize("name", READABLE)
def test_a_rubric_has_practice_and_the_definitions_of_its_prompt(name: str) -> None:
    found = guide(name)
    assert len(found.practice) == 2
    prompt = prompts.load(found.rubric.prompt).system
    words = " ".join(prompt.split())
    for passages in (found.guidelines, *found.definitions.values()):
        for passage in passages:
            assert passage in words
    # Each category is defined, and what is significant.
    facets = [found.rubric.facet(facet) for facet in found.errors.facets]
    category, grade = facets
    for label in category.labels:
        if label.modality is None:
            assert (category.name, label.name) in found.definitions
    assert (grade.name, "") in found.definitions


@pytest.mark.parametrize("name", READABLE)
def test_no_two_keys_of_the_page_differ_by_case_alone(name: str) -> None:
    found = guide(name)
    keys = [page_key.key for page_key in found.page_keys] + [*found.keys.values()]
    assert len({key.lower() for key in keys}) == len(keys)
    for key in keys:
        assert key == key.lower() or len(key) > 1
    # Each label of the errors has one, but for those of other modalities.
    for facet in found.errors.facets:
        for label in found.rubric.facet(facet).labels:
            assert label.modality or (facet, label.name) in found.keys


@pytest.mark.parametrize("name", READABLE)
def test_a_reader_of_a_panels_run_is_not_told_its_judges(name: str) -> None:
    panel = Aggregation("judge", "majority", ("gpt-6-luna", "lexicon"))
    found = guide_of(panel.rubric(rubrics.load(name)))
    assert "said_by" not in {facet.name for facet in found.facets}
    shown = reading_queue(found, ["ex-001"], {}).model_dump_json()
    assert "gpt-6-luna" not in shown
    assert feedback(found, found.practice[0], []).remarks


def test_a_key_of_the_page_is_no_key_of_a_label() -> None:
    rubric = rubrics.load("green")
    for page_key in PAGE_KEYS:
        if len(page_key.key) == 1 and page_key.key != "0":
            content = file_of(kinds={"error": {}, "matched": {"key": page_key.key}})
            with pytest.raises(ValueError, match="two meanings"):
                made_guide(rubric, content, "")


def file_of(**content: Any) -> ReadingFile:
    return ReadingFile.model_validate(content)


def practice(**changes: Any) -> dict[str, Any]:
    error = {
        "name": "the side",
        "side": "candidate",
        "words": "left",
        "labels": {"category": ["c"], "significance": ["significant"]},
        "why": "It is right.",
    }
    study = {"indication": "Pain.", "reference": "Right.", "candidate": "On the left."}
    return {**study, "errors": [error | changes], "lesson": "Sides matter."}


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"kinds": {"mistake": {}}}, "no kind 'mistake'"),
        ({"kinds": {"matched": {}}}, "error is not among them"),
        ({"facets": {"colour": {}}}, "no facet 'colour'"),
        ({"facets": {"category": {"labels": {"z": {}}}}}, "no category 'z'"),
        (
            {
                "facets": {
                    "category": {"labels": {"a": {"key": "b"}, "b": {"key": "b"}}}
                }
            },
            "two meanings",
        ),
        ({"guidelines": ["Be kind"]}, "0 times"),
        ({"practice": [practice(words="right")]}, "not once in the candidate"),
        ({"practice": [practice(labels={"category": ["c"]})]}, "significance"),
        (
            {"practice": [practice(labels={"category": ["z"], "significance": ["x"]})]},
            "no category 'z'",
        ),
    ],
)
def test_a_file_that_does_not_fit_its_rubric_is_refused(
    content: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(ValueError, match=wrong):
        made_guide(rubrics.load("green"), file_of(**content), PROMPT)


def test_a_passage_ends_with_its_entry_or_its_paragraph() -> None:
    assert quoted(PROMPT, "Decide which") == "Decide which it is, and say so."
    assert quoted(PROMPT, "it is not") == "it is not there."
    assert quoted(PROMPT, "false: it") == "false: it is not there."
    assert quoted(PROMPT, "Nothing ... counts.") == "Nothing else counts."
    with pytest.raises(ValueError, match="0 times"):
        quoted(PROMPT, "Nothing ... missing")
    with pytest.raises(ValueError, match="3 times"):
        quoted(PROMPT, "it is")


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The rubric `toy_scale`, of a package of its own that can be changed."""
    folder = shutil.copytree(TOYS, tmp_path / "toys")
    monkeypatch.syspath_prepend(str(folder))
    for name in [name for name in sys.modules if name.startswith("toy_scale")]:
        monkeypatch.delitem(sys.modules, name)
    plugins.installed.cache_clear()
    yield folder / "toy_scale"
    plugins.installed.cache_clear()


def test_a_rubric_without_the_file_has_keys_and_no_practice(toys: Path) -> None:
    found = guide("toy_scale")
    assert found.practice == found.guidelines == ()
    assert found.definitions == {}
    assert found.keys["category", "c"] == "c"
    assert found.keys["step", "major"] == "3"
    assert not (toys / "reading.yaml").exists()


def test_a_rubric_of_a_package_has_its_own_practice(toys: Path) -> None:
    labels = "{category: [c], step: [moderate, major]}"
    (toys / "reading.yaml").write_text(
        "facets: {step: {labels: {major: {key: h}}}}\n"
        "practice:\n- {indication: Pain., reference: Right., candidate: On the left.,\n"
        f"  errors: [{{name: the side, side: candidate, words: left, labels: {labels},"
        " why: It is right.}], lesson: Sides matter.}\n",
        "utf-8",
    )
    found = guide("toy_scale")
    assert found.keys["step", "major"] == "h"
    said = feedback(found, found.practice[0], [])
    (remark,) = said.remarks
    assert (
        remark.text == "The side. Expected: (c) wrong location, moderate. It is right."
    )
    (toys / "reading.yaml").write_text("practise: []\n", "utf-8")
    with pytest.raises(JudgeError, match=r"reading\.yaml: 'practise'"):
        guide("toy_scale")


def test_a_correction_is_found_by_its_line_and_an_insertion_by_what_is_missing() -> (
    None
):
    found = guide("fineradscore")
    first, second = found.practice
    labels = {"category": ("c",), "severity": ("severity3",)}
    changed = MarkedItem(
        "error",
        labels,
        side="candidate",
        edit=Edit("change", 1, "There is a moderate right pleural effusion."),
    )
    said = feedback(found, first, [changed])
    assert [remark.is_right for remark in said.remarks] == [True, False]
    inserted = MarkedItem(
        "error",
        {"category": ("b",), "severity": ("severity2",)},
        edit=Edit("insert", 0, "A 12 mm nodule."),
    )
    said = feedback(found, second, [inserted])
    assert [remark.is_right for remark in said.remarks] == [True, False]
    elsewhere = MarkedItem("error", labels, edit=Edit("delete", 0, ""))
    said = feedback(found, first, [elsewhere])
    assert [remark.verdict for remark in said.remarks] == [
        "Not marked",
        "Not marked",
        "Not expected",
    ]


def test_the_manual_names_the_keys_that_there_are() -> None:
    manual = (ROOT / "docs" / "readers.md").read_text("utf-8")
    section = manual.partition("## Read blind")[2].partition("\n## ")[0]
    named = {*re.findall(r"`(.)`", section)}
    known = {page_key.key for page_key in PAGE_KEYS} | {"m", "?"}
    assert named <= known
    for act in ("nothing", "done", "cannot", "later", "insert", "undo"):
        (key,) = (page_key.key for page_key in PAGE_KEYS if page_key.act == act)
        assert key in named
