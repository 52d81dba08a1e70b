"""Draws docs/figures/page.png anew: a study of the examples as `judge serve` shows it.

    python docs/site/picture.py

Needs the extras serve and browser, and Chromium.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "figures" / "page.png"
WIDTH, HEIGHT = 1200, 760
STUDY = "ex-008"
_PATIENCE = 60.0


def address_in(log: Path, service: subprocess.Popen[bytes]) -> str:
    """Return the address that a service prints when it is up; raises RuntimeError without one."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and service.poll() is None:
        found = re.search(r"Serving at (http://\S+)/", log.read_text("utf-8"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(log.read_text("utf-8"))


def draw(folder: Path) -> None:
    """Judge the examples in `folder`, serve them, and keep what a browser shows."""
    judge = [sys.executable, "-m", "judge"]
    examples = ROOT / "examples"
    files = [str(examples / "preds.json"), str(examples / "refs.json")]
    made = [*judge, "green", *files, "--out", "run", "--quiet"]
    subprocess.run(  # noqa: S603 - our own program
        made, cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    log = folder / "log"
    with log.open("wb") as said:
        service = subprocess.Popen(  # noqa: S603 - our own program
            [*judge, "serve", "--port", "0", "run"], cwd=folder, stderr=said
        )
    try:
        address = address_in(log, service)
        with sync_playwright() as playwright:
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium)
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
            )
            page.goto(f"{address}/runs/run#study={STUDY}")
            page.wait_for_selector("#study-title")
            page.screenshot(path=PICTURE)
            browser.close()
    finally:
        service.terminate()
        service.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        draw(Path(work))
