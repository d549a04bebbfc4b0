"""Servers that do not speak proper HTTP, or only accept connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Self

Script = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def _silence(writer: asyncio.StreamWriter) -> None:
    """Say nothing and close."""


class Listener:
    """A server below HTTP: it counts who comes, reads a request and follows its script."""

    def __init__(
        self,
        script: Script = _silence,
        *,
        addresses: Sequence[str] = ("127.0.0.1",),
        port: int = 0,
    ) -> None:
        self.connections = 0
        self.port = port
        self._script = script
        self._addresses = addresses
        self._servers: list[asyncio.Server] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        for address in self._addresses:
            server = await asyncio.start_server(self._serve, address, self.port)
            self._servers.append(server)
            self.port = server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://{self._addresses[0]}:{self.port}/"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.append(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            await self._script(writer)
        if task.cancelling():
            writer.transport.abort()
        writer.close()


def says(*parts: bytes) -> Script:
    """Sends these bytes, each part in a packet of its own, and closes."""

    async def script(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.02)

    return script


def repeats(first: bytes, again: Callable[[int], bytes], *, every_seconds: float = 0) -> Script:
    """Never ends by itself."""

    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        for number in count():
            writer.write(again(number))
            await writer.drain()
            await asyncio.sleep(every_seconds)

    return script
