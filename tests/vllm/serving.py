"""A tiny model that knows eight studies by heart, and the command line that asks it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tinymodel
from faultserver import annotation_for
from support import write_json

from judge import backends, rubrics
from judge.backends import local
from judge.prompts import load as load_prompt
from judge.rubrics.green import RUBRIC
from judge.running.evidence import with_evidence
from judge.running.records import outcome_of
from judge.types import Annotation, Completion, Scored, Study

PROMPT = """\
name: tiny
version: 1
rubric: green
layout: green
words: 300
user: |
  Compare the candidate report with the reference report and write down its errors.
  Reference: $reference
  Candidate: $candidate
"""
# float32: the same tokens whoever computes; eager: no minutes of compiling.
FLAGS = {"dtype": "float32", "enforce-eager": True, "max-num-seqs": 16}
ENVIRON = {"VLLM_CPU_KVCACHE_SPACE": "1"}


@dataclass(frozen=True)
class Taught:
    """A model, the prompt it was taught with, the studies and what it says of each."""

    folder: Path
    prompt: Path
    studies: tuple[Study, ...]
    annotations: tuple[Annotation, ...]

    def check(self, run_folder: Path) -> None:
        """Raise where a study did not come out as it was taught."""
        found = {record["study_id"]: record for record in records(run_folder)}
        for study, annotation in zip(self.studies, self.annotations, strict=True):
            # What was taught speaks of other reports: that is a warning, and no other annotation.
            expected = with_evidence(annotation, RUBRIC, study)
            assert outcome_of(found[study.study_id]) == Scored(expected)

    def write(self, folder: Path) -> None:
        """Write the studies as the command line reads them."""
        refs = {study.study_id: study.reference for study in self.studies}
        preds = {study.study_id: study.candidate for study in self.studies}
        write_json(folder / "refs.json", refs)
        write_json(folder / "preds.json", preds)


def taught(folder: Path, count: int = 8) -> Taught:
    """Make a model that has learnt the rendered annotations of `count` studies."""
    studies = tuple(
        Study(f"study-{at}", reference, candidate)
        for at, (reference, candidate) in enumerate(tinymodel.reports(count, seed=3))
    )
    annotations = tuple(annotation_for(one.study_id, 0) for one in studies)
    model, prompt_file = folder / "model", folder / "tiny.yaml"
    folder.mkdir(exist_ok=True)
    prompt_file.write_text(PROMPT, "utf-8")
    # Its own template is for the tests that chat; the prompt asks for GREEN's layout.
    tinymodel.make_model(model, chat_template=tinymodel.CHAT)
    prompt = load_prompt(str(prompt_file))
    encoder = local.load_encoder(local.find(str(model), {}), prompt)
    asked = [encoder.encode(prompt.messages(s.reference, s.candidate)) for s in studies]
    rendered = [RUBRIC.render(annotation) for annotation in annotations]
    tinymodel.teach(model, list(zip(asked, rendered, strict=True)))
    return Taught(model, prompt_file, studies, annotations)


def command(model: Path | str, *options: str) -> list[str]:
    """The command line that judges refs.json and preds.json with the model."""
    line = [sys.executable, "-m", "judge", "green", "preds.json", "refs.json"]
    return [
        *line,
        "--judge",
        f"vllm:{model}",
        "--cache",
        "cache",
        "--out",
        "run",
        *options,
    ]


def flags() -> list[str]:
    return [
        "--server=dtype=float32",
        "--server=enforce-eager",
        "--server=max-num-seqs=16",
    ]


def environ(folder: Path) -> dict[str, str]:
    """An environment in which logs are easily found."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "JUDGE"))
    }
    return {**kept, **ENVIRON, "TMPDIR": str(folder)}


def records(run: Path) -> Iterator[dict]:
    for line in (run / "annotations.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)


def many_studies(model: Taught, folder: Path, count: int) -> list[Study]:
    """Write the eight studies and others that the model was not taught, and return them all."""
    studies = [*model.studies]
    pairs = tinymodel.reports(count - len(studies), seed=5)
    studies += [Study(f"n{at}", *pair) for at, pair in enumerate(pairs)]
    write_json(
        folder / "refs.json", {study.study_id: study.reference for study in studies}
    )
    write_json(
        folder / "preds.json", {study.study_id: study.candidate for study in studies}
    )
    return studies


def texts(folder: Path) -> dict[str, str]:
    """The answer to each study in a run's folder."""
    return {record["study_id"]: record["answer"]["text"] for record in records(folder)}


def by_transformers(
    model: Taught, studies: list[Study], folder: Path, max_tokens: int
) -> dict[str, str]:
    """What the same model says in this process, without a server."""
    settings = backends.JudgeSettings(
        prompt=str(model.prompt), max_tokens=max_tokens, environ=environ(folder)
    )
    judge = backends.load(f"hf:{model.folder}", rubrics.load("green"), settings)

    async def answers() -> list[Completion]:
        try:
            await judge.ready()
            return await asyncio.gather(
                *(judge.complete(judge.request(s)) for s in studies)
            )
        finally:
            await judge.aclose()

    said = [answer.text for answer in asyncio.run(answers())]
    return dict(zip([study.study_id for study in studies], said, strict=True))


def run(folder: Path, line: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line,
        cwd=folder,
        env={**environ(folder), **more},
        capture_output=True,
        text=True,
        check=False,
    )
