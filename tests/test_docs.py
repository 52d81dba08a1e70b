"""What the pages say is what the program does: commands, Python, outputs, names, links.

`docs/site/page_runs.py` runs the pages, and writes their outputs anew with `--record`;
`docs/site/page_checks.py` reads them against the program. Their marks are in `page_blocks.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import page_checks
import pytest
from page_blocks import Page
from support import ROOT

README, FIRST = ROOT / "README.md", ROOT / "docs/index.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), ROOT / "examples/README.md", *DOCS]
CHECKED = [page for page in PAGES if page.name != "CHANGELOG.md"]


def has_runs(path: Path) -> bool:
    page = Page(path)
    return any(
        block.language in ("sh", "python") and block.mark("not run") is None
        for block in page.blocks
    )


@pytest.mark.parametrize("path", CHECKED, ids=lambda path: path.name)
def test_a_page_names_only_what_the_program_has(path: Path) -> None:
    assert page_checks.problems(Page(path)) == []


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=() if path == FIRST else pytest.mark.ci)
        for path in CHECKED
        if has_runs(path)
    ],
)
def test_a_page_runs_and_prints_what_it_says(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/page_runs.py", path],
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```sh\njudge grene a.json b.json\n```\n", "no command `judge grene`"),
        ("```sh\njudge green a.json b.json --sections x\n```\n", "No such option"),
        ("```sh\njudge runs panel a --rule best --out b\n```\n", "--rule takes"),
        ("```sh\njudge check\n```\n", "missing"),
        ("```sh\nfor a in 1 2; do judge audit; done\n```\n", "missing"),
        ("```sh\njudge prompts show a b\n```\n", "one argument too many"),
        ("```sh\npip install '.[figure]'\n```\n", "no extra figure"),
        ("Write `judge compare --figure DIR`.\n", "No such option"),
        ("Write `--figure DIR`.\n", "no command has the option --figure"),
        ("It is in `judge/backends/models.yml`.\n", "no such file"),
        ("It is `judge.compares([...])`.\n", "no judge.compares"),
        ("```python\nfrom judge import Runs\n```\n", "has no Runs"),
        ("```python\nfrom judge import\n```\n", "no Python"),
        ("```\nGREEN 0.7\n```\n", "without a language"),
        ("Write:\n\n    judge green a.json b.json\n", "indented"),
        ("```json\n{'a': 1}\n```\n", "no JSON"),
        ("Write `judge check`.\n", "none of them is run"),
    ],
)
def test_what_is_not_there_is_found(text: str, problem: str) -> None:
    found = page_checks.problems(Page(ROOT / "docs/made-up.md", text))
    assert any(problem in words for words in found), found


def run_text(tmp_path: Path, text: str, *arguments: str) -> tuple[int, str, str]:
    path = tmp_path / "page.md"
    path.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/page_runs.py", *arguments, path],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, path.read_text("utf-8")


WRONG = [
    ("```sh\nfalse\n```\n", "ended with 1"),
    ("```sh\necho 1\n```\n\n<!-- output -->\n```\n2\n```\n", "shown is\n2"),
    ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
    ("```sh\necho 1\n```\n\nIt prints 2.\n\n<!-- printed: 2 -->\n", "printed by no"),
    ("```sh\necho 1\n```\n\nIt is 2.\n\n<!-- printed: 1 -->\n", "not in the paragraph"),
    (
        '```sh\necho \'{"a": 1}\'\n```\n\n<!-- output in part -->\n```json\n{"a": 2}\n```\n',
        "not a part",
    ),
]


@pytest.mark.parametrize(("text", "problem"), WRONG)
def test_a_page_that_says_what_is_not_so_fails(
    tmp_path: Path, text: str, problem: str
) -> None:
    code, printed, _ = run_text(tmp_path, text)
    assert code == 1
    assert problem in printed


def test_outputs_are_written_anew(tmp_path: Path) -> None:
    text = (
        "```sh\nprintf 'a\\nb\\nc\\n'\n```\n\n<!-- output, 2 lines -->\n```\nx\n```\n\n"
        '<!-- output from "b" -->\n> y\n\n```python\nprint(1)\n```\n\n<!-- output -->\n```\n```\n'
    )
    code, _, written = run_text(tmp_path, text, "--record")
    assert code == 0
    assert "```\na\nb\n```" in written
    assert "> b\n> c\n" in written
    assert "<!-- output -->\n```\n1\n```" in written
    assert run_text(tmp_path, written)[0] == 0


def text_of(page: Path) -> str:
    return re.sub(
        r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings are linked, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
        for text in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_of_the_checkout(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_readme_stays_short() -> None:
    text = re.sub(r"<!--.*?-->", "", README.read_text("utf-8"), flags=re.DOTALL)
    assert len(text.split()) <= 900


def test_the_road_of_a_study_names_what_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    stations = re.findall(r"`([\w/]+\.py): (?:(\w+)\.)?(\w+)`", text)
    assert len(stations) >= 12
    for path, class_name, function in stations:
        source = (ROOT / path).read_text("utf-8")
        assert not class_name or f"\nclass {class_name}" in source, path
        assert re.search(rf"^ *(async )?def {function}\(", source, re.MULTILINE), (
            path,
            function,
        )
    tree = text.partition("## The road")[0]
    for folder in re.findall(r"^    ((?:\w+/)+) ", tree, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder
