"""The life cycle of the embedded server with real processes: start, join, kill, recovery, stop."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.embedded import server as starting
from scrapersky.db.embedded.account import get_server_account
from scrapersky.db.embedded.binaries import Binaries, find_binaries, get_runnable_binaries
from scrapersky.db.embedded.layout import (
    Layout,
    find_layout,
    get_socket_folder,
    get_start_lock,
    resolve_data_dir,
)
from scrapersky.db.embedded.locks import hold_exclusive_lock, open_lock, try_exclusive
from scrapersky.db.embedded.process import find_postmaster
from scrapersky.errors import DatabaseRefused

HOLDER = """
import sys
from pathlib import Path
from scrapersky.db.embedded import EmbeddedPostgres
from scrapersky.logging import configure_logging
configure_logging(level="error")
server = EmbeddedPostgres(*map(Path, sys.argv[1:2]), pg_bin=next(map(Path, sys.argv[2:]), None))
print(server.acquire().url, flush=True)
sys.stdin.readline()
server.release()
"""


class Holder:
    """Another process that uses the server until it is told to leave, or is killed."""

    def __init__(
        self, data_dir: Path, pg_bin: Path | None = None, environ: dict[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(data_dir), *([str(pg_bin)] if pg_bin else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environ or {})},
            start_new_session=True,
        )

    def url(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        self.process.communicate("\n", timeout=300)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def empty_dir(tmp_path: Path) -> Iterator[Path]:
    """No data folder yet; afterwards its server is stopped and its cluster removed."""
    folder = tmp_path / "data"
    yield folder
    _stop(folder)
    EmbeddedPostgres(folder).destroy()


@pytest.fixture(scope="module")
def made_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("embedded") / "data"
    with EmbeddedPostgres(folder):
        pass
    yield folder
    EmbeddedPostgres(folder).destroy()


@pytest.fixture
def data_dir(made_dir: Path) -> Iterator[Path]:
    """A data folder with a cluster that is stopped before and after."""
    yield made_dir
    _stop(made_dir)


def _within_reach() -> Binaries:
    """The programs as the server's user can run them, also when we live below a private home."""
    return get_runnable_binaries(get_server_account(), find_binaries())


@pytest.fixture
def programs() -> Iterator[Path]:
    """A `bin` folder whose programs a test may replace, where the server's user can go."""
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-test-"))
    folder.chmod(0o755)
    for tool in _within_reach().folder.iterdir():
        wrapper = folder / tool.name
        wrapper.write_text(f'#!/bin/sh\nexec "{tool}" "$@"\n')
        wrapper.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def _layout(data_dir: Path) -> Layout:
    layout = find_layout(resolve_data_dir(data_dir))
    assert layout is not None
    return layout


def _postmaster_if_any(data_dir: Path) -> int | None:
    layout = find_layout(resolve_data_dir(data_dir)) if data_dir.is_dir() else None
    found = find_postmaster(layout.cluster) if layout else None
    return found.pid if found else None


def _postmaster(data_dir: Path) -> int:
    pid = _postmaster_if_any(data_dir)
    assert pid is not None
    return pid


def _stop(data_dir: Path) -> None:
    if postmaster := _postmaster_if_any(data_dir):
        os.kill(postmaster, signal.SIGQUIT)
        _until(lambda: _postmaster_if_any(data_dir) is None)


def _until(happened: Callable[[], bool], *, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def _query(server: EmbeddedPostgres, sql: str) -> str:
    psql = [str(server.binaries.tool("psql")), "-XAtqc", sql]
    done = subprocess.run(psql, env=server.tool_env(), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def test_a_fresh_server_answers_and_the_release_stops_it(empty_dir: Path) -> None:
    server = EmbeddedPostgres(empty_dir)

    with server:
        answer = _query(server, "select current_user || '@' || current_database()")

    assert answer == "scrapersky@scrapersky"
    assert _postmaster_if_any(empty_dir) is None


def test_a_new_cluster_is_utf8_with_checksums_and_no_network(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)

    with server:
        shown = "server_encoding", "data_checksums", "listen_addresses", "fsync", "TimeZone"
        answers = [_query(server, f"show {name}") for name in shown]
        rules = _query(server, "select distinct type || ' ' || auth_method from pg_hba_file_rules")
        folded = _query(server, "select lower('ÄÉ')")

    assert answers == ["UTF8", "on", "", "on", "UTC"]
    assert rules == "local trust"
    assert folded == "äé"


async def test_the_url_serves_asyncpg_and_sqlalchemy(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as address:
        plain = await asyncpg.connect(address.url)
        first = await plain.fetchval("select 1")
        await plain.close()
        engine = create_async_engine(address.url.replace("postgresql:", "postgresql+asyncpg:"))
        async with engine.connect() as connection:
            second = await connection.scalar(text("select 2"))
        await engine.dispose()

    assert (first, second) == (1, 2)


def test_the_url_quotes_what_a_path_may_hold() -> None:
    address = ServerAddress(Path("/tmp/a b&c"))

    assert address.url == "postgresql://scrapersky@/scrapersky?host=/tmp/a%20b%26c&port=5432"


def test_two_processes_share_a_server_and_the_last_one_stops_it(data_dir: Path) -> None:
    one, other = Holder(data_dir), Holder(data_dir)
    assert one.url() == other.url()
    pid = _postmaster(data_dir)

    one.leave()
    assert _postmaster(data_dir) == pid
    other.leave()
    assert _postmaster_if_any(data_dir) is None


def test_two_users_in_one_process_count_as_two(data_dir: Path) -> None:
    one, other = EmbeddedPostgres(data_dir), EmbeddedPostgres(data_dir)
    one.acquire()
    other.acquire()

    one.release()
    assert _query(other, "select 1") == "1"
    other.release()
    assert _postmaster_if_any(data_dir) is None


def test_one_object_may_acquire_twice(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.acquire()
    server.acquire()

    server.release()
    assert _query(server, "select 1") == "1"
    server.release()
    server.release()
    assert _postmaster_if_any(data_dir) is None


def test_four_first_starts_at_once_make_one_server(empty_dir: Path) -> None:
    holders = [Holder(empty_dir) for _ in range(4)]

    urls = {holder.url() for holder in holders}

    assert len(urls) == 1
    assert urls != {""}
    assert [path.name for path in _layout(empty_dir).home.glob("postgres*.new*")] == []
    for holder in holders:
        holder.leave()
    assert _postmaster_if_any(empty_dir) is None


def test_the_server_survives_the_kill_of_its_starter(data_dir: Path) -> None:
    starter = Holder(data_dir)
    starter.url()
    other = EmbeddedPostgres(data_dir)
    other.acquire()
    pid = _postmaster(data_dir)

    starter.kill()

    assert _query(other, "select 1") == "1"
    assert _postmaster(data_dir) == pid
    other.release()
    assert _postmaster_if_any(data_dir) is None


def test_a_server_whose_users_were_all_killed_is_joined_and_then_stopped(data_dir: Path) -> None:
    starter = Holder(data_dir)
    starter.url()
    pid = _postmaster(data_dir)
    starter.kill()

    with EmbeddedPostgres(data_dir):
        assert _postmaster(data_dir) == pid

    assert _postmaster_if_any(data_dir) is None


def test_a_starter_killed_before_its_server_listens_is_followed_by_a_join(
    data_dir: Path, programs: Path
) -> None:
    real = _within_reach().tool("postgres")
    (programs / "postgres").write_text(
        f'#!/bin/sh\n[ "$1" = --version ] || sleep 1\nexec "{real}" "$@"\n'
    )
    begun = _layout(data_dir).log.read_text().count("starting PostgreSQL")
    starter = Holder(data_dir, programs)
    _until(lambda: _is_starting(starter))
    starter.kill()

    server = EmbeddedPostgres(data_dir)
    with server:
        assert _query(server, "select 1") == "1"
        assert _layout(data_dir).log.read_text().count("starting PostgreSQL") == begun + 1

    assert _postmaster_if_any(data_dir) is None


def _is_starting(starter: Holder) -> bool:
    commands = (Path(f"/proc/{pid}/cmdline") for pid in _children(starter.process.pid))
    return any(b"listen_addresses=" in path.read_bytes() for path in commands)


def test_a_ctrl_c_meant_for_the_starter_does_not_reach_the_server(data_dir: Path) -> None:
    starter = Holder(data_dir)
    starter.url()
    pid = _postmaster(data_dir)

    os.killpg(starter.process.pid, signal.SIGINT)
    starter.process.communicate()

    assert _postmaster(data_dir) == pid


def test_the_server_holds_none_of_our_locks_open(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        pid = _postmaster(data_dir)
        opened = {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}

    ours = {Path(name).name for name in opened if name.startswith(str(data_dir.resolve()))}
    assert "start.lock" not in ours
    assert "holders.lock" not in ours


def test_a_killed_postmaster_is_started_again_with_all_that_was_committed(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.acquire()
    _query(server, "create table kept as select generate_series(1, 1000) as n")
    killed = _postmaster(data_dir)
    os.kill(killed, signal.SIGKILL)

    with EmbeddedPostgres(data_dir) as address:
        assert _postmaster(data_dir) != killed
        assert _query(server, "select count(*) from kept") == "1000"
        assert address.url == server.acquire().url
        server.release()

    server.release()
    assert _postmaster_if_any(data_dir) is None


def test_a_server_that_died_under_its_user_is_revived_at_the_same_address(
    data_dir: Path,
) -> None:
    server = EmbeddedPostgres(data_dir)
    before = server.acquire()
    os.kill(_postmaster(data_dir), signal.SIGKILL)

    after = server.revive()

    assert after == before
    assert _query(server, "select 1") == "1"
    server.release()
    assert _postmaster_if_any(data_dir) is None


def test_a_server_killed_while_it_starts_is_started_again(data_dir: Path, programs: Path) -> None:
    real, told = _within_reach().tool("postgres"), programs / "told"
    told.touch()
    told.chmod(0o777)
    (programs / "postgres").write_text(
        f'#!/bin/sh\nif [ "$1" != --version ] && [ ! -s {told} ]\n'
        f'then echo once > {told}; kill -9 $$; fi\nexec "{real}" "$@"\n'
    )

    server = EmbeddedPostgres(data_dir, pg_bin=programs)
    with server:
        assert _query(server, "select 1") == "1"

    assert told.read_text() == "once\n"


def test_survivors_of_a_killed_postmaster_are_waited_for(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_waiting = threading.Event()

    def try_and_tell(lock: int) -> bool:
        is_taken = try_exclusive(lock)
        if not is_taken:
            is_waiting.set()
        return is_taken

    monkeypatch.setattr(starting, "try_exclusive", try_and_tell)
    server = EmbeddedPostgres(data_dir)
    server.acquire()
    postmaster = _postmaster(data_dir)
    survivor = _children(postmaster)[0]
    os.kill(survivor, signal.SIGSTOP)
    os.kill(postmaster, signal.SIGKILL)

    other = EmbeddedPostgres(data_dir)
    with ThreadPoolExecutor(1) as pool:
        again = pool.submit(other.acquire)
        assert is_waiting.wait(300)
        assert not again.done()
        os.kill(survivor, signal.SIGCONT)
        again.result(timeout=300)

    assert _query(server, "select 1") == "1"
    other.release()
    server.release()


def test_a_stale_pid_file_with_a_reused_number_harms_nobody(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        noted = (_layout(data_dir).cluster / "postmaster.pid").read_text().splitlines()
    account = _layout(data_dir).account
    bystander = subprocess.Popen(["sleep", "60"], **account.switch())
    stale = _layout(data_dir).cluster / "postmaster.pid"
    stale.write_text("\n".join([str(bystander.pid), *noted[1:]]) + "\n")

    with EmbeddedPostgres(data_dir):
        assert _postmaster(data_dir) != bystander.pid

    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_zombie_is_not_a_running_server(data_dir: Path) -> None:
    zombie = subprocess.Popen(["true"])
    _until(lambda: ") Z " in Path(f"/proc/{zombie.pid}/stat").read_text())
    stale = _layout(data_dir).cluster / "postmaster.pid"
    stale.write_text(f"{zombie.pid}\n{_layout(data_dir).cluster}\n")

    with EmbeddedPostgres(data_dir):
        assert _postmaster(data_dir) != zombie.pid

    zombie.wait()


@pytest.mark.parametrize("content", ["", "garbage\n"])
def test_an_unreadable_pid_file_is_cleared_away(data_dir: Path, content: str) -> None:
    (_layout(data_dir).cluster / "postmaster.pid").write_text(content)

    with EmbeddedPostgres(data_dir):
        assert _postmaster(data_dir)


def test_a_stale_socket_lock_is_cleared_away(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as address:
        notes = Path(address.socket_dir, ".s.PGSQL.5432.lock").read_text().splitlines()
    account, folder = _layout(data_dir).account, get_socket_folder(_layout(data_dir))
    folder.mkdir(mode=0o700)
    os.chown(folder, account.uid, account.gid)
    (folder / ".s.PGSQL.5432.lock").write_text("\n".join([str(os.getpid()), *notes[1:]]))

    with EmbeddedPostgres(data_dir):
        assert _postmaster(data_dir)


def test_a_kill_in_the_middle_of_making_the_cluster_leaves_no_half_of_it(empty_dir: Path) -> None:
    first = Holder(empty_dir)
    _until(lambda: _being_made(empty_dir) != [])
    first.kill()
    assert not _layout(empty_dir).cluster.exists()

    server = EmbeddedPostgres(empty_dir)
    with server:
        assert _query(server, "select 1") == "1"
        assert _being_made(empty_dir) == []


def _being_made(data_dir: Path) -> list[Path]:
    layout = find_layout(resolve_data_dir(data_dir)) if data_dir.is_dir() else None
    return list(layout.home.glob("postgres.new-*/base")) if layout else []


def test_a_server_that_is_stopping_is_waited_for_and_started_again(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.acquire()
    stopping = _postmaster(data_dir)
    os.kill(stopping, signal.SIGINT)

    with EmbeddedPostgres(data_dir):
        assert _postmaster(data_dir) != stopping
    server.release()


def test_a_long_recovery_is_waited_for_and_told(
    data_dir: Path, programs: Path, tmp_path: Path
) -> None:
    """The server is ready only once the recovery was told."""
    starter = EmbeddedPostgres(data_dir)
    starter.acquire()
    os.kill(_postmaster(data_dir), signal.SIGKILL)
    ready = tmp_path / "ready"
    (programs / "pg_isready").write_text(f"#!/bin/sh\n[ -e '{ready}' ]\n")
    heard: list[str] = []

    def hear(sentence: str) -> None:
        heard.append(sentence)
        if "recovering" in sentence:
            ready.touch()

    with EmbeddedPostgres(data_dir, pg_bin=programs, report=hear):
        assert heard[-1] == "PostgreSQL is recovering from a crash; waiting."
    starter.release()


def test_a_waiting_start_says_whom_it_waits_for(data_dir: Path) -> None:
    heard: list[str] = []
    holding, done = threading.Event(), threading.Event()
    keeper = threading.Thread(target=_keep_start_lock, args=(data_dir, holding, done))
    keeper.start()
    holding.wait()
    threading.Timer(2.5, done.set).start()

    with EmbeddedPostgres(data_dir, report=heard.append):
        keeper.join()

    assert heard == ["Another process is starting or stopping PostgreSQL; waiting."]


def _keep_start_lock(data_dir: Path, holding: threading.Event, done: threading.Event) -> None:
    with hold_exclusive_lock(get_start_lock(data_dir.resolve()), while_waiting=lambda: None):
        holding.set()
        done.wait()


def test_a_server_that_does_not_start_is_refused_with_its_own_words(data_dir: Path) -> None:
    settings = _layout(data_dir).cluster / "postgresql.conf"
    before = settings.read_text()
    settings.write_text(f"{before}\nshared_buffers = much\n")

    with pytest.raises(DatabaseRefused, match=r"invalid value for parameter.*shared_buffers"):
        EmbeddedPostgres(data_dir).acquire()
    settings.write_text(before)


def test_the_callers_variables_do_not_reach_the_server(data_dir: Path) -> None:
    lies = {"PGDATA": "/nonexistent", "PGHOST": "db.example", "PGPORT": "1", "PGUSER": "eve"}
    misled = Holder(data_dir, environ={**lies, "PGOPTIONS": "-c x=1", "LC_ALL": "xx", "LANG": "yy"})

    url = misled.url()

    pid = _postmaster(data_dir)
    environ = Path(f"/proc/{pid}/environ").read_bytes()
    misled.leave()
    assert url.startswith("postgresql://scrapersky@/scrapersky?host=/")
    assert b"PGHOST" not in environ
    assert b"LANG" not in environ


def test_a_socket_cleared_away_under_an_unused_server_is_healed(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter = Holder(data_dir)
    starter.url()
    shutil.rmtree(get_socket_folder(_layout(data_dir)))

    with monkeypatch.context() as patch:
        patch.setattr("scrapersky.db.embedded.server.UNREACHABLE_SECONDS", 0.5)
        with pytest.raises(DatabaseRefused, match="cannot be reached"):
            EmbeddedPostgres(data_dir).acquire()
    starter.kill()
    server = EmbeddedPostgres(data_dir)
    with server:
        assert _query(server, "select 1") == "1"


def test_a_data_folder_removed_under_the_server_takes_it_along(empty_dir: Path) -> None:
    server = EmbeddedPostgres(empty_dir)
    server.acquire()
    layout, pid = _layout(empty_dir), _postmaster(empty_dir)
    shutil.rmtree(empty_dir)

    server.release()

    _until(lambda: not Path(f"/proc/{pid}").exists())
    assert not get_socket_folder(layout).exists()
    if layout.home != layout.data_dir:
        shutil.rmtree(layout.home)


def test_a_cluster_in_use_is_not_destroyed(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.acquire()

    with pytest.raises(DatabaseRefused, match="is in use"):
        EmbeddedPostgres(data_dir).destroy()

    assert _query(server, "select 1") == "1"
    server.release()


def test_a_destroyed_cluster_leaves_nothing_behind(empty_dir: Path) -> None:
    killed = Holder(empty_dir)
    killed.url()
    killed.kill()
    layout = _layout(empty_dir)
    os.kill(_postmaster(empty_dir), signal.SIGKILL)
    _until(lambda: _is_free(layout.alive))

    EmbeddedPostgres(empty_dir).destroy()

    assert list(empty_dir.iterdir()) == []
    assert not layout.cluster.exists()
    assert not get_socket_folder(layout).exists()


def _is_free(lock: Path) -> bool:
    fd = open_lock(lock)
    free = try_exclusive(fd)
    os.close(fd)
    return free


def test_a_forked_child_does_not_stop_its_parents_server(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.acquire()
    child = os.fork()
    if child == 0:
        server.release()
        os._exit(0)
    os.waitpid(child, 0)

    assert _query(server, "select 1") == "1"
    server.release()
    assert _postmaster_if_any(data_dir) is None


async def test_starting_off_the_event_loop_works(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)

    address = await asyncio.to_thread(server.acquire)
    await asyncio.to_thread(server.release)

    assert address.database == "scrapersky"
