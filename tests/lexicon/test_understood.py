"""What the built-in judge does not understand is not scored; outputs say how much it did."""

import json

import pytest
from lexicon_pairs import LEXICON, table

import judge
from judge.backends.lexicon.reports import recognised
from judge.running.folder import RunFolder

TEXTS = table("understood.yaml")
RUBRICS = ["green", "fineradscore", "crimson", "facts", "counts"]
REFERENCES = {
    "a": "No effusion. Heart size normal.",
    "b": "Retained surgical sponge.",
    "c": "",
}


def outcomes(references, rubric="green"):
    frame = judge.annotate(
        references, ["Lungs are clear."] * len(references), rubric=rubric
    )
    return [*zip(frame["outcome"], frame["reason"].fillna(""), strict=True)]


@pytest.mark.parametrize("rubric", RUBRICS)
def test_what_is_not_understood_fails_under_every_rubric(rubric):
    texts = TEXTS["not_understood"]
    assert outcomes(texts, rubric) == [("failed", "not understood")] * len(texts)


def test_what_is_understood_is_judged():
    texts = TEXTS["understood"]
    assert outcomes(texts) == [("scored", "")] * len(texts)


def test_statements_are_counted():
    found = recognised(
        "Findings: Small effusion; flimflam of the qwerty. Technique: PA.", LEXICON
    )
    assert (found.recognised, found.statements) == (1, 2)
    assert (
        recognised("XXXX. PA and lateral views of the chest.", LEXICON).statements == 0
    )


@pytest.fixture
def files(tmp_path):
    candidates = {"a": "Small effusion. Flimflam of the qwerty.", "b": "Effusion."}
    references = {name: text for name, text in REFERENCES.items() if text}
    for name, texts in (("refs", references), ("preds", candidates)):
        (tmp_path / f"{name}.json").write_text(json.dumps(texts), "utf-8")
    return tmp_path


EXPECTED = {"references": {"k": 2, "n": 3}, "candidates": {"k": 2, "n": 3}}


def test_every_output_says_how_much_was_recognised(invoke, files):
    done = invoke("green", "preds.json", "refs.json", "--out", "run")
    line = "66.7% in the references (2 of 3), 66.7% in the candidates (2 of 3)"
    assert "statements recognised" in done.stdout
    assert line in done.stdout
    run = RunFolder.open(files / "run")
    assert run.summary().recognised == run.manifest.recognised
    assert run.summary().recognised.model_dump() == EXPECTED
    assert run.summary().reasons == {"failed: not understood": 1}
    printed = invoke(
        "green", "preds.json", "refs.json", "--out", "run", "--format", "json"
    )
    assert json.loads(printed.stdout)["recognised"] == EXPECTED
    assert line in invoke("cite", "run").stdout
    frame = judge.annotate(["No effusion. Flimflam qwerty."], ["Effusion."])
    assert frame.attrs["recognised"]["references"] == {"k": 1, "n": 2}


def test_shards_are_added_up(invoke, files):
    for part in ("1/2", "2/2"):
        name = f"part{part[0]}"
        invoke("green", "preds.json", "refs.json", "--shard", part, "--out", name)
    invoke("runs", "merge", "part1", "part2", "--out", "whole")
    assert RunFolder.open(files / "whole").summary().recognised.model_dump() == EXPECTED
