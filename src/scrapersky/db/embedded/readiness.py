"""Wait until the server accepts connections, for as long as it lives."""

from __future__ import annotations

import subprocess
import time

from scrapersky.db.embedded.account import clean_env
from scrapersky.db.embedded.address import ServerAddress
from scrapersky.db.embedded.binaries import Binaries
from scrapersky.db.embedded.layout import Layout
from scrapersky.db.embedded.locks import POLL_SECONDS
from scrapersky.db.embedded.logfile import last_run
from scrapersky.db.embedded.narration import Narrator
from scrapersky.db.embedded.process import PidFile, Process, read_pid_file
from scrapersky.db.embedded.sockets import refuse_open_socket_folder
from scrapersky.errors import DatabaseRefused

UNREACHABLE_SECONDS = 10.0
"""A server that calls itself ready but stays silent for this long is not within our reach."""

LONGEST_POLL_SECONDS = 1.0

ACCEPTS, SILENT = 0, 2
"""Exit codes of `pg_isready`; 1 is a server that is starting, recovering or stopping."""


class Unreachable(DatabaseRefused):
    """The server runs, but its socket is not where this process could use it."""


def wait_until_ready(
    layout: Layout, binaries: Binaries, postmaster: Process, narrator: Narrator
) -> ServerAddress | None:
    """Its address once it accepts connections; None when it ended instead.

    There is no time-out: a recovery takes as long as it takes.
    """
    began = last_sign = time.monotonic()
    while postmaster.is_alive():
        noted = read_pid_file(layout.cluster)
        address = _address(noted, postmaster)
        answer = _ask(address, layout, binaries) if address else SILENT
        if answer == ACCEPTS:
            return address
        if answer != SILENT or not noted or noted.status != "ready":
            began = last_sign = time.monotonic()
        if time.monotonic() - last_sign > UNREACHABLE_SECONDS:
            raise Unreachable(_unreachable(postmaster, noted))
        narrator.waiting(_doing(layout, noted))
        # Each question is a line in the server's log, so a long recovery is asked less often.
        waited = time.monotonic() - began
        time.sleep(min(max(POLL_SECONDS, waited / 10), LONGEST_POLL_SECONDS))
    return None


def _address(noted: PidFile | None, postmaster: Process) -> ServerAddress | None:
    """From the server's own notes: whoever started it may have had another runtime folder."""
    if not noted or noted.pid != postmaster.pid or not noted.socket_dir or not noted.port:
        return None
    return ServerAddress(noted.socket_dir, noted.port)


def _ask(address: ServerAddress, layout: Layout, binaries: Binaries) -> int:
    if not address.socket_dir.exists():
        return SILENT
    refuse_open_socket_folder(address.socket_dir, layout.account)
    command = [str(binaries.tool("pg_isready")), "--quiet", "--timeout=3"]
    env = {**clean_env(), **address.libpq_env()}
    return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, check=False).returncode


def _doing(layout: Layout, noted: PidFile | None) -> str:
    if noted and noted.status == "stopping":
        return "PostgreSQL is stopping; waiting."
    lines = last_run(layout.log)
    if not any("not properly shut down" in each or "redo" in each for each in lines):
        return "PostgreSQL is starting; waiting."
    progress = [line.partition("LOG:  ")[2] for line in lines if "redo in progress" in line]
    detail = f" ({progress[-1]})" if progress else ""
    return f"PostgreSQL is recovering from a crash{detail}; waiting."


def _unreachable(postmaster: Process, noted: PidFile | None) -> str:
    where = noted.socket_dir if noted else "its socket"
    return (
        f"PostgreSQL runs (process {postmaster.pid}) but cannot be reached through {where}"
        " from here, perhaps for a private /tmp; stop the programs that use it and start again,"
        " or set DATABASE_URL."
    )
