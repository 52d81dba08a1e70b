"""`judge examples`: whoever installed a wheel has the studies that the documents use."""

from __future__ import annotations

from pathlib import Path

from support import EXAMPLES, Invoke


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_they_are_copied_as_they_are_and_can_be_judged(invoke: Invoke) -> None:
    done = invoke("examples")
    assert (done.exit_code, done.stdout) == (0, "")
    assert files(Path("examples")) == files(EXAMPLES)
    judged = invoke("green", "examples/preds.json", "examples/refs.json", "--format", "json")
    assert judged.exit_code == 0, judged.output


def test_nothing_that_is_there_is_written_over(invoke: Invoke) -> None:
    Path("examples").mkdir()
    Path("examples", "mine.txt").write_text("mine")
    done = invoke("examples")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: examples is there already: move it away, or name another --out\n"
    )
    assert files(Path("examples")) == {"mine.txt": b"mine"}


def test_a_folder_that_cannot_be_written_is_one_message(invoke: Invoke) -> None:
    Path("file").write_text("")
    done = invoke("examples", "--out", "file/in/it")
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: cannot write file/in/it: ")
