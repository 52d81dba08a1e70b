"""The folder of figures: what is a user's own stays, what was drawn before goes."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from seeded_comparison import seeded

from judge.plots import CAPTIONS, CAPTIONS_OF, draw_figures
from judge.plots.output import LIST, check_folder, write_all
from judge.types import JudgeError

OLD, NEW = "boxes_old.page.svg", "boxes_new.page.svg"


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def stops(folder: Path, name: str) -> None:
    before = contents(folder)
    for write in (check_folder, lambda folder: write_all(folder, {NEW: b"", CAPTIONS: b"new"})):
        with pytest.raises(JudgeError, match=f"{name} is not as judge wrote it.*move it"):
            write(folder)
    assert contents(folder) == before


def test_figures_of_another_comparison_go(tmp_path: Path) -> None:
    draw_figures(seeded(2, others=True, fields=()), tmp_path)
    (tmp_path / "boxes_bleu2.notes.txt").write_text("mine")
    (tmp_path / "mine.page.svg").write_text("mine")
    left = draw_figures(seeded(2, others=False, fields=()), tmp_path).files
    mine = {"boxes_bleu2.notes.txt", "mine.page.svg", LIST}
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in left} | mine


def test_figures_of_a_comparison_and_of_a_validation_share_a_folder(tmp_path: Path) -> None:
    captions = CAPTIONS_OF["validation"]
    write_all(tmp_path, {OLD: b"1", CAPTIONS: b"compared"})
    write_all(tmp_path, {"limits_errors.page.svg": b"2", captions: b"validated"})
    write_all(tmp_path, {NEW: b"3", CAPTIONS: b"compared again"})
    write_all(tmp_path, {"counts_errors.page.svg": b"4", captions: b"validated again"})
    found = contents(tmp_path)
    listed = found.pop(LIST).decode().splitlines()
    assert found == {
        NEW: b"3",
        CAPTIONS: b"compared again",
        "counts_errors.page.svg": b"4",
        captions: b"validated again",
    }
    assert {line.split("  ")[1] for line in listed} == set(found)
    (tmp_path / NEW).write_bytes(b"3 edited")
    stops(tmp_path, NEW)


def test_the_list_is_what_sha256sum_reads(tmp_path: Path) -> None:
    write_all(tmp_path, {OLD: b"1", CAPTIONS: b"old"})
    done = subprocess.run(["sha256sum", "-c", LIST], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{OLD}: OK", f"{CAPTIONS}: OK"]


@pytest.mark.parametrize("name", ["../boxes_old.page.svg", "sub/boxes_old.page.svg", "mine.svg"])
def test_the_list_takes_away_no_other_file(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "figures"
    (folder / "sub").mkdir(parents=True)
    (folder / name).write_bytes(b"mine")
    (folder / LIST).write_text(f"{hashlib.sha256(b'mine').hexdigest()}  {name}\n")
    write_all(folder, {NEW: b"1", CAPTIONS: b"new"})
    assert (folder / name).read_bytes() == b"mine"


def test_a_figure_that_was_edited_stops_it_and_is_not_taken_away(tmp_path: Path) -> None:
    write_all(tmp_path, {OLD: b"1", CAPTIONS: b"old"})
    (tmp_path / OLD).write_bytes(b"1 edited")
    stops(tmp_path, OLD)


@pytest.mark.parametrize("text", [b"\xff\xfe", b"", b"\n", b"# Mine\n", b"# Figures\n\nmine\n"])
def test_captions_of_somebodys_own_stop_it_before_the_work(tmp_path: Path, text: bytes) -> None:
    write_all(tmp_path, {OLD: b"1", CAPTIONS: b"# Figures\n"})
    (tmp_path / CAPTIONS).write_bytes(text)
    stops(tmp_path, CAPTIONS)


@pytest.mark.parametrize("name", ["rates_green.column.png", "boxes_x-2.page.svg"])
def test_a_figure_of_somebodys_own_stops_it_before_the_work(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    stops(tmp_path, name)


@pytest.mark.parametrize("name", [CAPTIONS, OLD])
def test_a_link_or_a_folder_in_place_of_a_file_stops_it(tmp_path: Path, name: str) -> None:
    write_all(tmp_path, {OLD: b"1", CAPTIONS: b"old"})
    (tmp_path / name).rename(tmp_path / "moved")
    (tmp_path / name).symlink_to("moved")
    stops(tmp_path, name)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    stops(tmp_path, name)


def test_what_judge_wrote_is_replaced_however_its_lines_end(tmp_path: Path) -> None:
    for text in (b"a\nb\n", b"a\r\nb\r\n"):
        write_all(tmp_path, {CAPTIONS: b"a\nb\n"})
        (tmp_path / CAPTIONS).write_bytes(text)
        write_all(tmp_path, {CAPTIONS: b"new\n"})
        assert (tmp_path / CAPTIONS).read_bytes() == b"new\n"


def test_a_folder_that_cannot_be_made_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JudgeError, match="is a file"):
        check_folder(tmp_path / "file")
    with pytest.raises(JudgeError, match="cannot write figures"):
        check_folder(tmp_path / "file" / "below")
    check_folder(tmp_path / "not" / "there")
    assert contents(tmp_path) == {"file": b""}


def test_what_was_just_written_stays_where_capitals_are_small_letters(tmp_path: Path) -> None:
    write_all(tmp_path, {"boxes_NEW.page.svg": b"1"})
    write_all(tmp_path, {NEW: b"1"})
    # On such a disk the two are one file.
    assert (tmp_path / "boxes_NEW.page.svg").exists()


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", range(1, 5))
def test_the_next_run_goes_on_wherever_one_broke_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, at: int
) -> None:
    write_all(tmp_path, {OLD: b"1", CAPTIONS: b"old"})
    own, n = Path.replace, 0

    def breaks(path: Path, target: Path) -> Path:
        nonlocal n
        n += 1
        if n == at:
            raise error
        return own(path, target)

    files = {NEW: b"2", CAPTIONS: b"new"}
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", breaks)
        with pytest.raises((JudgeError, KeyboardInterrupt)):
            write_all(tmp_path, files)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    write_all(tmp_path, files)
    assert {name: held for name, held in contents(tmp_path).items() if name != LIST} == files
