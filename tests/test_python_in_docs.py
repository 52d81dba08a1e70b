"""Every block of Python in the README and the docs runs as it is printed, page by page."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLES, ROOT, Invoke

from judge import run
from judge.reward import Reward

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES.remove(ROOT / "docs/extending.md")  # has files; test_extending writes them
NOT_RUN = (
    "from trl",  # tests/reward trains with the real one
    "from inspect_ai",  # tests/inspect_scorer evaluates with the real one
)
# The built-in judge answers for those that need a key or a GPU.
ANSWERS = {'"gpt-4o"': '"lexicon"', '"StanfordAIMI/GREEN-radllama2-7b"': '"lexicon"'}


def _blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


BLOCKS = {page.name: found for page in PAGES if (found := _blocks(page))}


@pytest.fixture
def names(invoke: Invoke) -> dict[str, Any]:
    """What the pages take as given: reports of one's own, runs, readers, in this folder."""
    shutil.copytree(EXAMPLES, "examples")
    preds, refs = (
        json.loads((EXAMPLES / name).read_text("utf-8")) for name in ("preds.json", "refs.json")
    )
    runs = [run(refs, preds, out=f"runs/{name}", model=name) for name in ("a", "b")]
    rules = run(refs, preds, judge=f"lexicon:{EXAMPLES / 'lexicon.yaml'}", out="runs/rules")
    readings = EXAMPLES / "readers" / "readings.csv"
    for line in (
        ("import", "tidy", readings, "--section", "findings", "--out", "readers"),
        ("stress", "make", EXAMPLES / "refs.json", "--out", "made"),
        ("green", "made/preds.json", "made/refs.json", "--out", "runs/stress"),
    ):
        assert (done := invoke(*line)).exit_code == 0, done.stderr
    texts = [(refs[one]["section_findings"], preds[one]["model_prediction"]) for one in refs]
    return {
        "Reward": Reward,
        "references": refs,
        "candidates": preds,
        "refs": [reference for reference, _ in texts],
        "hyps": [candidate for _, candidate in texts],
        "one": runs[0],
        "other": rules,
    }


def test_there_are_blocks_and_each_that_is_not_run_is_there() -> None:
    assert {"README.md", "python.md", "green-package.md", "rewards.md"} <= set(BLOCKS)
    for words in NOT_RUN:
        assert any(words in block for blocks in BLOCKS.values() for block in blocks), words


@pytest.mark.parametrize("page", BLOCKS)
def test_the_python_of_a_page(names: dict[str, Any], page: str) -> None:
    for block in BLOCKS[page]:
        if any(words in block for words in NOT_RUN):
            continue
        for judge, answering in ANSWERS.items():
            block = block.replace(judge, answering)
        exec(compile(block, page, "exec"), names)
