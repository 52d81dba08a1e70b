"""Runs that cannot be read: what is wrong, in which file, and what to do, in one message."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import EXAMPLES, Invoke

from judge.running.folder import Run
from judge.types import JudgeError

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
NOBODY = 65534
COMMANDS = {
    "compare": ("compare", "--html", "page.html"),
    "audit": ("audit", "--html", "page.html"),
    "study": ("audit", "ex-001"),
    "bare": ("compare",),
    "rates": ("rates",),
    "rescore": ("rescore",),
    "worst": ("audit", "--worst", "3"),
}


def says(invoke: Invoke, command: str, run: object) -> str:
    """What a command says of a run that it cannot read."""
    name, *rest = COMMANDS[command]
    done = invoke(name, run, *rest)
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    if "page.html" in rest:
        assert not Path("page.html").exists()
    return " ".join(done.stderr.split())


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text("utf-8")))), "utf-8")


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda data: {key: value for key, value in data.items() if key != name}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("data", [[], None, 1, "text", {}])
def test_a_manifest_that_is_none(
    invoke: Invoke, example_run: Path, command: str, data: object
) -> None:
    edit(example_run / "manifest.json", lambda _: data)
    text = says(invoke, command, example_run)
    assert "manifest.json is damaged" in text
    assert "judge its studies again" in text


@pytest.mark.parametrize("name", ["signature", "rubric", "judge", "section", "fields", "inputs"])
def test_a_manifest_that_lacks_something(invoke: Invoke, example_run: Path, name: str) -> None:
    whole = (example_run / "manifest.json").read_bytes()
    changes = [lambda data: {**data, name: None}, lambda data: {**data, name: 7}]
    if name != "inputs":  # a run may be of no files
        changes.append(without(name))
    for change in changes:
        (example_run / "manifest.json").write_bytes(whole)
        edit(example_run / "manifest.json", change)
        text = says(invoke, "compare", example_run)
        assert "manifest.json is damaged" in text
        assert repr(name) in text


def test_parts_of_a_manifest_are_looked_at(example_run: Path) -> None:
    whole = (example_run / "manifest.json").read_bytes()
    for odd in (
        {"judge": {"version": None}},
        {"fields": [1]},
        {"inputs": [{"role": "preds"}]},
        {"arguments": []},
    ):
        (example_run / "manifest.json").write_bytes(whole)
        edit(example_run / "manifest.json", lambda data, odd=odd: {**data, **odd})
        with pytest.raises(JudgeError, match=r"manifest\.json is damaged"):
            Run(example_run)


def test_a_run_without_inputs_is_read(invoke: Invoke, example_run: Path) -> None:
    edit(example_run / "manifest.json", without("inputs"))
    done = invoke("compare", example_run, "--format", "json")
    assert json.loads(done.stdout)["models"] == ["preds"]
    edit(example_run / "manifest.json", without("model"))
    done = invoke("compare", example_run, "--format", "json")
    assert json.loads(done.stdout)["models"] == ["example-run"]


@pytest.mark.parametrize("version", [3, 0, "1", None])
def test_a_format_that_is_not_ours(invoke: Invoke, example_run: Path, version: object) -> None:
    edit(example_run / "manifest.json", lambda _: {"format": version})
    text = says(invoke, "compare", example_run)
    assert f"format {version!r}" in text
    assert "use the version that wrote it" in text


@pytest.mark.parametrize("command", ["compare", "audit", "rates", "rescore"])
@pytest.mark.parametrize(
    "change",
    [
        *(lambda _: None, lambda _: []),
        *map(without, ("n_scored", "judge", "rates", "statistics", "totals")),
        lambda data: {**data, "statistics": {"green": 0.5}},
        lambda data: {**data, "statistics": {"green": {"value": "high"}}},
        lambda data: {**data, "totals": {"n_significant": 3}},
        lambda data: {**data, "rates": [without("study_class")(row) for row in data["rates"]]},
        lambda data: {**data, "rates": [without("statistics")(row) for row in data["rates"]]},
        *(lambda data, n=n: {**data, "omitted": {"only in REFS": n}} for n in ("2", None, [1])),
    ],
)
def test_a_damaged_summary(invoke: Invoke, example_run: Path, command: str, change) -> None:
    edit(example_run / "summary.json", change)
    assert "summary.json is damaged" in says(invoke, command, example_run)


@pytest.mark.parametrize("part", ["statistics", "totals"])
def test_a_summary_that_lacks_a_number_is_made_anew(example_run: Path, part: str) -> None:
    """As that of a rubric that has got another statistic since."""
    whole = Run(example_run).summary()
    name = next(iter(whole[part]))
    edit(example_run / "summary.json", lambda data: {**data, part: without(name)(data[part])})
    assert Run(example_run).summary() == whole


def nested(record: dict[str, Any], *path: str | int, value: object = None) -> dict[str, Any]:
    at: Any = record
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return record


LINES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "null": lambda _: None,
    "list": lambda _: [1],
    "no candidate": without("candidate"),
    "no text": lambda record: nested(record, "reference"),
    "no annotation": lambda record: nested(record, "annotation"),
    "odd outcome": lambda record: nested(record, "outcome", value="done"),
    "odd items": lambda record: nested(record, "annotation", "items", value=[None]),
    "no item text": lambda record: nested(record, "annotation", "items", 0, "text"),
    "odd label": lambda r: nested(r, "annotation", "items", 0, "labels", "category", value="a"),
    "odd side": lambda record: nested(record, "annotation", "items", 0, "side", value="middle"),
    "link to nothing": lambda record: nested(record, "annotation", "items", 0, "links", value=[99]),
    "no measures": lambda record: nested(record, "measures"),
    "odd measure": lambda record: nested(record, "measures", "green", value="high"),
    "endless measure": lambda record: nested(record, "measures", "green", value=float("inf")),
    "no answer": lambda record: nested(record, "answer", value="text"),
    "no key": lambda record: nested(record, "cache_key", value=5),
    "no earlier answers": without("earlier"),
    "odd earlier answers": lambda record: nested(record, "earlier", value=[None]),
}


@pytest.mark.parametrize("command", ["compare", "audit", "rescore"])
@pytest.mark.parametrize("change", LINES.values(), ids=LINES)
def test_a_damaged_record(invoke: Invoke, example_run: Path, command: str, change) -> None:
    path = example_run / "annotations.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    at = next(n for n, r in enumerate(records) if r["measures"]["n_significant"])
    records[at] = change(records[at])
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    before = {file.name: file.read_bytes() for file in example_run.iterdir()}
    text = says(invoke, command, example_run)
    assert f"annotations.jsonl is damaged: in line {at + 1}" in text
    assert {file.name: file.read_bytes() for file in example_run.iterdir()} == before


@pytest.mark.parametrize(
    "change",
    [
        lambda r: nested(r, "annotation", "items", 0, "labels", "significance", value=["x"]),
        lambda r: nested(r, "annotation", "items", 0, "labels", "significance", value=[]),
        lambda r: nested(r, "annotation", "items", 0, "labels", "category", value=["z"]),
        lambda r: nested(r, "annotation", "items", 0, "labels", "laterality", value=["left"]),
        lambda r: nested(r, "annotation", "items", 0, "kind", value="fact"),
        lambda r: nested(r, "measures", value={}),
        lambda r: nested(r, "measures", "green"),
        lambda r: nested(r, "measures", "green", value=1.5),
    ],
)
def test_a_record_of_an_older_rubric_is_brought_up_to_date(
    invoke: Invoke, example_run: Path, change
) -> None:
    path = example_run / "annotations.jsonl"
    whole = path.read_bytes()
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    at = next(n for n, r in enumerate(records) if r["measures"]["n_significant"])
    records[at] = change(records[at])
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    for command in ("compare", "audit"):
        text = says(invoke, command, example_run)
        assert f"is not of today's GREEN: in line {at + 1}" in text
        assert "judge rescore brings it up to date" in text
    assert invoke("rescore", example_run).exit_code == 0
    assert path.read_bytes() == whole


@pytest.mark.parametrize("command", ["compare", "audit", "rescore"])
def test_annotations_that_were_cut_off(invoke: Invoke, example_run: Path, command: str) -> None:
    path = example_run / "annotations.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert "in line 15" in says(invoke, command, example_run)
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:9]))
    assert "holds 9 studies, summary.json 15" in says(invoke, command, example_run)
    assert len(path.read_bytes().splitlines()) == 9


def test_one_study_that_is_damaged(invoke: Invoke, example_run: Path) -> None:
    path = example_run / "annotations.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0][:100] + b"\n" + b"".join(lines[1:]))
    assert "in line 1, " in says(invoke, "study", example_run)
    assert invoke("audit", example_run, "ex-002").exit_code == 0


def unscored(table: pd.DataFrame) -> pd.DataFrame:
    """The table with one study that failed, but kept its numbers."""
    return table.assign(outcome=["failed", *table["outcome"][1:]])


@pytest.mark.parametrize("command", ["compare", "worst", "rates", "audit"])
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda table: pd.concat([table, table[:3]]), "another n_studies than its summary"),
        (lambda table: table[:1], "than its summary"),
        (unscored, "another n_scored than its summary"),
        (lambda table: table.assign(outcome="done"), "has the outcome 'done'"),
        (lambda table: pd.concat([table[:-1], table[:1]]), "repeats a study"),
        (lambda table: table.assign(green=None), "green"),
        (lambda table: table.assign(green=float("inf")), "lacks a number in green"),
        (lambda table: table.assign(n_significant=-1), "lacks a number in n_significant"),
        (lambda table: table.assign(green="high"), "holds no numbers in green"),
        (lambda table: table.assign(study_id=range(15)), "holds no text in study_id"),
        (lambda table: table.assign(class_inferred="no"), "no truth values in class_inferred"),
        (lambda table: table.drop(columns=["green", "outcome"]), "lacks outcome, green"),
        (lambda table: table[["study_id"]], "lacks"),
    ],
)
def test_a_damaged_table_is_not_taken_at_its_word(
    invoke: Invoke, example_run: Path, command: str, damage, said: str
) -> None:
    path = example_run / "studies.parquet"
    whole = path.read_bytes()
    damage(pd.read_parquet(path)).to_parquet(path, index=False)
    text = says(invoke, command, example_run)
    assert "studies.parquet" in text
    assert said in text
    assert "judge rescore writes it anew" in text
    assert invoke("rescore", example_run).exit_code == 0
    assert pd.read_parquet(path).equals(pd.read_parquet(io.BytesIO(whole)))


def test_a_study_that_was_not_scored_has_no_number(invoke: Invoke, example_run: Path) -> None:
    path = example_run / "studies.parquet"
    unscored(pd.read_parquet(path)).to_parquet(path, index=False)
    change = {"n_scored": 14, "n_failed": 1}
    edit(example_run / "summary.json", lambda summary: {**summary, **change})
    assert "holds a number in green of a study that was not scored" in says(
        invoke, "rates", example_run
    )


@pytest.mark.parametrize("command", ["compare", "worst", "rates", "audit"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"study_id\n"])
def test_a_table_that_is_no_parquet(
    invoke: Invoke, example_run: Path, command: str, content: bytes
) -> None:
    (example_run / "studies.parquet").write_bytes(content)
    assert "cannot read" in says(invoke, command, example_run)


@pytest.mark.parametrize("command", ["compare", "worst", "rates", "audit"])
def test_a_table_that_is_not_there(invoke: Invoke, example_run: Path, command: str) -> None:
    (example_run / "studies.parquet").unlink()
    text = says(invoke, command, example_run)
    assert "studies.parquet: No such file or directory; judge rescore writes it anew" in text


def test_a_byte_that_was_turned_never_gives_another_number(example_run: Path) -> None:
    path = example_run / "studies.parquet"
    whole, table = path.read_bytes(), Run(example_run).table()
    refused = 0
    for at in range(0, len(whole), 41):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        try:
            found = Run(example_run).table()
        except JudgeError:
            refused += 1
        else:
            pd.testing.assert_frame_equal(found, table, check_dtype=False)
    assert refused > 100


# Folders that cannot be looked into


@pytest.fixture
def locked(invoke: Invoke, example_run: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder without rights that holds a run, for somebody who is not its owner."""
    folder = tmp_path / "locked"
    folder.mkdir()
    example_run.rename(folder / "run")
    # Commands import as they go: once before, where everything may be read.
    for command in COMMANDS:
        says(invoke, command, "missing")
    invoke("compare", folder / "run", "--figures", tmp_path / "figures")
    invoke("green", *PAIR, "--out", folder / "new")
    folder.chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        version("radiology-judge")
        yield folder
    except PackageNotFoundError:
        pytest.skip("the package is installed where only root can read it")
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)


@pytest.mark.parametrize("command", ["bare", "study", "rates", "rescore"])
def test_a_run_that_may_not_be_read(invoke: Invoke, locked: Path, command: str) -> None:
    for run in (locked / "run", locked):
        assert f"cannot read the run {run}: Permission denied" in says(invoke, command, run)


def test_a_folder_that_may_not_be_written_to(invoke: Invoke, locked: Path) -> None:
    for out in (locked / "new", locked):
        done = invoke("green", *PAIR, "--out", out)
        assert done.exit_code == 2
        assert "cannot write to" in done.stderr
        assert "Permission denied" in done.stderr


def test_figures_that_may_not_be_written(locked: Path) -> None:
    from judge.plots.output import write_all

    for folder in (locked / "figures", locked):
        with pytest.raises(JudgeError, match=r"cannot write figures to .*Permission denied"):
            write_all(folder, {"a.page.svg": b""})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_too_long(invoke: Invoke, command: str) -> None:
    assert "File name too long" in says(invoke, command, "x" * 300)
    if COMMANDS[command][0] == "compare":
        assert "File name too long" in says(invoke, command, "name=" + "x" * 300)
