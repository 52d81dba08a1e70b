"""What is said beside the figures: whiskers, order, letters that the font lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from seeded_comparison import SIGNATURE, seeded, seeded_panel

from judge.plots import CAPTIONS, draw_figures, page_figures
from judge.plots.build import plan
from judge.plots.data import Boxes, Ranks
from judge.plots.output import captions_text
from judge.stats.compare import Comparison, compare

BOX = "□"


def renamed(names: Mapping[str, str], field: str, n_models: int = 2) -> Comparison:
    """The seeded comparison, with other values of a field."""
    panel = seeded_panel(n_models, 300)
    column = tuple(names.get(str(value), value) for value in panel.fields[field])
    fields = {**panel.fields, field: column}
    return compare(replace(panel, fields=fields), sort="green", signature=SIGNATURE)


def test_captions_name_what_the_figure_is_split_by_and_where_whiskers_end() -> None:
    split, whole = seeded(2), seeded(2, fields=())
    for comparison, per in ((split, "per model and data set"), (whole, "per model")):
        found = {drawing.name: drawing for drawing in plan(comparison).drawings}
        caption = found["boxes_green"].caption
        assert caption.startswith(f"GREEN over studies, {per}. ")
        assert found["boxes_green"].title == f"GREEN {per}"
        assert "95th percentile, as the metric has more than 10 different values" in caption
        few = found["boxes_inverse_fineradscore"].caption
        assert "the largest value, as the metric has at most 10 different ones" in few


def test_groups_stand_in_the_order_of_the_page() -> None:
    names = {f"a data set {at}": f"number {name}" for at, name in enumerate((10, 2, 1, 11))}
    found = {drawing.name: drawing.data for drawing in plan(renamed(names, "dataset")).drawings}
    boxes = found["boxes_green"]
    assert isinstance(boxes, Boxes)
    titles = [panel.title for panel in boxes.panels]
    assert titles == ["number 1", "number 2", "number 10", "number 11"]


def test_sites_of_one_size_stand_in_the_order_of_the_page_after_larger_ones() -> None:
    panel = seeded_panel(2, 40)
    sizes = {"number 10": 5, "number 2": 5, "number 1": 10, "z": 20}
    column = tuple(name for name, n in sizes.items() for _ in range(n))
    fields = {**panel.fields, "site": column}
    found = plan(compare(replace(panel, fields=fields), sort="green"), top_sites=3).drawings
    ranks = next(drawing.data for drawing in found if isinstance(drawing.data, Ranks))
    assert ranks.groups == ("z", "number 1", "number 2")


def test_the_ranks_of_one_model_are_left_out() -> None:
    planned = plan(seeded(1))
    assert not any(isinstance(drawing.data, Ranks) for drawing in planned.drawings)
    assert planned.left_out == ("ranks by site: there is one model",)


def test_captions_have_the_key_of_letters_that_the_font_lacks(tmp_path: Path) -> None:
    comparison = seeded(2, models=["plain", "\u6a21\u578b"], others=False, fields=())
    drawn = draw_figures(comparison, tmp_path)
    assert sum("lacks letters of 1 name:" in said for said in drawn.notes) == 1
    lines = (tmp_path / CAPTIONS).read_text("utf-8").splitlines()
    (key,) = [line for line in lines if line.startswith(f"- {BOX}: ")]
    assert "its position in the list of models" in key
    assert "2. \u6a21\u578b" in lines


def test_captions_list_the_data_sets_whose_letters_the_font_lacks() -> None:
    comparison = renamed({"a data set 1": "\u6570 1"}, "dataset")
    lines = captions_text(plan(comparison)).splitlines()
    at = lines.index("Panels, in the order of `boxes_green`:")
    assert lines[at + 2 : at + 6] == [
        *(f"{place}. a data set {name}" for place, name in enumerate((0, 2, 3), 1)),
        "4. \u6570 1",
    ]
    assert sum(line.startswith("Panels, ") for line in lines) == 1


def test_a_figure_on_the_page_has_the_key_beside_it() -> None:
    comparison = seeded(2, models=["plain", "\u6a21\u578b"], others=False)
    found = {figure.title.split()[0]: figure.caption for figure in page_figures(comparison)}
    key = (
        f" {BOX}: a letter that the figure's font lacks; models by their numbers: 2. \u6a21\u578b."
    )
    assert found["Rank"].endswith(key)
    assert BOX not in found["Correlation"]


@pytest.mark.parametrize("name", ["plain", "d\u00e9j\u00e0 \u2013 \u03b2"])
def test_names_that_the_font_has_need_no_key(tmp_path: Path, name: str) -> None:
    comparison = seeded(2, models=[name, "b"], others=False, fields=())
    assert not any("lacks letters" in said for said in draw_figures(comparison, tmp_path).notes)
    assert BOX not in (tmp_path / CAPTIONS).read_text("utf-8")


def test_a_home_that_cannot_be_written_to_is_no_word_on_standard_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no folder")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = (
        "from pathlib import Path\n"
        "from seeded_comparison import seeded\n"
        "from judge.plots import draw_figures\n"
        "print(len(draw_figures(seeded(1, fields=(), others=False), Path('f')).files))"
    )
    kept = {name: value for name, value in os.environ.items() if name != "MPLCONFIGDIR"}
    own = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    path = {"PYTHONPATH": str(Path(__file__).parents[1]), "TMPDIR": str(temporary)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**kept, **own, **path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert int(done.stdout) > 0
    assert not list(temporary.iterdir())
