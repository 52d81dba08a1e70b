"""`judge compare judge-runs/*`: the largest set is compared, and what is left out is named."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from browserhelp import chromium
from judged_runs import IDS, PREDS, REFS, as_written, data, judged, texts
from support import Invoke

HALF = IDS[:7]


@pytest.fixture
def three(invoke: Invoke) -> list[Path]:
    """Runs of GREEN of the models a, b and c on all studies."""
    names = (("a", texts()), ("b", as_written()), ("c", texts("No effusion.")))
    return [judged(invoke, name, preds) for name, preds in names]


def copied(run: Path, name: str, **changes: object) -> Path:
    """A copy of a run beside it, with another manifest."""
    copy = run.parent / name
    shutil.copytree(run, copy)
    manifest = json.loads((copy / "manifest.json").read_text("utf-8"))
    (copy / "manifest.json").write_text(json.dumps({**manifest, **changes}), "utf-8")
    return copy


def by_another(run: Path, name: str, judge: str = "gpt-4o") -> Path:
    """The same run as if another judge had made it."""
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    version = manifest["judge"]["version"]
    signature = manifest["signature"].replace(version, judge)
    return copied(
        run, name, signature=signature, judge={"name": judge, "version": judge, "note": None}
    )


def on_half(invoke: Invoke, name: str) -> Path:
    """A run on fewer studies, against the same file of references."""
    preds = {key: PREDS[key] for key in HALF}
    return judged(invoke, name, preds, "green", REFS, "--allow-missing")


def left_out(found: dict[str, Any]) -> list[str]:
    return [note for note in found["notes"] if note.startswith("left out: ")]


def refused(invoke: Invoke, *args: object) -> str:
    done = invoke("compare", *args)
    assert done.exit_code == 2, done.stdout
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def test_the_largest_set_is_compared_and_the_rest_named(invoke: Invoke, three, tmp_path) -> None:
    others = [by_another(run, f"other-{run.name}") for run in three[:2]]
    halves = [on_half(invoke, name) for name in ("x", "y")]
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    page = tmp_path / "comparison.html"
    page.write_text("<!doctype html>", "utf-8")
    damaged = copied(three[0], "damaged")
    (damaged / "studies.parquet").write_bytes(b"PAR1")
    given = [page, *halves, damaged, *three, *others, unfinished]
    found = data(invoke, *given, "--no-tests")
    assert found["models"] == ["a", "b", "c"]
    notes = left_out(found)
    commands = [note.rpartition(": judge ")[2] for note in notes[:2]]
    assert notes[:2] == [
        f"left out: 2 runs of green, judged by gpt-4o: judge compare {others[0]} {others[1]}",
        f"left out: 2 runs of green, on 7 other studies: judge compare {halves[0]} {halves[1]}",
    ]
    assert [note.split(" is ")[0] for note in notes[2:4:2]] == [f"left out: {page}"]
    assert f"left out: cannot read {damaged / 'studies.parquet'}" in notes[3]
    assert f"left out: {unfinished} is not a run: it holds no manifest.json" in notes[4]
    # The signature and all numbers are those of the set alone; each command compares another.
    alone = data(invoke, *three, "--no-tests")
    assert alone["signature"] == found["signature"]
    assert alone["groups"] == found["groups"]
    assert left_out(alone) == []
    for command, models in zip(commands, (["a", "b"], ["x", "y"]), strict=True):
        word, *runs = shlex.split(command)
        assert word == "compare"
        assert data(invoke, *runs, "--no-tests")["models"] == models
    backwards = data(invoke, *reversed(given), "--no-tests")
    assert backwards["signature"] == found["signature"]
    assert sorted(left_out(backwards)) == sorted(notes)


@pytest.mark.parametrize("form", ["table", "md", "csv", "latex", "pairs", "rexrank"])
def test_every_form_says_what_is_left_out(invoke: Invoke, three, form: str) -> None:
    other = by_another(three[0], "other")
    done = invoke("compare", *three, other, "--no-tests", "--format", form)
    assert done.exit_code == 0, done.stderr
    assert "Comparing 3 of the 4 given" in done.stderr
    shown = done.stdout if form == "table" else done.stderr
    told = f"left out: 1 run of green, judged by gpt-4o: {other}"
    assert told.replace(" ", "") in "".join(shown.split())


def test_the_page_says_what_is_left_out(invoke: Invoke, three) -> None:
    other = by_another(three[0], "other")
    assert invoke("compare", *three, other, "--no-tests", "--html", "x.html").exit_code == 0
    with chromium() as browser:
        tab = browser.new_page()
        tab.goto(Path("x.html").resolve().as_uri())
        notes = [" ".join(text.split()) for text in tab.locator(".note").all_inner_texts()]
    assert f"left out: 1 run of green, judged by gpt-4o: {other}" in notes


def test_two_runs_and_named_models_are_refused_as_ever(invoke: Invoke, three, tmp_path) -> None:
    other = by_another(three[1], "other")
    assert "the judge of green" in refused(invoke, three[0], other)
    assert "the judge of green" in refused(invoke, three[0], three[2], f"b={other}")
    assert "no such run" in refused(invoke, *three, tmp_path / "nowhere")
    again = copied(three[0], "again")
    assert "two runs of green are of the model 'a'" in refused(invoke, three[0], again)
    # No two models fit: what is wrong is said as if all had been named.
    third = by_another(three[2], "third", "gpt-5")
    assert "the judge of green" in refused(invoke, three[0], other, third)


def test_sets_of_one_size_are_not_chosen_from(invoke: Invoke, three) -> None:
    others = [by_another(run, f"other-{run.name}") for run in three]
    text = refused(invoke, *three, *others)
    commands = [f"judge compare {' '.join(map(str, runs))}" for runs in (three, others)]
    assert "no set of those that can is the largest; choose one: " in text
    assert all(command in text for command in commands)
    assert refused(invoke, *others, *three) == text
    # Another rubric's runs do not tell which judge of GREEN is meant.
    fine = judged(invoke, "a", texts(), "fineradscore")
    assert str(fine) in refused(invoke, *three, *others, fine)


def test_more_models_go_before_more_studies(invoke: Invoke, three) -> None:
    halves = [on_half(invoke, name) for name in ("w", "x", "y")]
    assert data(invoke, *halves, *three, "--no-tests")["models"] == ["a", "b", "c"]
    found = data(invoke, *halves, *three[:2], "--no-tests")
    assert found["models"] == ["w", "x", "y"]
    assert f"on 15 other studies: judge compare {three[0]} {three[1]}" in left_out(found)[0]


def test_of_one_rubric_the_judge_of_the_most_models_counts(invoke: Invoke, three) -> None:
    fine = [
        judged(invoke, name, preds, "fineradscore")
        for name, preds in (("a", texts()), ("b", as_written()))
    ]
    others = [by_another(fine[0], "other-fine"), by_another(three[1], "other-green")]
    found = data(invoke, *others, *fine, *three, "--no-tests")
    assert [run["run"] for run in found["runs"]] == list(map(str, (*fine, *three)))
    (note,) = left_out(found)
    assert note == (
        "left out: 2 runs of fineradscore and green, judged by gpt-4o: "
        f"judge compare {others[0]} {others[1]}"
    )


def test_common_and_allow_come_first(invoke: Invoke, three) -> None:
    half = on_half(invoke, "x")
    found = data(invoke, *three, half, "--no-tests", "--common")
    assert found["models"] == ["a", "b", "c", "x"]
    assert left_out(found) == []
    other = by_another(copied(three[2], "d", model="d"), "other")
    assert data(invoke, *three, other, "--no-tests", "--allow", "judge")["models"][3:] == ["d"]
    found = data(invoke, *three, half, other, "--no-tests", "--common")
    assert left_out(found) == [f"left out: 1 run of green, judged by gpt-4o: {other}"]


def test_other_references_are_another_set(invoke: Invoke, three) -> None:
    changed = {**REFS, IDS[0]: {**REFS[IDS[0]], "section_findings": "Another text."}}
    against = judged(invoke, "d", texts(), "green", changed)
    spaced = {key: {**one, "site": "X "} for key, one in REFS.items()}
    same = judged(invoke, "e", texts(), "green", spaced)  # another file, the same reports
    found = data(invoke, *three, against, same, "--no-tests")
    assert found["models"] == ["a", "b", "c", "e"]
    assert left_out(found) == [f"left out: 1 run of green, against other references: {against}"]
    allowed = data(invoke, *three, against, same, "--no-tests", "--allow", "references")
    assert allowed["models"] == ["a", "b", "c", "d", "e"]


def test_of_reruns_the_newest_counts(invoke: Invoke, three) -> None:
    older = copied(three[0], "older", finished="2020-01-01T00:00:00+00:00")
    found = data(invoke, older, *three, "--no-tests")
    assert [run["run"] for run in found["runs"]] == list(map(str, three))
    assert left_out(found) == [
        f"left out: {older}, an older run of green on the model 'a' than {three[0]}"
    ]
    # The same file with other reports in it: made anew, and the old run is no other model.
    before = copied(three[0], "before", finished="2020-01-01T00:00:00+00:00")
    manifest = json.loads((before / "manifest.json").read_text("utf-8"))
    manifest["inputs"][0]["sha256"] = "0" * 64
    (before / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    (note,) = left_out(data(invoke, before, *three, "--no-tests"))
    assert note.startswith(f"left out: {before}, of an older file of predictions of the model 'a'")
    # A file of that name somewhere else may be another model's.
    manifest["inputs"][0]["path"] = "elsewhere/preds_a.json"
    (before / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert "would be one model, 'a'" in refused(invoke, before, *three)
