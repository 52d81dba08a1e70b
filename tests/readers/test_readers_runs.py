"""A reader's run is a run: whatever works on a judge's works on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import chromium, ready, watch
from readersfiles import DATA, RADPREF, TIDY, imported, measures, totals
from support import EXAMPLES, Invoke

from judge.rubrics import load
from judge.rubrics.reading import as_read
from judge.running.folder import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def readers(invoke: Invoke, tmp_path: Path) -> dict[str, Run]:
    return imported(invoke, tmp_path / "readers", TIDY, options=("--section", "findings"))


def test_it_is_compared_with_a_judge_on_the_same_reports(
    invoke: Invoke, readers: dict[str, Run], example_run: Path
) -> None:
    runs = (f"lexicon={example_run}", f"fern={readers['fern'].path}")
    refused = invoke("compare", *runs)
    assert refused.exit_code == 2
    assert "or --allow judge" in refused.stderr
    done = invoke("compare", *runs, "--allow", "judge")
    assert done.exit_code == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if "fern   " in line and "n 0" in line)
    assert "n/a (n 0)" in row  # GREEN
    assert "1.200" in row  # 18 errors in 15 studies, the reader's own category among them
    assert "40.0%" in row


def test_two_readers_are_compared_on_what_both_read(
    invoke: Invoke, readers: dict[str, Run]
) -> None:
    runs = [f"{name}={readers[name].path}" for name in ("fern", "reed")]
    assert invoke("compare", *runs, "--allow", "judge").exit_code == 2
    done = invoke("compare", *runs, "--allow", "judge", "--common")
    assert done.exit_code == 0, done.stderr
    assert "compared on the 13 studies that all runs have, of up to 15" in done.stderr + done.stdout
    assert (
        invoke("errors", *runs, "--allow", "judge", "--common", "--min-studies", 1).exit_code == 0
    )


@pytest.mark.parametrize("reader", ["fern", "reed"])
def test_what_shows_a_run(invoke: Invoke, readers: dict[str, Run], reader: str) -> None:
    path = readers[reader].path
    for args in (("rates", path), ("audit", path), ("errors", path), ("runs", path.parent)):
        done = invoke(*args)
        assert done.exit_code == 0, (args, done.stderr)
    assert "6/15 40.0%" in invoke("rates", readers["fern"].path).stdout
    # Who counted and did not describe: no empty line.
    shown = invoke("audit", readers["reed"].path, "ex-015", "--raw").stdout
    assert "1. (b) missing finding: (no text)" in shown
    assert "(a reader's annotation has none)" in shown


def test_rescore_measures_a_readers_annotation_anew(
    invoke: Invoke, readers: dict[str, Run], tmp_path: Path
) -> None:
    run = readers["fern"]
    before = measures(run)
    lines = [json.loads(line) for line in run.lines()]
    for line in lines:  # numbers of another version
        line["measures"]["n_significant"] = 77
    path = run.path / "annotations.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = invoke("rescore", run.path, "--out", tmp_path / "anew")
    assert done.exit_code == 0, done.stderr
    anew = Run(tmp_path / "anew")
    assert measures(anew) == before
    assert totals(anew)["insignificant_poor_wording"] == 1
    assert anew.signature == run.signature
    assert anew.reading == run.reading


def test_it_has_no_answers_for_a_cache(
    invoke: Invoke, readers: dict[str, Run], tmp_path: Path
) -> None:
    done = invoke("cache", "import", readers["fern"].path, "--cache", tmp_path / "cache")
    assert done.exit_code == 0
    assert "0 entries taken, 0 were there already, 0 refused" in done.stderr


def test_a_judges_rubric_stays_as_strict(example_run: Path, readers: dict[str, Run]) -> None:
    """A judge's run whose score is missing is damaged, though a reader's is not."""
    assert Run(example_run).rubric is load("green")
    by_name = {one.name: one.undefined for one in Run(example_run).rubric.measures}
    assert by_name["green"] is by_name["n_matched"] is None
    read = {one.name: one.undefined for one in readers["fern"].rubric.measures}
    assert read["green"] == "the readers marked no matched findings"
    assert read["n_significant"] is None


def test_what_a_manifest_lacks_must_be_the_rubrics(invoke: Invoke, readers: dict[str, Run]) -> None:
    path = readers["fern"].path / "manifest.json"
    data = json.loads(path.read_text())
    data["reading"]["lacks"] = {"wisdom": "there was none"}
    path.write_text(json.dumps(data))
    done = invoke("rates", readers["fern"].path)
    assert done.exit_code == 2
    assert "manifest.json is damaged: green has no 'wisdom' to lack" in done.stderr
    with pytest.raises(ValueError, match="takes no categories"):
        as_read(load("green"), {}, ["Not a name!"])


def test_the_same_again_and_another_in_its_place(
    invoke: Invoke, readers: dict[str, Run], tmp_path: Path
) -> None:
    folder = readers["fern"].path.parent
    (readers["fern"].path / "reviews.jsonl").write_text("")  # somebody has begun to review
    stood = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    again = invoke("import", "tidy", TIDY, "--section", "findings", "--out", folder)
    assert again.exit_code == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == stood
    other = invoke("import", "auto", DATA / "radevalx.csv", "--out", folder)
    assert other.exit_code == 2
    assert "holds something else than these readers' runs" in other.stderr
    fewer = tmp_path / "fewer.csv"  # the same readers, other errors
    fewer.write_text(TIDY.read_text().replace(",significant,", ",insignificant,"))
    another = invoke("import", "tidy", fewer, "--section", "findings", "--out", folder)
    assert another.exit_code == 2
    assert "holds another run" in another.stderr


def test_killed_it_leaves_no_run(tmp_path: Path) -> None:
    """All runs or none: killed while it writes it leaves no folder, and can be repeated."""
    file, out = tmp_path / "many.csv", tmp_path / "out"
    rows = [f"{study},r{reader},a,significant,1" for reader in range(40) for study in range(60)]
    file.write_text("study_id,reader,category,level,count\n" + "\n".join(rows) + "\n")
    command = [sys.executable, "-m", "judge", "import", "tidy", str(file), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    staged = tmp_path / ".out.new" / ".writing"
    deadline = time.monotonic() + 60
    while not list(staged.glob("*/reader-r2")) and time.monotonic() < deadline:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert list(staged.glob("*/reader-r0")), "it was killed while it wrote"
    assert not out.exists()
    subprocess.run(command, check=True, capture_output=True)
    assert len(list(out.iterdir())) == 40
    assert {path.name for path in tmp_path.iterdir()} == {"many.csv", "out"}
    assert all(Run(path).summary()["n_scored"] == 60 for path in out.iterdir())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def test_the_page_of_a_reader(
    browser: Browser, invoke: Invoke, readers: dict[str, Run], tmp_path: Path
) -> None:
    radpref = imported(invoke, tmp_path / "radpref", *RADPREF)["user_1"]
    for run, study_id, texts in (
        (
            readers["reed"],
            "ex-015",
            [
                "(no text)",
                "undefined (the readers marked no matched findings)",
                "annotation has none",
            ],
        ),
        (readers["fern"], "ex-015", ["poor wording", "says normal and lists findings"]),
        (radpref, "q1/C2", ["attribute", "rating"]),
    ):
        file = tmp_path / f"{run.path.name}.html"
        done = invoke("audit", run.path, "--html", file)
        assert done.exit_code == 0, done.stderr
        page = browser.new_page()
        seen = watch(page)
        page.goto(f"{file.as_uri()}#study={study_id.replace('/', '%2F')}")
        ready(page)
        page.locator("#study").wait_for()
        for closed in page.locator("details").all():
            closed.evaluate("one => { one.open = true }")
        shown = page.locator("body").inner_text()
        for text in texts:
            assert text.casefold() in shown.casefold(), (run.path, text)
        seen.assert_quiet()
        page.close()
    assert (EXAMPLES / "readers").is_dir()
