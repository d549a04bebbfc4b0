"""Stop the server, without killing it."""

from __future__ import annotations

import signal
import time

from scrapersky.db.embedded.layout import Layout
from scrapersky.db.embedded.locks import POLL_SECONDS
from scrapersky.db.embedded.narration import Narrator
from scrapersky.db.embedded.process import Process
from scrapersky.db.embedded.sockets import clear_sockets, socket_folder
from scrapersky.logging import get_logger

FAST_STOP_SECONDS = 60.0
"""A fast shutdown ends with a checkpoint; after this long we give up on that."""

IMMEDIATE_STOP_SECONDS = 10.0

log = get_logger(__name__)


def stop(layout: Layout, postmaster: Process, narrator: Narrator) -> None:
    """Fast, which ends its connections and loses nothing; else at once, to be recovered later."""
    postmaster.send(signal.SIGINT)
    if not _has_ended(postmaster, FAST_STOP_SECONDS, narrator):
        postmaster.send(signal.SIGQUIT)
        if not _has_ended(postmaster, IMMEDIATE_STOP_SECONDS, narrator):
            log.error("postgres does not stop", pid=postmaster.pid)
            return
    # One that lost its files, or was stopped at once, leaves its socket.
    clear_sockets(socket_folder(layout))
    log.info("postgres stopped", pid=postmaster.pid, cluster=str(layout.cluster))


def _has_ended(postmaster: Process, within_seconds: float, narrator: Narrator) -> bool:
    deadline = time.monotonic() + within_seconds
    while postmaster.is_alive():
        if time.monotonic() > deadline:
            return False
        narrator.waiting("PostgreSQL is stopping; waiting.")
        time.sleep(POLL_SECONDS)
    return True
