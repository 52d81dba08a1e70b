"""A run that a notebook made is in the service's list, and opens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from browserhelp import WIDE, chromium, watch
from served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Page

# A cell of a notebook runs inside a loop that is running already.
CELLS = """
import asyncio, judge

references = {"s1": "The lungs are clear. Small left pleural effusion.", "s2": "Normal heart."}
candidates = {"s1": "The lungs are clear.", "s2": "Normal heart."}

async def cell():
    print(judge.run(references, candidates, model="cedar").path)
    judge.annotate(references, candidates, model="birch", out="judge-runs/by-hand")
    judge.run(references, candidates, model="alder", out="elsewhere/far")

asyncio.run(cell())
"""


def test_a_run_of_a_notebook_shows_and_opens(tmp_path: Path) -> None:
    with Served(tmp_path) as service, chromium() as browser:
        page: Page = browser.new_context(viewport=WIDE).new_page()
        page.goto(service.url)
        page.wait_for_selector("text=No run yet")
        done = subprocess.run(
            [sys.executable, "-c", CELLS], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        own = Path(done.stdout.strip()).name
        runs = {run["id"]: run for run in service.client.get("/v1/runs").json()["runs"]}
        assert set(runs) == {own, "by-hand"}, "the one elsewhere is not beside them"
        assert (runs[own]["model"], runs[own]["n_scored"]) == ("cedar", 2)
        seen = watch(page)
        page.goto(service.url)
        page.click("tr:has(td:has-text('birch')) a")
        page.wait_for_selector("h1:has-text('birch')")
        page.click("#list tbody tr:first-child a")
        page.wait_for_selector("text=Small left pleural effusion")
        seen.assert_quiet()
    # Elsewhere: by its name, or the folder that it lies in.
    for arguments in (["elsewhere/far"], ["--runs", "judge-runs", "--runs", "elsewhere"]):
        with Served(tmp_path, *arguments) as service:
            assert service.run("far")["model"] == "alder"
