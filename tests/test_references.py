"""Every source that is named in short stands in docs/references.md, and nothing else does."""

from __future__ import annotations

import re

from support import ROOT

REFERENCES = ROOT / "docs" / "references.md"
FOLDERS = ("judge", "prompts", "rubrics", "cache", "cli", "docs", "tests")
KINDS = {".py", ".md", ".yaml", ".js", ".ts", ".tsx"}

# A family name of two words is named, as the first word of a sentence has a capital too.
_NAME = r"(?:Zambrano )?[A-Z][\w'-]+"
_YEAR = r"(?:1[89]|20)\d\d\b"
# [Cohen 1960], [Huang et al. 2024, published code], [Chen and Cherry 2014]; prose may leave the
# brackets out where there is an "et al.". Months are no authors.
_SHORT = re.compile(
    rf"\[({_NAME}(?:, {_NAME})*,?(?: and {_NAME}| et al\.)? {_YEAR})"
    rf"|\b({_NAME} et al\.? {_YEAR})|\b(RFC \d+)"
)
# What is named without a year, wherever it is.
NAMED = (
    *(
        "Agresti, Categorical Data Analysis",
        "ReXrank paper",
        "ReXrank's challenge",
        "Sørensen-Dice",
    ),
    *(
        "McNemar",
        "RadCliQ",
        "RaTEScore",
        "RadGraph",
        "BERTScore",
        "SembScore",
        "CRIMSON",
        "chest2err",
    ),
)


def short_in(text: str) -> set[str]:
    """The sources that a text names in short, a line break being a space."""
    joined = re.sub(r"\s+(?:#|//|\*)?\s*", " ", text)
    return {next(filter(None, found)) for found in _SHORT.findall(joined)}


def texts() -> dict[str, str]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    paths += ROOT.glob("*.md")
    skipped = {REFERENCES, ROOT / "tests" / "test_references.py"}
    return {
        str(path.relative_to(ROOT)): path.read_text("utf-8")
        for path in paths
        if path.suffix in KINDS
        and path not in skipped
        and not {"judge-runs", "node_modules"} & set(path.parts)
        # Made of the rubrics, whose sources have titles of their own.
        and ROOT / "docs/reference" not in path.parents
    }


def rows() -> dict[str, list[str]]:
    """The cells after each name that a source is cited as."""
    found = {}
    for line in REFERENCES.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] != "cited as":
            found |= dict.fromkeys(cells[0].split("; "), cells[1:])
    return found


def test_every_source_that_is_named_in_short_is_there() -> None:
    known = rows().keys()
    assert not {
        name: lacking
        for name, text in texts().items()
        if (lacking := short_in(text) - known)
    }


def test_every_source_that_is_there_is_named() -> None:
    everything = " ".join(texts().values())
    named = short_in(everything) | {name for name in NAMED if name in everything}
    assert rows().keys() == named


def test_a_source_has_a_title_and_a_number_or_says_that_it_has_none() -> None:
    for name, (title, number) in rows().items():
        assert len(title) > len("Title. Venue"), name
        numbered = re.search(
            r"doi:10\.\d{4,}/\S+|arXiv:\d{4}\.\d{5}|https://\S+", number
        )
        assert numbered or "not verified" in number, name
