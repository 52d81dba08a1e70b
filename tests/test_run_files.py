"""A run's files: written by one process at a time, for their owner alone, and damaged ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pandas as pd
import pytest
from answered_runs import answered, green, records_of, rewrite
from made_manifests import as_last_format
from support import EXAMPLES, Invoke

from judge.jsonio import to_line
from judge.readers.annotation_store import append_entry
from judge.run_files.manifest import FORMAT
from judge.run_files.study_record import (
    AnnotationRecord,
    CompletionRecord,
    EditRecord,
    ItemRecord,
    UsageRecord,
)
from judge.running.folder import (
    ANNOTATIONS,
    MANIFEST,
    SUMMARY,
    TABLE_PARQUET,
    WRITING,
    RunFolder,
)
from judge.study.reviews import Event
from judge.types import Annotation, Completion, Edit, Item, JudgeError, Usage

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
HOLD = (
    "import sys, time; from pathlib import Path; from judge.files import staging_folder\n"
    "with staging_folder(Path(sys.argv[1])) as place:\n"
    "    (place / 'mine').write_text('mine'); print(place, flush=True); sys.stdin.read()\n"
)


@contextmanager
def holder(run: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that holds `run`, and the folder that it writes to."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_the_second_to_write_a_run_is_refused_and_takes_nothing_away(
    invoke: Invoke, example_run: Path
) -> None:
    before = (example_run / MANIFEST).read_bytes()
    with holder(example_run) as (_process, place):
        for line in (("green", *PAIR, "--out", example_run), ("rescore", example_run)):
            done = invoke(*line)
            assert done.exit_code == 2
            assert f"{example_run} is being written" in done.stderr
        assert (place / "mine").read_text() == "mine"
        assert (example_run / MANIFEST).read_bytes() == before
    assert not (example_run / WRITING).exists()
    assert invoke("rescore", example_run).exit_code == 0


def test_what_a_killed_process_left_is_removed(invoke: Invoke, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with holder(run) as (process, place):
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (place / "mine").exists()
    assert invoke("green", *PAIR, "--out", run).exit_code == 0
    assert not (run / WRITING).exists()


def test_a_run_is_its_owners_alone(invoke: Invoke, example_run: Path) -> None:
    def rights() -> set[int]:
        return {stat.S_IMODE(path.stat().st_mode) for path in example_run.iterdir()}

    assert rights() == {0o600}
    # What its owner has opened to a group stays so.
    for path in example_run.iterdir():
        path.chmod(0o640)
    assert invoke("rescore", example_run).exit_code == 0
    assert rights() == {0o640}


def refused(invoke: Invoke, *words: object, names: tuple[object, ...]) -> None:
    """A command ends in one message that names these."""
    done = invoke(*words)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert all(str(name) in done.stderr for name in names), done.stderr


def edited(**changes: object) -> Callable[[bytes], bytes]:
    """Return what changes the JSON object of a file."""
    return lambda raw: json.dumps(json.loads(raw) | changes).encode()


DAMAGED: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "a manifest that is none": (MANIFEST, lambda _: b"[]", MANIFEST),
    "a manifest that names no studies": (
        MANIFEST,
        edited(studies_digest=None),
        "studies_digest",
    ),
    "another format": (MANIFEST, edited(format=1), "format 1"),
    "annotations cut off": (ANNOTATIONS, lambda raw: raw[:-20], "line 15"),
    "annotations of fewer studies": (
        ANNOTATIONS,
        lambda raw: b"".join(raw.splitlines(keepends=True)[:9]),
        ANNOTATIONS,
    ),
}


@pytest.mark.parametrize(("name", "damage", "named"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_run_is_one_message_with_its_file(
    invoke: Invoke,
    example_run: Path,
    name: str,
    damage: Callable[[bytes], bytes],
    named: str,
) -> None:
    path = example_run / name
    path.write_bytes(damage(path.read_bytes()))
    before = {file.name: file.read_bytes() for file in example_run.iterdir()}
    for command in (
        ("audit", example_run, "--html", "page.html"),
        ("rescore", example_run),
    ):
        refused(invoke, *command, names=(example_run, named))
    assert not Path("page.html").exists()
    assert {file.name: file.read_bytes() for file in example_run.iterdir()} == before


def test_a_table_without_a_column_is_made_anew(
    invoke: Invoke, example_run: Path
) -> None:
    path = example_run / TABLE_PARQUET
    whole = pd.read_parquet(path)
    for damaged in (whole.drop(columns=["green"]), None):
        if damaged is None:
            path.write_bytes(b"PAR1")
        else:
            damaged.to_parquet(path, index=False)
        for command in (("rates", example_run), ("audit", example_run, "--worst", "3")):
            refused(invoke, *command, names=(path, "judge rescore"))
        assert invoke("rescore", example_run).exit_code == 0
        assert pd.read_parquet(path).equals(whole)


def test_a_run_of_an_older_rubric_is_brought_up_to_date(
    invoke: Invoke, example_run: Path
) -> None:
    whole = (example_run / ANNOTATIONS).read_bytes()
    path = example_run / MANIFEST
    signature = RunFolder.open(example_run).signature
    path.write_bytes(edited(rubric_version="1")(path.read_bytes()))
    for words in (("audit", example_run, "ex-001"), ("rates", example_run)):
        refused(invoke, *words, names=("green:1", "judge rescore"))
    assert invoke("rescore", example_run).exit_code == 0
    assert (example_run / ANNOTATIONS).read_bytes() == whole
    assert RunFolder.open(example_run).signature == signature


def last_format(path: Path, **changes: object) -> None:
    """Make of a run one of the form before, with changes of its manifest."""
    file = path / MANIFEST
    before = as_last_format(json.loads(file.read_bytes()))
    file.write_bytes(json.dumps(before | changes).encode())
    lines = (path / ANNOTATIONS).read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        del record["checksum"]
        record["outcome"] = _BEFORE.get(record["outcome"], record["outcome"])
    (path / ANNOTATIONS).write_bytes(b"".join(map(to_line, records)))
    table = pd.read_parquet(path / TABLE_PARQUET)
    table["outcome"] = table["outcome"].replace(_BEFORE)
    table.to_parquet(path / TABLE_PARQUET, index=False)


_BEFORE = {"scored": "annotated"}
"""Words of the form before."""


def test_a_run_of_the_form_before_is_read_like_todays(
    invoke: Invoke, example_run: Path
) -> None:
    now = RunFolder.open(example_run)
    printed = invoke("rates", example_run).stdout
    last_format(example_run)
    before = RunFolder.open(example_run)
    assert before.signature == now.signature
    assert b'"annotated"' in next(iter(before.lines()))
    assert set(before.table()["outcome"]) == {"scored"}
    assert {record["outcome"] for record in before.records()} == {"scored"}
    assert before.manifest.judge_parts() == now.manifest.judge_parts()
    assert invoke("rates", example_run).stdout == printed
    assert invoke("cite", example_run).exit_code == 0
    assert invoke("green", example_run, "--out", "again").exit_code == 0
    assert invoke("rescore", example_run).exit_code == 0
    written = json.loads((example_run / MANIFEST).read_bytes())
    assert (written["format"], written["signature"]) == (FORMAT, now.signature)


@pytest.mark.parametrize(
    "signature", [None, "green:3", "green:3|judge:x|section:findings|class:c|studies:1"]
)
def test_an_odd_signature_of_the_form_before_is_one_message(
    example_run: Path, signature: str | None
) -> None:
    last_format(example_run, signature=signature)
    with pytest.raises(JudgeError, match=rf"{MANIFEST}.*'signature'"):
        RunFolder.open(example_run)


@pytest.mark.parametrize(
    "line",
    [
        (
            "crimson:2|package:a@1|package:b@2|judge:m-1|prompt:a@1+0a,b@2+0b"
            '|sampling:stop=["x", "y"],temperature=0|reply:0f,json|reask:1|repeat:20260101'
            '|section:findings|context:age,"a, b"|prior:"none"|modality:ct|class:site'
            "|omitted:3|studies:4+aa|shard:2/3|version:1.0"
        ),
        (
            "crimson:2|judge:m-1|prompt:none|sampling:|section:report|context:none|class:none"
            "|omitted:0|studies:4+aa|references:best|version:1.0"
        ),
        (
            "green:4|judge:m-1|layout:tidy|section:report|class:none|omitted:0|studies:4+aa"
            "|version:1.0"
        ),
    ],
)
def test_a_signature_of_the_form_before_is_made_again_letter_by_letter(
    tmp_path: Path, line: str
) -> None:
    shard = {"index": 2, "count": 3, "n_whole": 4, "places": "0", "notes_of_input": []}
    best = {"of": "reference", "rule": "best", "parts": [{"name": "a"}]}
    reading = {"layout": "tidy", "lacks": {}, "own": []}
    manifest = {
        "format": 3,
        "signature": line,
        "rubric": line.partition(":")[0],
        "judge": {"name": "m", "version": "m-1", "note": None},
        "section": "findings" if "section:findings" in line else "report",
        "class_source": "site" if "class:site" in line else "none",
        "omitted": {"no reference": 3} if "omitted:3" in line else {},
        "fields": [],
        "shard": shard if "shard" in line else None,
        "combined": best if "references" in line else None,
        "reading": reading if "layout" in line else None,
    }
    (tmp_path / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    run = RunFolder.open(tmp_path)
    assert run.signature == line
    if "prior" in line:
        assert run.manifest.shown_context == ("age", "a, b")
        assert run.manifest.shown_prior == "none"


# Files of other types, as a folder from elsewhere may have them

ODD_MANIFESTS: dict[str, object] = {
    "scale": 5,
    "section": None,
    "studies_digest": 5,
    "rubric": ["green"],
    "judge": "lexicon",
    "fields": {"a": 1},
    "inputs": [1],
    "settings": "text",
    "reading": {"layout": 1},
    "combined": {"of": "judge", "rule": "mean", "parts": []},
    "shard": {"index": 0},
    "spent": {"asked": "many"},
    "started": "yesterday",
    "versions": [1],
    "omitted": {"a": -1},
    "recognised": {"references": {"k": 1, "n": 2}},
}
ODD_SUMMARIES: dict[str, object] = {
    "n_studies": "15",
    "statistics": {},
    "rates": [1],
    "totals": None,
    "by": "site",
    "judge": {"name": "x"},
    "omitted": [],
    "reasons": {"a": "b"},
    "notes": "text",
    "n_class_inferred": None,
    "n_warnings": {"a warning": 1},
    "failures": [{"reason": "timeout"}],
    "recognised": {"references": 1},
}


def check_each_command(invoke: Invoke, run: Path, name: str, field: str) -> None:
    """Each command ends without a traceback; those that need the file name it and the field."""
    other = shutil.copytree(run, run.with_name("other"))
    n_told = 0
    for words in (
        ("rates", run),
        ("rates", run, "--by", "site"),
        ("cite", run),
        ("audit", run),
        ("audit", run, "ex-001"),
        ("audit", run, "--html", "page.html"),
        ("errors", run),
        ("rescore", run, "--out", "again"),
        ("merge", run, other, "--out", "merged"),
        ("panel", run, other, "--rule", "mean", "--out", "panelled"),
        ("compare", run, other),
        ("validate", run, "--readers", other),
        ("sample", run, "-n", "2"),
        ("cache", "import", run, "--cache", "imported"),
        ("green", run, "--out", "anew"),
    ):
        done = invoke(*words)
        assert done.exception is None or isinstance(done.exception, SystemExit), (
            words,
            done,
        )
        n_told += name in done.stderr and field in done.stderr
        for made in ("again", "anew", "merged", "panelled"):
            shutil.rmtree(made, ignore_errors=True)
    assert n_told >= 4, (name, field)
    listed = invoke("runs", run)
    assert listed.exit_code == 0, listed.exception


@pytest.mark.parametrize(
    "field", ["scale", "section", "studies_digest", "judge", "reading", "recognised"]
)
def test_an_odd_manifest_is_one_message_in_each_command(
    invoke: Invoke, example_run: Path, field: str
) -> None:
    path = example_run / MANIFEST
    path.write_bytes(edited(**{field: ODD_MANIFESTS[field]})(path.read_bytes()))
    check_each_command(invoke, example_run, MANIFEST, field)


@pytest.mark.parametrize("field", ["statistics", "totals", "rates", "n_warnings"])
def test_an_odd_summary_is_one_message_in_each_command(
    invoke: Invoke, example_run: Path, field: str
) -> None:
    path = example_run / SUMMARY
    path.write_bytes(edited(**{field: ODD_SUMMARIES[field]})(path.read_bytes()))
    check_each_command(invoke, example_run, SUMMARY, field)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [(MANIFEST, *odd) for odd in ODD_MANIFESTS.items()]
    + [(SUMMARY, *odd) for odd in ODD_SUMMARIES.items()],
)
def test_an_odd_value_names_its_file_and_field(
    example_run: Path, name: str, field: str, value: object
) -> None:
    path = example_run / name
    path.write_bytes(edited(**{field: value})(path.read_bytes()))
    with pytest.raises(JudgeError, match=name) as refused:
        RunFolder.open(example_run).summary()
    assert field in str(refused.value)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (Edit, EditRecord),
        (Item, ItemRecord),
        (Annotation, AnnotationRecord),
        (Usage, UsageRecord),
        (Completion, CompletionRecord),
    ],
)
def test_every_field_of_a_record_is_read_back(written: type, read: type) -> None:
    """A field that the type of the record lacks would be lost in silence."""
    assert {field.name for field in fields(written)} == set(get_type_hints(read))


ODD_RECORDS: dict[str, dict[str, object]] = {
    "a text that is a number": {"reference": 5},
    "an outcome that there is not": {"outcome": "good"},
    "an annotation that is a text": {"annotation": "none"},
    "numbers as texts": {"measures": {"green": "1"}},
    "no numbers": {"measures": {}},
    "an answer of another form": {"answer": {"text": 5}},
    "earlier answers as a text": {"earlier": "none"},
    "fields as a list": {"fields": []},
    "a failure with an annotation": {"outcome": "failed"},
    "another study": {"study_id": "ex-002"},
}


@pytest.mark.parametrize("changes", ODD_RECORDS.values(), ids=ODD_RECORDS)
def test_an_odd_record_is_one_message(
    invoke: Invoke, example_run: Path, changes: dict[str, object]
) -> None:
    records = records_of(example_run)
    records[0] |= changes
    rewrite(example_run, records)
    for words in (("audit", example_run, "--html", "p.html"), ("errors", example_run)):
        refused(invoke, *words, names=(ANNOTATIONS, "line 1"))
    done = invoke("rescore", example_run)
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_a_nested_record_with_a_right_checksum_is_one_message(
    invoke: Invoke, example_run: Path
) -> None:
    path = example_run / ANNOTATIONS
    others = path.read_bytes().splitlines(keepends=True)[1:]
    nested: object = []
    for _ in range(900):
        nested = [nested]
    record = records_of(example_run)[0]
    deep = to_line(record | {"fields": {"a": nested}})
    path.write_bytes(b"".join([deep, *others]))
    for words in (("audit", example_run, "ex-001"), ("rescore", example_run)):
        refused(invoke, *words, names=(ANNOTATIONS, "line 1"))


# Lines that are exchanged


def test_a_line_of_another_place_is_found(invoke: Invoke, example_run: Path) -> None:
    whole = records_of(example_run)
    for records in (
        [whole[1], whole[0], *whole[2:]],  # two exchanged
        [whole[0], whole[0], *whole[2:]],  # a neighbour twice
        [*whole, whole[-1]],
        whole[:-1],
    ):
        rewrite(example_run, records)
        for words in (
            ("audit", example_run, "--html", "page.html"),
            ("errors", example_run),
            ("rescore", example_run, "--out", "again"),
        ):
            refused(invoke, *words, names=(ANNOTATIONS,))
    assert not Path("again").exists()


def test_a_line_of_another_run_of_the_same_ids_is_found(
    invoke: Invoke, tmp_path: Path
) -> None:
    answers = {"s1": green(), "s2": green({"a": "1. Nodule."})}
    one = answered(tmp_path / "one", answers)
    other = answered(tmp_path / "other", answers, candidate="Another report.")
    judged_otherwise = answered(
        tmp_path / "third", {**answers, "s2": green()}, judge="test-2"
    )
    whole = records_of(one)
    for foreign in (other, judged_otherwise):
        rewrite(one, [whole[0], records_of(foreign)[1]])
        refused(invoke, "errors", one, names=(ANNOTATIONS,))
    rewrite(one, [whole[0], records_of(other)[1]])
    refused(invoke, "rescore", one, names=(ANNOTATIONS, "signature"))


def test_a_shard_with_a_line_of_another_run_is_not_merged(
    invoke: Invoke, tmp_path: Path
) -> None:
    preds = json.loads(PAIR[0].read_text("utf-8"))
    changed = dict.fromkeys(preds, "Heart size is normal.")
    (tmp_path / "changed.json").write_text(json.dumps(changed), "utf-8")
    for index in (1, 2):
        for name, file in (("own", PAIR[0]), ("foreign", tmp_path / "changed.json")):
            words = (
                "green",
                file,
                PAIR[1],
                "--shard",
                f"{index}/2",
                "--out",
                f"{name}{index}",
            )
            assert invoke(*words).exit_code == 0
    assert invoke("merge", "own1", "own2", "--out", "whole").exit_code == 0
    # The whole shard of another run: its table and its lines go together.
    for name in (ANNOTATIONS, TABLE_PARQUET, SUMMARY):
        shutil.copy(Path("foreign2") / name, Path("own2") / name)
    path = Path("own2") / SUMMARY
    signature = json.loads((Path("own2") / MANIFEST).read_bytes())["signature"]
    path.write_bytes(edited(signature=signature)(path.read_bytes()))
    refused(
        invoke, "merge", "own1", "own2", "--out", "forged", names=("own2", "not those")
    )
    assert not Path("forged").exists()


# Links


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
@pytest.mark.parametrize("name", [MANIFEST, SUMMARY, ANNOTATIONS, TABLE_PARQUET])
def test_what_is_no_plain_file_is_not_read(
    invoke: Invoke, example_run: Path, tmp_path: Path, kind: str, name: str
) -> None:
    path = example_run / name
    path.rename(tmp_path / "elsewhere")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    for words in (
        ("audit", example_run, "--html", "page.html"),
        ("rates", example_run),
    ):
        if name != ANNOTATIONS or words[0] == "audit":
            refused(invoke, *words, names=(name,))


def test_nothing_is_written_through_a_link(example_run: Path, tmp_path: Path) -> None:
    target = tmp_path / "start.sh"
    event = Event("id", "2026", "anna", "ex-001", None, "comment", "rm -r /")
    (example_run / "reviews.jsonl").symlink_to(target)
    with pytest.raises(JudgeError, match=r"reviews\.jsonl: it is a link"):
        append_entry(example_run / "reviews.jsonl", event)
    assert not target.exists()
    target.write_text("mine")
    with pytest.raises(JudgeError, match=r"reviews\.jsonl: it is a link"):
        append_entry(example_run / "reviews.jsonl", event)
    assert target.read_text() == "mine"


def test_a_link_in_the_place_of_the_staging_folder_loses_nothing(
    invoke: Invoke, example_run: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / "papers").mkdir(parents=True)
    (home / "papers" / "thesis").write_text("all")
    (example_run / WRITING).symlink_to(home)
    refused(invoke, "rescore", example_run, names=(WRITING, "link"))
    assert (home / "papers" / "thesis").read_text() == "all"
    (example_run / WRITING).unlink()
    (example_run / WRITING).mkdir()
    (example_run / WRITING / "lock").symlink_to(home / "papers" / "thesis")
    refused(invoke, "rescore", example_run, names=(example_run, "link"))
    assert (home / "papers" / "thesis").read_text() == "all"
