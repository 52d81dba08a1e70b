"""Which addresses are this machine's, however they are spelled, and which proxy leads to others.

No name server is asked.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from judge.types import JudgeError


def is_loopback(host: str) -> bool:
    """Return whether `host`, a name or an IP address, is reached from this machine alone."""
    address = _address(host)
    if address is None:
        return f".{host.lower().rstrip('.')}".endswith(".localhost")
    return address.is_loopback


def is_local(host: str) -> bool:
    """Return whether what is sent to `host` stays on this machine."""
    address = _address(host)
    return is_loopback(host) or (address is not None and address.is_unspecified)


def proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for a server, None where it is asked directly.

    These are `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in small letters too; a
    server on this machine has none. Raises `JudgeError` for a proxy that speaks no HTTP.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = getproxies()
    proxy = proxies.get(parts.scheme.lower()) or proxies.get("all")
    if (
        not proxy
        or is_local(host)
        or _is_excepted(host, parts.netloc, proxies.get("no", ""))
    ):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    kind = proxy.partition("://")[0].lower()
    if kind not in ("http", "https"):
        raise JudgeError(
            f"the proxy for {host} is a {kind} proxy, and judge speaks with HTTP proxies alone: "
            f"set {parts.scheme.upper()}_PROXY to one, or name {host} in NO_PROXY"
        )
    try:
        is_address = bool(urlsplit(proxy).hostname) and urlsplit(proxy).port != 0
    except ValueError:
        is_address = False
    if not is_address or not proxy.isascii():  # not shown: it may hold a password
        raise JudgeError(
            f"the proxy for {host} is no address: write http://MACHINE:PORT"
        )
    return proxy


def without_secrets(url: str) -> str:
    """Return scheme, host and port of an address, without a password in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _is_excepted(host: str, netloc: str, listed: str) -> bool:
    """Return whether NO_PROXY names a host: by its name, its domain, its port, or its network."""
    if proxy_bypass(netloc):
        return True
    address = _address(host)
    for entry in listed.split(",") if address else ():
        try:
            if address in ipaddress.ip_network(entry.strip().strip("[]"), strict=False):
                return True
        except ValueError:  # a name, or a domain
            continue
    return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    name = host.strip("[]").rstrip(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        try:  # 127.1, 0x7f.1 and 2130706433, as every HTTP client reads them
            return ipaddress.IPv4Address(socket.inet_aton(name))
        except (OSError, UnicodeError):
            return None
    return getattr(address, "ipv4_mapped", None) or address
