"""The page of a comparison in a real browser: its numbers, its studies, its address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from browserhelp import axe_in_both_schemes, chromium, watch
from page_records import FIGURES, records_of
from seeded_comparison import metrics_of, seeded, seeded_panel

from judge.report import leaderboard
from judge.report.compare_page.choice import wanted
from judge.report.compare_page.data import PageFigure
from judge.report.compare_page.file import page
from judge.rubrics import load
from judge.stats.compare import Comparison, compare
from judge.stats.metric import Metric
from judge.stats.paired import Resampling
from judge.stats.panel import Panel
from judge.stats.tally import cuts

MINUS = "\N{MINUS SIGN}"
HOW = Resampling(seed=7, resamples=50, flips=200)
EVIL = (
    '<img src="http://evil.example/x" onerror="window.hacked=1"><script>window.hacked=2</script>'
    "</script><!--\"'><b> javascript:alert(1) \u202e\u2066 \ud800 \x00\x1b[31m ${window.hacked=3}"
)
QUOTING = 'The candidate says "for study", the reference says "reference of".'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@dataclass
class Opened:
    tab: Any

    def texts(self, selector: str) -> list[str]:
        return [" ".join(text.split()) for text in self.tab.locator(selector).all_inner_texts()]

    def order(self) -> list[str]:
        return self.texts("#board tbody th")

    def choose_group(self, name: str) -> None:
        options = self.texts("#group option")
        (at,) = [at for at, text in enumerate(options) if text.startswith(f"{name} (")]
        self.tab.select_option("#group", str(at))

    def open_study(self) -> Any:
        self.tab.locator("#list [data-study]").first.click()
        self.tab.locator("#study-title:focus").wait_for()
        return self.tab.locator("#study")

    def address(self) -> dict[str, str]:
        asked = parse_qs(urlsplit(self.tab.url).fragment, keep_blank_values=True)
        return {name: values[0] for name, values in asked.items()}


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open the page of a comparison. At the end: it said nothing, and asked for its file alone."""
    tabs: list[tuple[Any, Any]] = []

    def open_page(
        c: Comparison,
        *,
        most: int = 10_000,
        say: Any = str,
        width: int = 1400,
        figures: tuple[PageFigure, ...] = FIGURES,
        address: str = "",
    ) -> Opened:
        path = tmp_path / f"{len(tabs)}.html"
        records = records_of(wanted(c, most=most), say)
        path.write_text("".join(page(c, records, figures)), "utf-8")
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tabs.append((tab, watch(tab)))
        tab.goto(path.as_uri() + address)
        tab.wait_for_selector("#list p")
        return Opened(tab)

    yield open_page
    for tab, seen in tabs:
        tab.close()
        seen.assert_quiet()
        assert not seen.outside("file:", "blob:")
        assert sum(url.startswith("file:") for url in seen.requests) == 1


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return seeded(3, 120, by=["study_class"], tests=True)


# The numbers


def tied() -> Comparison:
    """Three models whose figures end in an exact half, and one metric of large values."""
    rng = np.random.default_rng(4)
    n = 16  # odd numbers over 16 have an exact half behind the third decimal
    green = [m for m in metrics_of() if m.rubric == "green"]
    large = Metric("large", "large", "mean", higher_is_better=True, study_label="large",
                   study_higher_is_better=True)  # fmt: skip
    errors = np.zeros((n, 3))
    errors[:1, 0], errors[:3, 1], errors[:5, 2] = 1, 1, 1
    free = np.ones((n, 3))
    free[:1, 0], free[:5, 1], free[:9, 2] = 0, 0, 0
    values = {
        "green": rng.choice([1 / 16, 3 / 16, 5 / 16, 11 / 16, 1 / 3], (n, 3)),
        "green_errors": errors,
        "green_no_significant_error": free,
        "large": 1241.79 + rng.normal(0, 78, (n, 3)) / 3,
    }
    values["large"][3, 1] = np.nan
    classes = tuple("abnormal" if at % 2 else "normal" for at in range(n))
    ids, metrics = tuple(f"study-{at:02d}" for at in range(n)), (*green, large)
    panel = Panel(("one", "two", "three"), ids, metrics, values, {"study_class": classes})
    return compare(panel, sort="large", by=["study_class"], how=HOW)


def plain(text: str) -> str:
    return " ".join(text.replace(MINUS, "-").split())


def board_of(tab: Any) -> list[list[str]]:
    rows = tab.locator("#board tbody tr").evaluate_all(
        """(rows) => rows.map((row) => [
          row.cells[0].textContent, row.querySelector("th").textContent,
          ...[...row.querySelectorAll(".numbers:has(.cell)")].map((cell) => [
            ...[...cell.querySelector(".cell").childNodes].filter((node) => node.nodeType === 3)
              .map((node) => node.data),
            ...[...cell.querySelectorAll(":scope > .small")].map((part) => part.textContent),
          ].join(" "))])"""
    )
    return [[plain(text) for text in row] for row in rows]


def rows_of(tab: Any, table: str) -> list[list[str]]:
    rows = tab.locator(f"{table} tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return [[plain(text) for text in row] for row in rows]


def test_every_number_is_that_of_the_table(shown: Any) -> None:
    c = tied()
    assert "93.8%" in " ".join(leaderboard.board(c, c.groups[0], c.panel.metrics).rows[0])
    opened = shown(c)
    tab, models = opened.tab, c.panel.models
    for at, group in enumerate(c.groups):
        tab.select_option("#group", str(at))
        rows = leaderboard.board(c, group, c.panel.metrics).rows
        assert board_of(tab) == [
            [text.replace("(n ", "n = ").replace(")", "") for text in row] for row in rows
        ]
        for name, tests in c.tests[at].items():
            metric = c.panel.metric(name)
            tab.select_option("#metric", name)
            for test in tests:
                for model, other, sign in ((test.a, test.b, 1), (test.b, test.a, -1)):
                    tab.select_option("#pairs-model", str(model))
                    (row,) = [row for row in rows_of(tab, "#pairs") if row[0] == models[other]]
                    turned = leaderboard.difference_and_interval(test, metric, sign)
                    assert row[1:3] == [plain(text or "n/a") for text in turned]
                    p, holm = leaderboard.p_value(test.p), leaderboard.p_value(test.p_holm)
                    assert row[3:5] == [plain(p), plain(holm)]
                    assert row[6] == str(test.n)
    tab.select_option("#group", "0")
    for name in ("green", "large"):
        values = c.panel.values[name]
        tab.select_option("#study-metric", name)
        tab.locator("#list .title", has_text=c.panel.metric(name).study_label).wait_for()
        tab.select_option("#model-a", "0")
        tab.select_option("#model-b", "2")
        tab.locator("#list thead th", has_text="B: three").wait_for()
        rows = rows_of(tab, "#list")
        assert len(rows) == 16
        for study_id, _, *texts in rows:
            a, b = values[c.panel.study_ids.index(study_id)][[0, 2]]
            assert texts == [f"{x:.3f}" for x in (a, b, a - b)]


def test_errors_are_those_of_the_chosen_group(shown: Any) -> None:
    panel = seeded_panel(3, n_sites=3)
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.4, (3, len(cuts(load("green"))), len(panel.study_ids))).astype("f4")
    counts[2, :, ::2] = np.nan  # half of the studies of the last model were not scored
    c = compare(replace(panel, tallies={"green": counts}), sort="green", by=["study_class"])
    opened = shown(c)
    classes = np.array(panel.fields["study_class"])
    measure = {cut: at for at, cut in enumerate(cuts(load("green")))}
    for group, rows in (
        ("all studies", classes != ""),
        ("study_class normal", classes == "normal"),
    ):
        opened.choose_group(group)
        expected = []
        for level in dict.fromkeys(level for _, level in measure):
            for model in c.order:
                scored = counts[model][:, rows & ~np.isnan(counts[model]).any(axis=0)]
                means = [f"{scored[measure[row, level]].mean():.3f}" for row in [*"abcdef", None]]
                n = f" (n {scored.shape[1]})" if scored.shape[1] < rows.sum() else ""
                expected.append([panel.models[model] + n, *means])
        lines = opened.tab.locator("#errors tbody tr").all()
        found = [line.locator("th, td").all_inner_texts() for line in lines]
        assert [[cell.strip() for cell in line][-8:] for line in found] == expected


def test_correlations_and_who_is_ahead_by_the_direction_of_the_metric(
    shown: Any, comparison: Comparison
) -> None:
    tab = shown(comparison).tab
    found = [plain(text) for text in tab.locator("#correlations tbody td").all_text_contents()]
    tables = leaderboard.correlation_tables(comparison)
    assert found == [text for table in tables for row in table.rows for text in row[1:]]
    tab.select_option("#model-a", "0")
    tab.select_option("#model-b", "1")
    for metric, sign in (("green", 1), ("fineradscore_sum", -1)):
        values = sign * comparison.panel.values[metric]
        ahead = values[:, 0] - values[:, 1]
        known = ahead[~np.isnan(ahead)]
        tab.select_option("#study-metric", metric)
        tab.select_option("#first", "a")
        said = f"in {(known > 0).sum()} of {len(known)} studies, behind in {(known < 0).sum()}"
        tab.locator("#list .count", has_text=said).wait_for()
        first = tab.locator("#list tbody tr").first
        study = comparison.panel.study_ids.index(first.locator("[data-study]").inner_text())
        assert ahead[study] == np.nanmax(ahead)
        shown_ahead = float(plain(first.locator("td").nth(-1).inner_text()))
        assert shown_ahead == pytest.approx(ahead[study], abs=6e-4)


# From the table to a study


def test_the_keyboard_leads_from_the_table_to_a_study_and_back(
    shown: Any, comparison: Comparison
) -> None:
    opened = shown(comparison)
    tab, panel = opened.tab, comparison.panel
    assert opened.order() == [panel.models[at] for at in comparison.order]
    errors = np.nanmean(panel.values["green_errors"], axis=0)
    best_first = [panel.models[at] for at in np.argsort(errors)]
    heading = tab.locator("#board [data-sort=green_errors]")
    for order, direction in ((best_first, "ascending"), (best_first[::-1], "descending")):
        heading.press("Enter")
        assert opened.order() == order
        assert heading.locator("..").get_attribute("aria-sort") == direction
    before = tab.inner_text("#pairs")
    first, last = comparison.order[0], comparison.order[-1]
    tab.locator(f'[data-cell="{last} fineradscore_sum"]').press("Enter")
    tab.locator("#studies-title:focus").wait_for()
    assert tab.inner_text("#pairs") == before
    chosen = [tab.input_value(f"#{name}") for name in ("model-a", "model-b", "study-metric")]
    assert chosen == [str(last), str(first), "fineradscore_sum"]
    ids = opened.texts("#list [data-study]")
    tab.locator("#list [data-study]").first.press("Enter")
    tab.locator("#study-title:focus").wait_for()
    study = tab.inner_text("#study")
    assert f"reference of {ids[0]}" in study
    for model in (first, last):
        assert f"candidate of {panel.models[model]} for {ids[0]}" in study
    assert "Change line 0 to: a corrected line" in study
    assert tab.locator("#study .error").count() == 2 * (2 + 4)
    assert tab.locator("#study [data-next='-1']").is_disabled()
    tab.locator("#study [data-next='1']").focus()
    for at in range(1, 26):
        tab.keyboard.press("Enter")
        tab.locator("#study .steps", has_text=f"{at + 1} of ").wait_for()
        tab.locator("#study [data-next='1']:focus").wait_for()
    # The list has turned its page with the study.
    assert opened.texts("#list tr.current [data-study]") == opened.texts("#list [data-study]")[:1]
    assert opened.texts("#list [data-study]") != ids
    tab.get_by_role("button", name="Back to the list").press("Enter")
    tab.locator("#list tr.current [data-study]:focus").wait_for()


def test_what_the_keyboard_reaches_is_in_sight(shown: Any) -> None:
    names = [f"vision-language-{at:02d}-finetuned-mimic-cxr-v2" for at in range(3)]
    tab = shown(seeded(3, 60, models=names), width=390).tab
    region = tab.locator("#board [role=region]")
    region.focus()
    reached = set()
    for key in ["Tab"] * 22 + ["Shift+Tab"] * 20:
        tab.keyboard.press(key)
        cell = tab.locator("#board [data-cell]:focus")
        if cell.count():
            reached.add(cell.get_attribute("data-cell"))
            place, outer = cell.bounding_box(), region.bounding_box()
            models = tab.locator("#board tbody th").first.bounding_box()
            assert place["x"] >= models["x"] + models["width"] - 1
            assert place["x"] + place["width"] <= outer["x"] + outer["width"] + 1
    assert len(reached) >= 11


def test_unscored_studies_and_reports_that_are_not_in_the_page(shown: Any) -> None:
    c = seeded(3, 120)
    opened = shown(c, most=300)
    tab = opened.tab
    tab.select_option("#model-a", "0")
    tab.select_option("#model-b", "1")
    unscored = np.isnan(c.panel.values["green"][:, :2]).any(axis=1)
    assert f"{unscored.sum()} studies are not scored for both" in tab.inner_text("#list .count")
    seen: list[str] = []
    while True:
        seen += opened.texts("#list tbody button")
        step = tab.locator("[data-step=Next]")
        if step.is_disabled():
            break
        step.click()
    ids = np.array(c.panel.study_ids)
    assert sorted(seen) == sorted(ids[~unscored])
    tab.select_option("#only", "unscored")
    assert opened.texts("#list tbody button") == list(ids[unscored][:25])
    tab.select_option("#only", "here")
    here = wanted(c, most=300)[c.panel.models[0], "green"]
    name = next(one for one in ids[~unscored] if one in here and one.endswith("7"))
    failed = tab.get_by_role("button", name=name, exact=True)
    while not failed.count():
        tab.click("[data-step=Next]")
    failed.click()
    tab.locator("#study", has_text="Unparsed: cut short").wait_for()
    tab.select_option("#only", "all")
    away = tab.locator("#list tbody tr", has_text="in the runs").first
    while not away.count():
        tab.click("[data-step=Next]")
    away.locator("button").click()
    tab.locator("#study", has_text="Its reports are not in this page").wait_for()


def test_groups_without_scores_or_tests_and_a_single_model(
    shown: Any, comparison: Comparison
) -> None:
    opened = shown(comparison)
    opened.choose_group("site Site 2")
    row = opened.tab.locator("#board tbody tr", has_text=comparison.panel.models[1])
    assert row.locator("td").first.inner_text() == "n/a"
    assert "--by site" in opened.tab.inner_text("#pairs")
    one = seeded(1, 30, tests=True)
    tab = shown(compare(replace(one.panel, tallies={}), how=HOW), figures=()).tab
    assert tab.locator("#errors").count() == 0
    assert "no other model" in tab.inner_text("#pairs")
    assert tab.locator("#list tbody tr").count() == 25
    assert "matplotlib>=3.8" in tab.inner_text("#figures")


# The words that errors speak of


def marks(study: Any, report: str) -> list[tuple[str, str]]:
    """The marked words of a report, each with the numbers that stand behind them."""
    found = study.locator(f".report[aria-labelledby={report}] mark").evaluate_all(
        "(all) => all.map((one) => [one.querySelector('bdi').textContent,"
        " one.querySelector('sup').dataset.numbers])"
    )
    return [(" ".join(text.split()), numbers) for text, numbers in found]


def test_the_words_of_the_errors_are_marked_in_all_three_reports(
    shown: Any, comparison: Comparison
) -> None:
    def quoting(text: str) -> str:
        if text.startswith("candidate"):  # a line without a letter is none for corrections
            return f"No effusion. ..\n* * *\nHeart normal.\n{text}"
        return QUOTING if text.startswith("error of") else text.replace("reference ", "reference\n")

    opened = shown(comparison, say=quoting)
    tab, study = opened.tab, opened.open_study()
    for letter in "AB":
        counts = study.locator(f"[aria-labelledby=candidate-{letter}] .counts dd")
        assert counts.all_inner_texts() == ["1"] * 7  # three of GREEN, four of FineRadScore
        assert marks(study, f"candidate-{letter}") == [("for study", f"{letter}1,{letter}2")]
        lines = study.locator(f"[aria-labelledby=candidate-{letter}] .lines li").all_inner_texts()
        assert [line.split()[0] for line in lines] == ["No", "Heart", "candidate"]
    assert marks(study, "reference-title") == [("reference of", "A1,A2,B1,B2")]
    study.locator("[aria-labelledby=candidate-B] mark").click()
    card = study.locator(".error:focus")
    assert card.locator(".error-number").inner_text().split() == ["Error", "B1"]
    assert study.locator("[aria-labelledby=reference-title] mark.lit").count() == 1
    assert study.locator("[aria-labelledby=candidate-A] mark.lit").count() == 0
    tab.focus("#marks")
    tab.select_option("#marks", "fineradscore")
    tab.locator("#marks:focus").wait_for()
    assert marks(study, "candidate-A")[0] == ("No effusion.", "A1,A2,A3,A4")  # its line 0
    again = shown(comparison, say=quoting, address=f"#{urlsplit(tab.url).fragment}").tab
    again.locator("#study-title").wait_for()
    assert marks(again.locator("#study"), "candidate-A")[0] == ("No effusion.", "A1,A2,A3,A4")


# The address


def test_the_address_says_what_is_shown_and_leads_back_to_it(shown: Any) -> None:
    names = ["a&b=c#d+e%20", "模型 甲", "ünï <b>"]
    c = seeded(3, 60, models=names, by=["study_class"], tests=True)
    opened = shown(c)
    tab = opened.tab
    assert opened.address() == {}
    opened.choose_group("study_class abnormal")
    chosen = {"metric": "fineradscore_sum", "model-a": "0", "model-b": "2", "study-metric": "bleu2",
              "first": "b", "pairs-model": "1"}  # fmt: skip
    for name, value in chosen.items():
        tab.select_option(f"#{name}", value)
    opened.open_study()
    study_id = tab.locator("#list tr.current [data-study]").inner_text()
    assert opened.address() == {
        "group": "study_class abnormal",
        "metric": "fineradscore_sum",
        "model": names[1],
        "a": names[0],
        "b": names[2],
        "by": "bleu2",
        "first": "b",
        "study": study_id,
    }
    again = shown(c, address="#" + urlsplit(tab.url).fragment).tab
    again.locator("#study-title:focus").wait_for()
    for part in ("#board", "#pairs", "#list", "#study"):
        assert again.inner_text(part) == tab.inner_text(part)
    assert not again.inner_text("#alarm")
    tab.go_back()
    tab.wait_for_selector("#study", state="detached")
    assert "study" not in opened.address()
    tab.go_forward()
    tab.wait_for_selector("#study")
    tab.select_option("#model-a", "1")  # other models, another study
    tab.wait_for_selector("#study", state="detached")


def test_what_the_comparison_does_not_have_is_said(shown: Any) -> None:
    c = seeded(3, 40)
    tab = shown(c, address=f"#a={c.panel.models[2]}&study=nothing&constructor=1&by=bleu2").tab
    assert tab.inner_text("#alarm")
    assert tab.locator("#study").count() == 0
    assert (tab.input_value("#model-a"), tab.input_value("#study-metric")) == ("2", "bleu2")


# Whoever reads it, wherever


def test_hostile_text_is_text(shown: Any) -> None:
    panel = seeded_panel(2, 20, models=[EVIL, "b"], fields=("site",))
    ids = (f"{EVIL} 1", *(f"{EVIL} {at}" for at in range(2, 21)))
    own = replace(panel, study_ids=ids, fields={EVIL: tuple(EVIL for _ in ids)})
    c = compare(own, sort="green", by=[EVIL], how=HOW, signature=EVIL, notes=(EVIL,))
    figures = (replace(FIGURES[0], title=EVIL, caption=EVIL),)
    opened = shown(c, say=lambda text: text + EVIL, figures=figures)
    study = opened.open_study()
    for fold in study.locator("details summary").all():
        fold.click()
    assert study.inner_text().count("<script>window.hacked=2") > 10
    assert opened.tab.evaluate("window.hacked") is None
    assert opened.tab.locator("#study img, main script, [href^=javascript]").count() == 0


@pytest.mark.parametrize("width", [1400, 390])
def test_everyone_can_use_it(shown: Any, comparison: Comparison, width: int) -> None:
    opened = shown(comparison, width=width)
    opened.open_study()
    tab = opened.tab
    assert axe_in_both_schemes(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    picture = tab.locator(".drawn").first
    picture.scroll_into_view_if_needed()
    tab.locator(".drawn[src]").first.wait_for()
    assert picture.evaluate("async (own) => { await own.decode(); return own.naturalWidth; }")
    assert FIGURES[0].caption in picture.get_attribute("alt")
    ids = tab.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_paper_is_white_and_has_no_controls(shown: Any, comparison: Comparison) -> None:
    opened = shown(comparison)
    opened.open_study()
    tab = opened.tab
    tab.emulate_media(media="print", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(ground) == "rgb(255, 255, 255)"
    for selector in (".pager", ".steps"):
        assert tab.locator(selector).count()
        assert not any(part.is_visible() for part in tab.locator(selector).all()), selector
    table = tab.locator("#board [role=region]")
    assert table.evaluate("(own) => getComputedStyle(own).overflowX") == "visible"
    head = tab.locator("#board thead")
    assert head.evaluate("(own) => getComputedStyle(own).display") == "table-header-group"
