"""The flags of `vllm serve`: which are ours, which the user may pass, which change a number."""

from __future__ import annotations

from collections.abc import Sequence

from judge.types import JudgeError

# Where the server is and who may ask it is arranged here.
_OURS = frozenset(
    {"--host", "--port", "--api-key", "--uds", "--served-model-name", "--model", "--config"}
    | {"--root-path", "--ssl-keyfile", "--ssl-certfile", "--ssl-ca-certs", "--ssl-cert-reqs"}
    | {"--headless", "--lora-modules"}
)
# These say where and how fast, not what: they stay out of the signature and the cache key.
_WITHOUT_EFFECT = frozenset(
    {"--tensor-parallel-size", "-tp", "--data-parallel-size", "-dp", "--pipeline-parallel-size"}
    | {"-pp", "--gpu-memory-utilization", "--max-num-seqs", "--max-num-batched-tokens"}
    | {"--max-model-len", "--enforce-eager", "--swap-space", "--cpu-offload-gb", "--download-dir"}
    | {"--kv-cache-memory-bytes", "--block-size", "--load-format", "--max-parallel-loading-workers"}
    | {"--enable-prefix-caching", "--no-enable-prefix-caching", "--enable-chunked-prefill"}
    | {"--no-enable-chunked-prefill", "--distributed-executor-backend", "--api-server-count"}
    | {"--uvicorn-log-level", "--disable-uvicorn-access-log", "--disable-log-stats"}
    | {"--enable-log-requests", "--no-enable-log-requests", "--data-parallel-backend"}
    | {"--data-parallel-size-local", "--safetensors-load-strategy", "--disable-log-requests"}
    | {"--disable-custom-all-reduce"}
)


def split(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments as `vllm serve` takes them, `--a=b` and `"--a b"` taken apart."""
    words: list[str] = []
    for argument in arguments:
        flag, _, value = argument.strip().partition(" ")
        if flag.startswith("-") and "=" not in flag and value:
            words += [flag, value.strip()]
        else:
            words.append(argument.strip())
    for flag, value in _pairs(words):
        if not flag.startswith("-"):
            raise JudgeError(
                f"--vllm-arg {value!r}: a flag comes first, as in --vllm-arg=--dtype=float32"
            )
        if flag in _OURS:
            raise JudgeError(
                f"--vllm-arg {flag}: judge sets that itself; for your own server use --base-url"
            )
    return tuple(words)


def value(words: Sequence[str], flag: str) -> str | None:
    """Return what `flag` is set to, "" where it has no value; None where it is not given."""
    return next((value for name, value in _pairs(words) if name == flag), None)


def marks(words: Sequence[str]) -> str:
    """Return the flags that may change an answer, for the judge's version: `dtype=float32`."""
    kept = [(flag, value) for flag, value in _pairs(words) if flag not in _WITHOUT_EFFECT]
    return ",".join(
        flag.lstrip("-") + (f"={value}" if value else "") for flag, value in sorted(kept)
    )


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("-") and not _is_number(word):
            flag, _, first = word.partition("=")
            found.append((flag.replace("_", "-"), [first] if first else []))
        elif found:
            found[-1][1].append(word)
        else:
            return [("", word)]
    return [(flag, " ".join(values)) for flag, values in found]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
