"""Which addresses are this machine's, however they are spelled; no name server is asked."""

from __future__ import annotations

import ipaddress
import socket


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
