"""Pages of other rubrics, the files around a page, and judges side by side."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from stresspages import choose, letters, opened, record_of, report, run, shown_words, truths

from judge.backends import lexicon as lexicon_package
from judge.cli import main


def test_another_rubrics_items_and_lines_are_shown(work: Path, shown: Any) -> None:
    pair = [work / "stress" / name for name in ("preds.json", "refs.json")]
    run("fineradscore", *pair, "--out", work / "fine")
    run("stress", "report", work / "fine", "--html", work / "fine.html")
    tab = shown(work / "fine.html", "ex-008/denied")
    opened(tab, "ex-008/denied")
    assert tab.locator("[aria-labelledby=candidate-title] ol.lines li").count() > 0
    words = truths(work)["ex-008/denied"]["words"][0]["after"]
    assert letters(shown_words(tab, "candidate", 0)) == letters(words)
    assert "line" in tab.locator("[aria-labelledby=judge-title] .error").first.inner_text()


@pytest.mark.parametrize("rubric", ["toy_facts", "toy_attributes", "toy_scale"])
def test_a_rubric_that_is_made_otherwise_has_its_page(work: Path, shown: Any, rubric: str) -> None:
    pair = [work / "stress" / name for name in ("preds.json", "refs.json")]
    run(rubric, *pair, "--out", work / rubric)
    run("stress", "report", work / rubric, "--html", work / f"{rubric}.html")
    found = report(work, rubric)
    tab = shown(work / f"{rubric}.html", "ex-008/denied")
    opened(tab, "ex-008/denied")
    has_errors = found["detection_all"]["found"] is not None
    assert tab.locator("#figures").count() == has_errors
    labels = tab.locator("#came option").all_inner_texts()
    if has_errors:
        assert f"found ({found['detection_all']['found']['k']})" in labels
    else:
        assert not [one for one in labels if one.startswith(("found", "missed", "no error"))]
    record = record_of(work / rubric, "ex-008/denied")
    said = tab.locator("[aria-labelledby=judge-title]").text_content()
    assert all(item["text"] in said for item in record["annotation"]["items"])


def test_a_right_category_on_the_wrong_side_of_the_level_is_one_of_its_own(
    work: Path, shown: Any
) -> None:
    of = truths(work)
    wanted = []
    for line in (work / "mixed" / "annotations.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        one = of[record["study_id"]]
        if one["group"] != "error" or record["annotation"] is None or one["errors"][0]["doubtful"]:
            continue
        (error,) = one["errors"]
        right = [
            item["labels"]["significance"] == ["significant"]
            for item in record["annotation"]["items"]
            if item["kind"] == "error" and {*item["labels"]["category"]} & {*error["categories"]}
        ]
        if right and error["significant"] not in right:
            wanted.append(one["id"])
    assert wanted
    tab = shown(work / "mixed.html")
    assert choose(tab, "came", "found, not of the right significance") == len(wanted)
    assert tab.locator("#list tbody th").all_inner_texts() == wanted


def test_a_truth_that_is_no_longer_the_one_that_was_read_is_refused(
    work: Path, tmp_path: Path
) -> None:
    lines = (work / "stress" / "truth.jsonl").read_text("utf-8").splitlines()
    broken = [json.loads(line) for line in lines]
    broken[20]["words"] = [{"before": "x", "after": "y", "at": [3, 9999], "to": [3, 4]}]
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(one) + "\n" for one in broken))
    words = ["stress", "report", work / "clean", "--truth", tmp_path, "--html", tmp_path / "p.html"]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 2
    assert "in line 21, 'at' is no place" in done.output
    assert not (tmp_path / "p.html").exists()


def test_judges_are_drawn_side_by_side_and_have_a_page_each(work: Path, tmp_path: Path) -> None:
    lexicon = (files(lexicon_package) / "lexicon.yaml").read_text("utf-8")
    (tmp_path / "own.yaml").write_text(f"{lexicon}\n# A list of one's own.\n", "utf-8")
    pair = [work / "stress" / name for name in ("preds.json", "refs.json")]
    run("green", *pair, "--judge", f"lexicon:{tmp_path / 'own.yaml'}", "--out", tmp_path / "own")
    words = ["compare", f"one={work / 'clean'}", f"other={tmp_path / 'own'}"]
    folder = tmp_path / "figures"
    done = CliRunner().invoke(main, [*words, "--figures", str(folder)])
    assert done.exit_code == 0, done.output
    captions = (folder / "captions_stress.md").read_text("utf-8")
    assert "1. one\n2. other" in captions
    assert (folder / "stress_detection.page.svg").exists()
    done = CliRunner().invoke(main, [*words, "--html", str(tmp_path / "p.html")])
    assert done.exit_code == 2
    assert "judge stress report RUN --html FILE" in done.output
    assert not (tmp_path / "p.html").exists()


def test_a_file_of_somebody_elses_stays_and_ours_is_replaced(work: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("<html>mine</html>")
    words = ["stress", "report", str(work / "clean"), "--html"]
    done = CliRunner().invoke(main, [*words, str(mine)])
    assert done.exit_code
    assert "not a page that judge wrote" in done.output
    assert mine.read_text() == "<html>mine</html>"
    assert CliRunner().invoke(main, [*words, str(work / "clean.html")]).exit_code == 0


def test_the_file_asks_for_nothing_outside_and_is_the_same_each_time(
    work: Path, tmp_path: Path
) -> None:
    text = (work / "mixed.html").read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.findall(r"(?:src|href)=[\"']https?:", text)
    run("stress", "report", work / "mixed", "--html", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text("utf-8") == text
