"""Child process of a `ParserPool`: requests on stdin, answers on stdout.

A request is a pickled `(function, arguments)`; an answer is a kind byte and its payload. Each is
prefixed with its length. The process exits at the end of its input, so it does not outlive its
parent.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

LENGTH = struct.Struct("!Q")
READY, VALUE, ERROR, OUT_OF_MEMORY = b"r", b"v", b"e", b"m"
MAX_MESSAGE_CHARACTERS = 1_000
MAX_TRACEBACK_CHARACTERS = 16_000
PR_SET_PDEATHSIG = 1


def pack_message(kind: bytes, payload: bytes) -> bytes:
    return LENGTH.pack(len(kind) + len(payload)) + kind + payload


def main(parent_pid: int, memory_bytes: int, alarm_seconds: int, module: str) -> None:
    requests, answers = _redirect_pipes()
    _bind_to_parent(parent_pid)
    _limit_memory(memory_bytes)
    # Import now: imports must not count towards the first request's time limit.
    import_module(module)
    _send(answers, READY, b"")
    while length := requests.read(LENGTH.size):
        request = requests.read(LENGTH.unpack(length)[0])
        # The parent kills a process that exceeds its time limit. If it cannot, SIGALRM does: its
        # default action needs no Python handler, so it also ends a parser that hangs in C code.
        signal.alarm(alarm_seconds)
        kind, payload = _execute(request)
        signal.alarm(0)
        _send(answers, kind, payload)
        if kind == OUT_OF_MEMORY:
            return


def _redirect_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Duplicate the pipes, and send what libraries print to stderr instead of into an answer."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _bind_to_parent(parent_pid: int) -> None:
    """Ignore SIGINT and SIGTERM, which the parent handles, and die with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # the parent died before prctl took effect
        os._exit(1)


def _limit_memory(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A lower hard limit stays in force, and macOS refuses to limit the address space.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # If the machine runs out of memory, the OOM killer takes this process before the worker.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _execute(request: bytes) -> tuple[bytes, bytes]:
    try:
        call: tuple[Callable[..., Any], tuple[Any, ...]]
        call = pickle.loads(request)  # noqa: S301 - from our own process
        function, arguments = call
        return VALUE, pickle.dumps(function(*arguments), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return OUT_OF_MEMORY, b""
    except Exception as error:
        message = f"{type(error).__name__}: {error}"[:MAX_MESSAGE_CHARACTERS]
        trace = traceback.format_exc()[-MAX_TRACEBACK_CHARACTERS:]
        return ERROR, pickle.dumps((message, trace))


def _send(answers: BinaryIO, kind: bytes, payload: bytes) -> None:
    answers.write(pack_message(kind, payload))
    answers.flush()


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
