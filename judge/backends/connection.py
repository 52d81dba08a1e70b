"""Where a server is that answers for a model, the way there, and the key that it wants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from judge.address import is_local
from judge.types import JudgeError

OPENAI_URL = "https://api.openai.com/v1"
CHAT, COMPLETIONS = "/chat/completions", "/completions"
NO_KEY = "none"
"""What a local server that checks no key is sent."""
_ADDRESS = re.compile(r"https?://(\[[^\s/@?#]+\]|[^\s/@?#:\[\]]+)(:\d+)?(/[^\s?#]*)?", re.I)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server is and how many seconds a whole answer may take."""

    base_url: str = OPENAI_URL
    timeout: float = 120.0

    def __post_init__(self) -> None:
        if not _is_address(self.base_url):
            raise JudgeError(
                f"--base-url {shown(self.base_url)} is no address: write http://MACHINE:PORT/v1, "
                "without a key or a query, and an IPv6 address in brackets"
            )

    @property
    def host(self) -> str:
        """The name or number of the machine."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the server is this machine."""
        return is_local(self.host)

    @property
    def proxy(self) -> str | None:
        """The proxy that the environment names for this server; never one for this machine."""
        if self.is_local or proxy_bypass(self.host):
            return None
        proxies = getproxies()
        proxy = proxies.get(urlsplit(self.base_url).scheme) or proxies.get("all")
        if not proxy or is_local(self.host, resolve=True):
            return None
        proxy = proxy if "://" in proxy else f"http://{proxy}"
        if not _is_address(re.sub("//.*@", "//", proxy)):
            raise JudgeError(
                f"the proxy {shown(proxy)} in the environment is no address such as "
                f"http://proxy:3128; name another in HTTPS_PROXY, or {self.host} in NO_PROXY"
            )
        return proxy

    def key(self, environ: Mapping[str, str]) -> str:
        """Return the key for this server; raises `JudgeError` where one is needed and not set."""
        name = "AZURE_OPENAI_API_KEY" if self.host.endswith(".azure.com") else "OPENAI_API_KEY"
        key = environ.get(name, "").strip()
        if not key and not self.is_local:
            raise JudgeError(f"{self.base_url} needs a key: set the environment variable {name}")
        if not key.isascii() or not key.isprintable():
            raise JudgeError(f"{name} holds a character that no key has")
        return key or NO_KEY


def shown(url: str) -> str:
    """Return an address for messages: without a name, a password or a query, which may be keys."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    plain = f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}".partition("?")[0]
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in plain)


def _is_address(url: str) -> bool:
    try:
        return bool(_ADDRESS.fullmatch(url) and url.isprintable() and urlsplit(url).port != 0)
    except ValueError:
        return False
