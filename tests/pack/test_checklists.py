"""What a pack takes along of a run, and the checklists that it fills in."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from answered_runs import answered, green
from faultserver import Behaviour, FaultServer
from support import Invoke, write_json

from judge import Run
from judge.pack.checklists import Answer, checklists, filled
from judge.pack.facts import FACTS
from judge.pack.packed_run import PackedRun, packed_run, shared_manifest
from judge.pack.studies import table_of_csv
from judge.run_files.manifest import RunManifest
from judge.types import JudgeError

# The letters of each main item of TRIPOD-LLM; those without a letter are one item.
LETTERS = {3: "ab", 5: "abcde", 6: "abcde", 7: "abcde", 8: "abc", 9: "ab", 14: "abcdef"}
LETTERS |= {16: "abcd", 19: "abcdefg"}


def packed(path: Path, *, by: list[str] | None = None, n: int = 20) -> PackedRun:
    return packed_run(Run.open(path), "run", by=by, n=n, seed=1, with_reports=False)


def answers(run: PackedRun, name: str) -> dict[tuple[str, str], Answer]:
    """The answers to a checklist by item and what is asked."""
    found = filled(checklists()[name], run).answers
    return {(answer.item.number, answer.part.what): answer for answer in found}


def test_the_items_have_the_numbers_of_the_checklists() -> None:
    numbers = {
        name: [item.number for item in checklist.items]
        for name, checklist in checklists().items()
    }
    assert numbers["mi-clear-llm"] == [str(number) for number in range(1, 9)]
    assert numbers["tripod-llm"] == [
        f"{number}{letter}"
        for number in range(1, 20)
        for letter in LETTERS.get(number, ("",))
    ]
    for checklist in checklists().values():
        assert "doi:" in checklist.source
        assert "not compared" in checklist.checked
        for item in checklist.items:
            assert item.parts
            facts = {part.fact for part in item.parts} - {None, "comparison"}
            assert facts <= FACTS.keys()


def test_the_built_in_judge_is_no_language_model(judged_examples: Path) -> None:
    run = packed(judged_examples)
    found = answers(run, "mi-clear-llm")
    judge = found["1", "name and version of the judge"].text
    assert judge is not None
    assert "never report its numbers" in judge
    assert found["7", "sampling parameters"].status == "not applicable"
    cutoff = found["1", "the date at which the training data end"]
    assert cutoff.status == "blank"
    tripod = answers(run, "tripod-llm")
    assert tripod["5b", "studies and their classes"].text == (
        "15 studies: 10 abnormal and 5 normal"
    )
    figures = tripod["17", "figures with intervals"].text
    assert figures is not None
    assert figures.startswith("GREEN 0.689 [0.541, 0.806]; no significant error 4/15")
    assert tripod["13", "committee and consent or waiver"].text is None
    # One run is compared with none.
    assert tripod["7e", "the models compared here"].text is None


def test_a_model_behind_an_api_is_named_as_it_answered(
    invoke: Invoke, tmp_path: Path
) -> None:
    ids = [f"study-{at:04}" for at in range(3)]
    write_json(Path("refs.json"), {key: f"{key}. Clear lungs." for key in ids})
    write_json(Path("preds.json"), dict.fromkeys(ids, "Clear lungs. No effusion."))
    with FaultServer(Behaviour(record=True), rubric="green") as server:
        done = invoke(
            *("green", "preds.json", "refs.json", "--judge", "model-x", "--out", "run"),
            *("--base-url", server.url, "--cache", tmp_path / "cache"),
        )
        sent_to = {entry["study"]: entry["body"] for entry in server.requests()}
    assert done.exit_code == 0, done.stderr
    run = packed_run(Run.open("run"), "run", by=None, n=20, seed=1, with_reports=True)
    # What is shown as an example is what was sent.
    assert run.example == sent_to[run.sample.drawn.order[0]]["messages"]
    manifest = run.manifest
    found = answers(run, "mi-clear-llm")
    texts = {key: answer.text or "" for key, answer in found.items()}
    assert "model-x" in texts["1", "name and version of the judge"]
    served = manifest.served
    assert served is not None
    named = texts["1", "the model that the server said it was"]
    assert named == " and ".join(
        f"{name} ({n} answers)" for name, n in served.answered_as.items()
    )
    dates = texts["1", "the dates of the answers"]
    assert dates == f"{served.answered_between[0]} to {served.answered_between[-1]}"
    assert "temperature=0" in texts["7", "sampling parameters"]
    assert "3 questions" in (
        answers(run, "tripod-llm")[
            "12", "questions, tokens, price and time of the judge"
        ].text
        or ""
    )
    (prompt,) = run.prompts
    assert prompt.named == str(manifest.prompts[0])
    sent = " ".join(turn["content"] for turn in prompt.messages)
    assert "(the reference report)" in sent
    assert "(the candidate report)" in sent
    assert prompt.named in texts["5", "the whole text"]
    # The address of a server is the institution's own.
    assert server.url not in json.dumps(shared_manifest(manifest))


def test_a_prompt_that_is_not_here_is_blank(tmp_path: Path) -> None:
    path = answered(
        tmp_path / "run", {"a": green()}, prompt="own@1+00000000", judge="model"
    )
    run = packed(path)
    assert run.prompts[0].messages == []
    assert answers(run, "mi-clear-llm")["5", "the whole text"].status == "blank"


def test_the_manifest_goes_without_paths_and_keeps_its_signature(
    invoke: Invoke,
) -> None:
    folder = Path("ward of dr x")
    folder.mkdir()
    refs = {"a": "Clear lungs.", "left-out": "No effusion."}
    write_json(folder / "refs.json", refs)
    write_json(folder / "preds.json", {"a": "Clear lungs."})
    files = (folder / "preds.json", folder / "refs.json")
    done = invoke(
        "green", *files, "--allow-missing", "--min-coverage", 0, "--out", "run"
    )
    assert done.exit_code == 0, done.stderr
    manifest = Run.open("run").manifest
    shared = shared_manifest(manifest)
    text = json.dumps(shared)
    assert "ward" not in text
    assert "refs.json" in text
    assert "left-out" not in json.dumps(shared["omitted_ids"])
    assert "left-out" in json.dumps(manifest.plain()["omitted_ids"])
    again = RunManifest.model_validate(shared)
    assert again.signature == manifest.signature == shared["signature"]


def test_the_table_has_what_the_figures_need_and_no_more(judged_examples: Path) -> None:
    run = packed(judged_examples, by=["site"])
    text = run.csv.decode()
    assert text.startswith("study_id,study_class,class_inferred,site,outcome,")
    assert "Indication" not in text
    assert "Indication" in (judged_examples / "studies.csv").read_text("utf-8")
    rates = {block.group["site"]: block.n_studies for block in run.summary.rates}
    assert rates == {"harbour": 7, "riverside": 8}


def test_patients_are_numbers_and_the_intervals_stay(tmp_path: Path) -> None:
    names = ("Ann", "Ann", "Bob", "Ann", "Cid", "Bob")
    replies = [green(), green({"a": "1. Nodule"}), green()] * 2
    ids = "uvwxyz"
    path = answered(
        tmp_path / "run",
        dict(zip(ids, replies, strict=True)),
        fields={"patient": dict(zip(ids, names, strict=True))},
    )
    run = packed(path)
    printed = Run.open(path).summary()
    assert printed.intervals_by == "patient"
    assert run.table["patient"].tolist() == [1, 1, 2, 1, 3, 2]
    assert "Ann" not in run.csv.decode()
    statistics = {
        name: figure.plain() for name, figure in run.summary.statistics.items()
    }
    assert statistics == {
        name: figure.plain() for name, figure in printed.statistics.items()
    }


def test_the_sample_is_drawn_by_outcome_and_class(tmp_path: Path) -> None:
    replies: dict[str, str | None] = {f"s{at}": green() for at in range(30)}
    replies |= {
        "lost-1": None,
        "lost-2": None,
        "odd-1": "?",
        "odd-2": "no",
        "odd-3": "",
    }
    path = answered(tmp_path / "run", replies)
    run = packed(path, n=10)
    drawn = run.sample.drawn
    strata = {
        stratum["key"]["outcome"]: (stratum["n_studies"], stratum["n_drawn"])
        for stratum in drawn.strata
    }
    assert strata == {"failed": (2, 2), "scored": (30, 6), "unparsed": (3, 2)}
    assert packed(path, n=10).sample == run.sample
    other = packed_run(Run.open(path), "run", by=None, n=10, seed=2, with_reports=False)
    assert other.sample.drawn.order != drawn.order
    assert [row["study_id"] for row in run.sample.rows] == list(drawn.order)
    with pytest.raises(JudgeError, match="draw at least 6 with --sample"):
        packed(path, n=3)


def test_a_run_whose_summary_was_changed_is_no_pack(example_run: Path) -> None:
    path = example_run / "summary.json"
    data = json.loads(path.read_text("utf-8"))
    data["statistics"]["green"]["value"] = 0.9
    write_json(path, data)
    with pytest.raises(JudgeError, match="other figures than its summary"):
        packed(example_run)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("scored", "perfect"), "there is no outcome 'perfect'"),
        (("ex-002", "ex-001"), "a study is there twice"),
        (("n_matched", "matched"), "there is no column n_matched"),
        (("study_class,", "study_id,"), "two columns have one name"),
        (("False", "maybe"), "'maybe'"),
        ((",1,0,0,5,", ",inf,0,0,5,"), "inf is no number of a study"),
        ((",1,0,0,5,", f",1,{10**30},0,5,"), "cannot read studies.csv"),
    ],
)
def test_a_table_that_is_none_is_refused(
    judged_examples: Path, change: tuple[str, str], why: str
) -> None:
    run = packed(judged_examples)
    data = run.csv.replace(change[0].encode(), change[1].encode(), 1)
    with pytest.raises(JudgeError, match=why):
        table_of_csv(data, run.run.rubric, "studies.csv")


def test_numbers_in_fields_stay_in_their_order(tmp_path: Path) -> None:
    ids = "uvwx"
    sites = dict(zip(ids, ("10", "9", "9", "10"), strict=True))
    path = answered(
        tmp_path / "run", dict.fromkeys(ids, green()), fields={"site": sites}
    )
    run = packed(path, by=["site"])
    assert [block.group["site"] for block in run.summary.rates] == [9, 10]
    assert pd.api.types.is_integer_dtype(run.table["site"])
