"""Which addresses are this machine's, however they are spelled."""

from __future__ import annotations

import ipaddress
import socket


def is_loopback(host: str) -> bool:
    """Return whether `host` is reached from this machine alone; no name server is asked."""
    address = _address(host)
    return _is_localhost(host) if address is None else address.is_loopback


def is_local(host: str) -> bool:
    """Return whether what is sent to `host` stays on this machine.

    `host` is a name or an IP address in any spelling, such as `127.1` or `::ffff:127.0.0.1`.
    """
    address = _address(host)
    if address is not None:
        return address.is_loopback or address.is_unspecified
    return _is_localhost(host)


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
