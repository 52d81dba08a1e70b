"""What is told of a server's log. The lines are those that vLLM 0.32 writes, cut to the point."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.backends.vllm import trouble

LAST = (
    "(APIServer pid=7) RuntimeError: Engine core initialization failed. See root cause above. "
    "Failed core proc(s): {'EngineCore': 1}\n"
)
WORKER = "(Worker pid=9) ERROR 11-20 23:57:49 [multiproc_executor.py:1063] "


@pytest.mark.parametrize(
    ("log", "quoted", "advice"),
    [
        ("vllm: error: unrecognized arguments: --frobnicate 3", "--frobnicate 3", "--vllm-arg"),
        (
            "vllm serve: error: argument --dtype: invalid choice: 'float33' (choose from 'auto')",
            "float33",
            "--vllm-arg",
        ),
        (
            "RuntimeError: Failed to infer device type, please set the environment variable",
            "Failed to infer device type",
            "nvidia-smi",
        ),
        ("RuntimeError: No CUDA GPUs are available", "No CUDA GPUs", "hf:MODEL"),
        (
            (
                "ValueError: Free memory on device cuda:0 (1.5/22.1 GiB) on startup is less than "
                f"desired GPU memory utilization (0.9, 19.8 GiB).\n{LAST}"
            ),
            "Free memory on device cuda:0 (1.5/22.1 GiB)",
            "--tensor-parallel-size",
        ),
        (
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB.\n{LAST}",
            "CUDA out of memory",
            "smaller model",
        ),
        (
            (
                "ValueError: No available memory for the cache blocks. Try increasing "
                f"`gpu_memory_utilization` when initializing the engine.\n{LAST}"
            ),
            "No available memory for the cache blocks",
            "--gpu-memory-utilization=0.95",
        ),
        (
            (
                f"{WORKER}ValueError: Available memory on node 0 (6.77/8.34 GiB) on kv cache "
                f"allocation is less than requested memory for kv (400.0 GiB).\n{LAST}"
            ),
            "Available memory on node 0",
            "VLLM_CPU_KVCACHE_SPACE",
        ),
        (
            "OSError: You are trying to access a gated repo.\n401 Client Error.",
            "gated repo",
            "HF_TOKEN",
        ),
        (
            "OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/x'.",
            "Repo id must be",
            "no such model",
        ),
        (
            "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error.",
            "RepositoryNotFoundError",
            "no such model",
        ),
        (
            (
                "'[Errno -2] Name or service not known' thrown while requesting HEAD\n"
                "OSError: We couldn't connect to 'https://huggingface.co' to load the files"
            ),
            "We couldn't connect",
            "hf download",
        ),
        ("OSError: [Errno 98] Address already in use", "already in use", "again"),
        (
            (
                "Value error, User-specified max_model_len (9000) is greater than the derived "
                "max_model_len (4096). [type=value_error, input_value=...]"
            ),
            "max_model_len (9000)",
            "--max-model-len",
        ),
        (
            (
                "Value error, Total number of attention heads (4) must be divisible by tensor "
                "parallel size (8). [type=value_error]"
            ),
            "attention heads (4)",
            "--tensor-parallel-size",
        ),
        ("Value error, odd thing [type=value_error, x]", "odd thing", "--vllm-arg"),
        (f"{WORKER}KeyError: 'something new'\n{LAST}", "KeyError: 'something new'", ""),
    ],
)
def test_the_cause_is_quoted_and_has_a_next_step(log: str, quoted: str, advice: str) -> None:
    said = trouble.cause(f"INFO all is well\n{log}\nnanobind: leaked 4 instances!\n")
    assert quoted in said
    assert advice in said
    assert "\n" not in said


def test_the_last_lines_are_those_that_say_something(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\x1b[31mred\x1b[0m \x07bell\nlast\n\n ^^^^\nnanobind: leaked 4 types!\n")
    text = trouble.read_tail(log)
    assert trouble.last_lines(text) == ["red bell", "last"]
    assert "\x1b" not in text
