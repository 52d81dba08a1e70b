"""The judge `vllm:MODEL`: a model that vLLM serves."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import platformdirs

from judge.backends import sampling, wording
from judge.backends.base import Judge, JudgeSettings
from judge.backends.connection import COMPLETIONS, NO_KEY, Connection
from judge.backends.local import encode
from judge.backends.local.asking import LocalJudge
from judge.backends.local.files import ModelFiles, find
from judge.backends.openai import OpenAIJudge
from judge.backends.pool import Pool, Servers
from judge.backends.vllm import flags
from judge.backends.vllm.server import START_TIMEOUT, Launch, Server
from judge.prompts import GREEN, STRUCTURED
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError

KIND = "vllm"
# What the official implementation computes in on a GPU.
_GREEN_DTYPE = "float16"


@dataclass(eq=False, repr=False, kw_only=True)
class VLLMJudge(LocalJudge):
    """Asks for the answer to token ids: the server's own template has no say in them."""

    served_as: str
    servers: Servers

    def __post_init__(self) -> None:
        super().__post_init__()
        self.billing_url = self.servers.billing_url

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask a server once."""
        encoded, room = self.encoded(request)
        answer = await self.servers.ask(
            {
                "model": self.served_as,
                "prompt": list(encoded.ids),
                "temperature": 0,
                **self.asked_in(request),
                "max_tokens": room,
                "stop_token_ids": [self.encoder.eos_id],
            },
            COMPLETIONS,
        )
        # The server shows the blank that a Llama's first token begins with; a tokenizer that
        # decodes the answer by itself, as everywhere else, does not.
        return replace(answer, text=answer.text.removeprefix(" "))


Road = Callable[[str, ModelFiles, tuple[str, ...], JudgeSettings], Servers]
"""Makes the servers of a model, by its name, its files and the flags for `vllm serve`."""


def load(
    model: str,
    rubric: Rubric,
    settings: JudgeSettings,
    kind: str = KIND,
    road: Road | None = None,
) -> Judge:
    """Return the judge `vllm:MODEL`: behind a server of our own, or those at `base_url`.

    Of another `kind` it differs in its `road` alone: its version, and so its answers in the cache,
    are those of `vllm:`. Nothing is started before there is something to ask.
    """
    if not model:
        raise JudgeError(f"{kind}: names no model; write {kind}:OWNER/NAME or {kind}:FOLDER")
    args = settings.options.get("vllm_args", ())
    if not isinstance(args, list | tuple) or not all(isinstance(flag, str) for flag in args):
        raise JudgeError(f"vllm_args is a list of flags, not {args!r}")
    given = flags.split(args)
    if settings.base_urls and given:
        raise JudgeError("--vllm-arg belongs to a server that judge starts, not to --base-url")
    prompt, reply = wording.for_own_model(
        rubric, model, settings.prompt, settings.reply, settings.environ
    )
    longest = sampling.max_tokens(model, settings.sampling, settings.max_tokens)
    files = find(model, settings.environ, flags.value(given, "--revision"))
    served_as = model if settings.base_urls else served_name(files)
    road = road or _servers
    if reply == STRUCTURED:
        return OpenAIJudge(
            name=f"{kind}:{model}",
            version=_version(files, given),
            served_as=served_as,
            rubric=rubric,
            prompt=prompt,
            reply=reply,
            servers=road(model, files, given, settings),
            max_tokens=longest,
            asked=settings.sampling,
            say=settings.say,
        )
    if "reasoning_effort" in settings.sampling:
        raise JudgeError(
            f"{kind}: text in token ids knows no --reasoning-effort; ask with --reply structured"
        )
    encoder = encode.load(files, prompt)
    if encoder.layout == GREEN and not settings.base_urls:
        given = _with_default(given, "--dtype", _GREEN_DTYPE)
        given = _with_default(given, "--max-model-len", str(encoder.limit))
    return VLLMJudge(
        name=f"{kind}:{model}",
        version=f"{_version(files, given)},{encoder.layout}",
        prompt=prompt,
        encoder=encoder,
        say=settings.say,
        max_tokens=longest,
        asked=settings.sampling,
        served_as=served_as,
        servers=road(model, files, given, settings),
    )


def _version(files: ModelFiles, given: Sequence[str]) -> str:
    return ",".join(filter(None, (f"{KIND}:{files.version}", flags.marks(given))))


def served_name(files: ModelFiles) -> str:
    """Return the model as `vllm serve` is given it, which is what it then calls it."""
    return files.model if files.commit else str(files.folder.resolve())


def _with_default(given: tuple[str, ...], flag: str, value: str) -> tuple[str, ...]:
    return (*given, flag, value) if flags.value(given, flag) is None else given


def _servers(
    model: str, files: ModelFiles, given: tuple[str, ...], settings: JudgeSettings
) -> Servers:
    if settings.base_urls:
        # Not OPENAI_API_KEY: that one is not for whoever happens to listen here.
        key = settings.environ.get("VLLM_API_KEY", "").strip() or NO_KEY
        servers = [(Connection(url, settings.timeout), key) for url in settings.base_urls]
        return Pool(servers, model, settings.say)
    # A file for the log that no other run writes to.
    log = f"vllm-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    folder = platformdirs.user_log_path("judge", appauthor=False)
    launch = Launch(
        served_name(files),
        with_revision(files, given),
        folder / log,
        settings.environ,
        start_timeout(settings),
    )
    return Server(launch, settings.say, settings.timeout)


def with_revision(files: ModelFiles, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags with the commit whose tokenizer is read here, that its weights be served."""
    return _with_default(given, "--revision", files.commit) if files.commit else given


def start_timeout(settings: JudgeSettings) -> float:
    """Return how many seconds vLLM may take to start; raises `JudgeError` for no number."""
    timeout = settings.options.get("vllm_timeout", START_TIMEOUT)
    if not isinstance(timeout, int | float):
        raise JudgeError(f"vllm_timeout is a number of seconds, not {timeout!r}")
    return timeout
