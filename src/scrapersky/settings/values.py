"""What values of settings must look like, and how those of several parts are read."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapersky.settings.model import Settings

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

SHORTEST_SECRET_BYTES = 32
"""As many as the digest that HS256 makes; it can be no safer than its key."""


def objection_to_tokens(settings: Settings) -> str:
    """What is wrong with the JWT_ settings together; nothing when they are fine or all empty."""
    if settings.jwt_secret and settings.jwt_public_key:
        return "JWT_SECRET and JWT_PUBLIC_KEY are both set, but tokens are signed in one way only."
    variable = "JWT_SECRET" if settings.jwt_secret else "JWT_PUBLIC_KEY"
    if not (settings.jwt_secret or settings.jwt_public_key):
        named = settings.jwt_audience or settings.jwt_issuer
        lonely = "JWT_AUDIENCE" if settings.jwt_audience else "JWT_ISSUER"
        return f"{lonely} needs JWT_SECRET or JWT_PUBLIC_KEY beside it." if named else ""
    if settings.jwt_secret and len(settings.jwt_secret.encode()) < SHORTEST_SECRET_BYTES:
        return (
            f"JWT_SECRET must have at least {SHORTEST_SECRET_BYTES} bytes, "
            "for a shorter one can be guessed."
        )
    if not settings.jwt_audience:
        return f"{variable} needs JWT_AUDIENCE beside it, or tokens for others would open this."
    if settings.auth_mode == "open":
        return f"{variable} is set, but nobody is asked for a token: set AUTH_MODE=required too."
    return ""


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass(frozen=True)
class AllowedNetwork:
    """A network that may be contacted although it is private, on one port or on all."""

    network: IPNetwork
    port: int | None = None
    """None means every port."""

    def allows(self, address: IPAddress, port: int | None) -> bool:
        """Whether a connection may go there; without a port, whether it may on any."""
        return address in self.network and (None in (self.port, port) or self.port == port)


def parse_allowed_network(text: str) -> AllowedNetwork:
    """Parse `10.0.0.0/8`, `10.1.2.3:8080`, `::1`, `[::1]:9000` or `[fd00::/8]:9000`."""
    network, port = text, ""
    if text.startswith("["):
        network, bracket, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
        if not bracket or (rest and not rest.startswith(":")) or (rest and not port):
            raise ValueError(f"{text!r} is not of the form [address]:port")
    elif text.count(":") == 1:
        network, _, port = text.partition(":")
        if not port:
            raise ValueError(f"{text!r} names no port after the colon")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"{port!r} is not a port")
    return AllowedNetwork(ipaddress.ip_network(network), int(port) if port else None)


def pinned(text: str) -> tuple[str, tuple[str, int]]:
    name, _, target = text.partition("=")
    address, _, port = target.rpartition(":")
    if not name or not address or not port.isdigit():
        raise ValueError(f"{text!r} is not of the form name=address:port")
    ipaddress.ip_address(address.strip("[]"))
    return name.strip().lower(), (address.strip("[]"), int(port))


def service_address(text: str) -> str:
    """An http(s) address without a password, a query and a last slash."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address that begins with http:// or https:// is wanted")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("it may carry no user name, password or query")
    return text.rstrip("/")
