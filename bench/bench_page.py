"""The page of a 10,000-study run in Chromium: its size, how long it takes to open and to answer.

Prints for each rubric the CPU seconds and peak memory of writing it, the file's size, and in the
browser the milliseconds from navigation until the list of studies stands there, until a
choice of class and of severity, a sort, a search (once the texts are unpacked) and an
opened study are drawn. Targets on two cores: 30 MB, 2,000 ms until ready, 200 ms a filter.

    python bench/bench_page.py [--data FOLDER] [--studies N]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browserhelp import WIDE, chromium, ready  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROUNDS = 7
# Returns once the next frame after the change is drawn.
DRAWN = """([name, value]) => new Promise((done) => {
  const control = document.getElementById(name);
  const list = document.getElementById("list");
  const began = performance.now();
  new MutationObserver((_, watcher) => {
    watcher.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  }).observe(list, { childList: true, subtree: true, characterData: true });
  if (control.tagName === "SELECT") {
    control.selectedIndex = value;
    control.dispatchEvent(new Event("change", { bubbles: true }));
  } else if (control.tagName === "INPUT") {
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  } else {
    control.querySelector(value).click();
  }
})"""


def repeated(source: dict[str, object], n: int) -> dict[str, object]:
    """The studies of `source` again and again under new ids until there are `n`."""
    rounds = itertools.count()
    endless = ((f"{key}-{r}", value) for r in rounds for key, value in source.items())
    return dict(itertools.islice(endless, n))


def child(work: Path, *args: str) -> tuple[float, float]:
    """Run a command of ours; its seconds of CPU and its peak memory in MB."""
    command = [sys.executable, "-m", "judge", *args]
    with subprocess.Popen(
        command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as started:
        _, status, used = os.wait4(started.pid, 0)
    if status:
        sys.exit(f"{args} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def measure(browser: Browser, path: Path, grade: str) -> dict[str, float]:
    opened = []
    for _ in range(3):
        page = browser.new_page(viewport=WIDE)
        began = time.perf_counter()
        page.goto(path.as_uri())
        ready(page)
        opened.append(1000 * (time.perf_counter() - began))
        if len(opened) < 3:
            page.close()
    page.wait_for_timeout(500)
    first_search = page.evaluate(DRAWN, ["filter-q", "effusion"])
    page.evaluate(DRAWN, ["filter-q", ""])
    return {
        "open": median(opened),
        "class": each(page, "filter-class", [1, 2, 0]),
        "grade": each(page, f"filter-facet_46{grade}", [1, 2, 0]),
        "sort": each(
            page,
            "list",
            ["[data-act='sort study_id']", "[data-act='sort study_class']"],
        ),
        "search": each(page, "filter-q", ["pleural effusion", "no opacity left", ""]),
        "first search": first_search,
        "study": study(page),
    }


def each(page: Page, name: str, values: list[object]) -> float:
    return median(
        [page.evaluate(DRAWN, [name, v]) for _ in range(ROUNDS) for v in values]
    )


def study(page: Page) -> float:
    times = []
    for at in range(ROUNDS):
        link = page.locator("#list tbody a").nth(at)
        began = time.perf_counter()
        link.click()
        page.wait_for_selector("#study")
        times.append(1000 * (time.perf_counter() - began))
        page.keyboard.press("Escape")
        page.wait_for_selector("#list tbody a")
    return median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data/iu_xray"
    )
    parser.add_argument("--studies", type=int, default=10_000)
    options = parser.parse_args()
    folder, preds_name = options.data, "preds_random.json"
    if not folder.is_dir():
        folder, preds_name = ROOT / "examples", "preds.json"
    refs = json.loads((folder / "refs.json").read_text("utf-8"))
    preds = json.loads((folder / preds_name).read_text("utf-8"))
    both = [key for key in refs if key in preds]
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        work = Path(name)
        for file, source in (("refs.json", refs), ("preds.json", preds)):
            rows = repeated({key: source[key] for key in both}, options.studies)
            (work / file).write_text(json.dumps(rows), "utf-8")
        for rubric, grade in (("green", "significance"), ("fineradscore", "severity")):
            out = f"{rubric}.html"
            child(
                work,
                rubric,
                "preds.json",
                "refs.json",
                "--judge",
                "lexicon",
                "--out",
                rubric,
            )
            seconds, peak = child(work, "page", rubric, "--out", out)
            size = (work / out).stat().st_size / 1e6
            print(
                f"{rubric}: written in {seconds:.1f} s of CPU, peak {peak:.0f} MB, {size:.1f} MB"
            )
            for what, ms in measure(browser, work / out, grade).items():
                print(f"  {what:<13}{ms:>8.0f} ms")


if __name__ == "__main__":
    main()
