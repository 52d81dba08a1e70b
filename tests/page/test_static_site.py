"""`judge page`: a folder of pages that needs no server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import axe, chromium, ready, watch
from click.testing import Result

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
    assert invoke("page", *runs, "--out", site).exit_code == 0
    written = {path.name: path.read_bytes() for path in site.iterdir()}
    assert set(written) == {"index.html", *(f"{name}.html" for name in names)}
    assert invoke("page", *runs, "--out", site).exit_code == 0
    assert {path.name: path.read_bytes() for path in site.iterdir()} == written
    seen = watch(page)
    page.goto((site / "index.html").as_uri())
    assert page.locator("h2").count() == 2
    assert axe(page) == []
    page.locator("h2 a").last.click()
    ready(page)
    assert page.locator("#list tbody tr").count() == 15
    seen.assert_quiet()
    assert not seen.outside("file:", "blob:", "data:")


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
