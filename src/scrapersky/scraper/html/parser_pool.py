"""Run parsers in child processes with a time and a memory limit.

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
from scrapersky.scraper.html.fair_queue import FairQueue, QueueTicket
from scrapersky.scraper.html.parser_process import ERROR, LENGTH, OUT_OF_MEMORY
from scrapersky.scraper.http.descriptors import EXHAUSTED_ERRNOS
from scrapersky.settings import Settings

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START_TIMEOUT_SECONDS = 60.0
"""Time for a process to start and import its modules on a busy machine."""
WAIT_SECONDS = 30.0
"""Time to wait for a free process. After that the row is requeued without losing an attempt."""
QUANTUM_SHARE = 0.1
"""Share of its timeout after which a page is slow. Others no longer wait for it."""
CLOSE_TIMEOUT_SECONDS = 5.0
"""Time for killed processes to exit; the kernel takes milliseconds."""
ALARM_MARGIN_SECONDS = 5
MAX_CALLS = 2_000
"""Calls after which a process is replaced.

Otherwise leaked or fragmented memory would eventually make an innocent page hit the memory limit.
"""
MAX_ANSWER_BYTES = 256 * 1024 * 1024
MEGABYTE = 1024 * 1024

_THREAD_POOL = ThreadPoolExecutor(max_workers=1, thread_name_prefix="parser")
"""For pools without processes.

More than one thread would not parse faster, but would leave the event loop a smaller share of the
GIL.
"""


class ParserError(ScraperSkyError):
    """The page could not be parsed."""


class ParserTimedOut(ParserError):
    """Parsing exceeded the time limit; the process was killed."""


class ParserCrashed(ParserError):
    """The parser process ran out of memory or died."""


class ParserFailed(ParserError):
    """Parsing raised an exception; its traceback is attached as a note."""


class ParserPool:
    """A pool of at most `processes` child processes, started on demand and stopped when idle.

    Each process parses one page at a time, so killing it affects no other page. Further calls wait
    in this process for a free slot, shared fairly between hosts (`FairQueue`). With 0 processes,
    pages are parsed in a thread, which cannot be killed.
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
        """All processes that have not exited."""
        self._idle: list[_ParserProcess] = []
        """Used as a stack: the most recently used process is taken first.

        Surplus processes thus reach their idle timeout.
        """
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
        """Raise `RetryLater` if pages of this host hang and one of them is being parsed.

        The page need not be fetched until then.
        """
        if self._processes:
            self._queue.check_host(_get_host(url))

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts, url: str = "") -> T:
        """Call a module-level function in a child process and return its result.

        Function, arguments and result are pickled. `url` is the page's; processes are shared fairly
        between the hosts. Raises `ParserTimedOut`, `ParserCrashed` or `ParserFailed` if the call is
        at fault, `RetryLater` while slow pages occupy the processes, and `ResourceExhausted` if no
        process was available.
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
        """Kill all processes, including busy ones."""
        self._is_closed = True
        children = list(self._children)
        for each in children:
            self._stop_process(each)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await asyncio.gather(*(each.ended.wait() for each in children))

    async def _run_in_turn(self, request: bytes, module: str, host: str) -> tuple[bytes, bytes]:
        ticket = self._queue.enter(host)
        seconds_left = WAIT_SECONDS
        clock = asyncio.get_running_loop().time
        try:
            while True:
                waits_since = clock()
                await self._wait(ticket, seconds_left)
                seconds_left -= clock() - waits_since
                try:
                    return await self._call(request, module, ticket)
                except _Preempted:
                    self._queue.requeue(ticket)
        except ParserTimedOut:
            self._queue.note_timeout(host)
            raise
        finally:
            self._queue.leave(ticket)

    async def _wait(self, ticket: QueueTicket, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await ticket.granted.wait()
        except TimeoutError:
            # Not a limit of ours: slow pages would occupy further processes just as well.
            if ticket.is_slow or self._queue.is_delayed_by_slow_pages(ticket):
                raise RetryLater(
                    "Pages that take long to parse hold the processes that parse pages.",
                    after=self._queue.get_backoff(ticket.host),
                ) from None
            raise ResourceExhausted(
                LimitedResource.PROCESSES,
                f"All parser processes were busy for {WAIT_SECONDS:g} s. "
                "Raise PARSER_PROCESSES, or lower the CONCURRENCY of stages.",
            ) from None

    async def _call(self, request: bytes, module: str, ticket: QueueTicket) -> tuple[bytes, bytes]:
        while True:
            child = self._take_idle() or await self._start_process(module)
            is_first_call = not child.calls
            try:
                return await self._exchange(child, request, ticket)
            except ParserCrashed:
                # Blame the page only if the process was fresh. One that was used before may have
                # been killed while idle, or may have had little memory left; retry with another
                # process.
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
        self, child: _ParserProcess, request: bytes, ticket: QueueTicket
    ) -> tuple[bytes, bytes]:
        is_usable = False
        now = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(self._timeout_seconds) as deadline:
                self._queue.start_clock(ticket, preempt=lambda: deadline.reschedule(now()))
                kind, payload = await child.ask(request)
            if kind == OUT_OF_MEMORY:
                limit = self._memory_bytes // MEGABYTE
                raise ParserCrashed(
                    f"Parsing the page takes more than {limit:,} MB of memory (PARSER_MEMORY_MB)."
                )
            is_usable = child.calls < MAX_CALLS
            return kind, payload
        except TimeoutError:
            if ticket.is_preempted:
                raise _Preempted from None
            raise self._build_timeout_error() from None
        except _ProcessEnded:
            if child.returncode == -signal.SIGALRM:
                raise self._build_timeout_error() from None
            raise ParserCrashed(_describe_end(child.returncode)) from None
        finally:  # also when the caller was cancelled: the call may never end
            ticket.preempt = None
            if is_usable and not self._is_closed:
                self._idle.append(child)
                loop = asyncio.get_running_loop()
                child.idle_timer = loop.call_later(self._idle_seconds, self._stop_process, child)
            else:
                self._stop_process(child)

    def _build_timeout_error(self) -> ParserTimedOut:
        return ParserTimedOut(
            f"The page could not be parsed within {self._timeout_seconds:g} seconds "
            "(PARSER_TIMEOUT_SECONDS)."
        )

    def _stop_process(self, child: _ParserProcess) -> None:
        child.cancel_idle_timer()
        if child in self._idle:
            self._idle.remove(child)
        child.kill()

    async def _start_process(self, module: str) -> _ParserProcess:
        if self._is_closed:
            raise ParserError("The parser pool is closed: the worker is shutting down.")
        child = _ParserProcess(self._children.discard)
        # Start it by path: with `-m`, the package would be imported before memory is limited.
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
            if isinstance(error, (OSError, _ProcessEnded)):  # TimeoutError is an OSError
                raise _build_start_error(error, child) from error
            raise
        return child


class _Preempted(Exception):
    """The process is needed for other pages. The call starts over later."""


class _ProcessEnded(Exception):
    """The process exited before it answered."""


class _ParserProcess(asyncio.SubprocessProtocol):
    """A child process and its current call."""

    def __init__(self, on_end: Callable[[_ParserProcess], None]) -> None:
        self._on_end = on_end
        self._transport: asyncio.SubprocessTransport | None = None
        self._buffer = bytearray()
        self._answer: asyncio.Future[tuple[bytes, bytes]] = self._create_answer()
        self._is_silent = False
        """Whether its stdout is closed."""
        self.pid = 0
        self.returncode: int | None = None
        self.ended = asyncio.Event()
        self.calls = 0
        self.idle_timer: asyncio.TimerHandle | None = None

    async def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Send a request and return the kind and payload of the answer."""
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
        """Fail the current call if the process has exited and its stdout is fully read.

        The last answer can arrive after the exit.
        """
        if self._is_silent and self.returncode is not None and not self._answer.done():
            self._answer.set_exception(_ProcessEnded())

    # Callbacks of the event loop

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
    """Return the variables an interpreter needs to start, without secrets."""
    names = ("PATH", "HOME", "LANG", "TZ", "TMPDIR")
    environ = {
        name: value
        for name, value in os.environ.items()
        if name in names or name.startswith(("LC_", "LD_", "PYTHON"))
    }
    return {**environ, "PYTHONPATH": os.pathsep.join(each or os.getcwd() for each in sys.path)}


def _describe_end(returncode: int | None) -> str:
    if returncode is not None and returncode < 0:
        name = signal.Signals(-returncode).name
        return f"The parser process was killed by {name}."
    return f"The parser process exited with code {returncode}."


def _build_start_error(error: BaseException, child: _ParserProcess) -> ResourceExhausted:
    if isinstance(error, _ProcessEnded):
        reason = f"it exited with code {child.returncode}; PARSER_MEMORY_MB may be too small"
    elif isinstance(error, TimeoutError):
        reason = f"it was not ready within {START_TIMEOUT_SECONDS:g} s"
    else:
        reason = str(error)
    return ResourceExhausted(
        LimitedResource.PROCESSES, f"No parser process could be started: {reason}."
    )
