"""Start the embedded PostgreSQL or join the running one; the last one to leave stops it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

from scrapersky.db.embedded.address import ServerAddress
from scrapersky.db.embedded.binaries import Binaries, find_binaries
from scrapersky.db.embedded.folders import (
    ensure_data_folder,
    objection_to_data_folder,
    refusing,
)
from scrapersky.db.embedded.layout import Layout, resolved, settle_layout, start_lock
from scrapersky.db.embedded.locks import Reference, exclusively
from scrapersky.db.embedded.narration import Narrator
from scrapersky.db.embedded.process import Process, find_postmaster
from scrapersky.db.embedded.removal import remove_cluster
from scrapersky.db.embedded.running import Running, ensure_running
from scrapersky.db.embedded.sockets import remove_socket_folder
from scrapersky.db.embedded.stopping import stop
from scrapersky.errors import DatabaseRefused


@dataclass(frozen=True)
class _Share:
    """What one `acquire` got and its `release` gives back."""

    layout: Layout
    running: Running
    reference: Reference


class EmbeddedPostgres:
    """One process's share in the server of a data folder.

    Each `acquire` takes a reference, which ends with `release` or with the process. Whoever
    releases the last one stops the server. When all were killed instead, the server goes on,
    and the next `acquire` joins it.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        pg_bin: Path | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._given = data_dir
        self._pg_bin = pg_bin
        self._say = say
        self._shares: list[_Share] = []

    @cached_property
    def data_dir(self) -> Path:
        return resolved(self._given)

    @cached_property
    def binaries(self) -> Binaries:
        """The programs for us to run: `binaries.tool("pg_dump")`, with `tool_env()`."""
        return find_binaries(self._pg_bin)

    def tool_env(self) -> dict[str, str]:
        """The caller's environment, with the way to this server in place of any other."""
        if not self._shares:
            raise DatabaseRefused("The database is not running for us; acquire it first.")
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {**ours, **self._shares[-1].running.address.libpq_env()}

    def acquire(self) -> ServerAddress:
        """Take a reference; returns when the server accepts connections."""
        binaries, narrator = self.binaries, Narrator(self._say)
        with refusing(self.data_dir):
            ensure_data_folder(self.data_dir)
            with self._deciding(narrator):
                share = _join(settle_layout(self.data_dir), binaries, narrator)
        self._shares.append(share)
        return share.running.address

    def release(self) -> None:
        """Give a reference back and, if it was the last anywhere, stop the server.

        Harmless when there is none to give back.
        """
        if not self._shares:
            return
        share, narrator = self._shares.pop(), Narrator(self._say)
        try:
            with self._deciding(narrator):
                found = find_postmaster(share.layout.cluster)
                postmaster = found or share.running.postmaster
                _leave(share.layout, share.reference, postmaster, narrator)
        except FileNotFoundError:
            # Somebody removed or moved the data folder; the server shall not outlive it.
            _leave(share.layout, share.reference, share.running.postmaster, narrator)

    def revive(self) -> ServerAddress:
        """Start the server again if it died under us; our reference and its address stay."""
        if not self._shares:
            raise DatabaseRefused("The database is not ours to revive; acquire it first.")
        address = self.acquire()
        self.release()
        return address

    def destroy(self) -> None:
        """Remove the database for good; refused while anybody uses it.

        The data folder itself stays, and anything in it that is not ours.
        """
        if not self.data_dir.is_dir():
            return
        with refusing(self.data_dir):
            if objection := objection_to_data_folder(self.data_dir):
                raise DatabaseRefused(objection)
            with self._deciding(Narrator(self._say)):
                remove_cluster(self.data_dir)

    def __enter__(self) -> ServerAddress:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def _deciding(self, narrator: Narrator) -> AbstractContextManager[None]:
        return exclusively(
            start_lock(self.data_dir),
            while_waiting=lambda: narrator.waiting(
                "Another process is starting or stopping PostgreSQL; waiting."
            ),
        )


def _join(layout: Layout, binaries: Binaries, narrator: Narrator) -> _Share:
    reference = Reference(layout.holders)
    try:
        running = ensure_running(layout, binaries, reference, narrator)
    except BaseException:
        _leave(layout, reference, find_postmaster(layout.cluster), narrator)
        raise
    return _Share(layout, running, reference)


def _leave(
    layout: Layout, reference: Reference, postmaster: Process | None, narrator: Narrator
) -> None:
    try:
        if reference.is_the_last():
            if postmaster and postmaster.is_alive():
                stop(layout, postmaster, narrator)
            remove_socket_folder(layout)
    finally:
        reference.drop()
