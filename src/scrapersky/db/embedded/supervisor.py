"""Join or start the embedded PostgreSQL, stop it with the last reference, and remove it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

from scrapersky.db.embedded import cluster as clusters
from scrapersky.db.embedded.binaries import Binaries, find_binaries, get_runnable_binaries
from scrapersky.db.embedded.cluster import ensure_cluster, find_cluster_problem, is_cluster_missing
from scrapersky.db.embedded.folders import (
    ensure_data_folder,
    find_data_folder_problem,
    translate_os_errors,
)
from scrapersky.db.embedded.layout import (
    POINTER_FILE,
    RECORD_FILE,
    Layout,
    ServerAddress,
    establish_layout,
    find_layout,
    get_socket_folder,
    get_start_lock,
    make_socket_folder,
    remove_socket_folder,
    remove_stale_sockets,
    resolve_data_dir,
)
from scrapersky.db.embedded.locks import (
    ServerReference,
    hold_exclusive_lock,
    open_lock,
    try_exclusive,
)
from scrapersky.db.embedded.process import ProcessIdentity, find_postmaster
from scrapersky.db.embedded.server import (
    REMNANTS_TIMEOUT_SECONDS,
    ProgressReporter,
    ServerUnreachable,
    get_rotated_log,
    read_last_run,
    rotate_log,
    start_server,
    stop_server,
    wait_until_ready,
)
from scrapersky.errors import DatabaseRefused


def remove_cluster(data_dir: Path) -> None:
    """Remove the files we created, also in the pointer's target. Call it only under the start lock.

    The data folder itself and any other files in it are kept.
    """
    layout = find_layout(data_dir)
    if layout is not None:
        _refuse_if_used(layout)
        _refuse_if_not_a_cluster(layout.cluster)
        _remove_files(layout)
    get_start_lock(data_dir).unlink(missing_ok=True)


def _refuse_if_used(layout: Layout) -> None:
    reference, alive = ServerReference(layout.holders), open_lock(layout.alive)
    try:
        unused = reference.is_last() and try_exclusive(alive)
        if not unused or find_postmaster(layout.cluster):
            raise DatabaseRefused(
                f"The database of {layout.data_dir} is in use. Stop the programs that use it first."
            )
    finally:
        reference.drop()
        os.close(alive)


def _refuse_if_not_a_cluster(cluster: Path) -> None:
    if not clusters.is_cluster_missing(cluster) and not (cluster / "PG_VERSION").is_file():
        raise DatabaseRefused(f"{cluster} is not a PostgreSQL cluster. Remove it manually.")


def _remove_files(layout: Layout) -> None:
    clusters.remove_unfinished(layout)
    if layout.cluster.exists():
        shutil.rmtree(layout.cluster)
    if layout.home != layout.data_dir:
        (layout.home / RECORD_FILE).unlink(missing_ok=True)
        layout.home.rmdir()
        (layout.data_dir / POINTER_FILE).unlink()
    for left in (layout.log, get_rotated_log(layout.log), layout.holders, layout.alive):
        left.unlink(missing_ok=True)
    remove_stale_sockets(get_socket_folder(layout))
    remove_socket_folder(layout)


MAX_LOG_LINES_SHOWN = 8
"""Lines of the server's log that are shown when it does not start."""

RETRY_SECONDS = 1.0


@dataclass(frozen=True)
class RunningServer:
    """A server that accepts connections."""

    address: ServerAddress
    postmaster: ProcessIdentity


def ensure_running(
    layout: Layout, binaries: Binaries, reference: ServerReference, progress: ProgressReporter
) -> RunningServer:
    """Join or start the server. Call it only under the start lock and while holding a reference."""
    rotate_log(layout.log)
    patience = time.monotonic() + REMNANTS_TIMEOUT_SECONDS
    while True:
        existing = find_postmaster(layout.cluster)
        postmaster = existing or _prepare_and_start(layout, binaries, progress)
        address = _wait_or_restart(layout, binaries, postmaster, reference, progress)
        if address is not None:
            return RunningServer(address, postmaster)
        if existing or find_postmaster(layout.cluster):
            # It stopped while we waited, or another process started one that we had not seen.
            continue
        if time.monotonic() > patience or not _is_retryable(layout):
            raise DatabaseRefused(_describe_failed_start(layout))
        progress.waiting("PostgreSQL could not start; retrying.")
        time.sleep(RETRY_SECONDS)


def _prepare_and_start(
    layout: Layout, binaries: Binaries, progress: ProgressReporter
) -> ProcessIdentity:
    for_server = get_runnable_binaries(layout.account, binaries)
    make_socket_folder(layout)
    if is_cluster_missing(layout.cluster):
        progress.tell(f"Creating a new database in {layout.home}.")
    ensure_cluster(layout, for_server)
    return start_server(layout, for_server, progress)


def _wait_or_restart(
    layout: Layout,
    binaries: Binaries,
    postmaster: ProcessIdentity,
    reference: ServerReference,
    progress: ProgressReporter,
) -> ServerAddress | None:
    if problem := find_cluster_problem(layout.cluster, binaries):
        raise DatabaseRefused(problem)
    try:
        return wait_until_ready(layout, binaries, postmaster, progress)
    except ServerUnreachable:
        # For example, its socket was deleted. If no other process uses it, a restart helps.
        if not reference.is_last():
            raise
        stop_server(layout, postmaster, progress)
        reference.share()
        return None


def _is_retryable(layout: Layout) -> bool:
    """Return whether the start failed for a transient reason.

    Either the server was killed before it logged anything, or it encountered remaining backends of
    a killed server that we did not start.
    """
    errors = [
        line for line in _read_server_messages(layout) if "FATAL:" in line or "PANIC:" in line
    ]
    return not errors or any("pre-existing shared memory block" in line for line in errors)


def _read_server_messages(layout: Layout) -> list[str]:
    """Return the log of this run without the replies to our own probes."""
    return [
        line for line in read_last_run(layout.log) if "FATAL:  the database system is" not in line
    ]


def _describe_failed_start(layout: Layout) -> str:
    lines = _read_server_messages(layout)
    if any("No space left on device" in line for line in lines):
        return f"The disk of {layout.cluster} is full. Free some space and start again."
    tail = "\n".join(lines[-MAX_LOG_LINES_SHOWN:])
    return f"PostgreSQL did not start. {layout.log} ends with:\n{tail}"


@dataclass(frozen=True)
class _Acquisition:
    """What one `acquire` obtained and its `release` returns."""

    layout: Layout
    running: RunningServer
    reference: ServerReference


class EmbeddedPostgres:
    """One process's handle on the server of a data folder.

    Each `acquire` takes a reference, which ends with `release` or with the process. Releasing the
    last reference stops the server. If all its users were killed instead, the server keeps running,
    and the next `acquire` joins it.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        pg_bin: Path | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._given = data_dir
        self._pg_bin = pg_bin
        self._say = report
        self._shares: list[_Acquisition] = []

    @cached_property
    def data_dir(self) -> Path:
        return resolve_data_dir(self._given)

    @cached_property
    def binaries(self) -> Binaries:
        """The client programs: use `binaries.tool("pg_dump")` with `tool_env()`."""
        return find_binaries(self._pg_bin)

    def tool_env(self) -> dict[str, str]:
        """Return the caller's environment with the connection variables of this server."""
        if not self._shares:
            raise DatabaseRefused("The database has not been acquired. Call acquire() first.")
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {**ours, **self._shares[-1].running.address.libpq_env()}

    def acquire(self) -> ServerAddress:
        """Take a reference, and return once the server accepts connections."""
        binaries, progress = self.binaries, ProgressReporter(self._say)
        with translate_os_errors(self.data_dir):
            ensure_data_folder(self.data_dir)
            with self._hold_start_lock(progress):
                share = _join_server(establish_layout(self.data_dir), binaries, progress)
        self._shares.append(share)
        return share.running.address

    def release(self) -> None:
        """Release a reference; stop the server if it was the last one of all processes.

        Does nothing if there is no reference.
        """
        if not self._shares:
            return
        share, progress = self._shares.pop(), ProgressReporter(self._say)
        try:
            with self._hold_start_lock(progress):
                current = find_postmaster(share.layout.cluster)
                postmaster = current or share.running.postmaster
                _leave_server(share.layout, share.reference, postmaster, progress)
        except FileNotFoundError:
            # The data folder was removed or moved. The server must not outlive it.
            _leave_server(share.layout, share.reference, share.running.postmaster, progress)

    def revive(self) -> ServerAddress:
        """Restart the server if it died. Our reference and its address stay valid."""
        if not self._shares:
            raise DatabaseRefused("The database has not been acquired. Call acquire() first.")
        address = self.acquire()
        self.release()
        return address

    def destroy(self) -> None:
        """Delete the database permanently; refused while any process uses it.

        The data folder itself and any other files in it are kept.
        """
        if not self.data_dir.is_dir():
            return
        with translate_os_errors(self.data_dir):
            if problem := find_data_folder_problem(self.data_dir):
                raise DatabaseRefused(problem)
            with self._hold_start_lock(ProgressReporter(self._say)):
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

    def _hold_start_lock(self, progress: ProgressReporter) -> AbstractContextManager[None]:
        return hold_exclusive_lock(
            get_start_lock(self.data_dir),
            while_waiting=lambda: progress.waiting(
                "Another process is starting or stopping PostgreSQL; waiting."
            ),
        )


def _join_server(layout: Layout, binaries: Binaries, progress: ProgressReporter) -> _Acquisition:
    reference = ServerReference(layout.holders)
    try:
        running = ensure_running(layout, binaries, reference, progress)
    except BaseException:
        _leave_server(layout, reference, find_postmaster(layout.cluster), progress)
        raise
    return _Acquisition(layout, running, reference)


def _leave_server(
    layout: Layout,
    reference: ServerReference,
    postmaster: ProcessIdentity | None,
    progress: ProgressReporter,
) -> None:
    try:
        if reference.is_last():
            if postmaster and postmaster.is_alive():
                stop_server(layout, postmaster, progress)
            remove_socket_folder(layout)
    finally:
        reference.drop()
