"""The judge `hf:` with a tiny model: what a batch holds changes no token."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import tinymodel
import yaml
from serving import taught
from support import Invoke

from judge import backends, prompts, rubrics
from judge.backends.local import BATCH
from judge.prompts import CHAT
from judge.types import Completion, Study

WORDING = {
    "name": "stand-in",
    "version": 1,
    "rubric": "green",
    "layout": "green",
    "words": 300,
    "user": "Compare.\n    Reference:\n    $reference\n\n    Candidate:\n    $candidate\n",
}


@pytest.fixture(scope="module")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tinymodel.make_model(folder)
    return folder


@pytest.fixture(scope="module")
def wording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wording") / "stand-in.yaml"
    path.write_text(yaml.safe_dump(WORDING), "utf-8")
    return path


def studies(count: int, seed: int = 1) -> list[Study]:
    pairs = tinymodel.reports(count, seed)
    return [
        Study(str(at), reference, candidate)
        for at, (reference, candidate) in enumerate(pairs)
    ]


def make(folder: Path, prompt: Path | str, *, max_tokens: int = 40):
    given = backends.JudgeSettings(prompt=str(prompt), max_tokens=max_tokens)
    return backends.load(f"hf:{folder}", rubrics.load("green"), given)


def together(
    judge: backends.Judge, asked: list[Study]
) -> list[Completion | BaseException]:
    async def ask() -> list[Completion | BaseException]:
        requests = [judge.request(study) for study in asked]
        try:
            return await asyncio.gather(
                *map(judge.complete, requests), return_exceptions=True
            )
        finally:
            await judge.aclose()

    return asyncio.run(ask())


def test_a_batch_gives_the_tokens_that_each_prompt_gives_alone(
    random_model: Path, wording: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    judge = make(random_model, wording)
    # Reports of very different lengths, so that there is much to pad.
    asked = [
        *studies(2 * BATCH + 3),
        Study("long", "No effusion. " * 140, ""),
        Study("e", "", ""),
    ]
    encoded = [judge.encoded(judge.request(study))[0] for study in asked]
    assert len(set(map(len, encoded))) > 5
    model = AutoModelForCausalLM.from_pretrained(
        random_model, dtype=torch.float32
    ).eval()
    alone = [
        model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=40,
            do_sample=False,
            eos_token_id=2,
            pad_token_id=2,
        )[0, len(ids) :].tolist()
        for ids in encoded
    ]
    asyncio.run(judge.ready())
    for at in range(0, len(asked), BATCH):
        batch = slice(at, at + BATCH)
        assert (
            judge.generate(encoded[batch], [40] * len(encoded[batch])) == alone[batch]
        )
    answers = together(judge, asked)
    assert [answer.text for answer in answers] == [
        judge.encoder.decode(a) for a in alone
    ]


def test_an_answer_that_was_cut_says_so(random_model: Path, wording: Path) -> None:
    judge = make(random_model, wording, max_tokens=1)
    asked = studies(BATCH)
    ids = [judge.encoded(judge.request(study))[0] for study in asked]
    asyncio.run(judge.ready())
    first = judge.generate(ids, [1] * BATCH)
    # The first token of one answer is taken for the end of all.
    end = judge.encoder.eos_id = first[0][0]
    ended = [token == end for (token,) in first]
    assert not all(ended)
    answers = together(judge, asked)
    assert [answer.finish_reason == "stop" for answer in answers] == ended
    assert {answer.finish_reason for answer in answers} == {"stop", "length"}
    assert all(answer.usage.completion_tokens == 1 for answer in answers)


def test_an_ordinary_model_is_asked_through_its_own_template(tmp_path: Path) -> None:
    folder = tmp_path / "chat"
    tinymodel.make_model(folder, chat_template=tinymodel.CHAT)
    wording = prompts.load("green")
    judge = make(folder, "green")
    assert judge.encoder.layout == CHAT
    assert judge.version.endswith(",chat")
    ids, _ = judge.encoded(judge.request(Study("s", "Clear.", "Clear.")))
    text = judge.encoder._tokenizer.decode(ids, skip_special_tokens=False)
    assert text.startswith("[system]\n")
    assert "[user]\n" in text
    assert text.endswith("[assistant]\n")
    assert ids[-1] != 2
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(folder).apply_chat_template(
        [
            {"role": turn.role, "content": turn.content}
            for turn in wording.messages("a", "b")
        ],
        tokenize=False,
        add_generation_prompt=True,
    )
    ours = judge.encoder._text(wording.messages("a", "b"))
    assert ours == theirs


def test_a_taught_model_gives_its_annotations_end_to_end(
    invoke: Invoke, tmp_path: Path
) -> None:
    model = taught(tmp_path / "taught", count=3)
    model.write(tmp_path)
    out = tmp_path / "run"
    options = ("--prompt", model.prompt, "--out", out, "--cache", tmp_path / "cache")
    files = (tmp_path / "preds.json", tmp_path / "refs.json")
    done = invoke("green", *files, "--judge", f"hf:{model.folder}", *options)
    assert done.exit_code == 0, done.output
    model.check(out)
    assert ",float32,green" in done.stdout
