"""The providers of batches, one module each, by the name that judges and the ledger give them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from judge.backends import anthropic, azure, google, openai
from judge.backends.connection import Connection
from judge.backends.hosted import Provider, require_sdk
from judge.batching.provider import BatchProvider
from judge.types import JudgeError

# Where requests alone go, and what has the key.
_PROVIDERS: Mapping[str, Provider] = {
    module.PROVIDER.name: module.PROVIDER
    for module in (anthropic, azure, google, openai)
}
# Module and class of the batches of each; Azure's are OpenAI's.
_BATCHES = {
    "openai": ("openai", "OpenAIBatches"),
    "azure": ("openai", "OpenAIBatches"),
    "anthropic": ("anthropic", "AnthropicBatches"),
    "google": ("google", "GoogleBatches"),
}
# The packages that these modules need beyond those that are always there.
_PACKAGES = {
    "anthropic": ("anthropic", "anthropic"),
    "google": ("google.genai", "google-genai"),
}


def has_batches(name: str) -> bool:
    """Whether a provider has batches."""
    return name in _BATCHES


def load(name: str) -> type[BatchProvider]:
    """Return the batches of a provider; raises `JudgeError` without its package."""
    if name not in _BATCHES:
        raise JudgeError(f"this version of judge knows no batches of {name!r}")
    if name in _PACKAGES:
        module, package = _PACKAGES[name]
        require_sdk(module, package, f"of {name}")
    place, batches = _BATCHES[name]
    found: type[BatchProvider] = getattr(
        import_module(f"judge.batching.{place}"), batches
    )
    return found


def connection(
    name: str, environ: Mapping[str, str], base_url: str | None, timeout: float
) -> Connection:
    """Return the server of a provider that a command names, or the provider's own.

    That is `base_url`, else the address in the provider's variable.
    """
    provider = _PROVIDERS[name]
    named = base_url or environ.get(provider.url_variable, "").strip() or provider.url
    url = named.rstrip("/")
    if name == azure.PROVIDER.name and url:
        url = azure.with_path(url)
    return Connection(url, timeout)


def connected(
    name: str, server: Connection, environ: Mapping[str, str]
) -> BatchProvider:
    """Return the batches at a server, with the key from the provider's own variable.

    Raises `JudgeError` where that is not set.
    """
    variable = _PROVIDERS[name].key_variable(server)
    return load(name)(server, server.key(environ, variable), variable)
