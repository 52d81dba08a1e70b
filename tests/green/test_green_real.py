"""Answers of GREEN's own models are read as the reference implementation reads them.

221 of them stand in the history of its repository, Stanford-AIMI/GREEN. They derive from MIMIC-CXR
and are read there: `JUDGE_GREEN_REPOSITORY` names the git directory of a copy. Made-up answers of
the same forms are tested always.
"""

from __future__ import annotations

import ast
import csv
import io
import os
import re
import subprocess

import pytest

from judge.rubrics.derived import for_prompt
from judge.rubrics.green import RUBRIC as STRICT
from judge.types import Annotation, Study, UnparsedError

REPOSITORY = os.environ.get("JUDGE_GREEN_REPOSITORY", "")
RUBRIC = for_prompt(STRICT, "green-official", "hf:StanfordAIMI/GREEN-radllama2-7b")
STUDY = Study(
    "s", "Small left effusion. Heart is enlarged.", "Large right effusion. A nodule."
)
# The files' blobs, and the columns that hold answers.
FILES = {
    "488c390c671d416fc6ff5cbc89621d14d4f1c0b3": "generated response to prompt",
    "42d7873381045ecd8de135293eb621dec6cdc8bc": "evaluation",
    "d604bb3c00867f22c491ffac00c30c72d03b760e": "evaluation",
}
SCRIPT = (
    "2c11c1535b421d4c9b029e3b67d93206e90a311d"  # a test with five answers as constants
)
SECTIONS = (
    "Clinically Significant Errors",
    "Clinically Insignificant Errors",
    "Matched Findings",
)


def blob(name: str) -> str:
    command = ["git", "-C", REPOSITORY, "cat-file", "blob", name]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode(
        "utf-8"
    )


def real_answers() -> list[str]:
    answers = []
    for name, column in FILES.items():
        answers += [row[column] for row in csv.DictReader(io.StringIO(blob(name)))]
    constants = [
        node.value
        for node in ast.walk(ast.parse(blob(SCRIPT)))
        if isinstance(node, ast.Constant)
    ]
    answers += [
        text
        for text in constants
        if isinstance(text, str) and "Matched Findings]" in text
    ]
    return answers


def counted_by_reference(text: str) -> dict[str, int]:
    """The counts as the reference implementation takes them (green_score/green.py)."""
    counts = dict.fromkeys([*STRICT_KEYS, "matched"], 0)
    for level, title in zip(
        ("significant", "insignificant", ""), SECTIONS, strict=True
    ):
        found = re.search(rf"\[{title}\]:\s*(.*?)(?:\n\s*\n|\Z)", text, re.DOTALL)
        if found is None or found[1].startswith("No"):
            continue
        if not level:
            first = re.match(r"(\d+)\.", found[1])
            counts["matched"] = int(first[1]) if first else 0
        for line in re.findall(r"\([a-f]\) .*", found[1]):
            stated = re.search(r": (\d+)\.", line)
            if level and stated:
                counts[f"{level}_{line[1]}"] = int(stated[1])
    return counts


STRICT_KEYS = [
    f"{level}_{one}" for level in ("significant", "insignificant") for one in "abcdef"
]


@pytest.mark.skipif(not REPOSITORY, reason="JUDGE_GREEN_REPOSITORY names no copy")
def test_real_answers_are_read_as_the_reference_implementation_reads_them() -> None:
    answers = real_answers()
    assert len(answers) == 221
    refused = []
    for text in answers:
        try:
            annotation = RUBRIC.parse(text, STUDY, complete=True)
        except UnparsedError as error:
            refused.append(error.reason)
            continue
        assert annotation.stated_counts == counted_by_reference(text)
    # One states a single match and numbers two.
    assert refused == ["doubtful item"]


def answer(
    significant: str, insignificant: str = "None.", matched: str = "1. Effusion."
) -> str:
    return (
        f":\nThe reports differ.\n\n[{SECTIONS[0]}]:\n{significant}\n\n"
        f"[{SECTIONS[1]}]:\n{insignificant}\n\n[{SECTIONS[2]}]:\n{matched}</s>"
    )


def read(text: str) -> Annotation:
    annotation = RUBRIC.parse(text, STUDY, complete=True)
    assert annotation.stated_counts == counted_by_reference(text)
    return annotation


def odd(annotation: Annotation) -> list[str]:
    """The warnings but those about categories that are left out."""
    return [text for text in annotation.all_warnings if "not listed" not in text]


B, D = (
    "(b) Missing a finding present in the reference",
    "(d) Misassessment of the severity of a finding",
)


def test_a_semicolon_behind_the_last_item() -> None:
    found = read(answer(f"{B}: 2. Left effusion; Large heart;\n{D}: 0."))
    assert [item.text for item in found.items] == [
        "Left effusion",
        "Large heart",
        "Effusion.",
    ]
    assert odd(found) == ["empty entry left out: significant_b"]


def test_categories_in_another_order() -> None:
    found = read(answer(f"{D}: 1. Effusion is small.\n{B}: 1. Large heart."))
    assert odd(found) == ["categories in another order: significant"]
    with pytest.raises(UnparsedError, match="a category twice"):
        RUBRIC.parse(answer(f"{D}: 1. Small.\n{D}: 1. Large."), STUDY, complete=True)


@pytest.mark.parametrize(
    "text",
    [
        "The effusion is not significantly changed.",
        "Heart significantly enlarged",
        "no significant error of rotation is mentioned",
        "The line is not included in the image.",
        "The tube was retracted by 2 cm.",
        "insignificant effusion",
        "A significant effusion",
    ],
)
def test_words_within_a_finding_are_no_remark(text: str) -> None:
    assert odd(read(answer(f"{B}: 1. {text}", matched=f"1. Also: {text}"))) == []
    assert STRICT.parse(answer(f"{B}: 1. {text}"), STUDY, complete=True).items


@pytest.mark.parametrize(
    "none",
    [
        "No clinically insignificant errors were found.",
        "No errors identified",
        "No errors were noted.",
        "None",
        "N/A",
    ],
)
def test_a_section_that_says_there_is_none(none: str) -> None:
    assert odd(read(answer(f"{B}: 1. Large heart.", insignificant=none))) == []


def test_what_it_contradicts_is_a_warning_and_for_other_judges_unparsed() -> None:
    for significant, matched, warning in (
        (f"{B}: 2. Heart; heart.", "1. Effusion", "listed twice"),
        (f"{B}: 1. Heart\n{D}: 1. heart.", "1. Effusion", "listed as two errors"),
        (f"{B}: 1. Effusion", "1. Effusion.", "listed as an error and as a match"),
        (
            f"{B}: 1. Effusion (insignificant)",
            "1. Heart",
            "called otherwise than its heading",
        ),
        (f"{B}: 1. Effusion (not an error)", "1. Heart", "called none in brackets"),
    ):
        text = answer(significant, matched=matched)
        assert warning in odd(read(text))
        with pytest.raises(UnparsedError, match="contradiction"):
            STRICT.parse(text, STUDY, complete=True)


def test_words_behind_a_count_of_zero_and_an_unknown_name_are_a_warning() -> None:
    found = read(
        answer(
            f"{B}: 0. The candidate leaves nothing out.\n(d) Wrong degree: 1. Small."
        )
    )
    assert odd(found) == [
        "category read by its letter, its name is unknown: significant_d",
        "words behind a count of 0 left out: significant_b",
    ]


@pytest.mark.parametrize(
    "significant",
    [
        f"{B}: 0. Left effusion; large heart",  # a list, and none of it counted
        f"{B}: two errors",
        f"{B}: 1. None",
        f"{B}: 1. Left effusion; 2. Large heart",
        "(b) False report of a finding in the candidate: 1. Nodule",
        "No errors other than the missed effusion.",
        "No insignificant errors.",
    ],
)
def test_what_the_reference_implementation_gets_plainly_wrong_is_refused(
    significant: str,
) -> None:
    with pytest.raises(UnparsedError):
        RUBRIC.parse(answer(significant), STUDY, complete=True)
