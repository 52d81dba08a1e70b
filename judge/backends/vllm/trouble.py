"""What a server's log says: what it does now, and why it ended.

The wordings are those of vLLM 0.32 and of the libraries under it; older ones are known where
they differ. A log that says nothing known is quoted.
"""

from __future__ import annotations

import re
from pathlib import Path

_TAIL = 262_144
_SHOWN = 12
_NO_GPU = "vLLM finds no GPU: `nvidia-smi` must list one; --judge hf:MODEL needs none"
_MEMORY = (
    "the model does not fit into the free memory; lower --vllm-arg=--gpu-memory-utilization=0.8, "
    "spread it with --vllm-arg=--tensor-parallel-size=2, or take a smaller model (docs/gpu.md)"
)
_NO_ROOM = (
    "the weights fit and leave no room for the work; raise "
    "--vllm-arg=--gpu-memory-utilization=0.95 or spread it with --vllm-arg=--tensor-parallel-size=2"
)
_GATED = "the model is gated; accept its terms on the Hugging Face Hub and set HF_TOKEN"
_MISSPELT = "there is no such model; check its name on the Hugging Face Hub, or the folder's path"
_OFFLINE = "the hub cannot be reached; fetch the model (`hf download MODEL`) and name its folder"
_HOST_MEMORY = "set VLLM_CPU_KVCACHE_SPACE to fewer GiB, or give the machine more memory"
_SPLIT = "choose another --tensor-parallel-size, one that divides the attention heads"
_COMPILER = "install a C++ compiler and Python's headers, or add --vllm-arg=--enforce-eager"
_NO_MODEL = "this is no language model that vLLM can serve; check --judge"
PORT_TAKEN = "Address already in use"
# In order: the first that the log matches is the cause. What is a consequence comes late.
_CAUSES = (
    (r"error: (unrecognized arguments: .*|argument .*)", "check --vllm-arg"),
    (r"Cannot access gated repo.*|access a gated repo.*|GatedRepoError.*", _GATED),
    (PORT_TAKEN, "the port was taken meanwhile; start the run again"),
    (r"Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver", _NO_GPU),
    (r"CUDA driver initialization failed|no CUDA-capable device|libcuda\.so\.1.*", _NO_GPU),
    (r"No available memory for the cache blocks", _NO_ROOM),
    (r"larger than the (?:maximum number of tokens|available KV cache memory).*", _NO_ROOM),
    (r"(?:CUDA|HIP) out of memory.*|OutOfMemoryError.*|Free memory on device.*", _MEMORY),
    (r"Available memory on node .*|Not enough allocated memory.*", _HOST_MEMORY),
    (r"Cannot allocate memory.*", _HOST_MEMORY),
    (r"We couldn't connect to.*|LocalEntryNotFoundError.*", _OFFLINE),
    (r"Name or service not known|Temporary failure in name resolution", _OFFLINE),
    (r"Repo id must be in the form.*|Invalid repository ID or local directory.*", _MISSPELT),
    (r"RepositoryNotFoundError.*|is not a valid model identifier.*|404 Client Error.*", _MISSPELT),
    (r"max_model_len \(\d+\) is greater than.*", "lower --vllm-arg=--max-model-len"),
    (r"Total number of attention heads .* must be divisible by tensor parallel size.*", _SPLIT),
    (r"World size \(\d+\) is larger than the number of available GPUs.*", _SPLIT),
    (r"InvalidCxxCompiler.*|Failed to find C compiler.*|Python\.h: No such file.*", _COMPILER),
    (r"Model architectures .* (?:are not|failed).*|Cannot find any model weights.*", _NO_MODEL),
    (r"Value error, (.*?)(?: \[type=|\n)", "check --judge and --vllm-arg"),
)
_ANY_ERROR = re.compile(r"\b(\w+(?:Error|Exception): .+)")
_CONSEQUENCE = "Engine core initialization failed"
# What vLLM's libraries say when they are shut down, whatever the reason.
_NOISE = re.compile(r"nanobind|leaked |\.\.\. skipped|resource_tracker|warnings\.warn|^\s*\^*\s*$")
_PREFIX = re.compile(
    r"^(\(\w+(?: \w+)?(?: pid=\d+)?\) )?((?:INFO|WARNING|ERROR) [\d :-]+\[[^\]]*\] ?)?"
)


def read_tail(log: Path, start: int = 0) -> str:
    """Return the end of the log from byte `start` on, without what could steer a terminal."""
    try:
        with log.open("rb") as file:
            file.seek(max(start, log.stat().st_size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")
    return re.sub(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]", "", text)


def last_lines(text: str) -> list[str]:
    """Return the last lines that say something."""
    lines = [line for line in text.splitlines() if line.strip() and not _NOISE.search(line)]
    return lines[-_SHOWN:]


def newest(text: str) -> str:
    """Return the last line that says something, without who said it and when."""
    lines = last_lines(text)
    return _one_line(_PREFIX.sub("", lines[-1])) if lines else "its log is empty so far"


def cause(text: str) -> str:
    """Return why the server ended, as its log says it, and what to do; "" where it says nothing."""
    for pattern, advice in _CAUSES:
        if match := re.search(pattern, text):
            return f"{_one_line(match[match.lastindex or 0])}: {advice}"
    found = (_ANY_ERROR.search(_PREFIX.sub("", line)) for line in text.splitlines())
    errors = [error[1] for error in found if error and _CONSEQUENCE not in error[1]]
    return _one_line(errors[-1]) if errors else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(" .:;,")
