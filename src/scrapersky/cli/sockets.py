"""Bind the listening sockets before anything else starts."""

from __future__ import annotations

import errno
import socket

from scrapersky.errors import InvalidInput, ScraperSkyError


class PortInUse(ScraperSkyError):
    """Another process listens on the port."""


def bind_sockets(host: str, port: int) -> list[socket.socket]:
    """Bind a socket for each address of the host. Clients cannot connect before `listen`."""
    sockets: list[socket.socket] = []
    try:
        for family, address in _resolve_addresses(host, port):
            bound_port = sockets[0].getsockname()[1] if sockets and port == 0 else address[1]
            sockets.append(_bind_socket(family, (address[0], bound_port)))
    except OSError as error:
        for each in sockets:
            each.close()
        raise _build_bind_error(error, host, port) from error
    return sockets


def _resolve_addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
    infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    usable = [each for each in infos if each[0] == socket.AF_INET or socket.has_dualstack_ipv6()]
    return list(dict.fromkeys((each[0], (str(each[4][0]), port)) for each in usable))


def _bind_socket(family: socket.AddressFamily, address: tuple[str, int]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def _build_bind_error(error: OSError, host: str, port: int) -> ScraperSkyError:
    if error.errno == errno.EADDRINUSE:
        return PortInUse(
            f"Port {port} on {host} is in use. Stop the other process or choose another --port."
        )
    if error.errno == errno.EACCES:
        return PortInUse(f"Port {port} requires root. Choose a --port of 1024 or higher.")
    reason = error.strerror or str(error)
    return InvalidInput(f"{host} is not an address of this machine ({reason}). Check --host.")


def get_socket_url(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
