"""A file of each page for the tests: of the examples, and with hostile words in every text."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

from answered_runs import answered, green
from click.testing import CliRunner
from page_records import FIGURES, records_of
from pagemaking import examples, hostile, write_run
from seeded_comparison import seeded
from support import EXAMPLES

from judge import prompts, rubrics
from judge.cli import main
from judge.comparing.alignment import RunChoice
from judge.pages.comparison import ComparisonPage, wanted
from judge.pages.run import page as run_page
from judge.pages.validation import validation_page
from judge.running.folder import RunFolder
from judge.stats.significance import Comparison
from judge.validating.raters import RatedStudies, align_raters, open_raters
from judge.validating.validation import compute_validation

RUBRICS = ("green", "fineradscore", "facts")
EVIL = (
    '</script><img src="http://evil.example/x" onerror="window.struck=1"><b>bold</b>'
    "<script>window.struck=2</script><!-- \u202e\u2066 ${window.struck=3} javascript:alert(1)"
)
LONG = (
    "Indication: cough, fever and a fall from a ladder two weeks ago, on the left side. "
    * 3
)


def cli(*words: object) -> None:
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.output


def run_pages(folder: Path) -> None:
    """Runs, each with its page: `green`, `green-evil`, and so on. Examples have a long field."""
    for name in RUBRICS:
        rubric = rubrics.load(name)
        made = examples(name)
        plain = [
            (replace(one, fields={**one.fields, "note": LONG}), *rest)
            for one, *rest in made
        ]
        for kind, ends in (
            (name, plain),
            (f"{name}-evil", [hostile(rubric, EVIL), *made[:3]]),
        ):
            run = write_run(folder / kind, rubric, ends)
            (folder / f"{kind}.html").write_text("".join(run_page(run)), "utf-8")


def comparison() -> Comparison:
    return seeded(3, 120, by=["study_class"], tests=True)


def comparison_text(c: Comparison, say: Any = str, most: int = 10_000) -> str:
    page = ComparisonPage(c, figures=FIGURES)
    return "".join(page.file(records_of(wanted(c, most=most), say)))


def rated_studies(readers: Path, judged: Path, judge: str = "lexicon") -> RatedStudies:
    judges = open_raters([RunChoice(judged, "judged", judge)], readers=False)
    return align_raters(
        judges, open_raters([RunChoice(readers, "readers")], readers=True)
    )


def validation_pages(folder: Path) -> None:
    """`validation.html` of the example readings, and `validation-evil.html`."""
    rows = list(
        csv.DictReader(
            (EXAMPLES / "readers" / "readings.csv").read_text("utf-8").splitlines()
        )
    )
    for name, evil in (("validation", ""), ("validation-evil", EVIL)):
        work = folder / name
        work.mkdir()
        for row in rows:
            row["study_class"] = evil or row["study_class"]
            row["candidate"] += f" {evil}" if row["candidate"] and evil else ""
            row["text"] += f" {evil}" if row["text"] and evil else ""
        with (work / "readings.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        readers, judged = work / "readers", work / "judged"
        cli(
            "readers",
            "import",
            "tidy",
            work / "readings.csv",
            "--section",
            "findings",
            "--out",
            readers,
        )
        asked = ("--judge", "lexicon", "--min-coverage", 0)
        cli("green", readers / "reader-fern", *asked, "--out", judged)
        studies = rated_studies(readers, judged, judge=evil or "lexicon")
        pieces = validation_page(compute_validation(studies), studies)
        (folder / f"{name}.html").write_text("".join(pieces), "utf-8")


def all_pages(folder: Path) -> Path:
    run_pages(folder)
    (folder / "comparison.html").write_text(comparison_text(comparison()), "utf-8")
    cli("page", folder / "green", folder / "fineradscore", "--allow", "judge",
        "--out", folder / "compared.html")  # fmt: skip
    prompt = prompts.load("green")
    asked = answered(
        folder / "asked", {"1": green()}, prompt=f"green@1+{prompt.digest}"
    )
    (folder / "asked.html").write_text(
        "".join(run_page(RunFolder.open(asked))), "utf-8"
    )
    evil = comparison_text(
        comparison(), lambda text: f"{text} {EVIL} \ud800 \x00\x1b[31m"
    )
    (folder / "comparison-evil.html").write_text(evil, "utf-8")
    validation_pages(folder)
    return folder
