"""Resolve the client address and scheme from the headers of trusted reverse proxies.

This is the only place that reads forwarded headers. Everything else uses `request.client` and
`request.url.scheme`, which are correct from here on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from scrapersky.logging import get_logger
from scrapersky.settings import IPAddress, IPNetwork, Settings

FORWARDED_FOR = "x-forwarded-for"
FORWARDED_PROTO = "x-forwarded-proto"
SCHEMES = ("http", "https")
MAX_PEERS_REMEMBERED = 100
"""Untrusted peers that were already logged, so that each is logged once."""

log = get_logger(__name__)


class ProxyHeadersMiddleware:
    """Set `scope["client"]` and `scope["scheme"]` from the headers of trusted proxies.

    Every proxy appends the address of its peer to X-Forwarded-For. The list is therefore read from
    the right: our peer, then the peer it saw, as long as each is a trusted proxy. The first address
    that is not is the client. Anything further left was sent by the client and may be forged.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._trusted = settings.proxy_networks
        self._always_secure = settings.cookie_secure == "always"
        self._warned: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._resolve_client(scope)
            # Decides the cookie's name and attributes; see `http/credentials.py`.
            state = Request(scope).state
            state.secure_cookies = self._always_secure or scope["scheme"] == "https"
        await self._app(scope, receive, send)

    def _resolve_client(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if FORWARDED_FOR not in headers and FORWARDED_PROTO not in headers:
            return
        peer = scope["client"][0] if scope.get("client") else ""
        address = parse_address(peer)
        if address is None or not is_in_networks(address, self._trusted):
            self._warn(peer)
            return
        client, hops = _find_client(address, _split(headers, FORWARDED_FOR), self._trusted)
        if client != address:
            scope["client"] = (str(client), 0)
        scheme = _find_scheme(_split(headers, FORWARDED_PROTO), hops)
        if scheme is not None:
            scope["scheme"] = scheme

    def _warn(self, peer: str) -> None:
        if peer in self._warned or len(self._warned) >= MAX_PEERS_REMEMBERED:
            return
        self._warned.add(peer)
        log.warning(
            "forwarded headers ignored",
            peer=peer,
            reason="The peer is not in TRUSTED_PROXIES. If it is your proxy, add it. Otherwise all "
            "its clients share one rate limit and cookies are not marked Secure.",
        )


def _find_client(
    peer: IPAddress, forwarded: Sequence[str], trusted: Sequence[IPNetwork]
) -> tuple[IPAddress, int]:
    """Return the rightmost address that is not a trusted proxy, and how many proxies follow it."""
    client, hops = peer, 0
    for text in reversed(forwarded):
        if not is_in_networks(client, trusted):
            break
        hops += 1
        address = parse_address(text)
        if address is None:
            # `unknown` or garbage: its sender is the last address we can identify.
            break
        client = address
    return client, max(hops, 1)


def _find_scheme(schemes: Sequence[str], hops: int) -> str | None:
    """Return the scheme reported by the proxy nearest to the client; most send one value."""
    if not schemes:
        return None
    scheme = schemes[-min(hops, len(schemes))].lower()
    return scheme if scheme in SCHEMES else None


def _split(headers: Headers, name: str) -> list[str]:
    return [part.strip() for value in headers.getlist(name) for part in value.split(",")]


def parse_address(text: str) -> IPAddress | None:
    """Parse `1.2.3.4`, `1.2.3.4:567`, `::1` or `[::1]:567`; IPv4-mapped IPv6 becomes IPv4."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_in_networks(address: IPAddress, networks: Sequence[IPNetwork]) -> bool:
    return any(address in network for network in networks)


def find_exposure_warnings(settings: Settings, hosts: Sequence[str] | None = None) -> list[str]:
    """Return warnings about how the server can be reached; empty if there are none.

    `hosts` are the listening addresses; without them only the settings are checked.
    """
    if settings.auth_mode == "open":
        return []
    warnings = []
    reachable = hosts is None or any(not _is_loopback(host) for host in hosts)
    if not settings.proxy_networks and settings.cookie_secure == "auto" and reachable:
        where = f" on {', '.join(hosts)}" if hosts else ""
        warnings.append(
            f"The server accepts plain http{where} and trusts no proxy: passwords and keys can be "
            "intercepted, session cookies are not marked Secure, and behind a proxy all clients "
            "share one rate limit. Put a TLS proxy in front and set TRUSTED_PROXIES to its address."
        )
    if any(network.prefixlen == 0 for network in settings.proxy_networks):
        warnings.append(
            "TRUSTED_PROXIES covers every address, so any client can forge its address. "
            "Set it to your proxy's address or network."
        )
    return warnings


def _is_loopback(host: str) -> bool:
    address = parse_address(host)
    return address is not None and address.is_loopback
