"""`judge prompts fetch`: the authors' text, read without running it, and no other text."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from authors import (
    CRIMSON,
    FINERADSCORE,
    GREEN,
    GREEN_SOURCE,
    SOURCES,
    Answer,
    half,
    plainly,
    published,
    serving,
)
from hypothesis import given
from hypothesis import strategies as st
from support import Invoke

from judge import official
from judge.official import KNOWN, digest
from judge.types import JudgeError


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder of the test's own, and no proxy between it and its server."""
    monkeypatch.setenv("JUDGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.delenv("JUDGE_PROMPTS_URL", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "config"


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program knows the stand-ins in place of the authors' texts."""
    for one in (GREEN, FINERADSCORE, CRIMSON):
        monkeypatch.setitem(KNOWN, one.name, one)  # type: ignore[arg-type]


def kept(config: Path) -> list[str]:
    return sorted(path.name for path in config.rglob("*") if path.is_file())


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("one", [GREEN, FINERADSCORE, CRIMSON], ids=lambda one: one.name)
def test_a_download_with_the_right_hash_is_kept(invoke: Invoke, one, config: Path) -> None:
    with serving(published()) as (url, asked):
        done = invoke("prompts", "fetch", one.name, "--base-url", f"{url}/")
    assert done.exit_code == 0, done.output
    assert len(asked) == len(one.sources)
    assert one.commit in asked[0]
    assert kept(config) == [f"{one.name}.yaml"]
    prompt = official.load(one.name, os.environ)
    assert prompt == one.read(SOURCES[one.name])
    assert prompt.rubric == one.rubric
    assert prompt.digest in done.stdout
    assert prompt.digest in invoke("prompts", "list").stdout


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("name", [GREEN.name, FINERADSCORE.name, CRIMSON.name])
def test_a_download_with_the_wrong_hash_is_not(invoke: Invoke, name: str, config: Path) -> None:
    # A comment more: the text is the same, the file is not.
    files = {path: body + b"# more\n" for path, body in published().items()}
    with serving(files) as (url, _):
        done = invoke("prompts", "fetch", name, "--base-url", url)
    assert done.exit_code == 2
    assert "not the known file" in done.stderr
    assert kept(config) == []


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(
    ("files", "answer", "says"),
    [
        ({}, plainly, "the server says 404"),
        (published(), half, "broke off"),
    ],
)
def test_a_bad_download_is_one_message_and_keeps_nothing(
    invoke: Invoke, files: dict[str, bytes], answer: Answer, says: str, config: Path
) -> None:
    with serving(files, answer) as (url, _):
        done = invoke("prompts", "fetch", GREEN.name, "--base-url", url)
    assert (done.exit_code, kept(config)) == (2, [])
    assert says in done.stderr
    assert "Traceback" not in done.output


def test_without_a_network_the_message_names_the_way_out(invoke: Invoke, config: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        done = invoke("prompts", "fetch", GREEN.name, "--base-url", url)
    assert (done.exit_code, kept(config)) == (2, [])
    assert "--from FILE" in done.stderr


@pytest.mark.usefixtures("stand_ins")
def test_a_second_fetch_asks_nobody_and_a_changed_prompt_is_fetched_again(
    invoke: Invoke, config: Path
) -> None:
    with serving(published()) as (url, asked):
        first = invoke("prompts", "fetch", GREEN.name, "--base-url", url)
        path = config / "prompts" / f"{GREEN.name}.yaml"
        good = path.read_text("utf-8")
        again = invoke("prompts", "fetch", GREEN.name, "--base-url", url)
        assert len(asked) == 1
        path.write_text(good.replace("compare", "contrast"), "utf-8")
        mended = invoke("prompts", "fetch", GREEN.name, "--base-url", url)
    assert (first.exit_code, again.exit_code, mended.exit_code) == (0, 0, 0)
    assert "here already" in again.stdout
    assert "was changed" in mended.stderr
    assert path.read_text("utf-8") == good


@pytest.mark.usefixtures("stand_ins")
def test_a_changed_official_prompt_is_refused(invoke: Invoke, config: Path) -> None:
    (config / "copy.py").parent.mkdir(parents=True)
    (config / "copy.py").write_text(GREEN_SOURCE, "utf-8")
    assert invoke("prompts", "fetch", GREEN.name, "--from", config / "copy.py").exit_code == 0
    path = config / "prompts" / f"{GREEN.name}.yaml"
    text = path.read_text("utf-8")
    changed = text.replace('"words": !!int "300"', '"words": !!int "200"')
    assert changed != text
    path.write_text(changed, "utf-8")
    with pytest.raises(JudgeError, match="not the prompt"):
        official.load(GREEN.name, os.environ)
    assert "not usable" in invoke("prompts", "list").stdout


@pytest.mark.usefixtures("stand_ins")
def test_a_local_copy_of_another_commit_will_do(
    invoke: Invoke, tmp_path: Path, config: Path
) -> None:
    copy = tmp_path / "their utils.py"
    copy.write_text(f"# another file, the same text\n{GREEN_SOURCE}", "utf-8")
    assert invoke("prompts", "fetch", GREEN.name, "--from", copy).exit_code == 0
    folder = tmp_path / "clone" / "green_score"
    folder.mkdir(parents=True)
    (folder / "utils.py").write_text(GREEN_SOURCE, "utf-8")
    assert invoke("prompts", "fetch", GREEN.name, "--from", tmp_path / "clone").exit_code == 0
    for name, text in SOURCES[FINERADSCORE.name].items():
        (tmp_path / name).write_text(text, "utf-8")
    assert invoke("prompts", "fetch", FINERADSCORE.name, "--from", tmp_path).exit_code == 0
    assert len(kept(config)) == 2


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GREEN_SOURCE.replace("compare", "contrast"), "another prompt"),
        ("def make_prompt(text1, text2): return f'{text1!r} {text2}'", "one prompt in"),
        ("not python at all", "no Python"),
        (b"\xff\xfe\x00", "UTF-8"),
        (None, "cannot read"),
    ],
)
def test_a_wrong_file_is_one_message(
    invoke: Invoke, tmp_path: Path, content: str | bytes | None, says: str, config: Path
) -> None:
    path = tmp_path / "utils.py"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = invoke("prompts", "fetch", GREEN.name, "--from", path)
    assert (done.exit_code, kept(config)) == (2, [])
    assert says in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.usefixtures("stand_ins")
def test_the_installed_package_is_read_and_not_imported(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site" / "radeval" / "metrics" / "green_score"
    folder.mkdir(parents=True)
    for inside in (folder, folder.parent, folder.parent.parent):
        (inside / "__init__.py").write_text("raise SystemExit('imported')", "utf-8")
    (folder / "utils.py").write_text(GREEN_SOURCE, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "radeval", raising=False)
    done = invoke("prompts", "fetch", GREEN.name, "--from", "radeval")
    assert done.exit_code == 0, done.output
    assert "radeval" not in sys.modules


@given(st.text(alphabet="{}$\\\"'#:-|>\n\t ab é\u2028\x85\ufeff\x07\U0001fac1"))
def test_every_character_of_a_template_is_kept(tmp_path_factory, text: str) -> None:
    template = f"{text}{{text1}}{text}{{text2}}{text}"
    turns = [("user", template)]
    prompt = GREEN.build(turns)
    assert replace(GREEN, sha256=digest(turns)).is_genuine(prompt)
    path = tmp_path_factory.mktemp("kept") / "prompt.yaml"
    path.write_text(official.as_yaml(prompt, GREEN), "utf-8", newline="")
    assert official.load(str(path), {}) == prompt
    (turn,) = prompt.messages("R {text2} ${candidate}", "C")
    assert turn.content == template.replace("{text1}", "\0").replace("{text2}", "C").replace(
        "\0", "R {text2} ${candidate}"
    )


def test_fineradscores_turns_are_those_of_the_call() -> None:
    prompt = FINERADSCORE.read(SOURCES[FINERADSCORE.name])
    turns = prompt.messages("The truth. All of it.", "Heart normal. Lungs clear.")
    assert [turn.role for turn in turns] == ["system", *["user", "assistant"] * 2, "user"]
    assert turns[0].content == "Correct the report.\n\tName éach line.\n"
    assert turns[1].content.startswith("Text: [0] One. [1] Two. \n \n\n  ")
    assert turns[2].content == '{"0": {"corrections": "[delete]", "error category": ["a"]}}'
    assert turns[4].content == "{}"
    assert turns[5].content == (
        "Text: [0] Heart normal. [1] Lungs clear. \n \n Truth: The truth. All of it."
    )
