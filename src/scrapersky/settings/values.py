"""Parse structured setting values: stage pace, networks, pinned hosts and service URLs."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapersky.errors import SettingsError

if TYPE_CHECKING:
    from scrapersky.settings.model import Settings


MAX_SETTING_NUMBER = 1_000_000_000
"""Upper bound for numbers of seconds, hours and rows. Larger ones would exceed the range of
calendar dates.
"""


@dataclass(frozen=True)
class Pace:
    """How a stage runs: seven settings under its prefix, e.g. SITEMAP_SCHEDULER_BATCH_SIZE."""

    interval_minutes: float = 1
    """Minutes between two ticks of the stage. A wake-up does not wait for the next tick."""
    batch_size: int = 10
    """Maximum number of rows per claim."""
    max_instances: int = 1
    """Maximum number of concurrent runs of the stage per process."""
    concurrency: int = 8
    """Maximum number of rows that a process works on concurrently, across all ticks and wake-ups.
    """
    timeout_seconds: float = 60
    """Timeout in seconds for the work on one row. It is then cancelled and counts as failed."""
    max_attempts: int = 5
    """Number of attempts after which the row fails and a dead letter is written."""
    high_water: int = 10_000
    """Number of waiting rows at which the stages that feed this one stop claiming. They resume at
    70 %.
    """

    @property
    def timeout(self) -> timedelta:
        return timedelta(seconds=self.timeout_seconds)


def load_pace(environ: Mapping[str, str], prefix: str, default: Pace) -> Pace:
    """Return the stage's pace: its defaults, overridden by the environment."""
    given: dict[str, Any] = {}
    for each in fields(Pace):
        variable = f"{prefix}_{each.name.upper()}"
        if text := environ.get(variable, "").strip():
            given[each.name] = _positive_number(variable, text, whole=each.type == "int")
    return replace(default, **given)


def _positive_number(variable: str, text: str, *, whole: bool) -> float:
    kind = "whole number" if whole else "number"
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        raise SettingsError(f"{variable} cannot be {text!r}: a {kind} is wanted.") from None
    if number <= 0:
        raise SettingsError(f"{variable} cannot be {text}: it must be above zero.")
    if not number <= MAX_SETTING_NUMBER:
        raise SettingsError(f"{variable} cannot be {text}: the most is {MAX_SETTING_NUMBER:,}.")
    return number


IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

MIN_SECRET_BYTES = 32
"""The digest size of HS256. An HMAC is no stronger than its key."""


def find_token_settings_error(settings: Settings) -> str:
    """Return what is wrong with the combination of JWT_ settings, or "" if nothing is."""
    if settings.jwt_secret and settings.jwt_public_key:
        return "JWT_SECRET and JWT_PUBLIC_KEY are both set, but tokens are signed in one way only."
    variable = "JWT_SECRET" if settings.jwt_secret else "JWT_PUBLIC_KEY"
    if not (settings.jwt_secret or settings.jwt_public_key):
        named = settings.jwt_audience or settings.jwt_issuer
        lonely = "JWT_AUDIENCE" if settings.jwt_audience else "JWT_ISSUER"
        return f"{lonely} needs JWT_SECRET or JWT_PUBLIC_KEY beside it." if named else ""
    if settings.jwt_secret and len(settings.jwt_secret.encode()) < MIN_SECRET_BYTES:
        return (
            f"JWT_SECRET must have at least {MIN_SECRET_BYTES} bytes, "
            "for a shorter one can be guessed."
        )
    if not settings.jwt_audience:
        return f"{variable} needs JWT_AUDIENCE beside it, or tokens for others would open this."
    if settings.auth_mode == "open":
        return f"{variable} is set, but nobody is asked for a token: set AUTH_MODE=required too."
    return ""


def split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass(frozen=True)
class AllowedNetwork:
    """A private network that may be contacted, on one port or on all."""

    network: IPNetwork
    port: int | None = None
    """None means every port."""

    def allows(self, address: IPAddress, port: int | None) -> bool:
        """Return whether a connection is allowed; without a port, whether it is allowed on any."""
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


def parse_pin(text: str) -> tuple[str, tuple[str, int]]:
    name, _, target = text.partition("=")
    address, _, port = target.rpartition(":")
    if not name or not address or not port.isdigit():
        raise ValueError(f"{text!r} is not of the form name=address:port")
    ipaddress.ip_address(address.strip("[]"))
    return name.strip().lower(), (address.strip("[]"), int(port))


def parse_service_url(text: str) -> str:
    """Parse an http(s) URL without password and query, and strip its trailing slash."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address that begins with http:// or https:// is wanted")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("it may carry no user name, password or query")
    return text.rstrip("/")
