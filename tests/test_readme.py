"""The README is short and shows what is printed; its links and those of the docs lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT, Invoke

README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
GENERATED = ("reference/", "tutorial.md")  # pages that the site makes; its strict build checks them
WORDS = 1_200  # as wc -w counts them
PICTURE = 300_000  # bytes


def _without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """The names by which a page's headings are linked, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)$", _without_code(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in headings}


def _broken(page: Path) -> list[str]:
    """The relative links of a page that lead to no file, or to no heading of it."""
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", _without_code(page.read_text("utf-8"))):
        if re.match(r"\w+:", target) or target.startswith(GENERATED):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            found.append(target)
    return found


def test_the_readme_is_short() -> None:
    assert len(README.read_text("utf-8").split()) <= WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert not _broken(page)


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One heading: `x`\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#one-heading-x) [c](https://example.org/x#y)\n"
        "[d](gone.md) [e](there.md#gone)\n"
    )
    assert _broken(page) == ["gone.md", "there.md#gone"]


def test_its_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\((\S+)\)", README.read_text("utf-8"))
    assert len(pictures) == 2
    assert all(0 < (ROOT / picture).stat().st_size < PICTURE for picture in pictures)


def test_the_table_that_it_shows_is_what_is_printed(invoke: Invoke) -> None:
    (shown,) = re.findall(r"```\n(model .*?)```", README.read_text("utf-8"), re.DOTALL)
    done = invoke("green", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", "run")
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert printed[: len(shown.splitlines())] == shown.splitlines()
