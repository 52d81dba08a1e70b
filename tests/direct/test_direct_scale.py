"""A score is on the scale that the prompt declares, and from 0 to 100 in every table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cluster.clusterhelp import judged
from faultserver import FaultServer
from hypothesis import given
from hypothesis import strategies as st
from support import Invoke

from judge import prompts, rubrics
from judge.prompts import Prompt
from judge.rubrics.derived import on_scale
from judge.rubrics.direct import ASPECTS
from judge.running.folder import RunFolder
from judge.studies import from_python
from judge.types import Annotation, JudgeError, Study, UnparsedError

DIRECT = rubrics.load("direct")
STUDY = Study("s", "Clear.", "Effusion.")
PROMPT = """\
name: mine
version: 1
rubric: direct
scale: [1, 5]
system: Give a score from 1 to 5.
user: "R $mark $reference C $candidate"
"""


def prompt_of(tmp_path: Path, text: str) -> Prompt:
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    return prompts.load(str(path))


def reply(score: object, reasons: str = "Why.", **more: object) -> str:
    return json.dumps({"reasons": reasons, "score": score, **more})


numbers = st.floats(0, 1).map(lambda part: part * 4 + 1)
aspects = st.dictionaries(st.sampled_from([*ASPECTS]), numbers)


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    values = {"low": 1.0, "high": 5.0, "score": draw(numbers), **draw(aspects)}
    text = st.text(st.characters(exclude_categories=("Cs", "Cc", "Nd"))).map(str.strip)
    return Annotation(explanation=draw(text), values=values)


@given(annotations())
def test_what_is_written_is_read_back_and_is_on_the_measures_scale(
    annotation: Annotation,
) -> None:
    rubric = on_scale(DIRECT, (1, 5))
    assert rubric.parse(DIRECT.render(annotation), STUDY) == annotation
    measures = rubric.measured(annotation, STUDY)
    assert measures["direct"] == pytest.approx(
        (annotation.values["score"] - 1) / 4 * 100
    )
    for name in ASPECTS:
        assert (measures[name] is None) == (name not in annotation.values)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (reply(0), "off the scale"),
        (reply(6), "off the scale"),
        (reply(3, scale=[0, 100]), "unknown field"),
        (reply(3, aspects={"findings": 0}), "off the scale"),
        (reply(3, "Worth a score of 4."), "contradiction"),
        (reply(3, "3/10 at best."), "contradiction"),
    ],
)
def test_what_is_not_on_the_prompts_scale_is_not_read(text: str, reason: str) -> None:
    with pytest.raises(UnparsedError, match=reason):
        on_scale(DIRECT, (1, 5)).parse(text, STUDY)


def test_the_built_in_wording_declares_what_is_read_without_one() -> None:
    prompt = prompts.load("direct")
    assert prompt.scale == (0, 100)
    text = reply(73, "73 out of 100: one detail differs.")
    assert on_scale(DIRECT, prompt.scale).parse(text, STUDY) == DIRECT.parse(
        text, STUDY
    )


def test_a_prompt_with_a_scale_of_its_own(tmp_path: Path) -> None:
    prompt = prompt_of(tmp_path, PROMPT)
    assert prompt.scale == (1, 5)
    other = PROMPT.replace("[1, 5]", "[1, 15]").replace("1 to 5", "1 to 15, or 1 to 5")
    assert prompt_of(tmp_path, other).digest != prompt.digest
    digest = prompt.digest
    assert prompt_of(tmp_path, PROMPT.replace("scale: [1, 5]\n", "")).digest != digest


@pytest.mark.parametrize(
    ("scale", "says"),
    [
        ("[5, 1]", "lowest and its highest"),
        ("[1, 1]", "lowest and its highest"),
        ("[1]", "scale"),
        ("5", "scale"),
        ("[1, 7]", "ends at 7, which the wording does not name"),
    ],
)
def test_a_scale_that_is_none_or_that_no_judge_is_told(
    tmp_path: Path, scale: str, says: str
) -> None:
    with pytest.raises(JudgeError, match=says):
        prompt_of(tmp_path, PROMPT.replace("[1, 5]", scale))


def test_a_run_is_read_again_on_its_own_scale(tmp_path: Path, invoke: Invoke) -> None:
    """The manifest keeps the scale: another prompt's answers are not read as the default's."""
    ids = [f"study-{at:04}" for at in range(12)]
    studies = from_python(
        [f"{one}. Clear." for one in ids], ["Effusion."] * 12, study_ids=ids
    )
    path = tmp_path / "tens.yaml"
    path.write_text(
        PROMPT.replace("[1, 5]", "[0, 10]").replace("1 to 5", "0 to 10"), "utf-8"
    )

    def tenth(key: str, _seed: int) -> Annotation:
        number = int(key[-4:])
        values = {"low": 0.0, "high": 10.0, "score": number % 11, "findings": 10.0}
        return Annotation(explanation=f"This is about {key}.", values=values)

    with FaultServer(rubric="direct", annotate=tenth) as server:
        run = judged(
            studies,
            tmp_path / "run",
            rubric="direct",
            judge="model-x",
            url=server.url,
            prompt=str(path),
        )
    table = run.table().set_index("study_id")
    assert table["direct"].tolist() == [int(one[-4:]) % 11 * 10 for one in ids]
    assert set(table["findings"]) == {100}
    before = (run.path / "studies.csv").read_bytes()
    done = invoke("runs", "rescore", run.path)
    assert done.exit_code == 0, done.stderr
    assert "0 of 12 studies read differently" in done.stderr
    assert (run.path / "studies.csv").read_bytes() == before
    assert RunFolder.open(run.path).manifest.scale == [0, 10]
