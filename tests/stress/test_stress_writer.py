"""`--writer`: rewordings by a model, asked for and kept as answers are, refused where in doubt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, Fault, FaultServer
from hypothesis import given
from hypothesis import strategies as st
from stresshelp import REFS, REFUSED, REPORT, reworded, said, truth_of
from support import Invoke, write_json

from judge.running.folder import Run
from judge.stress.text import applied
from judge.stress.writing import WRITING, differences
from judge.types import Study, UnparsedError


@pytest.fixture
def writer() -> Iterator[FaultServer]:
    behaviour = Behaviour(key_pattern=REPORT, record=True)
    with FaultServer(behaviour, annotate=reworded, render=said) as running:
        yield running


def words(writer: FaultServer, *more: object) -> tuple[object, ...]:
    given = ("--writer", "writer-x", "--writer-base-url", writer.url, "--cache", "cache")
    return ("--out", "made", *given, *more)


def test_what_a_writer_made_is_one_more_way_to_change_nothing(
    invoke: Invoke, writer: FaultServer, tmp_path: Path
) -> None:
    given = ("stress", REFS, *words(writer, "--changes", "identical,denied"))
    done = invoke(*given)
    assert done.exit_code == 0, done.stderr
    made = tmp_path / "made"
    manifest = json.loads((made / "stress.json").read_text("utf-8"))
    rows = {one["change"]: one for one in manifest["changes"]}
    assert [*rows] == ["identical", "reworded", "denied"]
    assert (rows["reworded"]["group"], rows["reworded"]["expected"]) == ("unchanged", "no error")
    assert rows["reworded"]["does"] == "Reworded by writer-x."
    assert rows["reworded"]["made"] == 15
    assert manifest["writer"]["name"] == manifest["writer"]["version"] == "writer-x"
    assert manifest["writer"]["prompt"].startswith("rewording@1+")
    assert manifest["writer"]["sampling"]["temperature"] == 0
    found = [one for one in truth_of(made) if one["change"] == "reworded"]
    assert len(found) == 15
    for one in found:
        assert one["after"] == reworded(one["before"]).explanation.strip()
        assert (one["k"], one["errors"], one["group"]) == (0, [], "unchanged")
        for word in one["words"]:
            (a, b), (c, d) = word["at"], word["to"]
            assert one["before"][a:b] == word["before"] != word["after"] == one["after"][c:d]
    (path,) = (made / "runs").iterdir()
    parts = [part for part in Run(path).signature.split("|") if part.startswith("writer:")]
    asked = f"{manifest['writer']['prompt']},max_tokens=2048,temperature=0,reask=1"
    assert parts == [f"writer:writer-x,{asked}"]
    assert writer.stats().requests == 15
    again = invoke(*given)
    assert (again.exit_code, again.stdout) == (0, done.stdout)
    assert writer.stats().requests == 15
    other = invoke("stress", REFS, "--out", "made", "--changes", "identical,denied")
    assert other.exit_code == 2
    assert "they differ in writer, changes" in other.stderr


def test_a_folder_that_is_gone_is_made_again_from_the_cache(
    invoke: Invoke, writer: FaultServer, tmp_path: Path
) -> None:
    given = ("stress", REFS, *words(writer, "--changes", "reworded"))
    assert invoke(*given).exit_code == 0
    before = (tmp_path / "made" / "truth.jsonl").read_bytes()
    (tmp_path / "made").rename(tmp_path / "old")
    assert invoke(*given).exit_code == 0
    assert (tmp_path / "made" / "truth.jsonl").read_bytes() == before
    assert writer.stats().requests == 15
    assert {one["change"] for one in truth_of(tmp_path / "made")} == {"reworded"}


def test_what_is_no_rewording_is_counted_by_its_reason(
    invoke: Invoke, writer: FaultServer, tmp_path: Path
) -> None:
    text = "The heart is normal. No pleural effusion is seen."
    reports = {f"r{at}": {"findings": f"{text} Case {at}."} for at in range(len(REFUSED))}
    refs = write_json(tmp_path / "refs.json", {**reports, "good": {"findings": text}})
    done = invoke("stress", refs, *words(writer))
    assert done.exit_code == 0, done.stderr
    manifest = json.loads((tmp_path / "made" / "stress.json").read_text("utf-8"))
    (row,) = [one for one in manifest["changes"] if one["change"] == "reworded"]
    prefix = "the writer's answer is no rewording: "
    assert row["made"] == 1
    assert row["not_made"] == {f"{prefix}{reason}": 1 for reason in REFUSED}
    # Each of them was asked for once more, and told what was wrong with it.
    assert writer.stats().requests == 1 + 2 * len(REFUSED)


def test_a_writer_that_does_not_answer_is_counted(
    invoke: Invoke, writer: FaultServer, tmp_path: Path
) -> None:
    text = "The lungs are clear. No effusion."
    refs = write_json(tmp_path / "refs.json", {"a": {"report": text}, "b": {"report": "Nodule."}})
    writer.set_faults(rates={Fault.TRUNCATED: 1.0})
    done = invoke("stress", refs, *words(writer, "--reask", "0", "--changes", "identical"))
    assert done.exit_code == 0, done.stderr
    manifest = json.loads((tmp_path / "made" / "stress.json").read_text("utf-8"))
    (_, row) = manifest["changes"]
    assert row["not_made"] == {"the writer's answer is no rewording: truncated": 2}
    assert "made on no report: reworded" in done.stderr


def test_a_writer_that_only_refuses_is_given_up_and_nothing_is_written(
    invoke: Invoke, writer: FaultServer, tmp_path: Path
) -> None:
    writer.set_faults(rates={Fault.REFUSAL: 1.0})
    done = invoke("stress", REFS, *words(writer, "--give-up-after", "4", "--concurrency", "2"))
    assert done.exit_code == 3
    assert "Rewording 15 reports by writer-x" in done.stderr
    assert "4 of the first 4 answers cannot be read" in done.stderr
    assert "Try another --writer.\n" in done.stderr
    assert "--judge" not in done.stderr.partition("Try another")[2].partition("judge stress")[0]
    assert not (tmp_path / "made").exists()


def test_a_dry_run_counts_the_writer_and_what_it_will_write(
    invoke: Invoke, writer: FaultServer, tmp_path: Path
) -> None:
    given = ("stress", REFS, *words(writer, "--changes", "reworded", "--dry-run"))
    done = invoke(*given)
    assert done.exit_code == 0, done.stderr
    assert "requests        15 (0 cached, 0 repeated)" in done.stdout
    assert "15 candidates, 1 run" in done.stderr
    assert "Nothing was sent." in done.stdout
    assert writer.stats().requests == 0
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--writer", "lexicon"], "--writer: lexicon writes no reports"),
        (["--writer", "gpt-4o"], "--writer: judge 'gpt-4o' is a model behind an API"),
        (["--writer", "vlm:x"], "--writer: unknown judge 'vlm:x'"),
        (["--changes", "reworded"], "needs a model that writes: --writer MODEL"),
        (["--writer-base-url", "http://127.0.0.1:1/v1"], "belongs to --writer MODEL"),
    ],
)
def test_a_wrong_writer_is_said(
    invoke: Invoke, tmp_path: Path, given: list[str], says: str
) -> None:
    done = invoke("stress", REFS, "--out", "made", *given)
    assert done.exit_code == 2
    assert says in done.stderr
    assert not [*tmp_path.iterdir()]


ACCEPTED = (
    "Note is made of a calcified granuloma. No effusion is seen in either lung today.",
    "Heart size normal.\n- No effusion.\n- Calcified granuloma, stable.",
    "FINDINGS: Lungs clear; the heart is of normal size; no effusion can be seen.",
)
DOUBTFUL = (
    *("Sure! Lungs clear, heart normal, no effusion.", '"Lungs clear, heart normal, no effusion."'),
    "```\nLungs clear, heart normal, no effusion.\n```",
    "Lungs clear, heart normal, no effusion.\n\nNote: I kept all of the findings as they were.",
    "<think>The report says that</think>Lungs clear, heart normal, no effusion.",
    '{"report": "Lungs clear, heart normal, no effusion."}',
    "Lungs clear, heart normal, no effusion.\nabcdef12 REPORT>>>",
)


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_report_in_other_words_is_taken_as_it_is(text: str) -> None:
    study = Study("s", "The lungs are clear. The heart is normal in size. No effusion.", "-")
    assert WRITING.parse(f"\n{text}\n", study, complete=True).explanation == text
    with pytest.raises(UnparsedError, match="cut off"):
        WRITING.parse(text, study)


@pytest.mark.parametrize("text", DOUBTFUL)
def test_words_of_the_writer_s_own_are_no_report(text: str) -> None:
    study = Study("s", "The lungs are clear. The heart is normal in size. No effusion.", "-")
    with pytest.raises(UnparsedError, match="words or marks around the report"):
        WRITING.parse(text, study, complete=True)


TEXTS = st.text(st.sampled_from("ab .\n\t\u00e9")) | st.text(max_size=30)


@given(TEXTS, TEXTS)
def test_differences_make_the_one_text_of_the_other(before: str, after: str) -> None:
    text, changed = applied(before, differences(before, after))
    assert text == after
    assert bool(changed) == (before != after)


def test_ends_of_lines_are_those_that_files_have_and_odd_characters_are_refused() -> None:
    study = Study("s", "The heart is normal. No effusion.", "")
    kept = WRITING.parse("Heart normal.\r\nNo fluid.\rFine.", study, complete=True)
    assert kept.explanation == "Heart normal.\nNo fluid.\nFine."
    for odd in ("\ud800", "\x00", "\x1b[31m"):
        with pytest.raises(UnparsedError, match="characters that no report has"):
            WRITING.parse(f"Heart normal. {odd} No fluid.", study, complete=True)
