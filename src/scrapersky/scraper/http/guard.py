"""SSRF guard: resolve hosts and open sockets only to allowed addresses."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from scrapersky.scraper.http.addresses import (
    DEFAULT_PORTS,
    AddressRules,
    is_loopback_name,
    is_public,
    parse_ip,
)
from scrapersky.scraper.http.descriptors import (
    SocketCounter,
    are_descriptors_exhausted,
    build_exhausted_error,
)
from scrapersky.scraper.http.fetch_errors import Blocked, DoesNotResolve, ResolverFailed
from scrapersky.settings import IPAddress

HostLookup = Callable[[str], Awaitable[list[str]]]
"""Name → addresses; raises `socket.gaierror`."""

_INVALID_HOST_CHARACTERS = re.compile(r"[\x00-\x20\x7f%\\<>\"^`{|}]")
_NOT_FOUND_ERRNOS = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


def check_url(url: str, rules: AddressRules) -> None:
    """Refuse, before anything is asked of anyone, what can be seen from the URL alone."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        address = parse_ip(host) if host else None
    except ValueError:
        raise Blocked(f"{url[:200]!r} is not a URL.", url=url) from None
    if parts.scheme not in DEFAULT_PORTS:
        raise Blocked(f"Only http and https are fetched, not {parts.scheme[:20]!r}.", url=url)
    if not host or parts.username is not None or parts.password is not None:
        raise Blocked("A URL with a user name, or without a host, is not fetched.", url=url)
    port = DEFAULT_PORTS[parts.scheme] if port is None else port
    if address is not None:
        rules.check(address, port)
    elif _INVALID_HOST_CHARACTERS.search(host):
        # Others would undo the escapes of such a name, and arrive who knows where.
        raise Blocked(f"{host[:80]!r} is not the name of a host.", url=url)
    elif not rules.is_exempt(host, port) and not rules.may_use_port(port):
        raise Blocked(f"Port {port} is not fetched from; FETCH_ALLOW_PORTS lists those that are.")


class GuardedResolver(AbstractResolver):
    """Resolves pinned names from the settings and the others by DNS, keeping allowed addresses."""

    def __init__(self, rules: AddressRules, lookup: HostLookup | None = None) -> None:
        self._rules = rules
        self._lookup = lookup or _lookup_host

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        if pin := self._rules.get_pinned_address(host):
            return [_build_result(host, *pin)]
        found = await self._lookup_addresses(host)
        rules = self._rules
        allowed = [each for each in found if rules.is_allowed(each, port) or is_public(each)]
        if not allowed:
            # Not which one: whoever may name a host would learn what our DNS says of it.
            raise Blocked(
                f"{host} leads to an address that is not public; {rules.setting} can open it."
            )
        return [_build_result(host, address, port) for address in allowed]

    async def _lookup_addresses(self, host: str) -> list[IPAddress]:
        if is_loopback_name(host):
            return [ipaddress.IPv4Address("127.0.0.1")]
        try:
            found = await self._lookup(host)
        except socket.gaierror as error:
            if are_descriptors_exhausted():
                raise build_exhausted_error() from error
            if error.errno in _NOT_FOUND_ERRNOS:
                raise DoesNotResolve(f"{host} does not resolve.") from error
            raise ResolverFailed(f"{host} could not be looked up: {error.strerror}.") from error
        except UnicodeError as error:
            raise DoesNotResolve(f"{host} is not a name the DNS can hold.") from error
        if not found:
            raise DoesNotResolve(f"{host} does not resolve.")
        return [ipaddress.ip_address(text.partition("%")[0]) for text in found]

    async def close(self) -> None:
        """Nothing is held open."""


async def _lookup_host(host: str) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _build_result(host: str, address: IPAddress, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=socket.AF_INET6 if address.version == 6 else socket.AF_INET,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


def create_guarded_connector(
    rules: AddressRules,
    *,
    lookup: HostLookup | None = None,
    sockets: SocketCounter | None = None,
    note: Callable[[IPAddress], None] = lambda _: None,
    **options: Any,
) -> aiohttp.TCPConnector:
    """A connector whose every socket is made for an address that the rules allow; each address is
    told to `note`."""
    made = sockets or SocketCounter()

    def open_socket(info: Any) -> socket.socket:
        # aiohttp does not ask its resolver about literals, so this is the check none goes around.
        family, kind, protocol, _, where = info
        address = ipaddress.ip_address(str(where[0]).partition("%")[0])
        rules.check(address, int(where[1]))
        note(address)
        return made.open(family, kind, protocol)

    connector = _BoundedConnector(
        resolver=GuardedResolver(rules, lookup), socket_factory=open_socket, **options
    )
    connector.sockets = made
    return connector


class _BoundedConnector(aiohttp.TCPConnector):
    """Keeps idle connections only while there are descriptors for them. The library counts only
    those in use, and gives each back by itself when its answer was read."""

    sockets: SocketCounter

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        is_full = self.sockets.count > self.sockets.keep
        super()._release(key, protocol, should_close=should_close or is_full)
