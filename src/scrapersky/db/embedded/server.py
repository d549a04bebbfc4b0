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
"""Beyond this the log becomes `postgres.log.1` at the next acquire, and begins anew."""

TAIL_BYTES = 16 * 1024


START_MARKER = "=== started by process"
"""Our own line before each start, which tells one run from the one before."""


def open_log(path: Path) -> int:
    """Opened for appending only, so that it can be emptied while the server writes to it."""
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
    """The lines since the server last began to start, as far as the end of the file tells."""
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
    """Passes sentences on to whoever listens, at most one every few seconds."""

    def __init__(self, say: Callable[[str], None] | None) -> None:
        self._say = say or (lambda sentence: None)
        self._next = time.monotonic() + FIRST_REPORT_SECONDS

    def tell(self, sentence: str) -> None:
        """Something that happens once; always passed on."""
        self._say(sentence)

    def waiting(self, sentence: str) -> None:
        """Something that goes on; call it as often as you like."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + REPORT_INTERVAL_SECONDS
            self._say(sentence)


UNREACHABLE_SECONDS = 10.0
"""A server that calls itself ready but stays silent for this long is not within our reach."""

MAX_POLL_SECONDS = 1.0

ACCEPTS, SILENT = 0, 2
"""Exit codes of `pg_isready`; 1 is a server that is starting, recovering or stopping."""


class ServerUnreachable(DatabaseRefused):
    """The server runs, but its socket is not where this process could use it."""


def wait_until_ready(
    layout: Layout, binaries: Binaries, postmaster: ProcessIdentity, narrator: ProgressReporter
) -> ServerAddress | None:
    """Its address once it accepts connections; None when it ended instead.

    There is no time-out: a recovery takes as long as it takes.
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
        narrator.waiting(_describe_state(layout, noted))
        # Each question is a line in the server's log, so a long recovery is asked less often.
        waited = time.monotonic() - began
        time.sleep(min(max(POLL_SECONDS, waited / 10), MAX_POLL_SECONDS))
    return None


def _read_address(noted: PidFile | None, postmaster: ProcessIdentity) -> ServerAddress | None:
    """From the server's own notes: whoever started it may have had another runtime folder."""
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
        f"PostgreSQL runs (process {postmaster.pid}) but cannot be reached through {where}"
        " from here, perhaps for a private /tmp; stop the programs that use it and start again,"
        " or set DATABASE_URL."
    )


REMNANTS_TIMEOUT_SECONDS = 60.0
"""How long the orphans of a killed postmaster may take to notice and end."""

log = get_logger(__name__)


def start_server(layout: Layout, binaries: Binaries, narrator: ProgressReporter) -> ProcessIdentity:
    """Start it; whether it becomes ready is another question. Only under the start lock.

    The server and its children inherit a lock: as long as it is held, some of them live. It
    tells also of those this process cannot see, in another container or orphaned by a killed
    postmaster; starting beside them would destroy the database.
    """
    alive = open_lock(layout.alive)
    try:
        if came_first := _wait_for_remnants(layout, alive, narrator):
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
    layout: Layout, alive: int, narrator: ProgressReporter
) -> ProcessIdentity | None:
    """Return with the lock; or with a server, whose killed starter we came right after."""
    deadline = time.monotonic() + REMNANTS_TIMEOUT_SECONDS
    while not try_exclusive(alive):
        if found := find_postmaster(layout.cluster):
            return found
        if time.monotonic() > deadline:
            raise DatabaseRefused(_describe_still_in_use(layout))
        narrator.waiting("What is left of a killed PostgreSQL is still ending; waiting.")
        time.sleep(POLL_SECONDS)
    return None


def _describe_still_in_use(layout: Layout) -> str:
    return (
        f"Processes that cannot be seen from here still use the database in {layout.cluster},"
        " perhaps in another container; end them, or give each container DATABASE_URL"
        " or a data folder of its own."
    )


def _clear_stale_pid_file(cluster: Path) -> None:
    """Remove a pid file whose number is now another process, for PostgreSQL would refuse it.

    A number nobody has is left alone: PostgreSQL then looks further than we do, for shared
    memory still in use.
    """
    noted = read_pid_file(cluster)
    if noted is None:
        # Empty or garbage: its writer was killed on the first line.
        (cluster / "postmaster.pid").unlink(missing_ok=True)
        return
    if classify_pid(noted.pid, cluster) is PidState.DOUBTFUL:
        raise DatabaseRefused(
            f"Process {noted.pid} is a PostgreSQL server that may be using {cluster};"
            " stop it and start again."
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
            # Not the terminal's: a Ctrl-C or a hang-up is meant for us, not for the server.
            start_new_session=True,
            pass_fds=(alive,),
            **layout.account.switch(),
        )
    finally:
        os.close(written_to)
    # Waits for its end, whoever causes it, so that no zombie keeps its number.
    threading.Thread(target=started.wait, name="postgres-reaper", daemon=True).start()
    return find_process(started.pid) or ProcessIdentity(started.pid, "already ended")


FAST_STOP_SECONDS = 60.0
"""A fast shutdown ends with a checkpoint; after this long we give up on that."""

IMMEDIATE_STOP_SECONDS = 10.0


def stop_server(layout: Layout, postmaster: ProcessIdentity, narrator: ProgressReporter) -> None:
    """Fast, which ends its connections and loses nothing; else at once, to be recovered later."""
    postmaster.send(signal.SIGINT)
    if not _wait_for_end(postmaster, FAST_STOP_SECONDS, narrator):
        postmaster.send(signal.SIGQUIT)
        if not _wait_for_end(postmaster, IMMEDIATE_STOP_SECONDS, narrator):
            log.error("postgres does not stop", pid=postmaster.pid)
            return
    # One that lost its files, or was stopped at once, leaves its socket.
    remove_stale_sockets(get_socket_folder(layout))
    log.info("postgres stopped", pid=postmaster.pid, cluster=str(layout.cluster))


def _wait_for_end(
    postmaster: ProcessIdentity, within_seconds: float, narrator: ProgressReporter
) -> bool:
    deadline = time.monotonic() + within_seconds
    while postmaster.is_alive():
        if time.monotonic() > deadline:
            return False
        narrator.waiting("PostgreSQL is stopping; waiting.")
        time.sleep(POLL_SECONDS)
    return True
