"""The reports of a run on disk, judged again."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import EXAMPLES, Invoke

from judge.running.folder import RunFolder


def test_another_judge_has_the_same_studies(
    invoke: Invoke, judged_examples: Path
) -> None:
    run = judged_examples
    assert invoke("fineradscore", run, "--out", "again").exit_code == 0
    files = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
    assert invoke("fineradscore", *files, "--out", "files").exit_code == 0
    one, other = RunFolder.open("again"), RunFolder.open("files")
    assert one.signature == other.signature  # texts, section and classes are the same
    assert one.manifest.model == other.manifest.model == "preds"
    assert one.manifest.fields == other.manifest.fields
    assert [r["measures"] for r in one.records()] == [
        r["measures"] for r in other.records()
    ]
    (file,) = one.manifest.inputs
    assert (file.path, file.role) == (str(run), "both")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--section", "impression"), "section findings"),
        (("--column", "id=accession"), "--column out"),
    ],
)
def test_what_a_run_cannot_give_is_refused(
    invoke: Invoke, judged_examples: Path, options: tuple[str, ...], named: str
) -> None:
    done = invoke("green", judged_examples, *options)
    assert done.exit_code == 2
    assert named in done.stderr


def test_a_report_that_a_reader_s_files_lack_is_not_judged_as_empty(
    invoke: Invoke,
) -> None:
    Path("readings.csv").write_text(
        "study_id,reader,significant,count,reference,candidate\n"
        "q1,ann,,0,Lungs are clear.,Lungs are clear.\nq2,ann,,0,,Lungs are clear.\n"
        "q3,ann,,0,Lungs are clear.,\n"
    )
    assert (
        invoke(
            "readers", "import", "tidy", "readings.csv", "--out", "readers"
        ).exit_code
        == 0
    )
    reader = Path("readers/reader-ann")
    done = invoke("green", reader)
    assert done.exit_code == 2
    assert "no reference section: 1 (q2)" in done.stderr
    assert "no candidate text: 1 (q3)" in done.stderr
    words = ("green", reader, "--allow-missing", "--out", "judged")
    assert invoke(*words).exit_code == 3  # more than a tenth left out
    assert invoke(*words, "--min-coverage", 0.3).exit_code == 0
    judged = RunFolder.open("judged")
    assert [one["study_id"] for one in judged.records()] == ["q1"]
    assert judged.manifest.omitted == {
        "no reference section": 1,
        "no candidate text": 1,
    }
