"""Start the PostgreSQL process, wait until it accepts connections, and stop it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from scrapersky.db.embedded.account import build_clean_env
from scrapersky.db.embedded.binaries import Binaries
from scrapersky.db.embedded.layout import (
    PORT,
    Layout,
    ServerAddress,
    get_socket_folder,
    make_socket_folder,
    refuse_open_socket_folder,
    remove_stale_sockets,
)
from scrapersky.db.embedded.locks import POLL_SECONDS, open_lock, try_exclusive
from scrapersky.db.embedded.process import (
    PROC,
    PidFile,
    PidState,
    ProcessIdentity,
    classify_pid,
    find_postmaster,
    find_process,
    read_pid_file,
)
from scrapersky.errors import DatabaseRefused
from scrapersky.logging import get_logger

MAX_LOG_BYTES = 10 * 1024 * 1024
"""A larger log is rotated to `postgres.log.1` at the next acquire."""

TAIL_BYTES = 16 * 1024


START_MARKER = "=== started by process"
"""Line that we write before each start, to separate the runs."""


def open_log(path: Path) -> int:
    """Open the log in append mode, so that it can be truncated while the server writes to it."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    os.write(fd, f"{START_MARKER} {os.getpid()}\n".encode())
    return fd


def rotate_log(path: Path) -> None:
    if not path.is_file() or path.stat().st_size <= MAX_LOG_BYTES:
        return
    shutil.copyfile(path, get_rotated_log(path))
    os.truncate(path, 0)


def get_rotated_log(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def read_last_run(path: Path) -> list[str]:
    """Return the log lines since the last start, as far as the file's tail contains them."""
    lines = _read_tail(path)
    begins = [n for n, line in enumerate(lines) if line.startswith(START_MARKER)]
    return lines[begins[-1] + 1 :] if begins else lines


def _read_tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


FIRST_REPORT_SECONDS = 2.0
REPORT_INTERVAL_SECONDS = 5.0


class ProgressReporter:
    """Passes progress messages to a callback, and limits repeated ones to one every few seconds."""

    def __init__(self, report: Callable[[str], None] | None) -> None:
        self._say = report or (lambda sentence: None)
        self._next = time.monotonic() + FIRST_REPORT_SECONDS

    def tell(self, sentence: str) -> None:
        """Report a one-time event; never rate-limited."""
        self._say(sentence)

    def waiting(self, sentence: str) -> None:
        """Report an ongoing state; rate-limited, so it may be called in a loop."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + REPORT_INTERVAL_SECONDS
            self._say(sentence)


UNREACHABLE_SECONDS = 10.0
"""A server that reports ready but does not answer for this long is unreachable for this process."""

MAX_POLL_SECONDS = 1.0

ACCEPTS, SILENT = 0, 2
"""Exit codes of `pg_isready`. 1 means that the server is starting, recovering or stopping."""


class ServerUnreachable(DatabaseRefused):
    """The server is running, but this process cannot reach its socket."""


def wait_until_ready(
    layout: Layout, binaries: Binaries, postmaster: ProcessIdentity, progress: ProgressReporter
) -> ServerAddress | None:
    """Return the address once the server accepts connections, or None if it exited.

    There is no timeout, because a crash recovery may take arbitrarily long.
    """
    began = last_sign = time.monotonic()
    while postmaster.is_alive():
        noted = read_pid_file(layout.cluster)
        address = _read_address(noted, postmaster)
        answer = _run_pg_isready(address, layout, binaries) if address else SILENT
        if answer == ACCEPTS:
            return address
        if answer != SILENT or not noted or noted.status != "ready":
            began = last_sign = time.monotonic()
        if time.monotonic() - last_sign > UNREACHABLE_SECONDS:
            raise ServerUnreachable(_describe_unreachable(postmaster, noted))
        progress.waiting(_describe_state(layout, noted))
        # Each probe writes a line to the server's log, so a long recovery is probed less often.
        waited = time.monotonic() - began
        time.sleep(min(max(POLL_SECONDS, waited / 10), MAX_POLL_SECONDS))
    return None


def _read_address(noted: PidFile | None, postmaster: ProcessIdentity) -> ServerAddress | None:
    """Read the address from the PID file.

    The process that started the server may use another socket folder.
    """
    if not noted or noted.pid != postmaster.pid or not noted.socket_dir or not noted.port:
        return None
    return ServerAddress(noted.socket_dir, noted.port)


def _run_pg_isready(address: ServerAddress, layout: Layout, binaries: Binaries) -> int:
    if not address.socket_dir.exists():
        return SILENT
    refuse_open_socket_folder(address.socket_dir, layout.account)
    command = [str(binaries.tool("pg_isready")), "--quiet", "--timeout=3"]
    env = {**build_clean_env(), **address.libpq_env()}
    return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, check=False).returncode


def _describe_state(layout: Layout, noted: PidFile | None) -> str:
    if noted and noted.status == "stopping":
        return "PostgreSQL is stopping; waiting."
    lines = read_last_run(layout.log)
    if not any("not properly shut down" in each or "redo" in each for each in lines):
        return "PostgreSQL is starting; waiting."
    progress = [line.partition("LOG:  ")[2] for line in lines if "redo in progress" in line]
    detail = f" ({progress[-1]})" if progress else ""
    return f"PostgreSQL is recovering from a crash{detail}; waiting."


def _describe_unreachable(postmaster: ProcessIdentity, noted: PidFile | None) -> str:
    where = noted.socket_dir if noted else "its socket"
    return (
        f"PostgreSQL is running (process {postmaster.pid}) but cannot be reached through {where}"
        " from here, possibly because of a private /tmp. Stop the programs that use it and start"
        " again, or set DATABASE_URL."
    )


REMNANTS_TIMEOUT_SECONDS = 60.0
"""How long the orphaned backends of a killed postmaster may take to exit."""

log = get_logger(__name__)


def start_server(layout: Layout, binaries: Binaries, progress: ProgressReporter) -> ProcessIdentity:
    """Start the server without waiting until it is ready. Call it only under the start lock.

    The server and its children inherit a lock, which is held while any of them is alive. It also
    covers processes that are invisible from here: those in another container, or orphans of a
    killed postmaster. Starting a second server next to them would destroy the database.
    """
    alive = open_lock(layout.alive)
    try:
        if came_first := _wait_for_remnants(layout, alive, progress):
            return came_first
        _clear_stale_pid_file(layout.cluster)
        sockets = make_socket_folder(layout)
        remove_stale_sockets(sockets)
        postmaster = _spawn(layout, _build_command(layout, binaries, sockets), alive)
    finally:
        os.close(alive)
    log.info("postgres started", pid=postmaster.pid, cluster=str(layout.cluster))
    return postmaster


def _wait_for_remnants(
    layout: Layout, alive: int, progress: ProgressReporter
) -> ProcessIdentity | None:
    """Wait for the lock; return a running server instead if its starter was just killed."""
    deadline = time.monotonic() + REMNANTS_TIMEOUT_SECONDS
    while not try_exclusive(alive):
        if postmaster := find_postmaster(layout.cluster):
            return postmaster
        if time.monotonic() > deadline:
            raise DatabaseRefused(_describe_still_in_use(layout))
        progress.waiting("Processes of a killed PostgreSQL are still ending; waiting.")
        time.sleep(POLL_SECONDS)
    return None


def _describe_still_in_use(layout: Layout) -> str:
    return (
        f"Processes that are not visible from here still use the database in {layout.cluster},"
        " possibly in another container. Stop them, or give each container DATABASE_URL"
        " or its own data folder."
    )


def _clear_stale_pid_file(cluster: Path) -> None:
    """Remove a PID file whose PID now belongs to another process; PostgreSQL would refuse to start.

    The file of a dead PID is kept: PostgreSQL then does its own, more thorough check for shared
    memory still in use.
    """
    noted = read_pid_file(cluster)
    if noted is None:
        # Empty or garbage: the server was killed while writing its first line.
        (cluster / "postmaster.pid").unlink(missing_ok=True)
        return
    if classify_pid(noted.pid, cluster) is PidState.DOUBTFUL:
        raise DatabaseRefused(
            f"Process {noted.pid} is a PostgreSQL server that may be using {cluster}."
            " Stop it and start again."
        )
    if (PROC / str(noted.pid)).exists():
        (cluster / "postmaster.pid").unlink()
        log.warning("stale pid file removed", pid=noted.pid, cluster=str(cluster))


def _build_command(layout: Layout, binaries: Binaries, sockets: Path) -> list[str]:
    fixed = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "port": str(PORT),
        "log_destination": "stderr",
        "logging_collector": "off",
    }
    options = [part for name, value in fixed.items() for part in ("-c", f"{name}={value}")]
    return [str(binaries.tool("postgres")), "-D", str(layout.cluster), *options]


def _spawn(layout: Layout, command: list[str], alive: int) -> ProcessIdentity:
    written_to = open_log(layout.log)
    try:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=written_to,
            stderr=written_to,
            cwd="/",
            env=build_clean_env(),
            # Detach from the terminal: Ctrl-C or a hang-up is meant for us, not for the server.
            start_new_session=True,
            pass_fds=(alive,),
            **layout.account.switch(),
        )
    finally:
        os.close(written_to)
    # Reap the process whenever it exits, so that no zombie occupies its PID.
    threading.Thread(target=started.wait, name="postgres-reaper", daemon=True).start()
    return find_process(started.pid) or ProcessIdentity(started.pid, "already ended")


FAST_STOP_SECONDS = 60.0
"""Time limit of a fast shutdown, which ends with a checkpoint. An immediate shutdown follows."""

IMMEDIATE_STOP_SECONDS = 10.0


def stop_server(layout: Layout, postmaster: ProcessIdentity, progress: ProgressReporter) -> None:
    """Stop the server with a fast shutdown, which closes its connections and loses nothing.

    If that takes too long, an immediate shutdown follows; the next start then runs crash recovery.
    """
    postmaster.send(signal.SIGINT)
    if not _wait_for_end(postmaster, FAST_STOP_SECONDS, progress):
        postmaster.send(signal.SIGQUIT)
        if not _wait_for_end(postmaster, IMMEDIATE_STOP_SECONDS, progress):
            log.error("postgres does not stop", pid=postmaster.pid)
            return
    # A server that lost its files or was stopped immediately leaves its socket behind.
    remove_stale_sockets(get_socket_folder(layout))
    log.info("postgres stopped", pid=postmaster.pid, cluster=str(layout.cluster))


def _wait_for_end(
    postmaster: ProcessIdentity, within_seconds: float, progress: ProgressReporter
) -> bool:
    deadline = time.monotonic() + within_seconds
    while postmaster.is_alive():
        if time.monotonic() > deadline:
            return False
        progress.waiting("PostgreSQL is stopping; waiting.")
        time.sleep(POLL_SECONDS)
    return True
