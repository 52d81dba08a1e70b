"""What is drawn: every mark where its number says, texts that can be read, and the files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from figurehelp import DICHROMACY, assert_apart, lab, linear, texts_of
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from seeded_comparison import SIGNATURE, model_names, seeded

from judge.plots import CAPTIONS, check_figures, draw_figures, style
from judge.plots.build import plan
from judge.plots.data import Boxes, Drawing, Errors, Matrix, Ranks, Rates
from judge.plots.labels import fitted, width_of, wrapped
from judge.plots.output import draw, rendered, settings, write_all
from judge.types import JudgeError

pytestmark = pytest.mark.ci
SMALL = seeded(2, 40, others=False, fields=("study_class", "site"))


@pytest.fixture(scope="module")
def drawings() -> Mapping[str, Drawing]:
    return {drawing.name: drawing for drawing in plan(seeded(3), top_sites=6).drawings}


def drawn(drawing: Drawing, width: style.Width = style.PAGE) -> Figure:
    with settings():
        return draw(drawing, width)


# The marks


def test_rates_are_drawn_in_percent_in_their_row_as_the_key_says(
    drawings: Mapping[str, Drawing],
) -> None:
    data = drawings["rates_fineradscore"].data
    assert isinstance(data, Rates)
    figure = drawn(drawings["rates_fineradscore"])
    looks = list(zip(style.MARKERS, style.SERIES, strict=True))
    for key, look in zip(figure.axes[:2], looks, strict=True):
        assert look in {(line.get_marker(), line.get_color()) for line in key.lines}
    for axes, panel in zip(figure.axes[2:], data.panels, strict=True):
        marks = [line for line in axes.lines if line.get_marker() in style.MARKERS]
        for at, points in enumerate(panel.series):
            known = [(row, point) for row, point in enumerate(points) if point.value is not None]
            assert (marks[at].get_marker(), marks[at].get_color()) == looks[at]
            values = [100 * (point.value or 0) for _, point in known]
            assert np.asarray(marks[at].get_xdata()) == pytest.approx(values)
            rows = np.round(np.asarray(marks[at].get_ydata(), dtype=float))
            assert rows.tolist() == [row for row, _ in known]
            bars = [segment[:, 0] for segment in axes.collections[at].get_segments()]
            ends = [(100 * (point.low or 0), 100 * (point.high or 0)) for _, point in known]
            assert np.array(bars) == pytest.approx(np.array(ends))


def test_boxes_are_drawn_from_the_first_to_the_third_quartile_with_the_mean(
    drawings: Mapping[str, Drawing],
) -> None:
    data = drawings["boxes_green"].data
    assert isinstance(data, Boxes)
    for axes, panel in zip(drawn(drawings["boxes_green"]).axes, data.panels, strict=True):
        known = [box for box in panel.boxes if box]
        bars = [bar for bars in axes.containers for bar in bars]
        ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
        assert np.array(ends) == pytest.approx(np.array([(box.q1, box.q3) for box in known]))
        (means,) = [line for line in axes.lines if line.get_marker() == "D"]
        assert np.asarray(means.get_xdata()) == pytest.approx([box.mean for box in known])


def assert_lighter(numbers: Mapping[tuple[int, int], float], axes: Axes) -> None:
    """Whether of two cells of a heat map the one with the higher number is the lighter."""
    light = {
        (round(patch.get_y() + 0.5), round(patch.get_x() + 0.5)): style.luminance(
            patch.get_facecolor()[:3]
        )
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    }
    shades = [light[cell] for _, cell in sorted((number, cell) for cell, number in numbers.items())]
    assert shades == sorted(shades)
    assert shades[0] < shades[-1]


def cells(rows: tuple[tuple[float | None, ...], ...]) -> dict[tuple[int, int], float | None]:
    return {(row, at): value for row, line in enumerate(rows) for at, value in enumerate(line)}


def test_the_best_place_and_the_highest_correlation_are_the_lightest(
    drawings: Mapping[str, Drawing],
) -> None:
    ranks = drawings["ranks_green"].data
    assert isinstance(ranks, Ranks)
    (axes,) = drawn(drawings["ranks_green"]).axes
    places = cells(ranks.ranks)
    assert_lighter({cell: -place for cell, place in places.items() if place}, axes)
    words = {
        (round(text.get_position()[1]), round(text.get_position()[0])): text.get_text()
        for text in axes.texts
    }
    assert words == {cell: "n/a" if place is None else str(place) for cell, place in places.items()}
    matrix = drawings["correlation_pearson"].data
    assert isinstance(matrix, Matrix)
    known = {cell: value for cell, value in cells(matrix.values).items() if value is not None}
    assert_lighter(known, drawn(drawings["correlation_pearson"]).axes[0])


@pytest.mark.parametrize("rubric", ["green", "fineradscore"])
def test_levels_of_errors_are_drawn_one_after_the_other_in_their_tones(
    drawings: Mapping[str, Drawing], rubric: str
) -> None:
    data = drawings[f"errors_{rubric}"].data
    assert isinstance(data, Errors)
    figure = drawn(drawings[f"errors_{rubric}"])
    colours = [style.TONES[level.tone] for level in data.levels]
    keys, panels = figure.axes[: len(colours)], figure.axes[len(colours) :]
    assert [to_hex(axes.patches[0].get_facecolor()) for axes in keys] == colours
    assert len({axes.get_xlim() for axes in panels[1:]}) == 1, "one scale in all categories"
    for axes, panel in zip(panels, (data.whole, *data.panels), strict=True):
        patches = [one for one in axes.patches if isinstance(one, Rectangle)]
        for row, bar in enumerate(panel.bars):
            assert bar is not None
            segments = [
                one for one in patches
                if one.get_linewidth() and round(one.get_y() + one.get_height() / 2) == row
            ]  # fmt: skip
            starts = np.cumsum((0, *bar[:-1]))
            expected = [
                (starts[at], length, colours[at]) for at, length in enumerate(bar) if length
            ]
            found = [(s.get_x(), s.get_width(), to_hex(s.get_facecolor())) for s in segments]
            assert [one[2] for one in found] == [one[2] for one in expected]
            assert [one[:2] for one in found] == [pytest.approx(one[:2]) for one in expected]
            (text,) = [text for text in axes.texts if text.get_position()[1] == row]
            assert text.get_text() == f"{sum(bar):.2f}"


# What can be read


@pytest.mark.parametrize("width", style.WIDTHS, ids=lambda width: width.name)
@pytest.mark.parametrize("n_models", [1, 24])
def test_no_text_lies_on_another_or_off_the_sheet(n_models: int, width: style.Width) -> None:
    first = {d.name.split("_")[0]: d for d in reversed(plan(seeded(n_models)).drawings)}
    for drawing in first.values():
        with settings():
            figure = draw(drawing, width)
            texts = texts_of(figure)
        assert_apart(drawing.name, figure, texts)
        assert width.least - 1e-6 <= figure.get_size_inches()[0] <= width.inches + 1e-6
        assert not any("nan" in text.lower().split() for text, _, _ in texts)


def test_names_that_are_cut_stay_different() -> None:
    for names in (
        model_names(24),
        [f"vision-language-{at:02d}-finetuned-mimic-cxr-v2" for at in range(24)],
        ["x" * 40 + letter + "y" * 40 for letter in "ab"],
        ["first", "x " * 90, "x  " * 90],  # nothing tells them apart: they get their number
    ):
        cut = fitted(names, 1.0, style.COLUMN.small)
        assert len(set(cut)) == len(names)
        assert max(width_of(name, style.COLUMN.small) for name in cut) <= 1.0
    assert fitted(["first", "a b", "a  b"], 1.0, style.COLUMN.small) == [
        "first",
        "2. a b",
        "3. a b",
    ]
    assert wrapped(["no significant error"], 0.7, 6.0) == ["no significant\nerror"]


def test_any_name_is_drawn_as_text_and_no_warning_is_given() -> None:
    names = ["$\\frac{1}{0}$", "模型 --> more", "two\nlines\x00\x1b[31m\ud800", "x" * 3000,
             "\u202eright to left", " ", "<b>&"]  # fmt: skip
    for drawing in plan(seeded(len(names), 40, models=names, others=False)).drawings:
        if drawing.name.startswith(("rates", "errors", "ranks", "boxes_green")):
            for svg in rendered(drawing, style.COLUMN, "s", ("svg",)):
                ET.fromstring(svg)


def test_colours_tell_apart_for_every_kind_of_colour_vision_and_in_grey() -> None:
    eyes = (np.eye(3), *map(np.array, DICHROMACY.values()))
    tones = [colour for tone, colour in style.TONES.items() if tone not in (None, "good")]
    for one, other in (*combinations(style.SERIES, 2), *combinations(tones, 2)):
        for eye in eyes:
            assert abs(lab(eye @ linear(one))[0] - lab(eye @ linear(other))[0]) > 15
    assert all(
        1.05 / (style.luminance(colour) + 0.05) >= 3 for colour in style.SERIES
    )  # WCAG, for graphics
    shares = np.linspace(0, 1, 41)
    for eye in eyes:
        lightness = [lab(eye @ linear(style.shade(share)))[0] for share in shares]
        assert all(low < high for low, high in pairwise(lightness))
    for colour in map(style.shade, shares):
        light = style.luminance(colour) + 0.05
        assert (1.05 / light if style.ink_on(colour) == "white" else light / 0.05) >= 4.5


# The files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figures") / "new" / "folder"
    assert sorted(draw_figures(SMALL, path).files) == sorted(path.iterdir())
    return path


def test_every_figure_is_there_in_each_form_with_its_signature_and_no_date(folder: Path) -> None:
    titles = {d.name: d.title for d in plan(SMALL).drawings}
    kinds = {name.split("_")[0] for name in titles}
    assert kinds == {"rates", "errors", "ranks", "correlation", "boxes"}
    captions = (folder / CAPTIONS).read_text("utf-8")
    assert all(name in captions for name in (SIGNATURE, *titles, *SMALL.panel.models))
    for name, title in titles.items():
        for width in style.WIDTHS:
            svg, pdf, png = (
                folder / f"{name}.{width.name}.{form}" for form in ("svg", "pdf", "png")
            )
            root = ET.parse(svg).getroot()
            assert SIGNATURE in "".join(root.itertext())
            assert not [e for e in root.iter() if e.tag.endswith(("}text", "}image", "}script"))]
            assert float(root.attrib["width"].removesuffix("pt")) / 72 <= width.inches + 1e-3
            with Image.open(png) as image:
                assert SIGNATURE in image.text["Description"]
                assert image.width <= width.inches * 300 + 1
            data = pdf.read_bytes()
            assert b"/CreationDate" not in data
            assert b"/FontFile2" in data, "the font is in it, as TrueType"
            marked = title.replace("(", r"\(").replace(")", r"\)")
            assert f"/Title ({marked})".encode() in data
    assert len(list(folder.iterdir())) == 1 + 6 * len(titles)


def test_the_same_input_gives_the_same_bytes_whatever_the_users_settings() -> None:
    drawing = plan(SMALL).drawings[0]
    own = {"font.size": 30, "axes.grid": True, "svg.fonttype": "none"}
    with mpl.rc_context(own):
        set_by_user = rendered(drawing, style.COLUMN, "s")
    assert set_by_user == rendered(drawing, style.COLUMN, "s")


def test_files_of_the_same_name_are_replaced_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"a.svg": b"1", CAPTIONS: b"2"}
    write_all(tmp_path, files)
    (tmp_path / "mine.svg").write_bytes(b"mine")
    write_all(tmp_path, {"a.svg": b"3"})
    now = {"a.svg": b"3", CAPTIONS: b"2", "mine.svg": b"mine"}
    own = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == CAPTIONS:
            raise OSError(28, "No space left on device")
        return own(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(JudgeError, match="No space left"):
        write_all(tmp_path, files)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == now


def test_a_folder_that_cannot_be_made_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(JudgeError, match=re.escape(str(path))):
            check_figures(path)
    check_figures(tmp_path / "not" / "there")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
