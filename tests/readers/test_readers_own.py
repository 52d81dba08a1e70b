"""Readings made on the page, as runs of their readers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from readersfiles import measures, totals
from support import EXAMPLES, Invoke

from judge.readers import kept
from judge.readers.kept import MarkedItem, new_reading
from judge.readers.sample import read_sample
from judge.running.folder import Run
from judge.types import Edit

WRONG = MarkedItem("error", {"category": ("a",), "significance": ("significant",)}, "effusion")
SLIGHT = MarkedItem("error", {"category": ("b",), "significance": ("insignificant",)}, "line")
MATCHED = MarkedItem("matched", {}, "heart")
Read = Callable[..., None]


@pytest.fixture
def read(example_run: Path) -> Read:
    """Read a study of the example run: `read("ash", "ex-001", WRONG, done=False)`."""
    records = {record["study_id"]: record for record in Run(example_run).records()}

    def call(reader: str, study_id: str, *items: MarkedItem, done: bool = True) -> None:
        kept.append(example_run, new_reading(reader, records[study_id], items, done=done))

    return call


def exported(invoke: Invoke, run: Path, out: Path, *options: object) -> dict[str, Run]:
    done = invoke("readings", run, "--out", out, *options)
    assert done.exit_code == 0, done.stderr
    runs = [Run(path) for path in sorted(out.iterdir())]
    return {run.manifest["judge"]["name"].removeprefix("reader:"): run for run in runs}


def queue(invoke: Invoke, run: Path, n: int) -> Sequence[str]:
    assert invoke("sample", run, "-n", n).exit_code == 0
    sample = read_sample(run)
    assert sample is not None
    return sample.order


def test_each_reader_is_a_run_of_the_last_finished_reading(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    read("ash", "ex-004", WRONG, MATCHED)
    read("ash", "ex-002", MATCHED, MATCHED)
    read("ash", "ex-004", WRONG, SLIGHT, MATCHED)  # again: the last one counts
    read("ash", "ex-005", WRONG, done=False)
    read("elm", "ex-002", WRONG, MATCHED)
    read("elm", "ex-002", WRONG, MATCHED, done=False)  # opened again and not finished
    read("elm", "ex-001", MATCHED)
    done = invoke("readings", example_run, "--out", tmp_path / "readers")
    assert done.exit_code == 0, done.stderr
    for name in ("ash", "elm"):
        assert f"{name}: 1 reading is begun and not finished, and left out" in done.stderr
    runs = exported(invoke, example_run, tmp_path / "readers")  # the same again
    found = measures(runs["ash"])
    assert list(found) == ["ex-002", "ex-004"]  # in the order of the run
    assert (found["ex-004"]["green"], found["ex-004"]["n_insignificant"]) == (0.5, 1)
    assert found["ex-002"]["green"] == 1.0
    assert list(measures(runs["elm"])) == ["ex-001"]
    judged, made = Run(example_run), runs["ash"]
    for name in ("study_class", "class_inferred", "fields", "reference", "candidate"):
        assert made.record("ex-004")[name] == judged.record("ex-004")[name]
    for name in ("section", "model", "class_source", "fields"):
        assert made.manifest[name] == judged.manifest[name]
    assert made.reading == {"layout": "readings", "lacks": {}, "own": []}
    assert [one["role"] for one in made.manifest["inputs"]] == ["preds", "refs", "readings"]
    one = exported(invoke, example_run, tmp_path / "one", "--reader", "elm")
    assert one.keys() == {"elm"}
    for args in (("rates", made.path), ("audit", made.path, "ex-004"), ("rescore", made.path)):
        assert invoke(*args).exit_code == 0
    assert Run(made.path).signature == made.signature


def test_inferred_classes_stay_marked(invoke: Invoke, tmp_path: Path) -> None:
    refs = {"s1": "Heart size is normal. No effusion.", "s2": "Large left effusion."}
    for name in ("refs", "preds"):
        (tmp_path / f"{name}.json").write_text(json.dumps(refs))
    done = invoke("green", "preds.json", "refs.json", "--section", "report", "--out", "run")
    assert done.exit_code == 0, done.stderr
    judged = Run(tmp_path / "run")
    for record in judged.records():
        assert record["class_inferred"]
        kept.append(judged.path, new_reading("ash", record, [MATCHED], done=True))
    made = exported(invoke, judged.path, tmp_path / "readers")["ash"]
    assert made.summary()["n_class_inferred"] == 2
    assert made.manifest["class_source"] == judged.manifest["class_source"]


def test_a_run_of_drawn_studies_says_how_they_were_drawn(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    order = queue(invoke, example_run, 9)
    for study_id in order[:5]:
        read("ash", study_id, MATCHED)
    read("elm", order[0], MATCHED)
    read("elm", order[3], MATCHED)
    read("elm", order[1], MATCHED, done=False)
    runs = exported(invoke, example_run, tmp_path / "readers")
    reading = runs["ash"].reading
    assert reading is not None
    classes = [runs["ash"].record(study_id)["study_class"] for study_id in order[:5]]
    assert reading["sample"] == {
        "seed": 1,
        "by": ["study_class"],
        "strata": [
            {
                "key": {"study_class": name},
                "n_studies": n_studies,
                "n_drawn": classes.count(name),
            }
            for name, n_studies in (("abnormal", 10), ("normal", 5))
        ],
    }
    # Who passes studies over may pass over the hard ones.
    reading = runs["elm"].reading
    assert reading is not None
    assert "sample" not in reading
    (note,) = runs["elm"].summary()["notes"]
    assert note.startswith("no random sample: ")
    assert "passed over and not read" in note
    # Drawing more changes nothing for those who have not read more.
    queue(invoke, example_run, 14)
    assert exported(invoke, example_run, tmp_path / "readers").keys() == runs.keys()


def test_the_same_readings_of_another_sample_are_another_run(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    read("ash", "ex-006", MATCHED)
    exported(invoke, example_run, tmp_path / "readers")
    assert queue(invoke, example_run, 4)[0] == "ex-006"
    done = invoke("readings", example_run, "--out", tmp_path / "readers")
    assert (done.exit_code, "holds another run" in done.stderr) == (2, True)


def test_studies_that_were_not_drawn_are_left_out_unless_wanted(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    order = queue(invoke, example_run, 4)
    other = next(
        one for one in ("ex-001", "ex-002", "ex-003", "ex-004", "ex-005") if one not in order
    )
    read("ash", other, WRONG, MATCHED)
    done = invoke("readings", example_run, "--out", tmp_path / "none")
    assert done.exit_code == 2
    assert "is finished, and of a study that was drawn; --all takes those of others" in done.stderr
    assert not (tmp_path / "none").exists()
    read("ash", order[0], MATCHED)
    done = invoke("readings", example_run, "--out", tmp_path / "drawn")
    assert "ash: 1 reading is of a study not drawn, and left out; --all takes them" in done.stderr
    drawn = Run(tmp_path / "drawn" / "reader-ash")
    assert [*measures(drawn)] == [order[0]]
    assert drawn.reading is not None
    assert "sample" in drawn.reading
    whole = exported(invoke, example_run, tmp_path / "all", "--all")["ash"]
    assert {*measures(whole)} == {order[0], other}
    assert whole.reading is not None
    assert "sample" not in whole.reading
    assert whole.summary()["notes"] == [f"no random sample: 1 study was not drawn ({other})"]


def test_green_is_undefined_where_matched_findings_were_not_marked(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    """ "Nothing wrong" alone must not become a score of 0, which nothing matched has."""
    read("ash", "ex-001")
    read("ash", "ex-004", WRONG)
    read("elm", "ex-001")
    read("elm", "ex-004", WRONG, MATCHED)
    read("fir", "ex-004", WRONG)  # errors, and nothing that matches
    read("fir", "ex-001", MATCHED)
    runs = exported(invoke, example_run, tmp_path / "readers")
    for name, why in (("ash", "no matched findings"), ("elm", "no matched findings in 1 of 2")):
        values = measures(runs[name])
        assert [values[study]["green"] for study in ("ex-001", "ex-004")] == [None, None]
        assert [values[study]["n_significant"] for study in ("ex-001", "ex-004")] == [0, 1]
        assert any(f"the reader marked {why}" in note for note in runs[name].summary()["notes"])
        assert invoke("rates", runs[name].path).exit_code == 0
    assert [one["green"] for one in measures(runs["fir"]).values()] == [1.0, 0.0]


def test_corrected_lines_make_the_corrected_report(invoke: Invoke, tmp_path: Path) -> None:
    run = tmp_path / "fine"
    done = invoke("fineradscore", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", run)
    assert done.exit_code == 0, done.stderr
    record = Run(run).record("ex-003")
    urgent = {"category": ("a",), "severity": ("severity3",)}
    right = MarkedItem("error", urgent, edit=Edit("delete", 1, ""))
    kept.append(run, new_reading("ash", record, [right], done=True))
    kept.append(run, new_reading("elm", record, [right, MarkedItem("error", urgent)], done=True))
    runs = exported(invoke, run, tmp_path / "readers")
    ash, elm = (runs[name].record("ex-003") for name in ("ash", "elm"))
    assert ash["corrected"] == "Heart size within normal limits. No pneumothorax."
    assert ash["measures"]["closeness_corrected"] > ash["measures"]["closeness_candidate"]
    assert elm["corrected"] is elm["measures"]["closeness_corrected"] is None
    assert elm["measures"]["fineradscore_sum"] == 6
    assert totals(runs["ash"])["severity3_a"] == 1


def test_what_cannot_be_made_a_run(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    out = tmp_path / "readers"

    def refused(words: str, *options: object) -> None:
        done = invoke("readings", example_run, "--out", out, *options)
        assert done.exit_code == 2
        assert words in done.stderr
        assert not out.exists()

    refused("nobody has read studies of")
    read("ash", "ex-001", WRONG, done=False)
    refused("no reading of")
    refused("no readings of 'elm'; there are those of ash", "--reader", "elm")
    read("ash", "ex-001", MATCHED)
    lines = (example_run / kept.FILE).read_bytes()
    record = Run(example_run).record("ex-002")
    for reading, words in (
        (new_reading("ash", record | {"study_id": "ex-99"}, done=True), "run has no such study"),
        (
            new_reading("ash", record | {"candidate": "Clear."}, done=True),
            "other reports were read",
        ),
        (new_reading("ash", record, [MarkedItem("fact")], done=True), "GREEN has no 'fact'"),
    ):
        kept.append(example_run, reading)
        refused(words)
        (example_run / kept.FILE).write_bytes(lines)
    exported(invoke, example_run, out)
    read("ash", "ex-002", MATCHED)
    done = invoke("readings", example_run, "--out", out)
    assert (done.exit_code, "holds another run" in done.stderr) == (2, True)


def test_own_categories_of_an_imported_run_can_be_read(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("import", "tidy", EXAMPLES / "readers/readings.csv", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.stderr
    run = Run(tmp_path / "r" / "reader-fern")
    worded = MarkedItem("error", {"category": ("poor_wording",), "significance": ("significant",)})
    kept.append(run.path, new_reading("ash", run.record("ex-001"), [worded, MATCHED], done=True))
    made = exported(invoke, run.path, tmp_path / "again")["ash"]
    assert totals(made)["significant_poor_wording"] == 1


def test_readings_stand_beside_a_run_through_whatever_is_done_to_it(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    order = queue(invoke, example_run, 6)
    for study_id in order:
        read("ash", study_id, WRONG, MATCHED)
    before = exported(invoke, example_run, tmp_path / "before")["ash"]
    for args in (("rescore", example_run), ("runs", tmp_path), ("errors", example_run)):
        assert invoke(*args).exit_code == 0
    copy = tmp_path / "copy"
    shutil.copytree(example_run, copy)
    for run, out in ((example_run, "after"), (copy, "of-copy")):
        after = exported(invoke, run, tmp_path / out)["ash"]
        assert after.reading == before.reading
        assert after.signature == before.signature
    again = invoke("green", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", example_run)
    assert again.exit_code == 0, again.stderr
    assert len(kept.read(example_run)) == 6


def test_the_examples_readings_are_of_the_examples(
    invoke: Invoke, example_run: Path, tmp_path: Path
) -> None:
    queue(invoke, example_run, 10)
    shutil.copy(EXAMPLES / "readers" / "readings.jsonl", example_run)
    runs = exported(invoke, example_run, tmp_path / "readers")
    assert {name: run.summary()["n_scored"] for name, run in runs.items()} == {"ash": 10, "elm": 7}
    assert all(run.reading and "sample" in run.reading for run in runs.values())
