"""The judge `vllm:MODEL`: a model that vLLM serves, started when there is something to ask."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from judge.backends import local, options
from judge.backends.base import TIMEOUT, Judge, JudgeSettings, UnavailableError
from judge.backends.local import LocalJudge, ModelFiles
from judge.backends.openai import OpenAIJudge
from judge.backends.servers import CHAT, COMPLETIONS, NO_KEY, Connection, Pool, Servers
from judge.backends.structured import Mode
from judge.plugins import install
from judge.prompts import GREEN, STRUCTURED
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError

if TYPE_CHECKING:
    from judge.backends.openai_client import Client

KIND = "vllm"
IN_FLIGHT = 128
"""How many requests one copy of a model is sent at a time, which keeps an H100 busy with 7B."""
START_TIMEOUT = 7200.0
"""Seconds, in which a model is downloaded, loaded and compiled."""
# Names a `vllm` that lives elsewhere: in an environment of its own, behind a script.
EXECUTABLE = "JUDGE_VLLM"
_HOST = "127.0.0.1"
_GUARD = Path(__file__).with_name("vllm_guard.py")
_RESTARTS = 1
_TICK, _SECONDS_BETWEEN_LINES = 0.5, 15.0
# The guard is gentle for five seconds; then it kills.
_PATIENCE = 15.0
# What the official implementation computes in on a GPU.
_GREEN_DTYPE = "float16"
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
    "--tensor-parallel-size -tp --data-parallel-size -dp --pipeline-parallel-size -pp "
    "--gpu-memory-utilization --max-num-seqs --max-num-batched-tokens --max-model-len "
    "--enforce-eager --swap-space --cpu-offload-gb --download-dir --kv-cache-memory-bytes "
    "--block-size --load-format --max-parallel-loading-workers --enable-prefix-caching "
    "--no-enable-prefix-caching --enable-chunked-prefill --no-enable-chunked-prefill "
    "--distributed-executor-backend --api-server-count --uvicorn-log-level "
    "--disable-uvicorn-access-log --disable-log-stats --enable-log-requests "
    "--no-enable-log-requests --data-parallel-backend --data-parallel-size-local "
    "--safetensors-load-strategy --disable-log-requests --disable-custom-all-reduce"
)

_ERROR = re.compile(r"\b(?:(?:\w+(?:Error|Exception)|error): |Value error, ).+")
_CONSEQUENCE = "Engine core initialization failed"
_LONGEST_TAIL = 262_144


class VLLMOptions(options.KindOptions):
    """What `vllm:` alone takes."""

    vllm_args: Sequence[str] = ()


def read_flags(arguments: Sequence[str]) -> dict[str, str]:
    """Return the flags for `vllm serve` by name, each written as `--a`, `--a=b` or `--a b`."""
    flags = {}
    for argument in arguments:
        match = re.fullmatch(
            r"(--?[A-Za-z][\w-]*)(\.[\w.-]+)?(?:[= ](.*))?", argument.strip(), re.DOTALL
        )
        name = match[1].replace("_", "-") if match else ""
        if match is None or name in _OURS.split():
            raise JudgeError(
                f"{name or argument}: write a flag of `vllm serve` and its value, as in "
                "--server dtype=float32; where the server is and who may ask it, judge decides"
            )
        flags[name + (match[2] or "")] = (match[3] or "").strip()
    return flags


def flag_marks(flags: Mapping[str, str]) -> str:
    """Return the flags that may change an answer, for the judge's version: `dtype=float32`."""
    return ",".join(
        flag.lstrip("-").replace("_", "-") + (value and f"={value}")
        for flag, value in sorted(flags.items())
        if flag not in _WITHOUT_EFFECT.split()
    )


def copies(flags: Mapping[str, str], *names: str) -> int:
    """Return the number that a flag of one of `names` is set to, 1 without it."""
    number = next((flags[name] for name in names if name in flags), "1")
    return int(number) if number.isdecimal() else 1  # vLLM refuses it in its own words


@dataclass(frozen=True, slots=True)
class Launch:
    """The model, flags and log of `vllm serve`; `timeout` is for one answer, in seconds."""

    model: str
    flags: Mapping[str, str]
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    start_timeout: float = START_TIMEOUT
    timeout: float = TIMEOUT

    @property
    def max_in_flight(self) -> int:
        """How many requests the copies of the model are sent at a time."""
        return IN_FLIGHT * copies(self.flags, "--data-parallel-size", "-dp")


def new_log(kind: str) -> Path:
    """Return a file for a server's log that no other run writes to."""
    name = f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    return platformdirs.user_log_path("judge", appauthor=False) / name


class Process:
    """A command under the guard's eye (see `vllm_guard`), all that it writes going to `log`."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            # For its owner alone: it may quote reports.
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise JudgeError(f"cannot write the server's log {log}: {error.strerror}") from error
        with os.fdopen(descriptor, "wb") as output:
            self._guard = subprocess.Popen(  # noqa: S603 - the guard, no shell
                [sys.executable, "-I", "-S", str(_GUARD), *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=dict(environ),
                start_new_session=True,
            )

    @property
    def exit_status(self) -> int | None:
        """The command's exit status, 128 and more for a signal; None while it runs."""
        status = self._guard.poll()
        return 128 - status if status is not None and status < 0 else status

    def stop(self) -> None:
        """End the command and everything it started; returns when nothing is left."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        try:
            self._guard.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._guard.pid, signal.SIGKILL)  # what a guard that was killed left behind


class Server(Servers):
    """`vllm serve` as a child process on a free port, with a random key; restarted once."""

    def __init__(self, launch: Launch, say: Callable[[str], None]) -> None:
        self._launch, self._say = launch, say
        self.max_in_flight = launch.max_in_flight
        self._executable = executable(launch.environ)
        self._lock = asyncio.Lock()
        self._process: Process | None = None
        self._client: Client | None = None
        self._is_suspect = False  # a request has found nobody there
        self._log_start = self._starts = self._port = 0
        self._key = ""
        self.starts = (launch.model, *launch.flags.items())
        self.failure: JudgeError | None = None

    @property
    def log(self) -> Path | None:
        """What the server wrote; None where it was never started."""
        return self._launch.log if self._launch.log.exists() else None

    async def ready(self) -> None:
        """Return when the server runs; raises `JudgeError`, and the same from then on."""
        async with self._lock:
            if self.failure is not None:
                raise self.failure
            try:
                if self._process is not None and self._is_suspect:
                    await self._check(self._process)
                if self._process is None:
                    await self._start()
            except JudgeError as error:
                self.failure = error
                raise
            if self._client is None:
                from judge.backends.openai_client import Client

                connection = Connection(f"http://{_HOST}:{self._port}/v1", self._launch.timeout)
                self._client = Client(connection, self._key)

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request; one that dies with the server is an `UnavailableError`."""
        await self.ready()
        assert self._client is not None
        try:
            return await self._client.ask(body, path, mode)
        except UnavailableError as error:
            self._is_suspect |= error.reason == "connection"
            raise

    async def aclose(self) -> None:
        """Close the connections and stop the server, unless it stays for the next judge."""
        self._lock = asyncio.Lock()  # the next to ask may do so in another event loop
        try:
            if self._client is not None:
                client, self._client = self._client, None
                await client.aclose()
        finally:
            if not self.stays:
                # The guard ends it even if this wait is cut short.
                await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """Stop the server; returns when nothing of it is left."""
        process, self._process, self._is_suspect = self._process, None, False
        if process is not None:
            process.stop()

    async def _check(self, process: Process) -> None:
        if process.exit_status is None and await asyncio.to_thread(_is_healthy, self._port):
            self._is_suspect = False
            return
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await asyncio.to_thread(self.stop)
        end = self._end_of(process)
        if self._starts > _RESTARTS:
            raise JudgeError(f"vLLM ended in mid-run {end}; what was answered is in the cache")
        self._say(f"vLLM ended in mid-run {end}; starting it again.")

    async def _start(self) -> None:
        launch = self._launch
        with socket.create_server((_HOST, 0)) as free:
            port = self._port = free.getsockname()[1]
        command = [self._executable, "serve", launch.model, f"--host={_HOST}", f"--port={port}"]
        command += [flag + (value and f"={value}") for flag, value in launch.flags.items()]
        # Not as a flag: command lines are for everyone on the machine to read.
        self._key = secrets.token_urlsafe(24)
        environ = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_API_KEY": self._key}
        self._say(f"Starting vLLM with {launch.model}; its log is {launch.log}")
        self._starts += 1
        self._log_start = launch.log.stat().st_size if launch.log.exists() else 0
        self._process = Process(command, {**launch.environ, **environ}, launch.log)
        try:
            await self._wait_until_healthy(self._process)
        except BaseException:  # cancelled, or given up
            await asyncio.to_thread(self.stop)
            raise

    async def _wait_until_healthy(self, process: Process) -> None:
        began = reported = time.monotonic()
        while process.exit_status is None:
            seconds = time.monotonic() - began
            if await asyncio.to_thread(_is_healthy, self._port):
                self._say(f"vLLM is ready after {seconds:.0f} s.")
                return
            newest = (log_lines(self._log_tail()) or ["its log is empty so far"])[-1][:300]
            if seconds > self._launch.start_timeout:
                raise JudgeError(
                    f"vLLM is not ready after {seconds:.0f} s ({newest}); see {self._launch.log}"
                )
            if time.monotonic() - reported >= _SECONDS_BETWEEN_LINES:
                reported = time.monotonic()
                self._say(f"  {seconds:.0f} s: {newest}")
            await asyncio.sleep(_TICK)
        raise JudgeError(f"vLLM did not start {self._end_of(process)} (see docs/gpu.md)")

    def _end_of(self, process: Process) -> str:
        status = process.exit_status or 0
        how = f"signal {status - 128}" if status > 128 else f"exit status {status}"
        return f"({how}: {log_cause(self._log_tail())}); its log is {self._launch.log}"

    def _log_tail(self) -> bytes:
        with self._launch.log.open("rb") as file:
            file.seek(max(self._log_start, self._launch.log.stat().st_size - _LONGEST_TAIL))
            return file.read()


def log_lines(log: bytes) -> list[str]:
    """Return the lines of a log that say something, without what could steer a terminal."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", log.decode("utf-8", "replace"))
    text = re.sub(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]", "", text.replace("\r", "\n"))
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def log_cause(log: bytes) -> str:
    """Return why a server ended: the last error in its log that follows from no other."""
    lines = log_lines(log)
    errors = [match[0] for line in lines if (match := _ERROR.search(line))]
    causes = [error for error in errors if _CONSEQUENCE not in error]
    return (causes or lines or ["its log is empty"])[-1][:300]


def executable(environ: Mapping[str, str]) -> str:
    """Return the path of `vllm`: what `JUDGE_VLLM` names, else beside this Python, else on PATH."""
    name = environ.get(EXECUTABLE, "").strip()
    beside = str(Path(sys.executable).with_name("vllm"))
    for program in (name,) if name else (beside, "vllm"):
        if path := shutil.which(program, path=environ.get("PATH", "")):
            return path
    raise JudgeError(
        f"there is no program {name or 'vllm'}: {install('vllm')}, name a `vllm` in {EXECUTABLE} "
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
        encoded, room = self.encoded(request)
        body = {
            "model": self.served_as,
            "prompt": list(encoded.ids),
            "temperature": 0,
            **{name: request.sampling[name] for name in self.asked},
            "max_tokens": room,
            "stop_token_ids": [self.encoder.eos_id],
        }
        answer = await self.servers.ask(body, COMPLETIONS)
        # The server shows the blank that a Llama's first token begins with; a tokenizer that
        # decodes the answer by itself, as everywhere else, does not.
        return replace(answer, text=answer.text.removeprefix(" "))


Launcher = Callable[[ModelFiles, Launch], Servers]
"""Makes the servers of a model, by its files and what is to be started."""


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `vllm:MODEL`: behind a server of our own, or those at `base_url`."""
    taken = VLLMOptions.read(settings, f"{KIND}:{model}")

    def launcher(_files: ModelFiles, launch: Launch) -> Servers:
        return Server(launch, settings.say)

    return served(model, rubric, settings, KIND, read_flags(taken.vllm_args), launcher)


def served(
    model: str,
    rubric: Rubric,
    settings: JudgeSettings,
    kind: str,
    flags: Mapping[str, str],
    launcher: Launcher,
) -> Judge:
    """Return the judge `kind:MODEL`, whose version and cached answers are those of `vllm:`."""
    if not model:
        raise JudgeError(f"{kind}: names no model; write {kind}:OWNER/NAME or {kind}:FOLDER")
    if settings.base_urls and flags:
        raise JudgeError("--server is for a server that judge starts; leave it or --base-url out")
    prompt, reply = options.prompt_and_reply(rubric, model, settings, is_own=True)
    if reply != STRUCTURED and "reasoning_effort" in settings.sampling:
        raise JudgeError(
            f"{kind}: text in token ids knows no reasoning_effort; ask with --reply structured"
        )
    files = local.find(model, settings.environ, flags.get("--revision"))
    encoder = None if reply == STRUCTURED else local.load_encoder(files, prompt)
    if encoder and encoder.layout == GREEN and not settings.base_urls:
        flags = {"--dtype": _GREEN_DTYPE, "--max-model-len": str(encoder.limit), **flags}
    marks = [f"{KIND}:{files.version}", flag_marks(flags), encoder.layout if encoder else ""]
    if files.commit:  # the weights of the commit whose tokenizer is read here
        flags = {"--revision": files.commit, **flags}
    # vLLM takes the keys of a JSON value one by one too: --structured-outputs-config.backend=...
    if reply == STRUCTURED and not any(flag.startswith(_STRUCTURED_OUTPUTS) for flag in flags):
        flags = {_STRUCTURED_OUTPUTS: _NO_BLANKS, **flags}
    servers: Servers
    if settings.base_urls:
        # Not OPENAI_API_KEY: that one is not for whoever happens to listen here.
        key = settings.environ.get("VLLM_API_KEY", "").strip() or NO_KEY
        places = [(Connection(url, settings.timeout), key) for url in settings.base_urls]
        servers = Pool(places, model, settings.say)
        servers.max_in_flight = IN_FLIGHT * len(places)
    else:
        log, environ = new_log(kind), settings.environ
        launch = Launch(files.source, flags, log, environ, timeout=settings.timeout)
        servers = launcher(files, launch)
    judge: dict[str, Any] = {
        "name": f"{kind}:{model}",
        "version": ",".join(filter(None, marks)),
        "prompt": prompt,
        "served_as": model if settings.base_urls else files.source,
        "servers": servers,
        "max_tokens": options.max_tokens(model, settings),
        "asked": settings.sampling,
    }
    if encoder is None:
        return OpenAIJudge(rubric=rubric, reply=reply, say=settings.say, **judge)
    return VLLMJudge(encoder=encoder, **judge)
