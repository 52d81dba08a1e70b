"""Candidates of the example references, and runs of them in which all kinds of things came."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import EXAMPLES

EVIL = '</script><img src=x onerror="window.hacked=1"><b>bold</b>'
UNREAD = f"I am sorry, I cannot. {EVIL}"


def run(*words: str | Path) -> str:
    """Run a command in a process of its own: beside a browser none could ask a judge here."""
    command = [sys.executable, "-m", "judge", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def candidates(work: Path, refs: Path = EXAMPLES / "refs.json") -> None:
    """Make `stress` in `work`, and the built-in judge's run `clean` of it."""
    run("stress", "make", refs, "--out", work / "stress")
    files = [work / "stress" / name for name in ("preds.json", "refs.json")]
    run("green", *files, "--out", work / "clean")


def answered(work: Path, answer: Callable[[str, int], str | None], name: str) -> None:
    """Read the answers of `clean` again as the run `name`, those replaced that `answer` gives."""
    shutil.copytree(work / "clean", work / f"{name}-answers")
    path = work / f"{name}-answers" / "annotations.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for at, record in enumerate(records):
        record["answer"]["text"] = answer(record["study_id"], at) or record["answer"]["text"]
    path.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    run("rescore", work / f"{name}-answers", "--out", work / name)


def mixed(work: Path) -> None:
    """Make the run `mixed`: some answers cannot be read, and some are those to other candidates."""
    lines = (work / "clean" / "annotations.jsonl").read_text("utf-8").splitlines()
    answers = [json.loads(line)["answer"]["text"] for line in lines]

    def answer(_: str, at: int) -> str | None:
        if at % 11 == 0:
            return UNREAD
        return answers[(at * 7 + 12) % len(answers)] if at % 4 == 0 else None

    answered(work, answer, "mixed")


def truths(work: Path) -> dict[str, dict[str, Any]]:
    lines = (work / "stress" / "truth.jsonl").read_text("utf-8").splitlines()
    return {one["id"]: one for one in map(json.loads, lines)}


def report(work: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("stress", "report", work / name, "--format", "json"))
    return found


def opened(tab: Any, pair: str) -> None:
    tab.wait_for_function(
        "id => document.getElementById('study-title')?.textContent === 'Pair ' + id", arg=pair
    )


def record_of(folder: Path, pair: str) -> dict[str, Any]:
    lines = (folder / "annotations.jsonl").read_text("utf-8").splitlines()
    return next(one for one in map(json.loads, lines) if one["study_id"] == pair)


def matching(tab: Any) -> int:
    """How many pairs the list says it has."""
    words = tab.inner_text("#list .count").replace(",", "")
    return int(re.match(r"(\d+)", words)[1])  # type: ignore[index]


def choose(tab: Any, name: str, label: str) -> int:
    """Choose what begins so, alone or with its number; return that number."""
    options = tab.locator(f"#{name} option").all_inner_texts()
    (text,) = [one for one in options if re.fullmatch(rf"{re.escape(label)} \([\d,]+\)", one)]
    tab.select_option(f"#{name}", label=text)
    return int(re.search(r"\(([\d,]+)\)$", text)[1].replace(",", ""))  # type: ignore[index]


def shown_words(tab: Any, side: str, number: int) -> str:
    """The words that are marked as those of a change, from 0."""
    script = (
        "marks => marks.map(one => { const copy = one.cloneNode(true); "
        "copy.querySelectorAll('sup').forEach(sup => sup.remove()); return copy.textContent; })"
    )
    marks = tab.locator(f'[aria-labelledby={side}-title] mark[data-errors~="put-{number}"]')
    return "".join(marks.evaluate_all(script))


def letters(text: str) -> str:
    return "".join(text.split())
