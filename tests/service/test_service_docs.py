"""The page that documents the API: every route, and lines for the shell that work."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, axe_in_both_schemes, chromium, watch
from click.testing import CliRunner
from served import Served
from support import EXAMPLES

from judge.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LINE = re.compile(r'<pre class="line" tabindex="0">(.*?)</pre>', re.S)
TOKEN = "open & <sesame>"
# A finished run can neither be stopped nor go on.
# and no image is shown without --images.
REFUSED = {"/stop": 409, "/resume": 409, "/image": 404}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def lines(service: Served, **more: Any) -> list[str]:
    return [html.unescape(line) for line in LINE.findall(service.client.get("/docs", **more).text)]


def asked(line: str, folder: Path, environ: dict[str, str]) -> int:
    """Return the status that the answer to a line has."""
    command = f"{line} --silent --show-error --output answer --write-out '%{{http_code}}'"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return int(done.stdout)


@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "token"])
def test_every_route_is_there_and_its_line_works(
    tmp_path: Path, finished: Path, token: str | None
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    for side in ("preds", "refs"):
        shutil.copy(EXAMPLES / f"{side}.json", tmp_path)
    run = shutil.copytree(finished, tmp_path / "mine")
    assert CliRunner().invoke(main, ["sample", str(run), "-n", "15"]).exit_code == 0
    arguments = (run, *(("--token", token) if token else ()))
    with Served(tmp_path, *arguments) as service:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        described = service.client.get("/openapi.json", headers=headers).json()
        routes = [(method, path) for path, ways in described["paths"].items() for method in ways]
        page = service.client.get("/docs", headers=headers).text
        for method, path in routes:
            assert f'<p class="mono">{method.upper()} {path}</p>' in page
        found = lines(service, headers=headers)
        assert len(found) == len(routes) >= 19
        for (_, path), line in zip(routes, found, strict=True):
            assert TOKEN not in line
            expected = REFUSED.get("/" + path.rpartition("/")[2])
            environ = {"JUDGE_TOKEN": token} if token else {}
            status = asked(line, tmp_path, environ)
            assert status == expected or (expected is None and status in (200, 201)), line
        events = service.client.get("/v1/runs/mine/reviews", headers=headers).json()["events"]
        assert [event["reader"] for event in events] == ["Anna"]


def test_hostile_names_and_hosts_stay_text(tmp_path: Path, finished: Path) -> None:
    run = shutil.copytree(finished, tmp_path / "mine")
    with Served(tmp_path, run, "--token", "t") as service:
        headers = {"Authorization": "Bearer t", "Host": "x$(id)'<script>.example"}
        answer = service.client.get("/docs", headers=headers)
        assert "<script" not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert service.client.get("/docs").status_code == 401


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_is_read_in_a_browser_without_another_site(
    shared_service: Served, browser: Browser, size: Any
) -> None:
    context = browser.new_context(viewport=size, java_script_enabled=True)
    page = context.new_page()
    seen = watch(page)
    page.goto(shared_service.url)
    page.get_by_role("link", name="API").click()
    page.wait_for_selector("h1:has-text('API')")
    page.get_by_role("link", name="POST /v1/runs/check").click()
    assert page.locator("#post-v1-runs-check").is_visible()
    assert axe_in_both_schemes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("getComputedStyle(document.querySelector('.line')).whiteSpace") == (
        "pre-wrap"
    ), "the style sheets are there"
    seen.assert_quiet()
    assert not seen.outside(shared_service.url, "data:")
    context.close()
