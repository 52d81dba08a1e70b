"""Which addresses are this machine's, however they are spelled."""

from __future__ import annotations

import ipaddress
import socket
from functools import cache


def is_loopback(host: str) -> bool:
    """Return whether `host` is reached from this machine alone; no name server is asked."""
    address = _address(host)
    return _is_localhost(host) if address is None else address.is_loopback


def is_local(host: str, *, resolve: bool = False) -> bool:
    """Return whether what is sent to `host` stays on this machine.

    Args:
        host: A name or an IP address in any spelling, such as `127.1` or `::ffff:127.0.0.1`.
        resolve: Whether to look up a name that is not known to be this machine's.
    """
    address = _address(host)
    if address is not None:
        return address.is_loopback or address.is_unspecified
    return _is_localhost(host) or (resolve and _leads_here(host))


@cache  # a name server that does not know the outside may take its time to say so
def _leads_here(host: str) -> bool:
    try:
        places = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return any(is_local(str(place[4][0])) for place in places)


def _is_localhost(host: str) -> bool:
    return f".{host.lower().rstrip('.')}".endswith(".localhost")


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
