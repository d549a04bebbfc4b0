"""Start the server as a process of its own that outlives whoever started it."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

from scrapersky.db.embedded.account import clean_env
from scrapersky.db.embedded.address import PORT
from scrapersky.db.embedded.binaries import Binaries
from scrapersky.db.embedded.layout import Layout
from scrapersky.db.embedded.locks import POLL_SECONDS, open_lock, try_exclusive
from scrapersky.db.embedded.logfile import open_log
from scrapersky.db.embedded.narration import Narrator
from scrapersky.db.embedded.process import (
    PROC,
    Process,
    Standing,
    find_postmaster,
    process,
    read_pid_file,
    standing,
)
from scrapersky.db.embedded.sockets import clear_sockets, make_socket_folder
from scrapersky.errors import DatabaseRefused
from scrapersky.logging import get_logger

REMNANTS_SECONDS = 60.0
"""How long the orphans of a killed postmaster may take to notice and end."""

log = get_logger(__name__)


def start(layout: Layout, binaries: Binaries, narrator: Narrator) -> Process:
    """Start it; whether it becomes ready is another question. Only under the start lock.

    The server and its children inherit a lock: as long as it is held, some of them live. It
    tells also of those this process cannot see, in another container or orphaned by a killed
    postmaster; starting beside them would destroy the database.
    """
    alive = open_lock(layout.alive)
    try:
        if came_first := _wait_for_the_dying(layout, alive, narrator):
            return came_first
        _clear_stale_pid_file(layout.cluster)
        sockets = make_socket_folder(layout)
        clear_sockets(sockets)
        postmaster = _spawn(layout, _command(layout, binaries, sockets), alive)
    finally:
        os.close(alive)
    log.info("postgres started", pid=postmaster.pid, cluster=str(layout.cluster))
    return postmaster


def _wait_for_the_dying(layout: Layout, alive: int, narrator: Narrator) -> Process | None:
    """Return with the lock; or with a server, whose killed starter we came right after."""
    deadline = time.monotonic() + REMNANTS_SECONDS
    while not try_exclusive(alive):
        if found := find_postmaster(layout.cluster):
            return found
        if time.monotonic() > deadline:
            raise DatabaseRefused(_still_in_use(layout))
        narrator.waiting("What is left of a killed PostgreSQL is still ending; waiting.")
        time.sleep(POLL_SECONDS)
    return None


def _still_in_use(layout: Layout) -> str:
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
    if standing(noted.pid, cluster) is Standing.DOUBTFUL:
        raise DatabaseRefused(
            f"Process {noted.pid} is a PostgreSQL server that may be using {cluster};"
            " stop it and start again."
        )
    if (PROC / str(noted.pid)).exists():
        (cluster / "postmaster.pid").unlink()
        log.warning("stale pid file removed", pid=noted.pid, cluster=str(cluster))


def _command(layout: Layout, binaries: Binaries, sockets: Path) -> list[str]:
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


def _spawn(layout: Layout, command: list[str], alive: int) -> Process:
    written_to = open_log(layout.log)
    try:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=written_to,
            stderr=written_to,
            cwd="/",
            env=clean_env(),
            # Not the terminal's: a Ctrl-C or a hang-up is meant for us, not for the server.
            start_new_session=True,
            pass_fds=(alive,),
            **layout.account.switch(),
        )
    finally:
        os.close(written_to)
    # Waits for its end, whoever causes it, so that no zombie keeps its number.
    threading.Thread(target=started.wait, name="postgres-reaper", daemon=True).start()
    return process(started.pid) or Process(started.pid, "already ended")
