"""Machines far away: workers that reach the database and the web by a cable that can be cut.

As root each worker lives in a network namespace of its own, and cutting takes its link down.
Without root its connections run through relays of its own, and cutting stops every byte on its
way. In both cases nobody is told: no connection is closed, just nothing arrives any more.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
IS_ROOT = os.geteuid() == 0
MAX_PACKETS = 1000
"""Under way in one direction of a connection; then the sender waits."""


@dataclass
class Relay:
    """Carries bytes between whoever connects to it and a server."""

    connect: Connect
    open: asyncio.Event = field(default_factory=asyncio.Event)
    delay_seconds: float = 0.0
    """One-way latency. Packets are delayed, not queued one behind the other, so that it costs a
    bulk transfer no throughput."""
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await self.connect()
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, there_writer}
        both = (self._carry(reader, there_writer), self._carry(there_reader, writer))
        try:
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*both)
        finally:
            self._writers -= {writer, there_writer}

    def abort(self) -> None:
        """Break all connections, in both directions."""
        for each in list(self._writers):
            each.transport.abort()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        packets: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MAX_PACKETS)
        delivering = asyncio.create_task(self._deliver(packets, target))
        clock = asyncio.get_running_loop().time
        data = b"-"
        try:
            while data:
                try:
                    data = await source.read(65536)
                except OSError:
                    data = b""
                await packets.put((clock() + self.delay_seconds, data))
            await delivering
        finally:
            delivering.cancel()

    async def _deliver(
        self, packets: asyncio.Queue[tuple[float, bytes]], target: asyncio.StreamWriter
    ) -> None:
        """Until an empty packet, which closes the connection. What comes for a peer that is gone is
        dropped: whoever fills the queue must not wait for ever."""
        clock = asyncio.get_running_loop().time
        while True:
            due, data = await packets.get()
            if due > clock():
                await asyncio.sleep(due - clock())
            await self.open.wait()
            if not data:
                target.close()
                return
            with suppress(OSError):
                target.write(data)
                await target.drain()


@dataclass
class Cable:
    """One worker's way out: the address and ports under which it finds things."""

    address: str
    prefix: tuple[str, ...]
    """What its command begins with."""
    relays: list[Relay] = field(default_factory=list)
    link: str | None = None

    def cut(self) -> None:
        """Let nothing through. As root the link itself is cut, and relays pass on what arrives."""
        if self.link is None:
            for each in self.relays:
                each.open.clear()
        self._set_link("down")

    def heal(self) -> None:
        self._set_link("up")
        for each in self.relays:
            each.open.set()

    def set_latency(self, round_trip_seconds: float) -> None:
        for each in self.relays:
            each.delay_seconds = round_trip_seconds / 2

    def abort(self) -> None:
        """Break all connections, so that both ends notice."""
        for each in self.relays:
            each.abort()

    def _set_link(self, state: str) -> None:
        if self.link is not None:
            _ip("link", "set", self.link, state)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@asynccontextmanager
async def cable(number: int) -> AsyncIterator[Cable]:
    if not IS_ROOT:
        yield Cable("127.0.0.1", ())
        return
    name = f"sky{os.getpid()}-{number}"
    here, there = f"s{os.getpid() % 100000}h{number}", f"s{os.getpid() % 100000}t{number}"
    network = f"10.213.{os.getpid() % 200}.{number * 4}"
    ours, theirs = _next(network, 1), _next(network, 2)
    _ip("netns", "add", name)
    try:
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        _ip("addr", "add", f"{ours}/30", "dev", here)
        _ip("link", "set", here, "up")
        _ip("-n", name, "addr", "add", f"{theirs}/30", "dev", there)
        _ip("-n", name, "link", "set", there, "up")
        _ip("-n", name, "link", "set", "lo", "up")
        yield Cable(ours, ("ip", "netns", "exec", name), link=here)
    finally:
        _ip("netns", "del", name)


def _next(network: str, offset: int) -> str:
    first, _, last = network.rpartition(".")
    return f"{first}.{int(last) + offset}"


@asynccontextmanager
async def plugged_in(cable: Cable, *connects: Connect) -> AsyncIterator[list[int]]:
    """Relays at the cable's near end, one for each server; yields their ports."""
    async with AsyncExitStack() as stack:
        ports = []
        for connect in connects:
            relay = Relay(connect)
            relay.open.set()
            cable.relays.append(relay)
            server = await asyncio.start_server(relay.serve, cable.address, 0)
            stack.callback(server.close)
            ports.append(int(server.sockets[0].getsockname()[1]))
        yield ports
