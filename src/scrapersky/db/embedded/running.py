"""Get the server running, whatever state it is found in."""

from __future__ import annotations

import time
from dataclasses import dataclass

from scrapersky.db.embedded.address import ServerAddress
from scrapersky.db.embedded.binaries import Binaries
from scrapersky.db.embedded.cluster import ensure_cluster, is_missing, objection_to_cluster
from scrapersky.db.embedded.copies import binaries_for
from scrapersky.db.embedded.layout import Layout
from scrapersky.db.embedded.locks import Reference
from scrapersky.db.embedded.logfile import last_run, trim_log
from scrapersky.db.embedded.narration import Narrator
from scrapersky.db.embedded.process import Process, find_postmaster
from scrapersky.db.embedded.readiness import Unreachable, wait_until_ready
from scrapersky.db.embedded.sockets import make_socket_folder
from scrapersky.db.embedded.starting import REMNANTS_SECONDS, start
from scrapersky.db.embedded.stopping import stop
from scrapersky.errors import DatabaseRefused

LINES_SHOWN = 8
"""Of the server's log, when it does not start."""

RETRY_SECONDS = 1.0


@dataclass(frozen=True)
class Running:
    """A server that accepts connections."""

    address: ServerAddress
    postmaster: Process


def ensure_running(
    layout: Layout, binaries: Binaries, reference: Reference, narrator: Narrator
) -> Running:
    """Join the server or start it; only under the start lock, with a reference of our own."""
    trim_log(layout.log)
    patience = time.monotonic() + REMNANTS_SECONDS
    while True:
        found = find_postmaster(layout.cluster)
        postmaster = found or _start(layout, binaries, narrator)
        address = _wait(layout, binaries, postmaster, reference, narrator)
        if address is not None:
            return Running(address, postmaster)
        if found or find_postmaster(layout.cluster):
            # It stopped while we waited, or another one that we had not seen came first.
            continue
        if time.monotonic() > patience or not _may_try_again(layout):
            raise DatabaseRefused(_why_it_ended(layout))
        narrator.waiting("PostgreSQL was kept from starting; trying again.")
        time.sleep(RETRY_SECONDS)


def _start(layout: Layout, binaries: Binaries, narrator: Narrator) -> Process:
    for_server = binaries_for(layout.account, binaries)
    make_socket_folder(layout)
    if is_missing(layout.cluster):
        narrator.tell(f"Making a new database in {layout.home}.")
    ensure_cluster(layout, for_server)
    return start(layout, for_server, narrator)


def _wait(
    layout: Layout,
    binaries: Binaries,
    postmaster: Process,
    reference: Reference,
    narrator: Narrator,
) -> ServerAddress | None:
    if objection := objection_to_cluster(layout.cluster, binaries):
        raise DatabaseRefused(objection)
    try:
        return wait_until_ready(layout, binaries, postmaster, narrator)
    except Unreachable:
        # Its socket was cleared away, for example. If nobody uses it, a fresh start helps.
        if not reference.is_the_last():
            raise
        stop(layout, postmaster, narrator)
        reference.share()
        return None


def _may_try_again(layout: Layout) -> bool:
    """Whether it ended for a passing reason.

    It was killed before it could say a word, or it met the last backends of a killed server
    that was not started by us.
    """
    said = [line for line in _said(layout) if "FATAL:" in line or "PANIC:" in line]
    return not said or any("pre-existing shared memory block" in line for line in said)


def _said(layout: Layout) -> list[str]:
    """Its log of this run, without what it answered to our own asking."""
    return [line for line in last_run(layout.log) if "FATAL:  the database system is" not in line]


def _why_it_ended(layout: Layout) -> str:
    lines = _said(layout)
    if any("No space left on device" in line for line in lines):
        return f"The disk under {layout.cluster} is full; free some space and start again."
    shown = "\n".join(lines[-LINES_SHOWN:])
    return f"PostgreSQL did not start; {layout.log} ends with:\n{shown}"
