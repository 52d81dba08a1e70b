"""`judge prompts fetch`: the authors' text, read without running it, and no other text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from authors import (
    CRIMSON_SOURCE,
    CRIMSON_TEXTS,
    GREEN_SOURCE,
    SOURCES,
    STAND_INS,
    serving,
)
from hypothesis import given
from hypothesis import strategies as st
from support import Invoke

from judge import prompts
from judge.prompts import official
from judge.types import JudgeError

GREEN, FINERADSCORE = "green-official", "fineradscore-official"


def kept(config: Path) -> list[str]:
    return sorted(path.name for path in config.rglob("*") if path.is_file())


def test_the_recipes_are_of_the_known_prompts() -> None:
    digests = {name: recipe.sha256[:8] for name, recipe in official.recipes().items()}
    assert digests == {
        "crimson-medgemma-official": "79e024b1",
        "crimson-official": "d3834e16",
        "fineradscore-official": "809b0f06",
        "green-official": "79749945",
    }
    assert not digests.keys() & set(prompts.names())
    assert official.for_model("green", "anything") == GREEN
    assert (
        official.for_model("crimson", "x/medgemma-4b-CRIMSON")
        == "crimson-medgemma-official"
    )
    assert official.for_model("crimson", "medgemma-4b") is None


@pytest.mark.parametrize("name", STAND_INS)
def test_a_download_is_kept_if_it_is_the_known_text(
    invoke: Invoke, name: str, config: Path, tmp_path: Path
) -> None:
    recipe = STAND_INS[name]

    def edit(source: str) -> str:
        return (
            source.replace("compare", "contrast")
            .replace("Correct", "C")
            .replace("Task", "T")
        )

    with serving(tmp_path / "other", edit):
        refused = invoke("prompts", "fetch", name)
    assert (refused.exit_code, kept(config)) == (2, [])
    with serving(tmp_path / "same") as asked:
        done = invoke("prompts", "fetch", name)
    assert done.exit_code == 0, done.output
    assert len(asked) == len(recipe.files)
    assert recipe.commit in asked[0]
    assert kept(config) == sorted(Path(path).name for path in recipe.files)
    prompt = prompts.load(name, os.environ)
    assert prompt == recipe.extract(SOURCES[name])
    assert prompt.digest in done.stdout
    assert prompt.digest in invoke("prompts", "list").stdout


def test_a_failed_download_names_the_address_and_the_way_out(
    invoke: Invoke, tmp_path: Path, config: Path
) -> None:
    with serving(tmp_path):
        for path in tmp_path.rglob("utils.py"):
            path.unlink()
        missing = invoke("prompts", "fetch", GREEN)
        host = official.HOST
    gone = invoke("prompts", "fetch", GREEN)
    for done, address in ((missing, host), (gone, official.HOST)):
        assert (done.exit_code, kept(config)) == (2, [])
        assert address in done.stderr
        assert "--from FILE" in done.stderr


def test_a_changed_prompt_is_refused_until_it_is_fetched_again(
    invoke: Invoke, config: Path, tmp_path: Path
) -> None:
    with serving(tmp_path):
        assert invoke("prompts", "fetch", GREEN).exit_code == 0
        path = config / "prompts" / GREEN / "utils.py"
        good = path.read_text("utf-8")
        path.write_text(good.replace("compare", "contrast"), "utf-8")
        with pytest.raises(JudgeError, match="prompts fetch"):
            prompts.load(GREEN, os.environ)
        assert "not usable" in invoke("prompts", "list").stdout
        assert invoke("prompts", "fetch", GREEN).exit_code == 0
    assert path.read_text("utf-8") == good


def test_a_local_copy_of_another_commit_will_do(
    invoke: Invoke, tmp_path: Path, config: Path
) -> None:
    copy = tmp_path / "their utils.py"
    copy.write_text(f"# another file, the same text\n{GREEN_SOURCE}", "utf-8")
    folder = tmp_path / "clone" / "green_score"
    folder.mkdir(parents=True)
    (folder / "utils.py").write_text(GREEN_SOURCE, "utf-8")
    for name, text in SOURCES[FINERADSCORE].items():
        (tmp_path / name).write_text(text, "utf-8")
    for name, origin in (
        (GREEN, copy),
        (GREEN, tmp_path / "clone"),
        (FINERADSCORE, tmp_path),
    ):
        assert invoke("prompts", "fetch", name, "--from", origin).exit_code == 0
    assert len(kept(config)) == 3


@pytest.mark.parametrize(
    "content",
    [
        GREEN_SOURCE.replace("compare", "contrast").encode(),
        b"not python at all",
        b"\xff\xfe\x00",
    ],
)
def test_a_wrong_file_is_one_message(
    invoke: Invoke, tmp_path: Path, content: bytes, config: Path
) -> None:
    path = tmp_path / "utils.py"
    path.write_bytes(content)
    done = invoke("prompts", "fetch", GREEN, "--from", path)
    assert (done.exit_code, kept(config)) == (2, [])
    assert "utils.py" in done.stderr


@given(st.text(alphabet="{}$\\\"'#:-|>\n\t ab é\u2028\x85\ufeff\x07\U0001fac1"))
def test_every_character_of_a_template_is_kept(text: str) -> None:
    source = f"{text}{{text1}}{text}{{text2}}{text}"
    literal = repr(text.replace("{", "{{").replace("}", "}}"))[1:-1]
    quote = repr(text.replace("{", "{{").replace("}", "}}"))[0]
    body = f"{quote}{literal}{{text1}}{literal}{{text2}}{literal}{quote}"
    recipe = STAND_INS[GREEN]
    prompt = recipe.build(
        {"utils.py": f"def make_prompt(text1, text2):\n    return f{body}\n"}
    )
    (turn,) = prompt.messages("R {text2} ${candidate}", "C")
    assert turn.content == source.replace("{text1}", "\0").replace(
        "{text2}", "C"
    ).replace("\0", "R {text2} ${candidate}")


def test_fineradscores_turns_are_those_of_the_call() -> None:
    prompt = STAND_INS[FINERADSCORE].extract(SOURCES[FINERADSCORE])
    turns = prompt.messages("The truth. All of it.", "Heart normal. Lungs clear.")
    assert turns[0].content == "Correct the report.\n\tName éach line.\n"
    assert turns[1].content.startswith("Text: [0] One. [1] Two. \n \n\n  ")
    assert (
        turns[2].content
        == '{"0": {"corrections": "[delete]", "error category": ["a"]}}'
    )
    assert turns[4].content == "{}"
    assert turns[-1].content == (
        "Text: [0] Heart normal. [1] Lungs clear. \n \n Truth: The truth. All of it."
    )


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    "context", [{}, {"Age": "70-80", "Indication": "Cough; $7 and {x}"}]
)
@pytest.mark.parametrize("name", ["crimson-official", "crimson-medgemma-official"])
def test_crimsons_texts_stand_as_they_are(
    invoke: Invoke, tmp_path: Path, name: str, context: dict[str, str]
) -> None:
    copy = tmp_path / "prompt_parts.py"
    copy.write_text(CRIMSON_SOURCE, "utf-8")
    assert invoke("prompts", "fetch", name, "--from", copy).exit_code == 0
    reports = ("Effusion, $3 {candidate} ${context}.", "No {reference}.\nClear.")
    system, user = prompts.load(name, os.environ).messages(*reports, context)
    known = "".join(f"    {key}: {value}\n" for key, value in context.items())
    texts = {
        **CRIMSON_TEXTS,
        "context": f"Patient Context:\n{known}",
        "reference": f"Reference Findings (Ground Truth):\n{reports[0]}",
        "candidate": f"Predicted Findings (Candidate):\n{reports[1]}",
    }
    left_out = {"context", "CONTEXT_GUIDELINES"} if not context else set()
    if name == "crimson-medgemma-official":  # trained without these
        left_out |= {
            "SIGNIFICANCE_EXAMPLES",
            "ATTRIBUTE_SEVERITY_GUIDELINES",
            "CONTEXT_GUIDELINES",
        }
    for part, text in texts.items():
        assert user.content.count(text) == (part not in left_out), part
    assert system.role == "system"
    shown = invoke("prompts", "show", name)
    assert "(the reference report)" in shown.stdout
    assert "Patient Context" not in shown.stdout
