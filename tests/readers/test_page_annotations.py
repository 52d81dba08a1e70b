"""Readings made on the page, as runs of their readers: `judge import readings`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from readersfiles import by_reader, measures, totals
from support import EXAMPLES, Invoke

from judge.readers import annotation_store as store
from judge.readers.annotation_store import MarkedItem, new_reading
from judge.readers.sample import kept_sample
from judge.run_files.entries import ReadingEntry
from judge.running.folder import RunFolder
from judge.types import Edit

WRONG = MarkedItem(
    "error", {"category": ("a",), "significance": ("significant",)}, "effusion"
)
SLIGHT = MarkedItem(
    "error", {"category": ("b",), "significance": ("insignificant",)}, "line"
)
MATCHED = MarkedItem("matched", {}, "heart")
Read = Callable[..., None]


@pytest.fixture
def read(example_run: Path) -> Read:
    """Read a study of the example run: `read("ash", "ex-001", WRONG, done=False)`."""
    records = {
        record["study_id"]: record for record in RunFolder.open(example_run).records()
    }

    def call(reader: str, study_id: str, *items: MarkedItem, done: bool = True) -> None:
        store.append(
            example_run, new_reading(reader, records[study_id], items, done=done)
        )

    return call


def exported(
    invoke: Invoke, run: Path, out: Path, *options: object
) -> dict[str, RunFolder]:
    done = invoke("import", "readings", run, "--out", out, *options)
    assert done.exit_code == 0, done.stderr
    return by_reader(out)


def queue(invoke: Invoke, run: Path, n: int) -> Sequence[str]:
    assert invoke("sample", run, "-n", n).exit_code == 0
    sample = kept_sample(RunFolder.open(run))
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
    runs = exported(invoke, example_run, tmp_path / "readers")
    assert runs.keys() == {"ash", "elm"}
    found = measures(runs["ash"])
    assert list(found) == ["ex-002", "ex-004"]  # in the order of the run
    assert (found["ex-004"]["green"], found["ex-004"]["n_insignificant"]) == (0.5, 1)
    assert list(measures(runs["elm"])) == ["ex-001"]
    judged, made = RunFolder.open(example_run), runs["ash"]
    for name in ("study_class", "class_inferred", "fields", "reference", "candidate"):
        assert made.record("ex-004")[name] == judged.record("ex-004")[name]
    for name in ("section", "model", "class_source", "fields"):
        assert getattr(made.manifest, name) == getattr(judged.manifest, name)
    assert made.reading == ReadingEntry(layout="readings", lacks={}, own=[])
    assert exported(
        invoke, example_run, tmp_path / "one", "--reader", "elm"
    ).keys() == {"elm"}
    signature = made.signature
    for args in (
        ("rates", made.path),
        ("audit", made.path, "ex-004"),
        ("rescore", made.path),
    ):
        assert invoke(*args).exit_code == 0
    assert RunFolder.open(made.path).signature == signature


def test_a_run_of_drawn_studies_says_how_they_were_drawn(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    order = queue(invoke, example_run, 9)
    for study_id in order[:5]:
        read("ash", study_id, MATCHED)
    # Who passes studies over may pass over the hard ones.
    read("elm", order[0], MATCHED)
    read("elm", order[3], MATCHED)
    runs = exported(invoke, example_run, tmp_path / "readers")
    classes = [runs["ash"].record(study_id)["study_class"] for study_id in order[:5]]
    assert runs["ash"].reading.sample.model_dump() == {
        "seed": 1,
        "by": ["study_class"],
        "strata": [
            {
                "key": {"study_class": name},
                "n_studies": n,
                "n_drawn": classes.count(name),
            }
            for name, n in (("abnormal", 10), ("normal", 5))
        ],
    }
    assert runs["elm"].reading.sample is None
    assert any("no random sample" in note for note in runs["elm"].summary().notes)
    # Drawing more changes nothing for those who have not read more.
    queue(invoke, example_run, 14)
    after = exported(invoke, example_run, tmp_path / "after")["ash"]
    assert after.signature == runs["ash"].signature
    done = invoke("import", "readings", example_run, "--out", tmp_path / "readers")
    assert done.exit_code == 2
    assert str(tmp_path / "readers") in done.stderr


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
    for name in ("ash", "elm"):
        values = measures(runs[name])
        assert [values[study]["green"] for study in ("ex-001", "ex-004")] == [
            None,
            None,
        ]
        assert [values[study]["n_significant"] for study in ("ex-001", "ex-004")] == [
            0,
            1,
        ]
        assert any("no matched findings" in note for note in runs[name].summary().notes)
        assert invoke("rates", runs[name].path).exit_code == 0
    assert [one["green"] for one in measures(runs["fir"]).values()] == [1.0, 0.0]


def test_a_study_that_a_reader_cannot_judge_gets_no_score(
    invoke: Invoke, example_run: Path, tmp_path: Path
) -> None:
    order = queue(invoke, example_run, 9)
    records = {
        record["study_id"]: record for record in RunFolder.open(example_run).records()
    }
    for study_id, seconds in zip(order[:5], (12.5, None, 0.0, 3.0, 4.0), strict=True):
        marks, why = (
            ([], "image needed") if study_id == order[1] else ([WRONG, MATCHED], "")
        )
        reading = new_reading(
            "ash",
            records[study_id],
            marks,
            done=True,
            seconds=seconds,
            cannot_judge=why,
        )
        store.append(example_run, reading)
    run = exported(invoke, example_run, tmp_path / "readers")["ash"]
    unjudged = run.record(order[1])
    assert unjudged["outcome"] == "unparsed"
    assert "image needed" in unjudged["detail"]
    assert unjudged["measures"] is None
    summary = run.summary()
    assert (summary.n_studies, summary.n_scored, summary.n_unparsed) == (
        5,
        4,
        1,
    )
    assert any("could not judge 1 study" in note for note in summary.notes)
    # It was drawn and read: the rest is a random sample only together with it.
    assert sum(stratum.n_drawn for stratum in run.reading.sample.strata) == 5
    assert run.record(order[0])["fields"]["reading_seconds"] == 12.5
    assert run.record(order[2])["fields"]["reading_seconds"] == 0
    assert run.record(order[1])["fields"]["reading_seconds"] is None
    assert invoke("validate", example_run, "--readers", run.path).exit_code == 0
    assert "5 by ash, 1 not judged" in invoke("sample", example_run).stdout
    counts = json.loads(invoke("sample", example_run, "--format", "json").stdout)
    assert (counts["read"], counts["not_judged"]) == ({"ash": 5}, {"ash": 1})


def test_corrected_lines_make_the_corrected_report(
    invoke: Invoke, tmp_path: Path
) -> None:
    run = tmp_path / "fine"
    done = invoke(
        "fineradscore", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", run
    )
    assert done.exit_code == 0, done.stderr
    record = RunFolder.open(run).record("ex-003")
    urgent = {"category": ("a",), "severity": ("severity3",)}
    right = MarkedItem("error", urgent, edit=Edit("delete", 1, ""))
    store.append(run, new_reading("ash", record, [right], done=True))
    store.append(
        run, new_reading("elm", record, [right, MarkedItem("error", urgent)], done=True)
    )
    runs = exported(invoke, run, tmp_path / "readers")
    ash, elm = (runs[name].record("ex-003") for name in ("ash", "elm"))
    assert ash["corrected"] == "Heart size within normal limits. No pneumothorax."
    assert (
        ash["measures"]["closeness_corrected"] > ash["measures"]["closeness_candidate"]
    )
    assert elm["corrected"] is elm["measures"]["closeness_corrected"] is None
    assert totals(runs["ash"])["severity3_a"] == 1


def test_the_examples_readings_are_of_the_examples(
    invoke: Invoke, example_run: Path, tmp_path: Path
) -> None:
    queue(invoke, example_run, 10)
    shutil.copy(EXAMPLES / "readers" / "readings.jsonl", example_run)
    runs = exported(invoke, example_run, tmp_path / "readers")
    assert {name: run.summary().n_scored for name, run in runs.items()} == {
        "ash": 10,
        "elm": 7,
    }
    assert all(run.reading.sample for run in runs.values())
    again = invoke(
        "green", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", example_run
    )
    assert again.exit_code == 0, again.stderr
    assert (
        len({one.reader for one in store.read(example_run)}) == 2
    )  # they stay with the run


def test_readings_of_one_section_say_nothing_of_another_of_the_same_files(
    invoke: Invoke, example_run: Path, read: Read, tmp_path: Path
) -> None:
    read("ash", "ex-001", WRONG, MATCHED)
    ash = exported(invoke, example_run, tmp_path / "readers")["ash"].path
    files = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")
    assert invoke("validate", example_run, "--readers", ash).exit_code == 0
    other = (
        "green",
        *files,
        "--section",
        "impression",
        "--allow-missing",
        "--min-coverage",
        0,
    )
    assert invoke(*other, "--out", tmp_path / "other").exit_code == 0
    done = invoke("validate", tmp_path / "other", "--readers", ash)
    assert done.exit_code == 2
    assert "--section" in done.stderr
