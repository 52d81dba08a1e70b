"""Pages of 10,000 studies in Chromium: their size, how long they take to open and to answer.

Prints for each rubric the CPU seconds and peak memory of writing it, the file's size, and in the
browser the milliseconds from navigation until the list of studies stands there, until a
choice of class and of severity, a sort, a search (once the texts are unpacked) and an
opened study are drawn; then the same of the comparison of two models by both rubrics, with a
choice of metric and of model B. Targets on two cores: 30 MB, 2,000 ms until ready, 200 ms a filter.

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


def opened(browser: Browser, path: Path) -> tuple[Page, float]:
    """The page of a file, and the milliseconds until it is ready."""
    times = []
    for _ in range(3):
        page = browser.new_page(viewport=WIDE)
        began = time.perf_counter()
        page.goto(path.as_uri())
        ready(page)
        times.append(1000 * (time.perf_counter() - began))
        if len(times) < 3:
            page.close()
    page.wait_for_timeout(500)
    return page, median(times)


def measure_comparison(browser: Browser, path: Path) -> dict[str, float]:
    page, open_ms = opened(browser, path)
    return {
        "open": open_ms,
        "metric": each(page, "param-metric", [1, 2, 0]),
        "model B": each(page, "param-b", [0, 1]),
        "state": each(page, "filter-state", [1, 2, 0]),
        "sort": each(page, "list", ["[data-act='sort a']", "[data-act='sort ahead']"]),
        "study": study(page),
    }


def measure(browser: Browser, path: Path, grade: str) -> dict[str, float]:
    page, open_ms = opened(browser, path)
    first_search = page.evaluate(DRAWN, ["filter-q", "effusion"])
    page.evaluate(DRAWN, ["filter-q", ""])
    return {
        "open": open_ms,
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
        # Another model: each study has the report of the next.
        others = dict(
            zip(both, [preds[key] for key in [*both[1:], both[0]]], strict=True)
        )
        sources = {"refs.json": refs, "preds.json": preds, "others.json": others}
        for file, source in sources.items():
            rows = repeated({key: source[key] for key in both}, options.studies)
            (work / file).write_text(json.dumps(rows), "utf-8")
        rubrics = {"green": "significance", "fineradscore": "severity"}
        judged = []
        for rubric, model in itertools.product(rubrics, ("preds", "others")):
            judged.append(f"{rubric}-{model}")
            files = (f"{model}.json", "refs.json")
            child(work, rubric, *files, "--judge", "lexicon", "--out", judged[-1])
        for rubric, grade in rubrics.items():
            out = write(work, rubric, f"{rubric}-preds")
            report(measure(browser, out, grade))
        out = write(work, "comparison", *judged, "--no-tests")
        report(measure_comparison(browser, out))


def write(work: Path, name: str, *words: str) -> Path:
    """Write a page, and print what that took."""
    out = work / f"{name}.html"
    seconds, peak = child(work, "page", *words, "--out", out.name)
    size = out.stat().st_size / 1e6
    print(
        f"{name}: written in {seconds:.1f} s of CPU, peak {peak:.0f} MB, {size:.1f} MB"
    )
    return out


def report(measured: dict[str, float]) -> None:
    for what, ms in measured.items():
        print(f"  {what:<13}{ms:>8.0f} ms")


if __name__ == "__main__":
    main()
