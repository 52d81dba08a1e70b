"""The providers of batches, one module each, by the name that the ledger gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from judge.backends.connection import Connection
from judge.backends.hosted import HostedJudge
from judge.backends.openai import OPENAI_URL, OpenAIJudge, key_name
from judge.batching.provider import BatchProvider
from judge.types import JudgeError


@dataclass(frozen=True, slots=True)
class Known:
    """A provider: module and class of its batches, and its own address."""

    module: str
    batches: str
    url: str


OPENAI = "openai"
KNOWN = {OPENAI: Known("openai", "OpenAIBatches", OPENAI_URL)}


def load(name: str) -> type[BatchProvider]:
    """Return the batches of a provider; raises `JudgeError` for one that is not known."""
    if name not in KNOWN:
        raise JudgeError(f"this version of judge knows no batches of {name!r}")
    known = KNOWN[name]
    found: type[BatchProvider] = getattr(
        import_module(f"judge.batching.{known.module}"), known.batches
    )
    return found


def name_for(judge: HostedJudge) -> str | None:
    """Return the provider in whose batches a judge can be asked, None where there is none."""
    return OPENAI if isinstance(judge, OpenAIJudge) else None


def address(name: str, environ: Mapping[str, str], base_url: str | None) -> str:
    """Return the server of a provider that a command names, or the provider's own."""
    named = base_url
    if named is None and name == OPENAI:
        named = environ.get("OPENAI_BASE_URL", "").strip()
    return (named or KNOWN[name].url).rstrip("/")


def key(name: str, connection: Connection, environ: Mapping[str, str]) -> str:
    """Return the key for a server, from its provider's own variable; raises `JudgeError`."""
    return connection.key(environ, key_name(connection))
