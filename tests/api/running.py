"""Runs against the fault-injecting server, over real sockets, with a real cache."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from contextlib import chdir
from importlib import import_module
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner
from faultserver import FaultServer

from judge import backends
from judge.cli import main
from judge.rubrics import Rubric
from judge.running.judging import judge_set
from judge.running.policy import RequestPolicy
from judge.running.progress import Progress, ProgressListener
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.studies import StudySet, from_python

# What variables with keys and addresses begin with.
_PROVIDERS = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE")


def keys(n: int) -> list[str]:
    """The ids of n studies, which the server finds in their reports."""
    return [f"study-{at:04}" for at in range(n)]


def study_set(n: int, after: int = 0) -> StudySet:
    """n studies, those that come after the first `after`."""
    ids = keys(after + n)[after:]
    return from_python(
        [f"{key}. The lungs are clear." for key in ids],
        ["The lungs are clear. Small left effusion."] * n,
        study_ids=ids,
        study_classes=["normal"] * n,
    )


class Runner:
    """Judges studies by the server's model with a cache of its own; `said` is what it told."""

    def __init__(self, server: FaultServer | None, rubric: Rubric, cache: Path) -> None:
        self.server = server
        self.rubric = rubric
        self.cache = cache
        self.said: list[str] = []

    def __call__(
        self,
        studies: StudySet | int,
        *,
        timeout: float = 30.0,
        model: str = "model-x",
        asking: dict[str, Any] | None = None,
        **policy: object,
    ) -> tuple[dict[str, StudyResult], Progress]:
        """Judge studies; `asking` is further settings of the judge, the rest is the policy."""
        settings = backends.JudgeSettings(
            **{"base_url": self.server and self.server.url, "timeout": timeout}
            | {"say": self.said.append}
            | (asking or {})
        )
        judge = backends.load(model, self.rubric, settings)
        ends: dict[str, StudyResult] = {}

        def sink(end: StudyResult) -> None:
            assert end.study.study_id not in ends, "a study ended twice"
            ends[end.study.study_id] = end

        asked = RequestPolicy(**({"concurrency": 32} | policy))  # type: ignore[arg-type]
        with JudgeSession(self.rubric, judge, asked, self.cache) as session:
            progress = judge_set(
                session,
                study_set(studies) if isinstance(studies, int) else studies,
                sink,
                ProgressListener(say=self.said.append),
            )
        return ends, progress


class Shell:
    """The command line, on study files in a folder of its own."""

    def __init__(
        self, folder: Path, url: str, rubric: str, model: str = "model-x"
    ) -> None:
        self.folder = folder
        self.url = url
        self.rubric = rubric
        self.model = model
        self.patches: dict[str, object] = {}

    def write(self, n: int) -> None:
        studies = study_set(n)
        refs = dict(zip(studies.study_ids, studies.references, strict=True))
        preds = dict(zip(studies.study_ids, studies.candidates, strict=True))
        (self.folder / "refs.json").write_text(json.dumps(refs), "utf-8")
        (self.folder / "preds.json").write_text(json.dumps(preds), "utf-8")

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Run it in a process of its own."""
        command = [sys.executable, "-m", "judge", *self._command, *options]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={k: v for k, v in os.environ.items() if not k.startswith(_PROVIDERS)},
        )

    def fork(self, *options: str) -> BaseProcess:
        """Run it in a process of its own that has loaded all modules already, and says nothing.

        There `patches` hold, such as `{"judge.module.NAME": 0}`.
        """
        words = [*self._command, *options]
        # Python 3.11 does not tell the process that is forked where modules are.
        with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
            forkserver.ensure_running()
        process = _FORKS.Process(
            target=_forked, args=(self.folder, words, self.patches)
        )
        process.start()
        return process

    def judge(self, *words: str) -> tuple[int, str, str]:
        """Run a command in this process, in the same folder."""
        hidden = {name: None for name in os.environ if name.startswith(_PROVIDERS)}
        with chdir(self.folder):
            done = CliRunner().invoke(main, words, env=hidden)
        return done.exit_code, done.stdout, done.stderr

    def run(self, *options: str) -> tuple[int, str, str]:
        return self.judge(*self._command, *options)

    @property
    def _command(self) -> list[str]:
        asked = ["--judge", self.model, "--base-url", self.url, "--cache", "cache"]
        return [self.rubric, "preds.json", "refs.json", *asked]


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["preloaded"])


def _forked(folder: Path, words: list[str], patches: dict[str, object]) -> None:
    for name, value in patches.items():
        module, _, attribute = name.rpartition(".")
        setattr(import_module(module), attribute, value)
    for name in [name for name in os.environ if name.startswith(_PROVIDERS)]:
        del os.environ[name]
    with chdir(folder):
        CliRunner().invoke(main, words)
