"""A reply that the rubric's own reader refuses fails its study, and no other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from judge import rubrics
from judge.backends.lexicon.judge import LexiconJudge
from judge.rubrics import Rubric
from judge.running.folder import RunFolder
from judge.running.policy import RequestPolicy
from judge.running.run import run
from judge.running.session import JudgeSession
from judge.studies import read_pair
from judge.types import Annotation


def refusing(rubric: Rubric, how: str) -> Rubric:
    """The rubric, whose replies about a nodule cannot be written, or not be read."""

    def render(annotation: Annotation) -> str:
        about_nodule = any("odule" in item.text for item in annotation.items)
        if about_nodule and how == "not written":
            raise ValueError("a finding that is none has no entry")
        assert rubric.render is not None
        return "Sorry?" if about_nodule else rubric.render(annotation)

    return replace(rubric, render=render)


@pytest.mark.parametrize("how", ["not written", "not read"])
@pytest.mark.parametrize("name", ["green", "crimson", "facts", "attributes"])
def test_a_refused_reply_fails_its_study_and_is_counted(
    tmp_path: Path, name: str, how: str
) -> None:
    texts = {"plain": "Cardiomegaly is seen.", "hit": "There is a lung nodule."}
    file = tmp_path / "texts.json"
    file.write_text(
        json.dumps({key: {"report": text} for key, text in texts.items()}), "utf-8"
    )
    rubric = refusing(rubrics.load(name), how)
    out = tmp_path / "run"
    studies = read_pair(str(file), str(file))
    with JudgeSession(
        rubric, LexiconJudge(rubric), RequestPolicy(), tmp_path
    ) as session:
        run(session, studies, out=out)
    summary = RunFolder.open(out).summary()
    assert (summary.n_scored, summary.n_failed) == (1, 1)
    records = {record["study_id"]: record for record in RunFolder.open(out).records()}
    assert records["hit"]["reason"] == "own reply refused"
    assert rubric.title in records["hit"]["detail"]
    assert records["plain"]["outcome"] == "scored"
