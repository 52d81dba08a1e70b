"""The judge `vllm:MODEL`: a model that vLLM serves, started when there is something to ask."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from judge.backends import local, options
from judge.backends.base import (
    CHAT,
    COMPLETIONS,
    TIMEOUT,
    Client,
    Judge,
    JudgeSettings,
    Mode,
    OverloadError,
    Servers,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.connection import NO_KEY, Connection, Pool
from judge.backends.local import LocalJudge
from judge.backends.openai import OpenAIJudge, connect
from judge.plugins import install
from judge.prompts import GREEN, STRUCTURED
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError

KIND = "vllm"
IN_FLIGHT = 128
"""How many requests one copy of a model is sent at a time, which keeps an H100 busy with 7B."""
EXECUTABLE = "JUDGE_VLLM"  # names a `vllm` in an environment of its own, or a script
RESTARTS = 2
"""How often a vLLM that has ended is started again in one run."""
BATCH_INVARIANT = "batch-invariant"
"""The setting by which an answer does not depend on what else is computed at the same time."""
_HOST = "127.0.0.1"
_TICK = 0.5
_PATIENCE = 10  # seconds that a server may take to end itself before it is killed
_LAST_WORDS = (
    3.0  # seconds between the first failed request and the end of a server that dies
)
_LAST_LINES = 8  # of the log of a server that is given up
# Ends the group $1 where the owner is gone, even by `kill -9`: the owner holds the other end of
# standard input.
_GUARD = 'read -r _; kill -TERM "-$1"; sleep "$2"; kill -KILL "-$1"'
_GREEN_DTYPE = "float16"  # as the official implementation on a GPU
_STRUCTURED_OUTPUTS = "--structured-outputs-config"
# Without it a model goes on writing blanks where the grammar lets it, until its room is used up.
_NO_BLANKS = '{"backend": "xgrammar", "disable_any_whitespace": true}'

# Where the server is and who may ask it is arranged here.
_OURS = (
    "--host --port --api-key --uds --served-model-name --model --config --root-path --ssl-keyfile "
    "--ssl-certfile --ssl-ca-certs --ssl-cert-reqs --headless --lora-modules"
)
# These say where and how fast, not what: they stay out of the signature and the cache key.
_WITHOUT_EFFECT = (
    "--tensor-parallel-size --data-parallel-size --pipeline-parallel-size "
    "--gpu-memory-utilization --max-num-seqs --max-num-batched-tokens --max-model-len "
    "--enforce-eager --swap-space --cpu-offload-gb --download-dir --kv-cache-memory-bytes "
    "--block-size --load-format --max-parallel-loading-workers --enable-prefix-caching "
    "--no-enable-prefix-caching --enable-chunked-prefill --no-enable-chunked-prefill "
    "--distributed-executor-backend --api-server-count --uvicorn-log-level "
    "--disable-uvicorn-access-log --disable-log-stats --enable-log-requests "
    "--no-enable-log-requests --data-parallel-backend --data-parallel-size-local "
    "--safetensors-load-strategy --disable-log-requests --disable-custom-all-reduce"
)

_BATCH_INVARIANT_VARIABLE = "VLLM_BATCH_INVARIANT"

_ERROR = re.compile(r"\b(?:(?:\w+(?:Error|Exception)|error): |Value error, ).+")
_CONSEQUENCE = "Engine core initialization failed"
_LONGEST_TAIL = 262_144


def flags_of(options: Mapping[str, object]) -> dict[str, str]:
    """Return the flags for `vllm serve` that the options of a judge name, with their values."""
    flags = {}
    for option, value in options.items():
        # The part after a dot is a key of a JSON value.
        name, dot, key = option.partition(".")
        flag = f"--{name.lstrip('-').replace('_', '-')}"
        if flag in _OURS.split():
            raise JudgeError(
                f"{flag}: where the server is and who may ask it, judge decides"
            )
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        flags[flag + dot + key] = "" if value is True else text
    return flags


@dataclass(frozen=True, slots=True)
class Launch:
    """The model and flags of `vllm serve`; `timeout` is for one answer, in seconds."""

    model: str
    flags: Mapping[str, str]
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = TIMEOUT

    @property
    def max_in_flight(self) -> int:
        """How many requests the copies of the model are sent at a time."""
        copies = self.flags.get("--data-parallel-size", "1")
        return IN_FLIGHT * (
            int(copies) if copies.isdecimal() else 1
        )  # vLLM refuses other words


class Process:
    """A command whose process group ends with its owner, even by `kill -9`."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], log: BinaryIO
    ) -> None:
        start = partial(subprocess.Popen, start_new_session=True)
        nothing = subprocess.DEVNULL
        self._command = start(
            [*command], stdin=nothing, stdout=log, stderr=log, env={**environ}
        )
        guard = [
            "/bin/sh",
            "-c",
            _GUARD,
            "vllm-guard",
            str(self._command.pid),
            str(_PATIENCE),
        ]
        self._guard = start(
            guard, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing
        )

    @property
    def exit_status(self) -> int | None:
        """The command's exit status, below 0 for a signal; None while it runs."""
        return self._command.poll()

    def stop(self) -> None:
        """End the command and its group; returns when nothing is left."""
        if self.exit_status is None:
            os.killpg(self._command.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._command.wait(_PATIENCE)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._command.pid, signal.SIGKILL)
        self._command.wait()
        self._guard.kill()
        self._guard.communicate()


class Server(Servers):
    """`vllm serve` as a child process on a free port, with a random key.

    One that has ended is started again, twice in a run, and what was in flight is asked again.
    """

    def __init__(self, launch: Launch, say: Callable[[str], None]) -> None:
        self._launch, self._say = launch, say
        self.max_in_flight = launch.max_in_flight
        self._executable = executable(launch.environ)
        self._lock = asyncio.Lock()
        self._process: Process | None = None
        self._client: Client | None = None
        self._log, self._port, self._key = Path(), 0, ""
        self._log_begin = 0  # where in the log the server that runs began to write
        self._restarts = 0
        self._given_up: JudgeError | None = None

    @property
    def log(self) -> Path | None:  # type: ignore[override]
        """What the server wrote; None where it was never started."""
        return self._log if self._log.is_file() else None

    async def ready(self) -> None:
        """Return when the server runs; raises `JudgeError` where it does not start."""
        async with self._lock:
            await self._open()

    async def _open(self) -> None:
        if self._given_up is not None:
            raise self._given_up
        if self._process is None:
            await self._start()
        if self._client is None:
            connection = Connection(
                f"http://{_HOST}:{self._port}/v1", self._launch.timeout
            )
            self._client = connect(connection, self._key)

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request, and again to a server that replaces one that has ended.

        Raises `JudgeError` where the server has ended more than `RESTARTS` times in the run.
        """
        while True:
            await self.ready()
            client, process = self._client, self._process
            assert client is not None
            assert process is not None
            try:
                return await client.ask(body, path, mode)
            except (OverloadError, UnreadableReplyError):
                raise  # the server is there
            except TransientError as error:
                if not await _has_ended(process, error):
                    raise
                await self._replace(process, error)

    async def _replace(self, ended: Process, error: TransientError) -> None:
        """Start the server again, unless another question has seen to that already."""
        async with self._lock:
            if self._process is not ended:
                return
            end = self._end(ended)
            client, self._client = self._client, None
            if client is not None:
                await client.aclose()
            await asyncio.to_thread(self.stop)
            if self._restarts >= RESTARTS:
                self._given_up = JudgeError(
                    f"vLLM has ended {RESTARTS + 1} times in this run, the last time {end}; every "
                    f"answer is in the cache, and the same command goes on. The last lines of its "
                    f"log:\n{self._last_lines()}"
                )
                raise self._given_up from error
            self._restarts += 1
            self._say(
                f"vLLM has ended {end}. Starting it again ({self._restarts} of {RESTARTS}); what "
                "was in flight is asked again."
            )
            try:
                await self._open()
            except JudgeError as failure:
                self._given_up = failure
                raise

    async def aclose(self) -> None:
        """Close the connections and stop the server."""
        self._lock = asyncio.Lock()  # the next to ask may do so in another event loop
        self._restarts, self._given_up = 0, None
        client, self._client = self._client, None
        try:
            if client is not None:
                await client.aclose()
        finally:
            await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """Stop the server; returns when nothing of it is left."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    async def _start(self) -> None:
        launch = self._launch
        with socket.create_server((_HOST, 0)) as free:
            port = self._port = free.getsockname()[1]
        command = [
            self._executable,
            "serve",
            launch.model,
            f"--host={_HOST}",
            f"--port={port}",
        ]
        command += [
            flag + (value and f"={value}") for flag, value in launch.flags.items()
        ]
        # Not as a flag: command lines are for everyone on the machine to read.
        self._key = secrets.token_urlsafe(24)
        environ = {
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_API_KEY": self._key,
        }
        if not self._restarts or self.log is None:
            # For its owner alone: it may quote reports.
            file, name = tempfile.mkstemp(".log", "judge-vllm-")
            os.close(file)
            self._log = Path(name)
        self._log_begin = self._log.stat().st_size
        self._say(f"Starting vLLM with {launch.model}; its log is {self._log}")
        with self._log.open("ab") as log:
            process = self._process = Process(
                command, {**launch.environ, **environ}, log
            )
        try:
            await self._wait_until_healthy(process)
        except BaseException:  # cancelled too
            await asyncio.to_thread(self.stop)
            raise

    async def _wait_until_healthy(self, process: Process) -> None:
        began = time.monotonic()
        while not await asyncio.to_thread(_is_healthy, self._port):
            if process.exit_status is not None:
                raise JudgeError(
                    f"vLLM did not start {self._end(process)} (see docs/gpu.md)"
                )
            await asyncio.sleep(_TICK)
        self._say(f"vLLM is ready after {time.monotonic() - began:.0f} s.")

    def _end(self, process: Process) -> str:
        cause = log_cause(self._written())
        return f"(exit status {process.exit_status}: {cause}); its log is {self._log}"

    def _written(self) -> bytes:
        """Return the end of what the server that was started last has written."""
        if self.log is None:
            return b""
        return self._log.read_bytes()[self._log_begin :][-_LONGEST_TAIL:]

    def _last_lines(self) -> str:
        lines = [
            _printable(line)[:200] for line in _plain(self._written()).splitlines()
        ]
        return "\n".join([f"  {line}" for line in lines if line.strip()][-_LAST_LINES:])


def log_cause(log: bytes) -> str:
    """Return why a server ended: the last error in its log that follows from no other."""
    causes = [
        error for error in _ERROR.findall(_plain(log)) if _CONSEQUENCE not in error
    ]
    cause = causes[-1] if causes else "its log names no error"
    return _printable(cause)[:300]


def _plain(log: bytes) -> str:
    """Return the text of a log without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", log.decode("utf-8", "replace"))


def _printable(text: str) -> str:
    return "".join(filter(str.isprintable, text))


async def _has_ended(process: Process, error: TransientError) -> bool:
    """Whether a request failed because its server ends; it may take seconds from one to the other.

    A server whose engine has died answers with status 500 and then ends.
    """
    until = time.monotonic() + _LAST_WORDS
    is_time_out = isinstance(error, UnavailableError) and error.reason == "timeout"
    while process.exit_status is None:
        if is_time_out or time.monotonic() > until:
            return False
        await asyncio.sleep(_LAST_WORDS / 30)
    return True


def executable(environ: Mapping[str, str]) -> str:
    """Return the path of `vllm`: what `JUDGE_VLLM` names, else beside this Python, else on PATH."""
    name = environ.get(EXECUTABLE, "").strip() or "vllm"
    folders = os.pathsep.join(
        [str(Path(sys.executable).parent), environ.get("PATH", "")]
    )
    if path := shutil.which(name, path=folders):
        return path
    raise JudgeError(
        f"there is no program {name}: {install('vllm')}, name a `vllm` in {EXECUTABLE} "
        "or a running server with --base-url, or use --judge hf:MODEL"
    )


def _is_healthy(port: int) -> bool:
    with closing(http.client.HTTPConnection(_HOST, port, timeout=5.0)) as connection:
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False


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
        ids, room = self.encoded(request)
        body = {
            "model": self.served_as,
            "prompt": ids,
            "temperature": 0,
            **{name: request.sampling[name] for name in self.asked},
            "max_tokens": room,
            "stop_token_ids": [self.encoder.eos_id],
        }
        answer = await self.servers.ask(body, COMPLETIONS)
        # The server shows the blank that a Llama's first token begins with; a tokenizer that
        # decodes the answer by itself, as everywhere else, does not.
        return replace(answer, text=answer.text.removeprefix(" "))


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `vllm:MODEL`: behind a server of our own, or those at `base_url`."""
    start = partial(Server, say=settings.say)
    return served(model, rubric, settings, KIND, flags_of(settings.options), start)


def _environ_of(
    flags: Mapping[str, str], settings: JudgeSettings
) -> tuple[dict[str, str], Mapping[str, str]]:
    """Return the flags without `batch-invariant`, which is a variable of vLLM's environment.

    Raises `JudgeError` for a value that is neither yes nor no.
    """
    others = {
        flag: value for flag, value in flags.items() if flag != f"--{BATCH_INVARIANT}"
    }
    if len(others) == len(flags):
        return others, settings.environ
    value = flags[f"--{BATCH_INVARIANT}"].lower()
    if value not in ("", "1", "true", "0", "false"):
        raise JudgeError(
            f"--server {BATCH_INVARIANT}={value}: write {BATCH_INVARIANT} alone to switch it on, "
            "or =false"
        )
    is_on = value in ("", "1", "true")
    return others, {
        **settings.environ,
        _BATCH_INVARIANT_VARIABLE: "1" if is_on else "0",
    }


def served(
    model: str,
    rubric: Rubric,
    settings: JudgeSettings,
    kind: str,
    flags: Mapping[str, str],
    start: Callable[[Launch], Servers],
) -> Judge:
    """Return the judge `kind:MODEL`, whose version and cached answers are those of `vllm:`."""
    if not model:
        raise JudgeError(
            f"{kind}: names no model; write {kind}:OWNER/NAME or {kind}:FOLDER"
        )
    if settings.base_urls and flags:
        raise JudgeError(
            "--server is for a server that judge starts; leave it or --base-url out"
        )
    prompt, reply = options.prompt_and_reply(rubric, model, settings, is_own=True)
    if reply != STRUCTURED and "reasoning_effort" in settings.sampling:
        raise JudgeError(
            f"{kind}: text in token ids knows no reasoning_effort; ask with --reply structured"
        )
    flags, environ = _environ_of(flags, settings)
    files = local.find(model, settings.environ, flags.get("--revision"))
    encoder = None if reply == STRUCTURED else local.load_encoder(files, prompt)
    if encoder and encoder.layout == GREEN and not settings.base_urls:
        flags = {
            "--dtype": _GREEN_DTYPE,
            "--max-model-len": str(encoder.limit),
            **flags,
        }
    # The version has what may change an answer: vllm:MODEL@COMMIT,dtype=float32,green
    marks = [
        flag.lstrip("-").replace("_", "-") + (value and f"={value}")
        for flag, value in sorted(flags.items())
        if flag not in _WITHOUT_EFFECT.split()
    ]
    # The variable of vLLM's may be set where judge runs, too.
    is_invariant = environ.get(_BATCH_INVARIANT_VARIABLE, "").strip() not in ("", "0")
    if is_invariant and not settings.base_urls:
        marks = sorted([*marks, BATCH_INVARIANT])
    version = ",".join(
        [f"{KIND}:{files.version}", *marks, *([encoder.layout] if encoder else [])]
    )
    if files.commit:  # the weights of the commit whose tokenizer is read here
        flags = {"--revision": files.commit, **flags}
    # vLLM takes the keys of a JSON value one by one too: --structured-outputs-config.backend=...
    if reply == STRUCTURED and not any(
        flag.startswith(_STRUCTURED_OUTPUTS) for flag in flags
    ):
        flags = {_STRUCTURED_OUTPUTS: _NO_BLANKS, **flags}
    servers: Servers
    if settings.base_urls:
        # Not OPENAI_API_KEY: that one is not for whoever happens to listen here.
        key = settings.environ.get("VLLM_API_KEY", "").strip() or NO_KEY
        places = [
            (Connection(url, settings.timeout), key) for url in settings.base_urls
        ]
        servers = Pool(places, model, settings.say, connect)
        servers.max_in_flight = IN_FLIGHT * len(places)
    else:
        servers = start(Launch(files.source, flags, environ, settings.timeout))
    # What is asked in token ids is answered in text.
    forms = reply if encoder is None else None
    judge: dict[str, Any] = {
        "name": f"{kind}:{model}",
        "version": version,
        "prompt": prompt,
        "questions": options.questions(rubric, prompt, forms, settings),
        "served_as": model if settings.base_urls else files.source,
        "servers": servers,
        "max_tokens": options.max_tokens(model, settings),
        "asked": settings.sampling,
    }
    if encoder is None:
        form = options.form(rubric, prompt, reply)
        judge["is_limit_asked"] = settings.max_tokens is not None
        return OpenAIJudge(reply=reply, form=form, say=settings.say, **judge)
    return VLLMJudge(encoder=encoder, **judge)
