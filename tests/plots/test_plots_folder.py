"""The folder of figures: what is a user's own stays, what was drawn before goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from seeded_comparison import seeded

from judge.plots import CAPTIONS, draw_figures
from judge.plots.build import plan
from judge.plots.folder import check_folder, signed, write_all
from judge.plots.output import as_svg_and_png
from judge.plots.style import COLUMN
from judge.types import JudgeError

OTHER = signed("# Figures\n\n- `new`: other.\n")


@pytest.fixture(scope="module")
def figure() -> tuple[bytes, bytes]:
    return as_svg_and_png(plan(seeded(2, others=False)).drawings[0], COLUMN, "s")


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def captions(*names: str) -> bytes:
    return signed("\n".join(["# Figures", "", *(f"- `{name}`: words." for name in names), ""]))


def test_figures_of_another_comparison_go(tmp_path: Path) -> None:
    draw_figures(seeded(2, others=True), tmp_path)
    (tmp_path / "boxes_bleu2.notes.txt").write_text("mine")
    (tmp_path / "mine.page.svg").write_text("mine")
    left = draw_figures(seeded(2, others=False), tmp_path).files
    mine = {"boxes_bleu2.notes.txt", "mine.page.svg"}
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in left} | mine


@pytest.mark.parametrize("stem", ["old", "../old", "sub/old", "/old", "old.page", "", "*"])
def test_captions_take_away_no_other_file(
    tmp_path: Path, figure: tuple[bytes, bytes], stem: str
) -> None:
    folder = tmp_path / "figures"
    (folder / "sub").mkdir(parents=True)
    svg, png = figure
    listed = {f"old.{width}.{form}" for width in ("column", "page") for form in ("svg", "png")}
    for where in (folder, tmp_path, folder / "sub"):
        for name in (*listed, "old.svg", "old.wide.svg", "older.page.svg", "old.page.pdf"):
            (where / name).write_bytes(png if name.endswith("png") else svg)
    (folder / CAPTIONS).write_bytes(captions(stem))
    before = contents(tmp_path)
    write_all(folder, {"new.page.svg": b"1", CAPTIONS: OTHER})
    gone = before.keys() - contents(tmp_path).keys()
    assert gone == ({f"figures/{name}" for name in listed} if stem == "old" else set())


def test_what_judge_did_not_draw_stays(tmp_path: Path, figure: tuple[bytes, bytes]) -> None:
    (tmp_path / "a.page.svg").write_bytes(b"<svg>somebody's own</svg>")
    (tmp_path / "b.page.svg").symlink_to("elsewhere.svg")
    (tmp_path / "elsewhere.svg").write_bytes(figure[0])
    (tmp_path / "c.page.png").mkdir()
    (tmp_path / CAPTIONS).write_bytes(captions("a", "b", "c"))
    write_all(tmp_path, {CAPTIONS: OTHER})
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe",
        b"\n",
        b"# Mine\n",
        b"# Figures\n\n- `old`: x.\n",
        captions("old").replace(b"words", b"our words"),
        captions("old") + b"more\n",
        captions("old").replace(b"<!--", b"mine <!--"),
    ],
)
def test_captions_of_somebodys_own_stop_it_before_the_work(
    tmp_path: Path, figure: tuple[bytes, bytes], text: bytes
) -> None:
    (tmp_path / "old.page.svg").write_bytes(figure[0])
    (tmp_path / CAPTIONS).write_bytes(text)
    before = contents(tmp_path)
    for write in (check_folder, lambda folder: write_all(folder, {CAPTIONS: OTHER})):
        with pytest.raises(JudgeError, match=r"captions\.md .*would be replaced; move it"):
            write(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["rates_green.column.png", "boxes_x-2.page.svg"])
def test_a_figure_of_somebodys_own_stops_it_before_the_work(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    for write in (check_folder, lambda folder: write_all(folder, {"a.svg": b"", name: b""})):
        with pytest.raises(JudgeError, match=f"{name} is no figure that judge drew"):
            write(tmp_path)
    assert contents(tmp_path) == {name: b"mine"}


def test_a_link_in_place_of_a_figure_or_of_captions_stops_it(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(OTHER)
    for name in (CAPTIONS, "rates_green.page.svg"):
        (tmp_path / name).symlink_to("mine")
        with pytest.raises(JudgeError, match="would be replaced"):
            check_folder(tmp_path)
        (tmp_path / name).unlink()


def test_what_judge_wrote_is_replaced_however_its_lines_end(tmp_path: Path) -> None:
    (tmp_path / "rates.page.svg").write_bytes(b"mine, and called otherwise")
    (tmp_path / "rates_green.page.svg").write_bytes(b"")
    for text in (b"", OTHER, OTHER.replace(b"\n", b"\r\n"), OTHER + b"\n"):
        (tmp_path / CAPTIONS).write_bytes(text)
        check_folder(tmp_path)
        write_all(tmp_path, {CAPTIONS: captions("a")})
        assert (tmp_path / CAPTIONS).read_bytes() == captions("a")


def test_a_folder_that_cannot_be_made_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JudgeError, match="is a file"):
        check_folder(tmp_path / "file")
    with pytest.raises(JudgeError, match="cannot write figures"):
        check_folder(tmp_path / "file" / "below")
    check_folder(tmp_path / "not" / "there")
    assert contents(tmp_path) == {"file": b""}


def test_what_was_just_written_stays_where_capitals_are_small_letters(
    tmp_path: Path, figure: tuple[bytes, bytes]
) -> None:
    (tmp_path / CAPTIONS).write_bytes(captions("NEW"))
    write_all(tmp_path, {"new.page.svg": figure[0], CAPTIONS: OTHER})
    (tmp_path / "NEW.page.svg").write_bytes(figure[0])
    write_all(tmp_path, {"new.page.svg": figure[0], CAPTIONS: captions("NEW")})
    write_all(tmp_path, {"new.page.svg": figure[0], CAPTIONS: OTHER})
    assert (tmp_path / "NEW.page.svg").exists()


def test_a_folder_of_the_users_own_is_no_scratch_space(tmp_path: Path) -> None:
    (tmp_path / ".writing").mkdir()
    (tmp_path / ".writing" / "mine").write_text("mine")
    write_all(tmp_path, {"a.svg": b"1"})
    assert contents(tmp_path) == {"a.svg": b"1", ".writing/mine": b"mine"}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", range(1, 9))
def test_whatever_breaks_off_leaves_the_folder_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    figure: tuple[bytes, bytes],
    error: BaseException,
    at: int,
) -> None:
    folder = tmp_path / "figures"
    write_all(folder, {"old.page.svg": figure[0], "both.svg": figure[0], CAPTIONS: captions("old")})
    before = contents(tmp_path)
    own, n = Path.replace, 0

    def breaks(path: Path, place: Path) -> Path:
        nonlocal n
        n += 1
        if n == at:
            raise error
        return own(path, place)

    files = {"new.page.svg": b"2", "both.svg": b"2", CAPTIONS: OTHER}
    monkeypatch.setattr(Path, "replace", breaks)
    if at <= 6:
        with pytest.raises((JudgeError, KeyboardInterrupt)):
            write_all(folder, files)
        assert contents(tmp_path) == before
        assert not [path for path in folder.iterdir() if path.is_dir()]
    else:
        write_all(folder, files)
        assert contents(folder) == files


def test_folders_made_on_the_way_go_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path.mkdir

    def full(path: Path, *args: object, **options: object) -> None:
        if path.name == "c" and path.parent.exists():
            raise OSError(28, "No space left on device")
        own(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(JudgeError, match="No space left"):
        write_all(tmp_path / "a" / "b" / "c", {"x.svg": b""})
    assert not list(tmp_path.iterdir())
