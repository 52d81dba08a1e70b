"""The page in a real browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from page_records import FIGURES
from seeded_comparison import seeded

from judge.stats.compare import Comparison

EVIL = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=2</script>'


def test_it_opens_with_the_leaderboard_in_its_order(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    assert tab.order() == [comparison.panel.models[at] for at in comparison.order]
    assert "Signature: " + comparison.signature in tab.texts("footer p")[-1]
    assert tab.texts(".note") == list(comparison.notes)
    assert "nan" not in tab.tab.inner_text("body").lower()


def test_a_heading_sorts_and_sorts_the_other_way_round(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    errors = np.nanmean(comparison.panel.values["green_errors"], axis=0)
    best_first = [comparison.panel.models[at] for at in np.argsort(errors)]
    heading = tab.tab.locator("#board [data-sort=green_errors]")
    heading.click()
    assert tab.order() == best_first
    assert heading.locator("..").get_attribute("aria-sort") == "ascending"
    heading.press("Enter")
    assert tab.order() == best_first[::-1]
    assert heading.locator("..").get_attribute("aria-sort") == "descending"


def test_every_group_has_its_own_board(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    options = tab.texts("#group option")
    assert any(text.startswith("study_class abnormal") for text in options)
    at = next(n for n, text in enumerate(options) if text.startswith("site Site 2 "))
    tab.tab.select_option("#group", str(at))
    row = tab.tab.locator("#board tbody tr", has_text=comparison.panel.models[1])
    assert row.locator("td").first.inner_text() == "n/a"
    assert "Nothing was tested" in tab.tab.inner_text("#pairs")


def test_a_difference_is_turned_with_the_models(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    test = next(t for t in comparison.tests[0]["green"] if (t.a, t.b) == (0, 2))
    assert test.difference is not None
    for model, other, sign in ((0, 2, 1), (2, 0, -1)):
        tab.tab.select_option("#pairs-model", str(model))
        name = comparison.panel.models[other]
        line = tab.tab.get_by_role("rowheader", name=name, exact=True).locator("..")
        cells = line.and_(tab.tab.locator("#pairs tr")).locator("td")
        expected = f"{sign * test.difference:+.3f}".replace("-", "\N{MINUS SIGN}")
        assert cells.first.inner_text() == expected
        title = tab.tab.inner_text("#pairs-table .title")
        assert title.startswith(f"{comparison.panel.models[model]} minus the other, GREEN")
        assert cells.nth(5).inner_text() == f"{test.n:,}"


def test_from_a_cell_to_the_studies_and_both_candidates(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    panel = comparison.panel
    last, first = comparison.order[-1], comparison.order[0]
    tab.tab.click(f'[data-cell="{last} green"]')
    tab.tab.locator("#studies-title:focus").wait_for()
    assert tab.tab.input_value("#model-a") == str(last)
    assert tab.tab.input_value("#model-b") == str(first)
    values = panel.values["green"]
    ahead = values[:, last] - values[:, first]
    known = ahead[~np.isnan(ahead)]
    counts = tab.tab.inner_text("#list .count")
    assert f"in {(known > 0).sum()} of {len(known)} studies" in counts
    assert f"behind in {(known < 0).sum()}" in counts
    tab.tab.select_option("#first", "a")
    row = int(np.nanargmax(ahead))
    cells = tab.tab.locator("#list tbody tr").first
    assert cells.locator("button").inner_text() == panel.study_ids[row]
    assert cells.locator("td").nth(-1).inner_text() == f"{ahead[row]:.3f}".replace(
        "-", "\N{MINUS SIGN}"
    )
    cells.locator("button").click()
    tab.tab.locator("#study-title:focus").wait_for()
    study = tab.tab.inner_text("#study")
    assert f"reference of {panel.study_ids[row]}" in study
    for model in (first, last):
        assert f"candidate of {panel.models[model]} for {panel.study_ids[row]}" in study
    assert tab.tab.locator("#study .error").count() == 2 * (2 + 4)
    assert "Change line 0 to: a corrected line" in study


def test_studies_come_page_by_page_and_unscored_ones_are_counted(
    shown: Any, comparison: Comparison
) -> None:
    tab = shown(comparison)
    tab.tab.select_option("#model-a", "0")
    tab.tab.select_option("#model-b", "1")
    both = int((~np.isnan(comparison.panel.values["green"][:, :2]).any(axis=1)).sum())
    assert f"{120 - both} studies are not scored for both" in tab.tab.inner_text("#list .count")
    seen = set()
    while True:
        seen |= set(tab.texts("#list tbody button"))
        step = tab.tab.locator("[data-step=Next]")
        if step.is_disabled():
            break
        step.click()
    assert len(seen) == both


def test_unscored_studies_are_listed_apart(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    tab.tab.select_option("#model-a", "0")
    tab.tab.select_option("#model-b", "1")
    tab.tab.select_option("#only", "unscored")
    unscored = np.isnan(comparison.panel.values["green"][:, :2]).any(axis=1)
    names = [name for name, gone in zip(comparison.panel.study_ids, unscored, strict=True) if gone]
    assert tab.texts("#list tbody button") == names[:25]
    assert "n/a" in tab.tab.inner_text("#list tbody")


def test_turning_the_page_leaves_the_eye_where_it_is(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    tab.tab.locator("#list [data-study]").first.click()
    tab.tab.locator("#study-title:focus").wait_for()
    tab.tab.click("[data-step=Next]")
    tab.tab.locator("[data-step=Next]:focus").wait_for()
    assert tab.tab.locator("#study").count() == 1


def test_a_study_that_was_not_scored_says_why(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    first, second = comparison.order[:2]
    scored = ~np.isnan(comparison.panel.values["green"][:, [first, second]]).any(axis=1)
    ids = comparison.panel.study_ids
    row = next(n for n, name in enumerate(ids) if name.endswith("7") and scored[n])
    while not tab.tab.locator(f'[data-study="{row}"]').count():
        tab.tab.click("[data-step=Next]")
    tab.tab.click(f'[data-study="{row}"]')
    tab.tab.wait_for_selector("#study")
    assert "Unparsed: cut short" in tab.tab.inner_text("#study")


def test_a_study_without_reports_says_where_they_are(shown: Any) -> None:
    tab = shown(seeded(2, 200), most=30)
    assert "This page holds 30 of 800 judged reports" in tab.tab.inner_text("footer")
    away = tab.tab.locator("#list tbody tr", has_text="in the runs").first
    while not away.count():
        tab.tab.click("[data-step=Next]")
    name = away.locator("button").inner_text()
    away.locator("button").click()
    tab.tab.wait_for_selector("#study")
    assert f"judge audit runs/green {name}" in tab.tab.inner_text("#study")
    tab.tab.select_option("#only", "here")
    assert "in the runs" not in tab.tab.inner_text("#list tbody")


def test_hostile_text_is_text(shown: Any) -> None:
    c = seeded(2, 20, models=[EVIL, "b"], tests=True)
    tab = shown(c, say=lambda text: text + EVIL)
    assert tab.order()[0] == EVIL
    tab.tab.locator("#list [data-study]").first.click()
    tab.tab.wait_for_selector("#study")
    for fold in tab.tab.locator("#study details summary").all():
        fold.click()
    assert tab.tab.inner_text("#study").count("<script>window.hacked=2") > 10
    assert tab.tab.evaluate("window.hacked") is None
    assert tab.tab.locator("#study img, main script").count() == 0


def test_a_single_model_has_its_studies_too(shown: Any) -> None:
    c = seeded(1, 30, tests=True)
    tab = shown(c, figures=())
    assert "no other model" in tab.tab.inner_text("#pairs")
    assert tab.tab.locator("#list tbody tr").count() == 25
    assert "matplotlib>=3.8" in tab.tab.inner_text("#figures")
    tab.tab.locator("#list [data-study]").first.click()
    tab.tab.wait_for_selector("#study")
    assert tab.tab.locator("#study .report").count() == 2


def test_figures_are_pictures_with_words_for_them(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    tab.tab.locator(".drawn").last.scroll_into_view_if_needed()
    for at in (0, 1):
        picture = tab.tab.locator(".drawn[src]").nth(at)
        picture.wait_for()
        assert picture.evaluate("async (own) => { await own.decode(); return own.naturalWidth; }")
        assert FIGURES[at].caption in picture.get_attribute("alt")


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_it_fits_its_window_and_its_colours_can_be_read(
    shown: Any, width: int, scheme: str
) -> None:
    tab = shown(seeded(24, 60), width=width, scheme=scheme)
    tab.tab.locator("#list [data-study]").first.click()
    tab.tab.wait_for_selector("#study")
    assert tab.tab.evaluate("document.documentElement.scrollWidth") <= width
    paper, ink = tab.tab.evaluate(
        "(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))"
    )
    dark = "rgb(18, 23, 29)"
    assert (paper == dark) == (scheme == "dark")
    assert paper != ink
    poor = tab.tab.evaluate(CONTRAST)
    assert not poor


# Text against the nearest ground behind it, by WCAG: 4.5 to 1.
CONTRAST = """() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length === 3) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("main *, footer *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    if (!own || node.closest(".unseen, :disabled, option") || !node.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${node.tagName}.${node.className}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
}"""


def test_everything_has_a_name_for_those_who_do_not_see_it(
    shown: Any, comparison: Comparison
) -> None:
    tab = shown(comparison)
    tab.tab.locator("#list [data-study]").first.click()
    tab.tab.wait_for_selector("#study")
    nameless = tab.tab.evaluate(
        """() => [...document.querySelectorAll("select, button, img, table, [role=region]")]
          .filter((e) => !(e.labels?.length || e.textContent.trim() || e.alt || e.ariaLabel))
          .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert not nameless
    assert tab.tab.locator("table thead th:not([scope])").count() == 0
    ids = tab.tab.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
