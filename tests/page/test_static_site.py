"""`judge page`: what was found as a file or as a folder of pages, which need no server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import axe, chromium, ready, watch
from click.testing import Result
from support import EXAMPLES

if TYPE_CHECKING:
    from playwright.sync_api import Page

Invoke = Callable[..., Result]


@pytest.fixture
def page(judged_examples: Path) -> Iterator[Page]:
    assert judged_examples.is_dir()  # made before the browser starts
    with chromium() as browser:
        yield browser.new_page()


def test_a_site_opens_from_its_folder(
    judged_examples: Path, tmp_path: Path, invoke: Invoke, page: Page
) -> None:
    evil = "a <script>document.title = 'taken'<"
    names = ("first", f"{evil} & 100%")
    runs = [shutil.copytree(judged_examples, tmp_path / name) for name in names]
    site = tmp_path / "site"
    named = [f"{letter}={run}" for letter, run in zip("AB", runs, strict=True)]
    assert invoke("page", *named, "--out", site).exit_code == 0
    written = {path.name: path.read_bytes() for path in site.iterdir()}
    pages = {f"{name}.html" for name in names}
    assert set(written) == {"index.html", "comparison.html", *pages}
    assert invoke("page", *named, "--out", site).exit_code == 0
    assert {path.name: path.read_bytes() for path in site.iterdir()} == written
    seen = watch(page)
    page.goto((site / "index.html").as_uri())
    assert page.locator("h2").count() == 2
    assert axe(page) == []
    page.locator("h2 a").last.click()
    ready(page)
    assert page.locator("#list tbody tr").count() == 15
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name="Comparison of the models").click()
    ready(page)
    assert page.locator("#board tbody th").all_inner_texts() == ["A", "B"]
    seen.assert_quiet()
    assert not seen.outside("file:", "blob:", "data:")


def test_runs_that_cannot_be_compared_have_a_page_each(
    judged_examples: Path, tmp_path: Path, invoke: Invoke
) -> None:
    runs = [shutil.copytree(judged_examples, tmp_path / name) for name in "ab"]
    site = tmp_path / "site"
    assert invoke("page", f"A={runs[0]}", f"B={runs[1]}", "--out", site).exit_code == 0
    assert "comparison.html" in (site / "index.html").read_text("utf-8")
    # Two runs of one model, which are not named: an earlier comparison is of other models.
    done = invoke("page", *runs, "--out", site)
    assert (done.exit_code, "no comparison: " in done.stderr) == (0, True)
    assert "name their models" in done.stderr
    assert {path.name for path in site.iterdir()} == {"index.html", "a.html", "b.html"}
    assert "comparison.html" not in (site / "index.html").read_text("utf-8")
    # A file has nothing but the comparison.
    done = invoke("page", *runs, "--out", "models.html")
    assert (done.exit_code, "name their models" in done.stderr) == (2, True)
    assert not Path("models.html").exists()


def view_of(file: str) -> str:
    return Path(file).read_text("utf-8").partition('data-view="')[2].partition('"')[0]


def test_what_is_given_decides_which_page_it_is(
    judged_examples: Path, invoke: Invoke
) -> None:
    run = judged_examples
    readings = EXAMPLES / "readers" / "readings.csv"
    words = (
        "readers",
        "import",
        "tidy",
        readings,
        "--section",
        "findings",
        "--out",
        "readers",
    )
    assert invoke(*words).exit_code == 0
    readers = ("--readers", "readers")
    for words, view in (
        ((run,), "run"),
        ((f"A={run}", f"B={run}", "--by", "site", "--no-tests"), "comparison"),
        ((run, *readers, "--level", "significant"), "validation"),
    ):
        done = invoke("page", *words, "--out", "one.html")
        assert (done.exit_code, done.stdout) == (0, ""), done.stderr
        assert view_of("one.html") == view
    for words, said in (
        ((run, "--by", "site", "--out", "no.html"), "--by goes with several runs"),
        (
            (run, "--epsilon", "0.1", "--out", "no.html"),
            "--epsilon goes with --readers",
        ),
        ((run, *readers, "--common", "--out", "no.html"), "without --readers"),
        ((run, *readers, "--out", "folder"), "--out FILE.html"),
        ((run, "--metrics", "m.csv", "--out", "no.html"), "m.csv"),
    ):
        done = invoke("page", *words)
        assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert not Path("no.html").exists()
    assert not Path("folder").exists()


def test_a_page_of_somebody_else_stays(
    judged_examples: Path, tmp_path: Path, invoke: Invoke
) -> None:
    run = shutil.copytree(judged_examples, tmp_path / "index")
    done = invoke("page", run, "--out", tmp_path / "site")
    assert (done.exit_code, "index.html" in done.stderr) == (2, True)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine", "utf-8")
    done = invoke("page", judged_examples, "--out", tmp_path / "site")
    assert (done.exit_code, "index.html" in done.stderr) == (2, True)
    assert (tmp_path / "site" / "index.html").read_text("utf-8") == "mine"
    assert len(list((tmp_path / "site").iterdir())) == 1, "nothing is half written"
