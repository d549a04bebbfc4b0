"""Child process of a `ParserPool`: requests on stdin, answers on stdout.

A request is a pickled `(function, arguments)`, an answer a kind byte and its payload; each is
prefixed
with its length. The process exits at the end of its input, so it does not outlive its parent.


A request is a pickled `(function, arguments)`, an answer a kind and what belongs to it; each comes
after its length. The process ends at the end of its input, so it does not outlive its parent.
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
    import_module(module)  # before the first request, whose time must not go into imports
    _send(answers, READY, b"")
    while length := requests.read(LENGTH.size):
        request = requests.read(LENGTH.unpack(length)[0])
        # The parent kills a process that takes too long. Should it be unable to, the kernel does:
        # a parser that hangs in C code would run no Python handler, and needs none for this.
        signal.alarm(alarm_seconds)
        kind, payload = _execute(request)
        signal.alarm(0)
        _send(answers, kind, payload)
        if kind == OUT_OF_MEMORY:
            return


def _redirect_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes to ourselves: what a library prints goes to the log, not into an answer."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _bind_to_parent(parent_pid: int) -> None:
    """Leave Ctrl-C and a supervisor's SIGTERM to the parent, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it was gone before we asked to be told
        os._exit(1)


def _limit_memory(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A hard limit below ours stays, and macOS refuses to limit the address space.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # Should the machine itself run out of memory, this process goes first and not the worker.
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
