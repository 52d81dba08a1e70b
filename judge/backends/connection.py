"""Where a server is that answers for a model, and the key that it wants."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from judge.types import JudgeError

OPENAI_URL = "https://api.openai.com/v1"
CHAT, COMPLETIONS = "/chat/completions", "/completions"
NO_KEY = "none"
"""What a local server that checks no key is sent."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server is and how long one answer may take, in seconds."""

    base_url: str = OPENAI_URL
    timeout: float = 120.0

    @property
    def is_local(self) -> bool:
        """Whether the server is this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    def key(self, environ: Mapping[str, str]) -> str:
        """Return the key for this server; raises `JudgeError` where one is needed and not set."""
        host = urlsplit(self.base_url).hostname or ""
        name = "AZURE_OPENAI_API_KEY" if host.endswith(".azure.com") else "OPENAI_API_KEY"
        if key := environ.get(name, "").strip():
            return key
        if self.is_local:
            return NO_KEY
        raise JudgeError(f"{self.base_url} needs a key: set the environment variable {name}")
