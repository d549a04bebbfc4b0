"""Run parsers in child processes with a time and a memory limit.

    async with ParserPool(2, timeout_seconds=20) as parser:
        facts = await parser.run(read_page, response)


async with ParserPool(2, timeout_seconds=20) as parser:
    facts = await parser.run(read_page, response, url=response.url)
"""

from __future__ import annotations

import asyncio
import math
import os
import pickle
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar, TypeVarTuple, cast
from urllib.parse import urlsplit

from scrapersky.errors import LimitedResource, ResourceExhausted, RetryLater, ScraperSkyError
from scrapersky.scraper.html import parser_process
from scrapersky.scraper.html.fair_queue import FairQueue, Turn
from scrapersky.scraper.html.parser_process import ERROR, LENGTH, OUT_OF_MEMORY
from scrapersky.scraper.http.descriptors import EXHAUSTED_ERRNOS
from scrapersky.settings import Settings

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START_TIMEOUT_SECONDS = 60.0
"""For a process to start and import what it needs, on a machine that is busy."""
WAIT_SECONDS = 30.0
"""For a free process; whoever waits longer goes back to the queue and is not to blame."""
QUANTUM_SHARE = 0.1
"""A page that takes longer than this share of its time is slow: others no longer wait for it."""
CLOSE_TIMEOUT_SECONDS = 5.0
"""For killed processes to be gone; the kernel takes milliseconds."""
ALARM_MARGIN_SECONDS = 5
MAX_CALLS = 2_000
"""A process is replaced after so many pages: memory that fragments or leaks would in the end be
counted against an innocent page."""
MAX_ANSWER_BYTES = 256 * 1024 * 1024
MEGABYTE = 1024 * 1024

_THREAD_POOL = ThreadPoolExecutor(max_workers=1, thread_name_prefix="parser")
"""For pools without processes. One thread: more of them would not read faster, but leave the event
loop a smaller share."""


class ParserError(ScraperSkyError):
    """The page could not be read."""


class ParserTimedOut(ParserError):
    """Reading took longer than allowed; the process was killed."""


class ParserCrashed(ParserError):
    """The process that read the page ran out of memory, or died."""


class ParserFailed(ParserError):
    """Reading raised an exception; its traceback is a note of this one."""


class ParserPool:
    """At most `processes` of them, started when needed and ended when idle.

    Each reads one page at a time, so a process that is killed takes no other page with it; the
    others wait in this process for their turn, shared fairly between hosts (`FairQueue`). With 0
    processes pages are read in a thread, which cannot be killed.
    """

    def __init__(
        self,
        processes: int = 0,
        *,
        timeout_seconds: float = 20.0,
        memory_bytes: int = 512 * MEGABYTE,
        idle_seconds: float = 60.0,
        quantum_seconds: float | None = None,
    ) -> None:
        self._processes = processes
        self._timeout_seconds = timeout_seconds
        self._memory_bytes = memory_bytes
        self._idle_seconds = idle_seconds
        quantum = timeout_seconds * QUANTUM_SHARE if quantum_seconds is None else quantum_seconds
        self._queue = FairQueue(processes, quantum_seconds=quantum)
        self._children: set[_ParserProcess] = set()
        """All that have not ended yet."""
        self._idle: list[_ParserProcess] = []
        """The one used last is used next, so that those not needed become idle for long."""
        self._is_closed = False

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(
            settings.parser_processes,
            timeout_seconds=settings.parser_timeout_seconds,
            memory_bytes=settings.parser_memory_mb * MEGABYTE,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def pids(self) -> list[int]:
        return [each.pid for each in self._children]

    def check_host(self, url: str) -> None:
        """Raise `RetryLater` if pages of this host hang and one of them is being parsed: then this
        one need not be fetched yet."""
        if self._processes:
            self._queue.check_host(_get_host(url))

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts, url: str = "") -> T:
        """Call a function of a module in a process and return its value.

        Function, arguments and value are pickled. `url` is of the page, whose host has to share
        the processes with others. Raises `ParserTimedOut` or `ParserCrashed` when the call is to
        blame, `RetryLater` when slow pages keep it waiting, `OwnLimitReached` when there was no
        process to be had for it.
        """
        if not self._processes:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(_THREAD_POOL, function, *arguments)
        request = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        kind, payload = await self._run_in_turn(request, function.__module__, _get_host(url))
        if kind == ERROR:
            message, trace = pickle.loads(payload)  # noqa: S301 - from our own process
            failure = ParserFailed(message)
            failure.add_note(trace)
            raise failure
        return cast(T, pickle.loads(payload))  # noqa: S301 - from our own process

    async def close(self) -> None:
        """Kill all processes, whatever they are doing."""
        self._is_closed = True
        children = list(self._children)
        for each in children:
            self._stop_process(each)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await asyncio.gather(*(each.ended.wait() for each in children))

    async def _run_in_turn(self, request: bytes, module: str, host: str) -> tuple[bytes, bytes]:
        turn = self._queue.enter(host)
        seconds_left = WAIT_SECONDS
        clock = asyncio.get_running_loop().time
        try:
            while True:
                waits_since = clock()
                await self._wait(turn, seconds_left)
                seconds_left -= clock() - waits_since
                try:
                    return await self._call(request, module, turn)
                except _Preempted:
                    self._queue.requeue(turn)
        except ParserTimedOut:
            self._queue.note_timeout(host)
            raise
        finally:
            self._queue.leave(turn)

    async def _wait(self, turn: Turn, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await turn.granted.wait()
        except TimeoutError:
            # Not our limit: more processes would be held by such pages just the same.
            if turn.is_slow or self._queue.is_delayed_by_slow_pages(turn):
                raise RetryLater(
                    "Pages that take long to parse hold the processes that parse pages.",
                    after=self._queue.get_backoff(turn.host),
                ) from None
            raise ResourceExhausted(
                LimitedResource.PROCESSES,
                f"All processes that read pages were busy for {WAIT_SECONDS:g} s. "
                "Raise PARSER_PROCESSES, or lower the CONCURRENCY of stages.",
            ) from None

    async def _call(self, request: bytes, module: str, turn: Turn) -> tuple[bytes, bytes]:
        while True:
            child = self._take_idle() or await self._start_process(module)
            is_first_call = not child.calls
            try:
                return await self._exchange(child, request, turn)
            except ParserCrashed:
                # The page is to blame if nothing else can be: a process that was used before may
                # have been killed while idle, or have little memory left.
                if is_first_call:
                    raise

    def _take_idle(self) -> _ParserProcess | None:
        while self._idle:
            child = self._idle.pop()
            child.cancel_idle_timer()
            if not child.ended.is_set():
                return child
        return None

    async def _exchange(
        self, child: _ParserProcess, request: bytes, turn: Turn
    ) -> tuple[bytes, bytes]:
        is_usable = False
        now = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(self._timeout_seconds) as deadline:
                self._queue.start_clock(turn, preempt=lambda: deadline.reschedule(now()))
                kind, payload = await child.ask(request)
            if kind == OUT_OF_MEMORY:
                raise ParserCrashed(self._describe_memory())
            is_usable = child.calls < MAX_CALLS
            return kind, payload
        except TimeoutError:
            if turn.is_preempted:
                raise _Preempted from None
            raise self._build_timeout_error() from None
        except _ProcessEnded:
            if child.returncode == -signal.SIGALRM:
                raise self._build_timeout_error() from None
            raise ParserCrashed(_describe_end(child.returncode)) from None
        finally:  # also when the caller was cancelled: what it asked for may go on for ever
            turn.preempt = None
            if is_usable and not self._is_closed:
                self._release_idle(child)
            else:
                self._stop_process(child)

    def _build_timeout_error(self) -> ParserTimedOut:
        return ParserTimedOut(
            f"The page could not be read within {self._timeout_seconds:g} seconds "
            "(PARSER_TIMEOUT_SECONDS)."
        )

    def _describe_memory(self) -> str:
        limit = self._memory_bytes // MEGABYTE
        return f"Reading the page takes more than {limit:,} MB of memory (PARSER_MEMORY_MB)."

    def _release_idle(self, child: _ParserProcess) -> None:
        self._idle.append(child)
        loop = asyncio.get_running_loop()
        child.idle_timer = loop.call_later(self._idle_seconds, self._stop_process, child)

    def _stop_process(self, child: _ParserProcess) -> None:
        child.cancel_idle_timer()
        if child in self._idle:
            self._idle.remove(child)
        child.kill()

    async def _start_process(self, module: str) -> _ParserProcess:
        if self._is_closed:
            raise ParserError("Pages are not read any more: the process is about to end.")
        child = _ParserProcess(self._children.discard)
        # By its path: by its name the package would be imported before memory is limited.
        command = (sys.executable, "-P", parser_process.__file__, str(os.getpid()))
        alarm = math.ceil(self._timeout_seconds) + ALARM_MARGIN_SECONDS
        limits = (str(self._memory_bytes), str(alarm))
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                await loop.subprocess_exec(
                    lambda: child, *command, *limits, module, stderr=None, env=_build_environment()
                )
                self._children.add(child)
                await child.receive()
        except BaseException as error:
            self._stop_process(child)
            if isinstance(error, OSError) and error.errno in EXHAUSTED_ERRNOS:
                raise
            if isinstance(error, (OSError, _ProcessEnded)):  # a TimeoutError is an OSError
                raise _build_start_error(error, child) from error
            raise
        return child


class _Preempted(Exception):
    """Others need the process; the call starts again later."""


class _ProcessEnded(Exception):
    """The process ended before it answered."""


class _ParserProcess(asyncio.SubprocessProtocol):
    """A process, and the call it is working on."""

    def __init__(self, on_end: Callable[[_ParserProcess], None]) -> None:
        self._on_end = on_end
        self._transport: asyncio.SubprocessTransport | None = None
        self._buffer = bytearray()
        self._answer: asyncio.Future[tuple[bytes, bytes]] = self._create_answer()
        self._is_silent = False
        """Its standard output was closed."""
        self.pid = 0
        self.returncode: int | None = None
        self.ended = asyncio.Event()
        self.calls = 0
        self.idle_timer: asyncio.TimerHandle | None = None

    async def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Send a request, and wait for the answer's kind and payload."""
        self.calls += 1
        self._answer = self._create_answer()
        self._fail_if_ended()
        if self._answer.done():
            return await self._answer
        assert self._transport is not None
        pipe = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        pipe.writelines((LENGTH.pack(len(request)), request))
        return await self._answer

    async def receive(self) -> tuple[bytes, bytes]:
        return await self._answer

    def kill(self) -> None:
        if self._transport is None:
            return
        with suppress(ProcessLookupError):
            self._transport.kill()
        self._transport.close()

    def cancel_idle_timer(self) -> None:
        if self.idle_timer is not None:
            self.idle_timer.cancel()
            self.idle_timer = None

    @staticmethod
    def _create_answer() -> asyncio.Future[tuple[bytes, bytes]]:
        return asyncio.get_running_loop().create_future()

    def _fail_if_ended(self) -> None:
        """Only when its output was read to the end: the last answer may come after the exit."""
        if self._is_silent and self.returncode is not None and not self._answer.done():
            self._answer.set_exception(_ProcessEnded())

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid() or 0

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        self._buffer += cast(bytes, data)
        if len(self._buffer) < LENGTH.size:
            return
        end = LENGTH.size + LENGTH.unpack_from(self._buffer)[0]
        if end > MAX_ANSWER_BYTES:
            self.kill()
        elif len(self._buffer) >= end and not self._answer.done():
            kind_at = LENGTH.size
            kind, payload = self._buffer[kind_at : kind_at + 1], self._buffer[kind_at + 1 : end]
            del self._buffer[:end]
            self._answer.set_result((bytes(kind), bytes(payload)))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._is_silent = True
            self._fail_if_ended()

    def process_exited(self) -> None:
        assert self._transport is not None
        self.returncode = self._transport.get_returncode()
        self.ended.set()
        self._on_end(self)
        self._fail_if_ended()


def _get_host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _build_environment() -> Mapping[str, str]:
    """What an interpreter needs to start, and none of our secrets."""
    wanted = ("PATH", "HOME", "LANG", "TZ", "TMPDIR")
    environ = {
        name: value
        for name, value in os.environ.items()
        if name in wanted or name.startswith(("LC_", "LD_", "PYTHON"))
    }
    return {**environ, "PYTHONPATH": os.pathsep.join(each or os.getcwd() for each in sys.path)}


def _describe_end(returncode: int | None) -> str:
    if returncode is not None and returncode < 0:
        name = signal.Signals(-returncode).name
        return f"The process that read the page was ended by {name}."
    return f"The process that read the page ended with exit code {returncode}."


def _build_start_error(error: BaseException, child: _ParserProcess) -> ResourceExhausted:
    if isinstance(error, _ProcessEnded):
        reason = f"it ended with exit code {child.returncode}; PARSER_MEMORY_MB may be too small"
    elif isinstance(error, TimeoutError):
        reason = f"it was not ready within {START_TIMEOUT_SECONDS:g} s"
    else:
        reason = str(error)
    return ResourceExhausted(
        LimitedResource.PROCESSES, f"No process could be started to read pages: {reason}."
    )
