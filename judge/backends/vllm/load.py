"""From `vllm:MODEL` and its options to a judge."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from judge.backends import Judge, Settings, prompt_for
from judge.backends.connection import NO_KEY, Connection
from judge.backends.local import encode
from judge.backends.local.asking import Questions
from judge.backends.local.files import ModelFiles, find
from judge.backends.local.wording import prompt_name
from judge.backends.openai import OpenAIJudge
from judge.backends.pool import Pool, Servers
from judge.backends.vllm import flags
from judge.backends.vllm.judge import VLLMJudge
from judge.backends.vllm.managed import Managed
from judge.backends.vllm.server import Launch, Server
from judge.prompts import GREEN
from judge.rubrics import Rubric
from judge.types import JudgeError

KIND = "vllm"
# What the official implementation computes in on a GPU.
_GREEN_DTYPE = "float16"


def load(model: str, rubric: Rubric, settings: Settings) -> Judge:
    """Return the judge `vllm:MODEL`: behind a server of our own, or those at `base_url`.

    Nothing is started before there is something to ask. A rubric whose reply is JSON is asked
    over the chat endpoint; any other in token ids. Raises `JudgeError` for a model that
    cannot be found, a flag that is not the user's to set, a prompt that is not there and a
    `vllm` that is not installed.
    """
    if not model:
        raise JudgeError(f"{KIND}: names no model; write {KIND}:OWNER/NAME or {KIND}:FOLDER")
    given = flags.split(settings.vllm_args)
    if settings.base_urls and given:
        raise JudgeError("--vllm-arg belongs to a server that judge starts, not to --base-url")
    prompt = prompt_for(rubric, prompt_name(rubric, settings.prompt), settings.environ)
    files = find(model, settings.environ, flags.value(given, "--revision"))
    if rubric.reply_model is not None:
        version = _version(files, given)
        return OpenAIJudge(
            model if settings.base_urls else _served(files),
            rubric,
            prompt,
            _servers(model, files, given, settings),
            max_tokens=settings.max_tokens,
            say=settings.say,
            name=f"{KIND}:{model}",
            version=version,
        )
    encoder = encode.load(files, prompt)
    if encoder.layout == GREEN and not settings.base_urls:
        given = _with_default(given, "--dtype", _GREEN_DTYPE)
        given = _with_default(given, "--max-model-len", str(encoder.limit))
    version = f"{_version(files, given)},{encoder.layout}"
    return VLLMJudge(
        f"{KIND}:{model}",
        model if settings.base_urls else _served(files),
        Questions(version, prompt, encoder, settings.max_tokens),
        _servers(model, files, given, settings),
        settings.say,
    )


def _version(files: ModelFiles, given: Sequence[str]) -> str:
    return ",".join(filter(None, (f"{KIND}:{files.version}", flags.marks(given))))


def _served(files: ModelFiles) -> str:
    """Return the model as `vllm serve` is given it, which is what it then calls it."""
    return files.model if files.commit else str(files.folder.resolve())


def _with_default(given: tuple[str, ...], flag: str, value: str) -> tuple[str, ...]:
    return given if flags.has(given, flag) else (*given, flag, value)


def _servers(model: str, files: ModelFiles, given: tuple[str, ...], settings: Settings) -> Servers:
    if settings.base_urls:
        # Not OPENAI_API_KEY: that one is not for whoever happens to listen here.
        key = settings.environ.get("VLLM_API_KEY", "").strip() or NO_KEY
        return Pool(
            [(Connection(url, settings.timeout), key) for url in settings.base_urls],
            model,
            settings.say,
        )
    if files.commit:  # the weights of the commit whose tokenizer is read here
        given = _with_default(given, "--revision", files.commit)
    launch = Launch(_served(files), given, log_file(), settings.environ, settings.vllm_timeout)
    return Managed(Server(launch, settings.say), settings.timeout)


def log_file() -> Path:
    """Return a file for a server's log that no other run writes to."""
    folder = platformdirs.user_log_path("judge", appauthor=False)
    return folder / f"vllm-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
