"""Several runs of one model are compared under names of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from answered_runs import answered, green
from judged_runs import COPIED, judged

from judge.comparing.alignment import RunChoice, choice
from judge.comparing.comparison import compare_runs
from judge.comparing.run_names import named_apart
from judge.types import JudgeError


def run(folder: Path, name: str, **about: str) -> RunChoice:
    """A run of the model alder: without another, a run's folder names its model."""
    return RunChoice(answered(folder / name / "alder", {"1": green()}, **about), name)


def names(*runs: RunChoice) -> list[str | None]:
    return [named.model for named in named_apart(runs)]


def test_runs_of_one_model_are_named_by_what_tells_them_apart(tmp_path: Path) -> None:
    first = run(tmp_path, "first")
    other_judge = run(tmp_path, "other", judge="test-2")
    other_prompt = run(tmp_path, "asked", prompt="green-short@1+0123456789ab")
    again = run(tmp_path, "again")
    assert names(first) == [None]
    assert names(first, other_judge) == ["alder (test-1)", "alder (test-2)"]
    # One has no prompt, and one judge has two runs: only their own names differ.
    assert names(first, other_prompt) == ["alder (first)", "alder (asked)"]
    assert names(first, again, other_judge) == [
        "alder (first)",
        "alder (again)",
        "alder (other)",
    ]
    chosen = RunChoice(again.path, "again", "mine")
    assert names(first, chosen) == [None, "mine"]


def test_a_model_has_one_row_for_runs_of_several_rubrics(tmp_path: Path) -> None:
    runs = [choice(str(judged(tmp_path, "alder", rubric=rubric)))
            for rubric in ("green", "fineradscore")]  # fmt: skip
    assert names(*runs) == [None, None]
    # Another file of the same model's predictions is another row.
    (tmp_path / "later").mkdir()
    later = judged(tmp_path / "later", "alder", COPIED)
    found = names(*runs, choice(str(later)))
    assert len(set(found)) == 3
    assert all(name is not None and name.startswith("alder (") for name in found)


def test_two_runs_of_one_model_are_compared(tmp_path: Path) -> None:
    runs = [run(tmp_path, "first"), run(tmp_path, "again")]
    with pytest.raises(JudgeError, match="two runs of green"):
        compare_runs(runs, None)
    _, comparison = compare_runs(named_apart(runs), None)
    assert comparison.panel.models == ("alder (first)", "alder (again)")
