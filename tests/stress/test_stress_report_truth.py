"""Which truth a run goes with, and what is wrong with a truth."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from scriptedhelp import at_random, by_text, error, judged, line, with_errors, written
from support import EXAMPLES, Invoke

from judge.stress.report import report_of
from judge.stress.truth import read_truth
from judge.types import JudgeError

LINES = [
    line("s1", "identical", "unchanged"),
    line("s1", "reordered", "unchanged"),
    with_errors("s1", "denied", "error", error("b")),
    with_errors("s1", "errors_1", "count", error("b")),
    {**with_errors("s1", "instruction", "hostile", error("b")), "same_reading_as": "s1/errors_1"},
]


def damaged(at: int, **changed: Any) -> list[dict[str, Any]]:
    return [{**one, **changed} if n == at else one for n, one in enumerate(LINES)]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (damaged(2, id="s1/identical"), "in line 3, the id 's1/identical' stands there twice"),
        (damaged(2, errors=[error("z")]), "in line 3, there is no category 'z'; there are a, b"),
        (damaged(2, group="other"), "in line 3, 'group'"),
        (damaged(1, change=3), "in line 2, 'change'"),
        (damaged(2, k=2), "in line 3, 'k' is 2"),
        (damaged(2, k=0, errors=[]), "in line 3, a candidate of the group 'error' has one error"),
        (damaged(1, change="identical"), "in line 2, 's1/reordered' repeats 's1/identical'"),
        (damaged(4, same_reading_as=None), "in line 5, 'same_reading_as' goes with"),
        (damaged(4, same_reading_as="s2/errors_1"), "'s2/errors_1', which is not there"),
        (damaged(4, change="denied"), "the change 'denied' is of the group 'error' elsewhere"),
        ([], "holds no candidate"),
    ],
)
def test_what_is_damaged_is_said_with_its_line(
    tmp_path: Path, lines: list[dict[str, Any]], why: str
) -> None:
    file = tmp_path / "truth.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    with pytest.raises(JudgeError) as raised:
        read_truth(file)
    assert why in str(raised.value)
    assert str(file) in str(raised.value)
    assert "judge stress make" in str(raised.value)


def test_a_line_that_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "truth.jsonl"
    file.write_text(json.dumps(LINES[0]) + "\n" + json.dumps(LINES[1])[:50], "utf-8")
    with pytest.raises(JudgeError, match=r"truth.jsonl is damaged: in line 2, "):
        read_truth(file)


def test_a_truth_that_lost_lines_does_not_fit_its_manifest(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("stress", "make", EXAMPLES / "refs.json", "--out", "made").exit_code == 0
    file = tmp_path / "made" / "truth.jsonl"
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:-1]), "utf-8")
    n = len(lines)
    with pytest.raises(JudgeError, match=rf"holds {n - 1} candidates, stress.json {n}: they"):
        read_truth(file)


def test_where_a_truth_is_found(tmp_path: Path) -> None:
    """Above the folder of the run, beside the predictions, or where one says."""
    made = written(tmp_path / "made", LINES)
    inside = judged(made, made / "runs" / "a", at_random(1))
    apart = judged(made, tmp_path / "apart", at_random(1))
    wanted = report_of(inside).plain()["detection"]
    assert report_of(made).plain()["detection"] == wanted
    assert report_of(apart).plain()["detection"] == wanted
    moved = shutil.move(made, tmp_path / "moved")
    with pytest.raises(JudgeError, match=r"the truth of .*apart is not found; .* --truth"):
        report_of(apart)
    for truth in (moved, Path(moved) / "truth.jsonl"):
        assert report_of(apart, truth).plain()["detection"] == wanted


def test_a_run_of_other_candidates(tmp_path: Path) -> None:
    made = written(tmp_path / "made", LINES)
    others = written(tmp_path / "others", [*LINES, line("s2", "identical", "unchanged")])
    run = judged(others, tmp_path / "run", at_random(1))
    with pytest.raises(JudgeError, match=r"1 of its 6 studies are none of them, 's2/identical'"):
        report_of(run, made)
    changed = written(tmp_path / "changed", damaged(1, after="Something else."))
    run = judged(changed, tmp_path / "run2", at_random(1))
    with pytest.raises(JudgeError, match=r"other candidates than .* 1 of its 5 .*'s1/reordered'"):
        report_of(run, made)
    changed = written(tmp_path / "changed2", damaged(1, before="Something else."))
    run = judged(changed, tmp_path / "run3", at_random(1))
    with pytest.raises(JudgeError, match=r"other references than"):
        report_of(run, made)


def test_a_run_of_a_part_is_counted(tmp_path: Path) -> None:
    """What is not in the run is in no rate, and is said."""
    made = written(tmp_path / "made", LINES)
    part = written(tmp_path / "part", [LINES[0], LINES[4]])
    run = judged(part, tmp_path / "run", by_text({}))
    found = report_of(run, made).plain()
    assert found["runs"][0]["n_absent"] == 3
    assert found["detection_all"]["found"]["n"] == 0
    assert found["detection"][0]["lost"] == {
        "unparsed": 0,
        "failed": 0,
        "undefined": 0,
        "absent": 1,
    }
    # The text without the trick was not read: nothing is said of the one with it.
    assert found["hostile_all"][0]["n"] == 0
    assert any("3 of 5 candidates are in no rate" in text for text in found["verdict"])
    assert any("3 are not in the run" in text for text in found["verdict"])


def test_a_folder_without_runs(tmp_path: Path) -> None:
    made = written(tmp_path / "made", LINES)
    with pytest.raises(JudgeError, match="made"):
        report_of(made)
    (made / "runs").mkdir()
    with pytest.raises(JudgeError, match="runs"):
        report_of(made)
    with pytest.raises(JudgeError, match="give a run"):
        report_of([])


def test_what_a_reader_elsewhere_said(invoke: Invoke, tmp_path: Path) -> None:
    """Answers that came by `judge import`, with texts and without."""
    made = written(tmp_path / "made", LINES)
    head = "study_id,reader,category,level,count,reference,candidate\n"
    rows = []
    for one in LINES:
        for level in ("significant", "insignificant"):
            for category in "abcdef":
                n = int((one["change"], category, level) == ("denied", "b", "significant"))
                said = (one["id"], "Fern", category, level, str(n), one["before"], one["after"])
                rows.append(",".join(said))
    (tmp_path / "said.csv").write_text(head + "\n".join(rows) + "\n", "utf-8")
    done = invoke("import", "tidy", "said.csv", "--out", "readers")
    assert done.exit_code == 0, done.stderr
    (run,) = (tmp_path / "readers").glob("*/")
    found = report_of(run, made).plain()
    rate = found["detection_all"]["right_significance"]
    assert (rate["k"], rate["n"]) == (1, 1)
    assert found["false_alarms_all"]["any"]["k"] == 0
    assert found["judge"]["name"].endswith("Fern")
