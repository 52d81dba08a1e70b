"""What is written: all figures or none, the same bytes each time, with their signature."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from seeded_comparison import SIGNATURE, seeded

from judge.plots import CAPTIONS, draw_figures, page_figures
from judge.plots.build import _box, plan
from judge.plots.data import Boxes, Matrix, Ranks, Rates
from judge.plots.output import LIST, rendered, write_all
from judge.plots.style import COLUMN
from judge.stats.compare import Comparison, compare
from judge.types import JudgeError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figures") / "new" / "folder"
    drawn = draw_figures(seeded(2, others=False), path)
    assert sorted(drawn.files) == sorted(path for path in path.iterdir() if path.name != LIST)
    assert not drawn.notes
    return path


def test_every_figure_is_there_at_both_widths_and_in_each_form(folder: Path) -> None:
    stems = {path.name.split(".")[0] for path in folder.glob("[!.]*.*.*")}
    kinds = {stem.split("_")[0] for stem in stems}
    assert kinds == {"rates", "errors", "ranks", "correlation", "boxes"}
    assert {"rates_green", "rates_fineradscore", "correlation_kendall", "boxes_green"} <= stems
    forms = [f"{w}.{f}" for w in ("column", "page") for f in ("svg", "pdf", "png")]
    names = {f"{stem}.{form}" for stem in stems for form in forms}
    assert {path.name for path in folder.iterdir()} == {*names, CAPTIONS, LIST}


def test_width_is_that_of_a_column_and_of_a_page(folder: Path) -> None:
    for width, inches in (("column", 3.4), ("page", 7.0)):
        root = ET.parse(folder / f"rates_green.{width}.svg").getroot()
        assert float(root.attrib["width"].removesuffix("pt")) / 72 == pytest.approx(inches)
        with Image.open(folder / f"rates_green.{width}.png") as image:
            assert image.width == pytest.approx(inches * 300, abs=1)


def test_the_signature_is_in_every_file_and_no_date(folder: Path) -> None:
    for path in folder.glob("*.svg"):
        root = ET.parse(path).getroot()
        words = "".join(root.itertext())
        assert SIGNATURE in words
        assert "date" not in path.read_text("utf-8").lower().replace("updated", "")
        assert not [e for e in root.iter() if e.tag.endswith(("}text", "}image", "}script"))]
    for path in folder.glob("*.png"):
        with Image.open(path) as image:
            assert SIGNATURE in image.text["Description"]
    captions = (folder / CAPTIONS).read_text("utf-8")
    assert SIGNATURE in captions
    assert all(name in captions for name in seeded(2).panel.models)


def test_a_pdf_has_its_font_in_it_its_title_and_no_date(folder: Path) -> None:
    paths = sorted(folder.glob("*.pdf"))
    titles = {d.name: d.title for d in plan(seeded(2, others=False)).drawings}
    assert {path.name.split(".")[0] for path in paths} == set(titles)
    for path in paths:
        data = path.read_bytes()
        assert data.startswith(b"%PDF")
        assert b"/CreationDate" not in data
        # Type 42: a TrueType font with what it needs of it, and no font that is drawn (type 3).
        assert b"/FontFile2" in data
        assert b"/Type3" not in data
        title = titles[path.name.split(".")[0]]
        # Brackets within a text are marked there.
        marked = title.replace("(", r"\(").replace(")", r"\)")
        assert f"/Title ({marked})".encode() in data
        inches = 7.0 if ".page." in path.name else 3.4
        (box,) = re.findall(rb"/MediaBox \[ 0 0 ([0-9.]+) [0-9.]+ \]", data)
        assert float(box) / 72 <= inches + 1e-3


PROGRAM = """
import hashlib, sys
import matplotlib
matplotlib.rcParams.update({"font.size": 30, "axes.grid": True, "svg.fonttype": "none"})
from seeded_comparison import seeded
from judge.plots.build import plan
from judge.plots.output import rendered
from judge.plots.style import COLUMN
digest = hashlib.sha256()
for drawing in plan(seeded(3, others=False)).drawings:
    for data in rendered(drawing, COLUMN, "s"):
        digest.update(data)
print(digest.hexdigest())
"""


def test_the_same_input_gives_the_same_bytes_whatever_the_users_settings() -> None:
    digest = hashlib.sha256()
    for drawing in plan(seeded(3, others=False)).drawings:
        for data in rendered(drawing, COLUMN, "s"):
            digest.update(data)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest.hexdigest()


def test_a_file_that_cannot_be_written_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "c.svg":
            raise OSError(28, "No space left on device")
        return own(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    files = {"a.svg": b"1", "b.svg": b"2", "c.svg": b"3"}
    (tmp_path / "a.svg").write_text("old")
    with pytest.raises(JudgeError, match="No space left"):
        write_all(tmp_path, files)
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
    assert (tmp_path / "a.svg").read_text() == "old"


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JudgeError, match="is a file"):
        write_all(tmp_path / "file", {"a": b""})
    with pytest.raises(JudgeError, match="cannot write figures"):
        write_all(tmp_path / "file" / "below", {"a": b""})
    (tmp_path / "boxes_a.page.svg").mkdir()
    with pytest.raises(JudgeError, match="is not as judge wrote it"):
        write_all(tmp_path, {"boxes_b.page.svg": b"", "boxes_a.page.svg": b""})
    assert not (tmp_path / "boxes_b.page.svg").exists()


def test_without_matplotlib_the_message_names_the_package() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from pathlib import Path\n"
        "import judge.plots as plots\n"
        "assert not plots.available()\n"
        "try: plots.draw_figures(None, Path('x'))\n"
        "except plots.JudgeError as error: print(error)\n"
        "assert not Path('x').exists()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "not installed; pip install 'matplotlib>=3.8'" in done.stdout


def test_matplotlib_is_imported_only_to_draw() -> None:
    program = "import sys, judge.plots, judge.plots.build; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_what_cannot_be_drawn_says_why() -> None:
    planned = plan(seeded(2, fields=(), others=False))
    assert [line.split(":")[0] for line in planned.left_out] == [
        "ranks by site",
        "ranks and correlations by data set",
    ]
    (rates, *_) = planned.drawings
    assert isinstance(rates.data, Rates)
    assert [panel.title for panel in rates.data.panels] == ["all studies"]


def test_the_data_are_those_of_the_comparison() -> None:
    comparison = seeded(3, 300)
    by_name = {drawing.name: drawing.data for drawing in plan(comparison, top_sites=5).drawings}
    rates = by_name["rates_green"]
    assert isinstance(rates, Rates)
    assert [panel.title for panel in rates.panels] == ["abnormal", "normal"]
    column = comparison.panel.values["green_no_significant_error"][:, comparison.order[0]]
    abnormal = np.array([c == "abnormal" for c in comparison.panel.fields["study_class"]])
    point = rates.panels[0].series[0][0]
    assert point.value == pytest.approx(np.nanmean(column[abnormal]))
    assert rates.models == tuple(comparison.panel.models[at] for at in comparison.order)
    ranks = by_name["ranks_green"]
    assert isinstance(ranks, Ranks)
    sizes = sorted(
        (comparison.panel.fields["site"].count(s) for s in set(comparison.panel.fields["site"])),
        reverse=True,
    )
    assert list(ranks.n) == sizes[:5]
    assert None in ranks.ranks[1]
    matrix = by_name["correlation_spearman"]
    assert isinstance(matrix, Matrix)
    assert comparison.correlations is not None
    assert matrix.values == comparison.correlations.spearman


@given(st.lists(st.one_of(st.floats(-5, 5), st.just(float("nan"))), max_size=40), st.booleans())
def test_a_box_holds_its_values(values: list[float], is_few: bool) -> None:
    known = [value for value in values if value == value]
    box = _box(np.array(values, dtype=float), is_few=is_few)
    if not known:
        assert box is None
        return
    assert box is not None
    assert box.n == len(known)
    assert min(known) <= box.low <= box.q1 <= box.median <= box.q3 <= box.high <= max(known)
    assert box.median == pytest.approx(np.median(known))
    if is_few:
        assert (box.low, box.high) == (min(known), max(known))
    else:
        ends = [np.quantile(known, share) for share in (0.05, 0.95)]
        assert [box.low, box.high] == pytest.approx(ends)


def boxes_of(comparison: Comparison, name: str) -> Boxes:
    data = {drawing.name: drawing.data for drawing in plan(comparison).drawings}[f"boxes_{name}"]
    assert isinstance(data, Boxes)
    return data


def test_one_gravest_error_among_many_studies_is_in_the_box_plot() -> None:
    comparison = seeded(1, 400, fields=())
    column = comparison.panel.values["inverse_fineradscore"]
    column[:] = 2
    column[7] = 4
    data = boxes_of(comparison, "inverse_fineradscore")
    (box,) = data.panels[0].boxes
    assert box is not None
    assert (box.low, box.q1, box.q3, box.high) == (2, 2, 2, 4)
    assert (data.scale, data.is_few, data.is_whole) == ((1, 4), True, True)
    green = boxes_of(comparison, "green")
    assert (green.scale, green.is_few, green.is_whole) == ((0, 1), False, False)
    assert boxes_of(comparison, "radcliq").scale is None


def test_values_beyond_a_scale_are_drawn_all_the_same() -> None:
    comparison = seeded(2, others=False)
    comparison.panel.values["green"][0, 0] = 1.5
    assert boxes_of(comparison, "green").scale is None


def test_captions_can_be_understood_by_themselves(folder: Path) -> None:
    captions = (folder / CAPTIONS).read_text("utf-8")
    one, other = "no error of severity 3 or 4 (circles)", "no error of severity 2 or more (squares)"
    assert f"with {one} or {other}, as judged by FineRadScore" in captions
    assert "with no clinically significant error, as judged by GREEN" in captions
    assert "such" not in captions
    assert "whiskers end at the 5th and the 95th percentile" in captions
    assert "whiskers end at the least and the largest value" in captions
    assert "- a note <b>of</b> it" in captions.splitlines()


def test_a_metric_that_is_negated_says_so() -> None:
    drawn = {drawing.name: drawing for drawing in plan(seeded(2)).drawings}
    matrix = drawn["correlation_pearson"]
    assert isinstance(matrix.data, Matrix)
    minus = "\N{MINUS SIGN}"
    assert matrix.data.labels[:3] == ("GREEN", f"{minus} highest severity", f"{minus} severity sum")
    assert matrix.data.labels[3:] == ("BLEU-2", f"{minus} RadCliQ-v1")
    assert f"A minus ({minus})" in matrix.caption


def test_names_of_metrics_from_files_become_file_names_of_their_own() -> None:
    comparison = seeded(2, others=True)
    panel = comparison.panel
    names = {"bleu2": "../../etc/Passwd", "radcliq": "..-..-etc-passwd"}
    metrics = tuple(replace(m, name=names.get(m.name, m.name)) for m in panel.metrics)
    values = {names.get(name, name): column for name, column in panel.values.items()}
    odd = compare(replace(panel, metrics=metrics, values=values))
    stems = [drawing.name for drawing in plan(odd).drawings]
    assert len({stem.lower() for stem in stems}) == len(stems)
    assert not any("/" in stem or "." in stem for stem in stems)


def test_the_page_gets_every_figure() -> None:
    comparison = seeded(2, others=False)
    figures = page_figures(comparison)
    assert [f.title for f in figures] == [d.title for d in plan(comparison).drawings]
    assert all("<svg" in figure.svg for figure in figures)
