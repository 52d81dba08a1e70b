"""The site builds strictly without a network; its pages are short, and their links hold."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from sitehelp import build, parts
from support import ROOT

MOST_WORDS = 1500
# The change log is a list, and is as long as there are changes.
MAY_BE_LONG = {"changelog/index.html"}


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_each_page_of_docs_is_in_the_site_and_has_one_title(site: Path) -> None:
    for source in (ROOT / "docs").rglob("*.md"):
        name = source.relative_to(ROOT / "docs").with_suffix("")
        page = site / ("index.html" if name == Path("index") else f"{name}/index.html")
        assert page.is_file(), source
    for page in pages(site):
        assert page.read_text("utf-8").count("<h1") == 1, page


def test_no_page_is_long(site: Path) -> None:
    long = {
        str(page.relative_to(site)) for page in pages(site) if len(parts(page).words) > MOST_WORDS
    }
    assert long == MAY_BE_LONG


def test_every_link_and_anchor_within_the_site_holds(site: Path) -> None:
    checked = 0
    for page in pages(site):
        # The page for what is not there is shown at any address, so its links are whole.
        base = site if page.name == "404.html" else page.parent
        for link in [*parts(page).links, *parts(page).loaded]:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            path = unquote(address.path)
            target = (site / path.lstrip("/") if path.startswith("/") else base / path).resolve()
            target = page if not path else target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{page}: {link}"
            if address.fragment and target.suffix == ".html":
                anchors = parts(target).ids
                assert unquote(address.fragment) in anchors, f"{page}: {link}"
            checked += 1
    assert checked > 1000


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in pages(site):
        assert parts(page).loaded
        assert not [one for one in parts(page).loaded if urlsplit(one).netloc], page
    for sheet in site.rglob("*.css"):
        assert "url(http" not in sheet.read_text("utf-8").replace('"', ""), sheet


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the site is built of, to be changed."""
    copy = tmp_path / "tree"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("docs", "examples", "tests/crimson"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for path in [*ROOT.glob("*.md"), ROOT / "mkdocs.yml", ROOT / "compose.yaml"]:
        shutil.copy(path, copy)
    return copy


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_the_copy_builds(tree: Path, tmp_path: Path) -> None:
    done = build(tree, tmp_path / "site", tmp_path / "refusing")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("page", "left-out.md"),
        ("link", "'contains a link 'no-such-page.md'"),
        ("anchor", "does not contain an anchor '#no-such-part'"),
        ("outside", "no-such-file.json"),
        ("field", "not described ['attempt']"),
        ("gone", "described and not there ['of_old']"),
    ],
)
def test_what_is_wrong_ends_the_build(tree: Path, tmp_path: Path, what: str, said: str) -> None:
    facts, words = tree / "docs/facts.md", tree / "docs/site/field_words.py"
    if what == "page":
        (tree / "docs/left-out.md").write_text("# Left out\n", "utf-8")
    elif what == "link":
        facts.write_text(facts.read_text("utf-8") + "\n[a](no-such-page.md)\n", "utf-8")
    elif what == "anchor":
        facts.write_text(facts.read_text("utf-8") + "\n[a](panel.md#no-such-part)\n", "utf-8")
    elif what == "outside":
        facts.write_text(facts.read_text("utf-8") + "\n[a](../no-such-file.json)\n", "utf-8")
    elif what == "field":
        change(words, '    "attempt": "which', '    # "attempt": "which')
    else:
        change(words, "RECORD = {", 'RECORD = {\n    "of_old": "a field that was there once",')
    done = build(tree, tmp_path / "site", tmp_path / "refusing")
    assert done.returncode != 0
    assert said.lstrip("'") in done.stderr
