"""Every figure measured: no text leaves it or lies on another, in any font and scheme."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from browserhelp import chromium
from click.testing import CliRunner
from seeded_comparison import seeded, seeded_panel
from support import EXAMPLES, ROOT

from judge.cli import main
from judge.comparing.alignment import choice
from judge.figures import COMPARISON_FIGURES, VALIDATION_FIGURES
from judge.figures.comparison import comparison_figures
from judge.figures.files import draw_figures, page_figures
from judge.figures.lettering import broken, width_of
from judge.figures.specs import level_colours
from judge.figures.validation import validation_figures
from judge.stats.significance import compare
from judge.validating.raters import align_raters, open_raters
from judge.validating.validation import compute_validation

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
SLACK = 0.5
SHORT = ("a", "b")
LONG = "Chest radiographs of the emergency department, second half of 2019"


def rated(folder: Path) -> list[str]:
    """The figures of two judges and of the readers of the examples."""
    run = CliRunner().invoke
    lexicon = f"lexicon:{EXAMPLES / 'lexicon.yaml'}"
    readers = folder / "readers"
    words = ["readers", "import", "tidy", str(EXAMPLES / "readers" / "readings.csv")]
    done = run(main, [*words, "--section", "findings", "--out", str(readers)])
    assert done.exit_code == 0, done.output
    for name, judge in (("rules", "lexicon"), ("own", lexicon)):
        out = ["--judge", judge, "--out", str(folder / name)]
        done = run(main, ["green", str(readers / "reader-fern"), *out])
        assert done.exit_code == 0, done.output
    judges = open_raters(
        [choice(f"{name}={folder / name}") for name in ("rules", "own")], readers=False
    )
    humans = open_raters([choice(str(readers))], readers=True)
    studies = align_raters(judges, humans, [], None, None)
    validation = compute_validation(studies)
    figures = validation_figures(validation, studies, VALIDATION_FIGURES)
    names = {figure.name for figure in figures.figures}
    assert names == {
        "agreement_kendall",
        "limits_rules",
        "limits_own",
        "limits_rules_own",
        "counts_rules",
        "counts_own",
    }
    return [figure.svg for figure in page_figures(draw_figures(figures))]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """All kinds, with long names and short ones, of many studies and of few."""
    panel = seeded_panel(2, 30, models=SHORT, n_sites=1)
    parts = ("one", "'two\"])", "of-a-single-word-that-is-wider-than-any-panel" * 3)
    datasets = tuple(f"{LONG}, part {parts[at % 3]}" for at in range(30))
    fields = {**panel.fields, "dataset": datasets}
    few = compare(replace(panel, fields=fields), sort="green")
    drawn = []
    for comparison in (seeded(4, 120, others=False), few):
        of_comparison = comparison_figures(comparison, COMPARISON_FIGURES)
        first = {}
        for figure in of_comparison.figures:
            # Figures of one kind differ in their numbers, those of errors in their levels too.
            kind = figure.name.split("_")[0]
            key = figure.name if kind in ("rates", "errors", "ranks") else kind
            first.setdefault(key, figure)
        chosen = replace(of_comparison, figures=tuple(first.values()))
        drawn += page_figures(draw_figures(chosen))
    return [figure.svg for figure in drawn] + rated(tmp_path_factory.mktemp("rated"))


def lines_of(svg: str) -> Iterator[tuple[str, Box]]:
    """Yield each line of text with its place in the figure, as the SVG itself states it."""

    def walk(
        node: ET.Element, x: float, y: float, *, upright: bool
    ) -> Iterator[tuple[str, Box]]:
        tag = node.tag.split("}")[1]
        moves = re.findall(r"(\w+)\(([^)]*)\)", node.get("transform", ""))
        for name, numbers in moves:
            values = [float(number) for number in numbers.split(",")]
            if name == "translate" and upright:
                x, y = x + values[0], y + values[1]
            elif name == "translate":
                x, y = x + values[1], y - values[0]
            else:
                assert name == "rotate"
                assert upright
                assert values[0] % 360 in (0, 270)
                upright = values[0] % 360 == 0
        if tag == "text":
            size = float(node.attrib["font-size"].removesuffix("px"))
            anchor = {"start": 0.0, "middle": 0.5, "end": 1.0}[
                node.get("text-anchor", "start")
            ]
            down = 0.0
            for line in [node, *node]:
                down += float(line.get("dy", 0))
                if not line.text:
                    continue
                width = float(line.attrib["textLength"])
                along = (-anchor * width, (1 - anchor) * width)
                across = (down - 0.75 * size, down + 0.2 * size)
                if upright:
                    box = (x + along[0], y + across[0], x + along[1], y + across[1])
                else:  # turned by a quarter to the left
                    box = (x + across[0], y - along[1], x + across[1], y - along[0])
                yield line.text, box
            return
        for child in node:
            yield from walk(child, x, y, upright=upright)

    yield from walk(ET.fromstring(svg), 0.0, 0.0, upright=True)


def check(lines: Sequence[tuple[str, Box]], width: float, height: float) -> None:
    assert lines
    for text, (left, top, right, bottom) in lines:
        assert left >= -SLACK, text
        assert top >= -SLACK, text
        assert right <= width + SLACK, text
        assert bottom <= height + SLACK, text
    for (text, a), (other, b) in combinations(lines, 2):
        wide = min(a[2], b[2]) - max(a[0], b[0])
        high = min(a[3], b[3]) - max(a[1], b[1])
        assert min(wide, high) <= SLACK, (text, other)


def test_no_text_leaves_a_figure_or_lies_on_another(figures: list[str]) -> None:
    for svg in figures:
        root = ET.fromstring(svg)
        assert float(root.attrib["width"]) <= 720, "wider than a page of 10 inches"
        check(
            list(lines_of(svg)),
            float(root.attrib["width"]),
            float(root.attrib["height"]),
        )


@pytest.fixture(scope="module")
def browser(figures: list[str]) -> Iterator[Browser]:
    """While it is up no run can be judged in this process, which has an event loop then."""
    assert figures
    with chromium() as started:
        yield started


@pytest.mark.ci
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_so_it_is_in_any_font_and_scheme(
    browser: Browser, figures: list[str], scheme: str
) -> None:
    style = (ROOT / "judge" / "pages" / "static" / "style.css").read_text("utf-8")
    page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    card = "<figure class='figure'><img class='drawn'></figure>"
    page.set_content(f"<style>{style}</style><main></main>{card}")
    ground = page.locator("img.drawn").evaluate(
        """image => {
          const own = getComputedStyle(image).backgroundColor;
          return [own, getComputedStyle(image.parentElement).backgroundColor];
        }"""
    )
    assert ground[0] == "rgba(0, 0, 0, 0)"
    for font in ("serif", "monospace"):
        for svg in figures:
            drawn = re.sub(r'font-family="[^"]*"', f'font-family="{font}"', svg)
            found = page.evaluate(
                """svg => {
                  const main = document.querySelector("main");
                  main.innerHTML = svg;
                  const root = main.firstElementChild.getBoundingClientRect();
                  const lines = [];
                  for (const text of main.querySelectorAll("text")) {
                    const parts = text.children.length ? [...text.children] : [text];
                    for (const line of parts) {
                      const box = line.getBoundingClientRect();
                      if (!line.textContent) continue;
                      lines.push([line.textContent, [box.left - root.left,
                        box.top - root.top, box.right - root.left,
                        box.bottom - root.top], getComputedStyle(text).fill]);
                    }
                  }
                  return { lines, width: root.width, height: root.height };
                }""",
                drawn,
            )
            lines = []
            for text, box, fill in found["lines"]:
                left, top, right, bottom = box
                # A box in a browser has the height of the font, more than of its letters.
                spare = min(right - left, bottom - top) * 0.2
                lines.append((text, (left, top + spare, right, bottom - spare)))
                # Numbers of a heat map are black or white on the colour of their cell.
                if fill not in ("rgb(0, 0, 0)", "rgb(255, 255, 255)"):
                    assert contrast(fill, ground[1]) >= 4.5, (text, fill)
            check(lines, found["width"], found["height"])
    page.close()


def luminance(colour: Sequence[int]) -> float:
    """The relative luminance of a colour [WCAG 2.2]."""
    parts = []
    for value in colour:
        share = value / 255
        linear = share / 12.92
        if share > 0.04045:
            linear = ((share + 0.055) / 1.055) ** 2.4
        parts.append(linear)
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as a browser writes them [WCAG 2.2]."""
    levels = sorted(
        luminance([int(part) for part in re.findall(r"\d+", colour)[:3]])
        for colour in (one, other)
    )
    return (levels[1] + 0.05) / (levels[0] + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_levels_are_told_apart_without_colours(dark: bool) -> None:
    for n in (2, 3, 4):
        lightness = []
        for colour in level_colours(n, dark=dark):
            parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
            y = luminance(parts)
            lightness.append(116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y)
        steps = [b - a for a, b in pairwise(lightness)]
        if dark:
            steps = [-step for step in steps]
        assert min(steps) >= 15, steps
    # More levels than there are anchors still differ.
    assert len({*level_colours(9)}) == 9


def test_a_line_is_broken_where_it_fits_and_a_long_word_is_kept() -> None:
    text = "Studies with no significant error or no actionable error"
    lines = broken(text, 120, 12, bold=True)
    assert " ".join(lines) == text
    assert all(width_of(line, 12, bold=True) <= 120 for line in lines)
    assert broken("a" * 50, 20, 10) == ["a" * 50]
    assert broken("", 20, 10) == [""]
