"""`judge compare runs/*`: what lies beside the runs, and runs that do not belong to the others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from judged_runs import REFS, data, judged, refused
from support import Invoke

from judge.comparing.alignment import RunChoice, choice
from judge.comparing.run_arguments import chosen_runs
from judge.types import JudgeError


@pytest.fixture
def folder(stock: dict[str, Path], tmp_path: Path) -> Path:
    """Two runs, and what else comes to lie beside runs."""
    folder = tmp_path / "runs"
    for name in ("good", "bad"):
        shutil.copytree(stock[f"green-{name}"], folder / name)
    shutil.copytree(folder / "good", folder / "challenge" / "green" / "good")
    (folder / "cedar" / ".writing").mkdir(parents=True)
    (folder / "figures").mkdir()
    (folder / "notes.txt").write_text("Ask again on Monday.")
    (folder / ".hidden").write_text("")
    return folder


def found(folder: Path, pattern: str) -> list[Path]:
    """What a shell makes of the pattern."""
    paths = sorted(folder.glob(pattern))
    return [path for path in paths if not path.name.startswith(".")]


def test_what_a_pattern_finds_beside_the_runs_is_left_out_with_a_note(
    invoke: Invoke, folder: Path
) -> None:
    compared = data(invoke, *found(folder, "*"), "--no-tests")
    assert sorted(compared["models"]) == ["bad", "good"]
    holds = f"it holds 1 run itself: name those, as {folder}/challenge/*/*"
    assert [note for note in compared["notes"] if "left out" in note] == [
        f"left out {folder}/cedar: it is not finished; the command that began it continues it",
        f"left out {folder}/challenge: {holds}",
        f"left out {folder}/figures: it holds no manifest.json, as the folder of a run does",
        f"left out {folder}/notes.txt: it is not a folder",
    ]
    alone = data(invoke, folder / "bad", folder / "good", "--no-tests")
    assert compared["signature"] == alone["signature"]
    assert compared["groups"] == alone["groups"]


@pytest.mark.parametrize("stray", ["cedar", "challenge", "figures", "notes.txt", "no"])
def test_what_was_named_by_itself_and_is_no_run_is_refused(
    invoke: Invoke, folder: Path, stray: str
) -> None:
    runs = folder / "good", folder / "bad"
    assert f"{folder / stray} is not a run" in refused(invoke, *runs, folder / stray)
    # A name is given to one run, never to what a pattern finds.
    everything = [path for path in found(folder, "*") if path.name != stray]
    named = f"x={folder / stray}"
    assert f"{folder / stray} is not a run" in refused(invoke, *everything, named)


def test_nothing_beside_runs_is_taken_as_found_by_a_pattern(folder: Path) -> None:
    def is_left_out(*names: str) -> bool:
        choices = [choice(str(folder / name)) for name in names]
        try:
            return bool(chosen_runs(choices).skipped)
        except JudgeError:
            return False

    (folder / "good.txt").write_text("")
    # good* finds these two, and nothing else.
    assert is_left_out("good", "good.txt")
    assert is_left_out("good", "bad", "good.txt")
    # The same with a folder could be one of two that somebody wants compared.
    (folder / "good-2").mkdir()
    assert not is_left_out("good", "good-2")
    assert not is_left_out("good", "good-2", "good.txt")
    # No run is beside it.
    assert not is_left_out("figures", "notes.txt")
    assert not is_left_out("notes.txt")


def test_every_argument_that_is_no_run_is_named_at_once(folder: Path) -> None:
    choices = [RunChoice(folder / name, name) for name in ("good", "notes.txt", "no")]
    with pytest.raises(JudgeError) as refusal:
        chosen_runs(choices)
    assert str(refusal.value).splitlines() == [
        "notes.txt is not a run: it is not a folder",
        "no is not a run: there is no such folder",
    ]


def test_runs_of_other_studies_are_named(invoke: Invoke, folder: Path) -> None:
    preds = {"x1": {"model_prediction": "Clear lungs."}}
    refs = {"x1": next(iter(REFS.values()))}
    foreign = [judged(folder, name, preds, "green", refs) for name in ("elm", "fir")]
    text = refused(invoke, *found(folder, "*"))
    assert f"no study is in all runs: leave out {foreign[0]} and {foreign[1]}" in text
    assert f"1 other in {foreign[0]} and {foreign[1]}" in text
    # Of two runs nobody can say which is the foreign one.
    text = refused(invoke, folder / "good", foreign[0])
    assert "leave out" not in text
    assert str(foreign[0]) in text


def test_runs_of_a_part_of_the_studies_are_named(invoke: Invoke, folder: Path) -> None:
    few = dict(list(REFS.items())[:9])
    preds = {key: {"model_prediction": "Clear."} for key in few}
    part = judged(folder, "part", preds, "green", few)
    text = refused(invoke, *found(folder, "*"))
    assert f"9 (9 of them the same) in {part}" in text
    assert "--common: the 9 in all runs" in text


@pytest.mark.parametrize("command", ["cite", "page"])
def test_other_commands_leave_them_out_too(
    invoke: Invoke, folder: Path, command: str
) -> None:
    more = ("--out", "site") if command == "page" else ()
    done = invoke(command, *found(folder, "*"), *more)
    assert done.exit_code == 0, done.stderr
    assert f"left out {folder}/notes.txt" in done.stderr
