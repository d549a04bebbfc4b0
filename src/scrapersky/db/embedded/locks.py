"""File locks between processes; the kernel releases them when the holder exits."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_SECONDS = 0.05


def open_lock(path: Path) -> int:
    """Open a lock file, close-on-exec: a child process that inherits it would hold the lock too."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def try_exclusive(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def hold_exclusive_lock(path: Path, *, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock at this path; wait for it without a timeout."""
    fd = _acquire_lock(path, while_waiting)
    try:
        yield
    finally:
        os.close(fd)


def _acquire_lock(path: Path, while_waiting: Callable[[], None]) -> int:
    while True:
        fd = open_lock(path)
        try:
            while not try_exclusive(fd):
                while_waiting()
                time.sleep(POLL_SECONDS)
            if _is_same_file(path, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        # The last holder removed the file, so the lock on our descriptor guards nothing. Open it
        # again.
        os.close(fd)


def _is_same_file(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def list_holders(path: Path) -> list[int]:
    """Return the PIDs that share the lock, from /proc/locks. Takes no lock itself."""
    try:
        inode = path.stat().st_ino
        table = Path("/proc/locks").read_text()
    except OSError:
        return []
    # 3: FLOCK  ADVISORY  READ 1234 08:01:131090 0 EOF
    rows = (line.split() for line in table.splitlines() if "FLOCK" in line and "READ" in line)
    return sorted({int(row[4]) for row in rows if row[5].endswith(f":{inode}")})


class ServerReference:
    """A reference to the server: a shared lock on a file common to all its users."""

    def __init__(self, path: Path) -> None:
        self._fd = open_lock(path)
        self._pid = os.getpid()
        self.share()

    def share(self) -> None:
        """Take the lock in shared mode, also to downgrade it after `is_last`."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    @property
    def is_inherited(self) -> bool:
        """Whether this is the copy in a forked child, which must not decide for its parent."""
        return os.getpid() != self._pid

    def is_last(self) -> bool:
        """Return whether no other reference exists; if so, block new ones until `drop`.

        Call it only under the start lock: a failed upgrade loses our own shared lock.
        """
        return not self.is_inherited and try_exclusive(self._fd)

    def drop(self) -> None:
        os.close(self._fd)
