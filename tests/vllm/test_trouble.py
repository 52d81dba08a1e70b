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
            "OSError: You are trying to access a gated repo.\n401 Client Error.",
            "gated repo",
            "HF_TOKEN",
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
