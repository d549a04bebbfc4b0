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
    """Open a lock file; programs we start do not inherit it, or they would hold the lock too."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def try_exclusive(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def hold_exclusive_lock(path: Path, *, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock at this path, waiting for it as long as it takes."""
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
        # Its last holder removed the file: what we hold guards nothing any more.
        os.close(fd)


def _is_same_file(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def list_holders(path: Path) -> list[int]:
    """The processes that share the lock, as the kernel lists them; takes no lock itself."""
    try:
        inode = path.stat().st_ino
        table = Path("/proc/locks").read_text()
    except OSError:
        return []
    # 3: FLOCK  ADVISORY  READ 1234 08:01:131090 0 EOF
    rows = (line.split() for line in table.splitlines() if "FLOCK" in line and "READ" in line)
    return sorted({int(row[4]) for row in rows if row[5].endswith(f":{inode}")})


class ServerReference:
    """One user of the server: a shared lock on a file that all users of it share."""

    def __init__(self, path: Path) -> None:
        self._fd = open_lock(path)
        self._pid = os.getpid()
        self.share()

    def share(self) -> None:
        """Hold it together with others, also again after `is_the_last`."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child's copy, which must not decide for its parent."""
        return os.getpid() != self._pid

    def is_last(self) -> bool:
        """Whether nobody else holds one; keeps others out until `drop`.

        Ask only under the start lock: the answer "no" costs us our own shared lock.
        """
        return not self.is_inherited and try_exclusive(self._fd)

    def drop(self) -> None:
        os.close(self._fd)
