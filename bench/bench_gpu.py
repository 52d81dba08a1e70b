"""Studies an hour by `vllm:` on one GPU, by requests in flight, batch-invariant and not.

A Llama of 7B in the architecture of GREEN's models (bfloat16), with random weights that vLLM makes
itself: nothing is downloaded and no weights are written. 2,000 made-up studies for each number of
requests in flight, or as many as are answered in its share of the time. Random weights say nothing:
every answer is written to its full length, here 300 tokens.

    python bench/bench_gpu.py [--minutes 10] [--studies 2000] [--tokens 300]
        [--flight 16 64 128 256] [--size 7b|tiny] [--flag KEY=VALUE ...]

Needs `vllm` beside this Python, or named in JUDGE_VLLM. Each line is printed as soon as it is
known. `--size tiny` is for a try without a GPU, with `--flag dtype=float32 --flag enforce-eager`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

import tinymodel  # noqa: E402

from judge import backends, rubrics  # noqa: E402
from judge.types import JudgeError, Study  # noqa: E402

# Llama 2 7B, as in the configuration of StanfordAIMI/GREEN-RadLlama2-7b.
LLAMA_7B = {
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
}
TINY = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
}
VOCABULARY = 32_000
PROMPT = """\
name: bench
version: 1
rubric: green
layout: green
words: 300
user: |
  {instructions}
  Reference: $reference
  Candidate: $candidate
"""
INSTRUCTIONS = (
    125  # sentences, with which a question and its answer have about 1,400 tokens
)
WARM = 8
SPARE = 5.0  # seconds for the end of a server


@dataclass(frozen=True)
class Window:
    """What was answered in one share of the time."""

    studies: int
    seconds: float
    prompt_tokens: int
    answer_tokens: int


def write_model(folder: Path, sizes: dict[str, int]) -> None:
    """Write the configuration and a tokenizer of 32,000 entries, most of them never used."""
    from tokenizers import Tokenizer

    tinymodel.train_tokenizer(folder, chat_template=tinymodel.GREEN)
    file = folder / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    missing = range(tokenizer.get_vocab_size(), VOCABULARY)
    tokenizer.add_tokens([f"<unused{number}>" for number in missing])
    tokenizer.save(str(file))
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 4096,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
        **sizes,
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


def studies(count: int, seed: int) -> list[Study]:
    """Made-up studies; other ones for each seed, so that no prompt is in the server's cache."""
    pairs = tinymodel.reports(count, seed=seed)
    return [Study(f"s{number}", *pair) for number, pair in enumerate(pairs)]


async def window(
    judge: backends.Judge, waiting: Iterator[Study], in_flight: int, seconds: float
) -> Window:
    """Ask so many at a time until nothing waits or the time is over; answers under way are lost."""
    began = time.monotonic()
    ends: list[float] = []
    tokens = [0, 0]

    async def work() -> None:
        for study in waiting:
            answer = await judge.complete(judge.request(study))
            ends.append(time.monotonic() - began)
            if answer.usage is not None:
                tokens[0] += answer.usage.prompt_tokens
                tokens[1] += answer.usage.completion_tokens

    workers = [asyncio.create_task(work()) for _ in range(in_flight)]
    done, late = await asyncio.wait(workers, timeout=seconds)
    for worker in late:
        worker.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    for worker in done:
        worker.result()  # raises what went wrong
    # To the last answer: what was cut off counts in neither.
    return Window(len(ends), max(ends, default=seconds), *tokens)


async def measure(
    judge: backends.Judge, options: argparse.Namespace, until: float
) -> None:
    """Print a line for each number of requests in flight."""
    began = time.monotonic()
    try:
        await judge.ready()
        await window(judge, iter(studies(WARM, seed=1)), WARM, 120.0)
        print(f"  ready and warm after {time.monotonic() - began:.0f} s", flush=True)
        for at, in_flight in enumerate(options.flight):
            share = (until - SPARE - time.monotonic()) / (len(options.flight) - at)
            if share <= 0:
                print(f"  {in_flight:>4} in flight: no time left", flush=True)
                continue
            waiting = iter(studies(options.studies, seed=100 + at))
            found = await window(judge, waiting, in_flight, share)
            if not found.studies:
                print(
                    f"  {in_flight:>4} in flight: no answer in {share:.0f} s",
                    flush=True,
                )
                continue
            print(
                f"  {in_flight:>4} in flight: {3600 * found.studies / found.seconds:>9,.0f} "
                f"studies an hour ({found.studies} of {options.studies} in {found.seconds:.1f} s; "
                f"{found.prompt_tokens / found.studies:,.0f} tokens asked and "
                f"{found.answer_tokens / found.studies:,.0f} answered per study, "
                f"{found.answer_tokens / found.seconds:,.0f} answered a second)",
                flush=True,
            )
    finally:
        await judge.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="of the whole script"
    )
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--tokens", type=int, default=300, help="of each answer")
    parser.add_argument("--flight", type=int, nargs="+", default=[16, 64, 128, 256])
    parser.add_argument("--size", choices=["7b", "tiny"], default="7b")
    parser.add_argument(
        "--flag", action="append", default=[], help="a flag of vllm serve"
    )
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    flags: dict[str, object] = {
        "dtype": "bfloat16",
        "load-format": "dummy",
        "max-num-seqs": 256,
    }
    for flag in options.flag:
        name, equals, value = flag.partition("=")
        flags[name] = value if equals else True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        write_model(folder, LLAMA_7B if options.size == "7b" else TINY)
        instructions = " ".join(tinymodel.sentences(INSTRUCTIONS, seed=2))
        prompt = Path(place) / "bench.yaml"
        prompt.write_text(PROMPT.format(instructions=instructions), "utf-8")
        print(
            f"a Llama ({options.size}) with random weights, {options.tokens} tokens an answer"
        )
        ways = [{}, {"batch-invariant": True}]
        for at, way in enumerate(ways):
            print("batch-invariant" if way else "not batch-invariant", flush=True)
            settings = backends.JudgeSettings(
                prompt=str(prompt),
                max_tokens=options.tokens,
                sampling={"min_tokens": options.tokens},
                timeout=600.0,
                environ=dict(os.environ),
                say=lambda text: print(f"  {text}", file=sys.stderr, flush=True),
                options={**flags, **way},
            )
            now = time.monotonic()
            until = now + (end - now) / (len(ways) - at)
            try:
                judge = backends.load(f"vllm:{folder}", rubrics.load("green"), settings)
                asyncio.run(
                    asyncio.wait_for(measure(judge, options, until), until - now)
                )
            except JudgeError as error:
                print(f"  not measured: {error}", flush=True)
            except TimeoutError:
                print("  not measured further: no time left", flush=True)


if __name__ == "__main__":
    main()
