"""The files of figures, as vl-convert draws them."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from seeded_comparison import SIGNATURE, seeded
from support import EXAMPLES, Invoke

from judge.figures.comparison import comparison_figures
from judge.figures.files import (
    CAPTIONS,
    check_figures,
    draw_figures,
    page_figures,
    svg,
    write_figures,
)
from judge.types import JudgeError

SMALL = seeded(2, 40, others=False, fields=("study_class", "site"))
CAPTIONS_FILE = CAPTIONS["comparison"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figures") / "new" / "folder"
    assert sorted(
        write_figures(draw_figures(comparison_figures(SMALL)), path)
    ) == sorted(path.iterdir())
    return path


def test_every_figure_is_there_in_each_form_with_its_signature_and_no_date(
    folder: Path,
) -> None:
    figures = comparison_figures(SMALL).figures
    kinds = {figure.name.split("_")[0] for figure in figures}
    assert kinds == {"scores", "rates", "errors", "ranks", "correlation"}
    captions = (folder / CAPTIONS_FILE).read_text("utf-8")
    assert all(name in captions for name in (SIGNATURE, *SMALL.panel.models))
    for figure in figures:
        assert f"`{figure.name}`" in captions
        root = ET.parse(folder / f"{figure.name}.svg").getroot()
        texts = "".join(root.itertext())
        assert SIGNATURE in texts
        assert figure.title in texts
        assert not [e for e in root.iter() if e.tag.endswith(("}image", "}script"))]
        spec = json.loads((folder / f"{figure.name}.vl.json").read_text("utf-8"))
        assert spec["data"] == figure.spec["data"]
        assert SIGNATURE in spec["description"]
        width = struct.unpack(
            ">I", (folder / f"{figure.name}.png").read_bytes()[16:20]
        )[0]
        drawn = float(root.attrib["width"])
        assert drawn <= 720, "wider than a page of 10 inches"
        assert width == pytest.approx(drawn * 300 / 72, rel=0.01)
        assert b"/CreationDate" not in (folder / f"{figure.name}.pdf").read_bytes()
    assert len(list(folder.iterdir())) == 1 + 4 * len(figures)


def test_each_mark_has_the_place_of_its_number() -> None:
    # Shares are drawn from 0 to 100%, so the rows' values are linear in their marks.
    (figure,) = (f for f in comparison_figures(SMALL).figures if "green" in f.name
                 and f.name.startswith("rates"))  # fmt: skip
    root = ET.fromstring(svg(figure, "s"))
    points = [
        (mark.attrib["aria-label"], mark.attrib["transform"])
        for mark in root.iter()
        if mark.attrib.get("aria-roledescription") == "point"
    ]
    rows = figure.spec["data"]["values"]
    assert len(points) == len(rows)
    values = [
        float(re.search(r"value: ([\d.]+)%", label)[1]) / 100 for label, _ in points
    ]
    assert sorted(values) == pytest.approx(
        sorted(row["value"] for row in rows), abs=0.006
    )
    across = [float(re.search(r"\(([\d.]+),", place)[1]) for _, place in points]
    half = len(points) // 2
    for part in (slice(0, half), slice(half, None)):
        slope, start = np.polyfit(values[part], across[part], 1)
        fitted = slope * np.array(values[part]) + start
        assert fitted == pytest.approx(np.array(across[part]), abs=2)
        assert slope > 50


def test_the_same_input_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write_figures(draw_figures(comparison_figures(SMALL)), tmp_path)
    # The objects of a PDF come in any order.
    for path in (path for path in folder.iterdir() if path.suffix != ".pdf"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_any_name_is_drawn_as_text() -> None:
    names = ["$\\frac{1}{0}$", "模型 --> more", "two\nlines\x00\x1b[31m\ud800", "x" * 3000,
             "\u202eright to left", " ", "<b>&", '"]) || alert(1)']  # fmt: skip
    odd = seeded(len(names), 40, models=names, others=False)
    drawn = comparison_figures(odd)
    kinds = {figure.name.split("_")[0]: figure for figure in drawn.figures}
    for figure in kinds.values():
        texts = "".join(ET.fromstring(svg(figure, "s")).itertext())
        if figure.name.startswith(("scores", "rates")):
            assert "<b>&" in texts
            assert "模型" in texts


def test_files_of_the_same_name_are_replaced_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = draw_figures(comparison_figures(SMALL))
    write_figures(drawn, tmp_path)
    (tmp_path / "mine.svg").write_bytes(b"mine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write_bytes = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == CAPTIONS_FILE:
            raise OSError(28, "No space left on device")
        return write_bytes(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(JudgeError, match="No space left"):
        write_figures(draw_figures(comparison_figures(seeded(3, 40))), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(JudgeError, match=re.escape(str(path))):
            check_figures(path)
    check_figures(tmp_path / "not" / "there")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_commands_draw_what_they_compare(invoke: Invoke) -> None:
    runs = []
    for model in ("alder", "birch"):
        path = str(EXAMPLES / f"preds_{model}.json")
        assert (
            invoke("green", path, EXAMPLES / "refs.json", "--out", model).exit_code == 0
        )
        runs.append(model)
    made = invoke("compare", *runs, "--figures", "f")
    assert made.exit_code == 0, made.stderr
    spec = json.loads(Path("f/scores_green.vl.json").read_text("utf-8"))
    assert {row["name"] for row in spec["data"]["values"]} == set(runs)
    made = invoke("page", *runs, "--draw", "ranks", "--out", "p.html")
    assert made.exit_code == 0, made.stderr
    assert Path("p.html").read_text("utf-8").count('id="data-figure-') == 1
    readings = EXAMPLES / "readers" / "readings.csv"
    assert (
        invoke(
            "readers", "import", "tidy", readings, "--section", "findings", "--out", "r"
        ).exit_code
        == 0
    )
    assert invoke("green", "r/reader-fern", "--out", "judged").exit_code == 0
    made = invoke(
        "validate", "judged", "--readers", "r", "--figures", "v", "--resamples", 100
    )
    assert made.exit_code == 0, made.stderr
    validation = {path.name.split(".")[0] for path in Path("v").glob("*.vl.json")}
    assert validation == {"agreement_kendall"}
    for path in Path("v").glob("*.svg"):
        ET.parse(path)


def test_a_figure_on_a_page_follows_the_readers_scheme() -> None:
    for figure in page_figures(draw_figures(comparison_figures(SMALL))):
        assert "prefers-color-scheme: dark" in figure.svg
        assert not re.search(r'<rect [^>]*fill="white"', figure.svg)
        ET.fromstring(figure.svg)
