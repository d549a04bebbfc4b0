"""SSRF guard: resolve hosts and open sockets only to allowed addresses."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from scrapersky.scraper.http import addresses, descriptors
from scrapersky.scraper.http.fetch_errors import Blocked, DoesNotResolve, ResolverFailed
from scrapersky.settings import IPAddress

HostLookup = Callable[[str], Awaitable[list[str]]]
"""Function that resolves a host name to addresses. Raises `socket.gaierror`."""

_INVALID_HOST_CHARACTERS = re.compile(r"[\x00-\x20\x7f%\\<>\"^`{|}]")
_NOT_FOUND_ERRNOS = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


def check_url(url: str, rules: addresses.AddressRules) -> None:
    """Raise `Blocked` if the URL alone shows that it must not be fetched. Nothing is resolved."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        address = addresses.parse_ip(host) if host else None
    except ValueError:
        raise Blocked(f"{url[:200]!r} is not a valid URL.", url=url) from None
    if parts.scheme not in addresses.DEFAULT_PORTS:
        raise Blocked(
            f"Only http and https URLs can be fetched, not {parts.scheme[:20]!r}.", url=url
        )
    if not host or parts.username is not None or parts.password is not None:
        raise Blocked("URLs with a user name or without a host cannot be fetched.", url=url)
    port = addresses.DEFAULT_PORTS[parts.scheme] if port is None else port
    if address is not None:
        rules.check(address, port)
    elif _INVALID_HOST_CHARACTERS.search(host):
        # Other software may unescape such a name and connect to a different host.
        raise Blocked(f"{host[:80]!r} is not a valid host name.", url=url)
    elif not rules.is_exempt(host, port) and not rules.may_use_port(port):
        raise Blocked(f"Port {port} is not allowed. FETCH_ALLOW_PORTS lists the allowed ports.")


class GuardedResolver(AbstractResolver):
    """Resolver that returns only allowed addresses, from the pins in the settings or DNS."""

    def __init__(self, rules: addresses.AddressRules, lookup: HostLookup | None = None) -> None:
        self._rules = rules
        self._lookup = lookup or _lookup_host

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        if pin := self._rules.get_pinned_address(host):
            return [_build_result(host, *pin)]
        resolved = await self._lookup_addresses(host)
        rules = self._rules
        allowed = [
            each for each in resolved if rules.is_allowed(each, port) or addresses.is_public(each)
        ]
        if not allowed:
            # The message does not name the address. Otherwise anyone who can submit a host name
            # could read our internal DNS.
            raise Blocked(
                f"{host} resolves to an address that is not public. "
                f"Use {rules.setting} to allow it."
            )
        return [_build_result(host, address, port) for address in allowed]

    async def _lookup_addresses(self, host: str) -> list[IPAddress]:
        if addresses.is_loopback_name(host):
            return [ipaddress.IPv4Address("127.0.0.1")]
        try:
            resolved = await self._lookup(host)
        except socket.gaierror as error:
            if descriptors.are_descriptors_exhausted():
                raise descriptors.build_exhausted_error() from error
            if error.errno in _NOT_FOUND_ERRNOS:
                raise DoesNotResolve(f"{host} does not resolve.") from error
            raise ResolverFailed(f"{host} could not be resolved: {error.strerror}.") from error
        except UnicodeError as error:
            raise DoesNotResolve(f"{host} is not a valid DNS name.") from error
        if not resolved:
            raise DoesNotResolve(f"{host} does not resolve.")
        return [ipaddress.ip_address(text.partition("%")[0]) for text in resolved]

    async def close(self) -> None:
        """Do nothing: the resolver holds no resources."""


async def _lookup_host(host: str) -> list[str]:
    infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in infos))


def _build_result(host: str, address: IPAddress, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=socket.AF_INET6 if address.version == 6 else socket.AF_INET,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


def create_tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Trust the system's authorities and those in the file. Loading them blocks: use a thread."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context


def create_guarded_connector(
    rules: addresses.AddressRules,
    *,
    lookup: HostLookup | None = None,
    sockets: descriptors.SocketCounter | None = None,
    note: Callable[[IPAddress], None] = lambda _: None,
    **options: Any,
) -> aiohttp.TCPConnector:
    """Create a connector that opens sockets only to addresses allowed by the rules.

    `note` is called with each address that is connected to.
    """
    counter = sockets or descriptors.SocketCounter()

    def open_socket(info: Any) -> socket.socket:
        # aiohttp does not call the resolver for literal addresses, so only this check covers every
        # connection.
        family, kind, protocol, _, where = info
        address = ipaddress.ip_address(str(where[0]).partition("%")[0])
        rules.check(address, int(where[1]))
        note(address)
        return counter.open(family, kind, protocol)

    connector = _BoundedConnector(
        resolver=GuardedResolver(rules, lookup), socket_factory=open_socket, **options
    )
    connector.sockets = counter
    return connector


class _BoundedConnector(aiohttp.TCPConnector):
    """Connector that keeps idle connections only while descriptors are left for them.

    aiohttp's own limit counts active connections only. It releases each connection as soon as its
    response was read.
    """

    sockets: descriptors.SocketCounter

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        is_full = self.sockets.count > self.sockets.keep
        super()._release(key, protocol, should_close=should_close or is_full)
