"""A client for the fault server's tests, and a way to write answers that needs no rubric."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import openai
import pytest

from judge.types import Annotation

PATIENT, IMPATIENT = 20.0, 0.4
"""Timeouts: for tests that wait for an answer, and for one that does not come."""


def plain(annotation: Annotation) -> str:
    """An annotation in a few lines."""
    items = [f"{item.kind} {dict(item.labels)}: {item.text}" for item in annotation.items]
    return "\n".join([annotation.explanation, *items])


def messages(key: str) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": "Judge the report. Not about study-99999."},
        {"role": "user", "content": f"Reference: {key} shows a clear chest.\nCandidate: study-7."},
    ]


def client(
    url: str, *, aio: bool = False, key: str = "a key", timeout: float = PATIENT
) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=timeout,
        http_client=openai.DefaultAioHttpClient(timeout=timeout) if aio else None,
    )


def ask(url: str, keys: Iterable[str], *, aio: bool = True, **more: Any) -> list[Any]:
    """Ask about all of `keys` at once; return answers and exceptions in their order."""
    return asyncio.run(ask_all(url, list(keys), aio=aio, **more))


async def ask_all(
    url: str,
    keys: list[str],
    *,
    aio: bool = True,
    api_key: str = "a key",
    timeout: float = PATIENT,
    **more: Any,
) -> list[Any]:
    more = {"model": "gpt-4o", "temperature": 0, "max_tokens": 2048, **more}
    async with client(url, aio=aio, key=api_key, timeout=timeout) as asked:
        create: Any = asked.chat.completions.create
        return await asyncio.gather(
            *(create(messages=messages(key), **more) for key in keys), return_exceptions=True
        )


def one(url: str, key: str = "study-1", **more: Any) -> Any:
    """Ask about one study; return the answer, raise the exception."""
    (answer,) = ask(url, [key], **more)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def error(url: str, key: str = "study-1", **more: Any) -> Any:
    """Ask about one study and return the API's error."""
    with pytest.raises(openai.APIError) as caught:
        one(url, key, **more)
    return caught.value
