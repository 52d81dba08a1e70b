"""Judging over each provider's API beside the provider's own SDK.

`judge green` and the bare SDK ask the same questions, in turn, of a server of ours, which is a
process of its own and answers in the provider's documented form after `--latency` seconds. Wall
and CPU time are those of the asking process, start and end included; the least of the rounds.
Targets: 1.05 times the SDK's wall time and 1.2 times its CPU at 200 ms and 64 in flight; 1,500
judgements a second at 20 ms and 128 in flight.

    python bench/bench_providers.py [--n 3000 10000] [--latency 0.2] [--concurrency 64]
                                    [--rounds 3] [--providers openai anthropic google]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_api import Used, measured, write

ANSWER = """[Explanation]:
The effusion is not in the reference.

[Clinically Significant Errors]:
(a) False finding: 1. A small left effusion.
(b) Missing finding: 0.
(c) Wrong location: 0.
(d) Wrong severity: 0.
(e) Comparison not in the reference: 0.
(f) Omitted comparison: 0.

[Clinically Insignificant Errors]:
(a) False finding: 0.
(b) Missing finding: 0.
(c) Wrong location: 0.
(d) Wrong severity: 0.
(e) Comparison not in the reference: 0.
(f) Omitted comparison: 0.

[Matched Findings]:
1. The lungs are clear.
"""
USAGE_IN, USAGE_OUT = 1500, 60
MODELS = {
    "openai": "gpt-6-luna",
    "anthropic": "claude-haiku-5-5",
    "google": "gemini-3.5-flash-lite",
}

QUESTIONS = """
import asyncio, json, sys
from judge.prompts import load

async def ask_all(n, concurrency, ask):
    prompt = load("green")
    places = asyncio.Semaphore(concurrency)
    async def one(at):
        turns = prompt.messages(f"study-{at:05}. The lungs are clear.", "Small left effusion.")
        system = "\\n\\n".join(turn.content for turn in turns if turn.role == "system")
        user = "\\n\\n".join(turn.content for turn in turns if turn.role == "user")
        async with places:
            return await ask(system, user)
    answers = await asyncio.gather(*(one(at) for at in range(n)))
    assert len(answers) == n

url, n, concurrency, model = json.loads(sys.argv[1])
"""
PLAIN = {
    "openai": """
import openai

async def main():
    client = openai.AsyncOpenAI(
        base_url=url, api_key="none", max_retries=0, http_client=openai.DefaultAioHttpClient())
    async def ask(system, user):
        turns = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return await client.chat.completions.create(
            model=model, temperature=0, max_completion_tokens=2048, reasoning_effort="none",
            store=False, messages=turns)
    await ask_all(n, concurrency, ask)

asyncio.run(main())
""",
    "anthropic": """
import anthropic

async def main():
    client = anthropic.AsyncAnthropic(
        base_url=url, api_key="none", max_retries=0, http_client=anthropic.DefaultAioHttpClient())
    async def ask(system, user):
        marked = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
        return await client.messages.create(
            model=model, max_tokens=25000, system=[marked], output_config={"effort": "low"},
            messages=[{"role": "user", "content": user}], timeout=120)
    await ask_all(n, concurrency, ask)

asyncio.run(main())
""",
    "google": """
from google import genai
from google.genai import types

async def main():
    options = types.HttpOptions(base_url=url)
    client = genai.Client(api_key="none", http_options=options)
    async def ask(system, user):
        return await client.aio.models.generate_content(
            model=model, contents=[{"role": "user", "parts": [{"text": user}]}],
            config={"system_instruction": system, "max_output_tokens": 25000,
                    "thinking_config": {"thinking_level": "MINIMAL"}})
    await ask_all(n, concurrency, ask)

asyncio.run(main())
""",
}
KEYS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GEMINI_API_KEY",
}


def reply(provider: str) -> dict[str, object]:
    """Return an answer in the form that the provider's reference documents."""
    model = MODELS[provider]
    if provider == "openai":
        message = {"role": "assistant", "content": ANSWER}
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "stop",
            "logprobs": None,
        }
        usage = {
            "prompt_tokens": USAGE_IN,
            "completion_tokens": USAGE_OUT,
            "total_tokens": USAGE_IN + USAGE_OUT,
        }
        kind = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
        }
        return {**kind, "model": model, "choices": [choice], "usage": usage}
    if provider == "anthropic":
        usage = {"input_tokens": USAGE_IN, "output_tokens": USAGE_OUT}
        kind = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
        content = [{"type": "text", "text": ANSWER}]
        ending = {"stop_reason": "end_turn", "stop_sequence": None}
        return {**kind, "content": content, **ending, "usage": usage}
    content = {"role": "model", "parts": [{"text": ANSWER}]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    usage = {
        "promptTokenCount": USAGE_IN,
        "candidatesTokenCount": USAGE_OUT,
        "totalTokenCount": USAGE_IN + USAGE_OUT,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}


async def serve(provider: str, latency: float) -> None:
    """Answer each POST after `latency` seconds, and anything else with 404, until killed."""
    body = json.dumps(reply(provider)).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    found = head % len(body) + body
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = 0
                for line in request.split(b"\r\n"):
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                await reader.readexactly(length)
                is_post = request.startswith(b"POST")
                if is_post:
                    await asyncio.sleep(latency)
                writer.write(found if is_post else missing)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def compare(provider: str, n: int, options: argparse.Namespace) -> None:
    command = [
        sys.executable,
        __file__,
        "--serve",
        provider,
        "--latency",
        str(options.latency),
    ]
    with (
        tempfile.TemporaryDirectory() as work,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            if provider == "openai":
                url += "/v1"
            write(Path(work), n)
            model = MODELS[provider]
            given = json.dumps([url, n, options.concurrency, model])
            plain = [sys.executable, "-c", QUESTIONS + PLAIN[provider], given]
            judge = [sys.executable, "-m", "judge", "green", "preds.json", "refs.json"]
            judge += [
                "--judge",
                f"{provider}:{model}",
                "--base-url",
                url,
                "--reply",
                "text",
            ]
            judge += ["--concurrency", str(options.concurrency)]
            taken: dict[str, list[Used]] = {"SDK": [], "judge": []}
            for at in range(options.rounds):
                taken["SDK"].append(measured(plain, Path(work)))
                taken["judge"].append(
                    measured([*judge, "--cache", f"cache-{at}"], Path(work))
                )
        finally:
            server.kill()
    print_ratios(provider, n, taken)


def print_ratios(provider: str, n: int, taken: dict[str, list[Used]]) -> None:
    wall = {name: min(used.wall for used in rounds) for name, rounds in taken.items()}
    cpu = {name: min(used.cpu for used in rounds) for name, rounds in taken.items()}
    print(
        f"{provider:<10} {n:>7,} {wall['SDK']:>8.2f} {wall['judge']:>8.2f} "
        f"{wall['judge'] / wall['SDK']:>6.2f} {1000 * cpu['SDK'] / n:>8.2f} "
        f"{1000 * cpu['judge'] / n:>8.2f} {cpu['judge'] / cpu['SDK']:>6.2f} "
        f"{n / wall['judge']:>8.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="*", default=[3_000, 10_000])
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--providers", nargs="*", choices=list(MODELS), default=list(MODELS)
    )
    parser.add_argument("--serve", choices=list(MODELS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve, options.latency))
        return
    os.environ.update(dict.fromkeys(KEYS.values(), "none"))
    print(
        "           requests  SDK s  judge s  times  SDK CPU  judge CPU (ms each)  times  per s"
    )
    for n in options.n:
        for provider in options.providers:
            compare(provider, n, options)


if __name__ == "__main__":
    main()
