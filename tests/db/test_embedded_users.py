"""Which users may run and reach the embedded server."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import scrapersky
from scrapersky.db.embedded import EmbeddedPostgres, diagnose
from scrapersky.db.embedded.account import get_server_account
from scrapersky.db.embedded.binaries import find_binaries, find_wheel_folder
from scrapersky.db.embedded.layout import establish_layout, find_layout, resolve_data_dir
from scrapersky.errors import DatabaseRefused

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become the users this is about"
)

STRANGER = pwd.getpwnam("daemon").pw_uid
NAMELESS = 65533
"""A user the system knows nothing of, as in some containers."""

LIFE = """
import json, os, subprocess, sys
from pathlib import Path
from scrapersky.db.embedded import EmbeddedPostgres, diagnose
from scrapersky.errors import DatabaseRefused
from scrapersky.logging import configure_logging
configure_logging(level="error")
folder = Path(sys.argv[1])
server = EmbeddedPostgres(folder)
try:
    with server as address:
        psql = [server.binaries.tool("psql"), "-XAtqc", "select current_user"]
        asked = subprocess.run(psql, env=server.tool_env(), capture_output=True, text=True)
        facts = address.socket_dir.stat()
        told = {
            "user": asked.stdout.strip(),
            "socket": [facts.st_uid, oct(facts.st_mode & 0o777)],
            "home": oct(folder.stat().st_mode & 0o777),
            "cluster": (folder / "postgres").is_dir(),
            "well": all(finding.ok for finding in diagnose(folder)),
        }
    if len(sys.argv) == 2:
        server.destroy()
except DatabaseRefused as refused:
    told = {"refused": str(refused)}
print(json.dumps(told))
"""


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder everybody can enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def roots_dir() -> Iterator[Path]:
    """A data folder of root's with a stopped cluster, where everybody could go."""
    above = Path(tempfile.mkdtemp(prefix="scrapersky-test-"))
    above.chmod(0o755)
    with EmbeddedPostgres(above / "data"):
        pass
    yield above / "data"
    EmbeddedPostgres(above / "data").destroy()
    shutil.rmtree(above)


@pytest.fixture(scope="module")
def python_path() -> Iterator[str]:
    """Our code and its libraries, where everybody can read them."""
    site = find_wheel_folder()
    assert site is not None
    copied = Path(tempfile.mkdtemp(prefix="scrapersky-test-"))
    shutil.copytree(Path(scrapersky.__file__).parent, copied / "scrapersky")
    subprocess.run(["chmod", "-R", "a+rX", str(copied)], check=True)
    yield f"{copied}:{site.parent}"
    shutil.rmtree(copied)
    for user in (STRANGER, NAMELESS):
        with suppress(OSError):
            Path(f"/tmp/scrapersky-{user}").rmdir()


def _life(user: int, folder: Path, python_path: str, *more: str) -> dict[str, object]:
    """What a short life of the server looks like to that user, in a bare environment."""
    for python in (sys.executable, "/usr/bin/python3"):
        done = _run_as(user, [python, "-c", LIFE, str(folder), *more], python_path)
        if done.returncode == 0:
            return dict(json.loads(done.stdout))
    pytest.skip(f"user {user} cannot run Python and our libraries here: {done.stderr[-300:]}")


def _run_as(user: int, command: list[str], python_path: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONPATH": python_path}
    try:
        return subprocess.run(
            [*command],
            user=user,
            group=user,
            extra_groups=[],
            env={**env, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            capture_output=True,
            text=True,
        )
    except PermissionError as error:
        return subprocess.CompletedProcess(command, 126, "", str(error))


def _folder_of(user: int, path: Path) -> Path:
    path.mkdir(mode=0o700)
    os.chown(path, user, user)
    return path


def test_an_ordinary_user_runs_the_server_himself(open_path: Path, python_path: str) -> None:
    home = _folder_of(STRANGER, open_path / "home")

    told = _life(STRANGER, home / "data", python_path)

    assert told == {
        "user": "scrapersky",
        "socket": [STRANGER, "0o700"],
        "home": "0o700",
        "cluster": True,
        "well": True,
    }
    assert list((home / "data").iterdir()) == []


def test_a_user_without_a_name_is_told_what_is_missing(open_path: Path, python_path: str) -> None:
    home = _folder_of(NAMELESS, open_path / "home")

    told = _life(NAMELESS, home / "data", python_path)

    assert f"User {NAMELESS} has no name on this system" in str(told["refused"])


def test_a_read_only_folder_is_refused(open_path: Path, python_path: str) -> None:
    folder = _folder_of(STRANGER, open_path / "data")
    folder.chmod(0o500)

    told = _life(STRANGER, folder, python_path)

    assert "is not writable" in str(told["refused"])


def test_a_folder_that_cannot_be_made_is_refused(open_path: Path, python_path: str) -> None:
    told = _life(STRANGER, open_path / "data", python_path)

    assert "is not writable (Permission denied)" in str(told["refused"])


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_roots_folder_is_refused_to_others(open_path: Path, python_path: str, mode: int) -> None:
    folder = open_path / "data"
    folder.mkdir()
    folder.chmod(mode)

    told = _life(STRANGER, folder, python_path)

    assert "belongs to root; run as root, or choose another" in str(told["refused"])


def test_a_socket_folder_somebody_else_prepared_is_refused(
    open_path: Path, python_path: str
) -> None:
    trap = Path(f"/tmp/scrapersky-{STRANGER}")
    if trap.exists():
        trap.rmdir()
    trap.mkdir()
    home = _folder_of(STRANGER, open_path / "home")

    told = _life(STRANGER, home / "data", python_path)

    trap.rmdir()
    assert f"{trap} belongs to root instead of daemon" in str(told["refused"])


def test_nobody_else_can_connect(roots_dir: Path) -> None:
    psql = str(find_binaries().tool("psql"))
    with EmbeddedPostgres(roots_dir) as address:
        command = [psql, "-XAtqc", "select 1", address.url]
        by_root = subprocess.run(command, capture_output=True, text=True)
        by_stranger = _run_as(STRANGER, command, "")
        over_tcp = _run_as(STRANGER, [psql, "-XAtqc", "select 1", "-h", "127.0.0.1"], "")

    assert by_root.stdout.strip() == "1"
    assert "ermission denied" in by_stranger.stderr
    assert over_tcp.returncode != 0


def test_root_runs_the_server_as_somebody_without_privileges(roots_dir: Path) -> None:
    with EmbeddedPostgres(roots_dir) as address:
        owner = (roots_dir / "postgres").stat().st_uid
        status = Path(f"/proc/{_postmaster(roots_dir)}/status").read_text()
        socket = address.socket_dir.stat()

    assert owner == get_server_account().uid != 0
    assert f"Uid:\t{owner}\t{owner}\t{owner}\t{owner}" in status
    assert "Groups:\t \n" in status
    assert (socket.st_uid, stat.S_IMODE(socket.st_mode)) == (owner, 0o700)


def _postmaster(data_dir: Path) -> int:
    layout = find_layout(resolve_data_dir(data_dir))
    assert layout is not None
    return int((layout.cluster / "postmaster.pid").read_text().splitlines()[0])


def test_below_a_private_folder_the_cluster_lies_elsewhere_behind_a_pointer(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "private" / "data"
    folder.parent.mkdir(mode=0o700)

    with EmbeddedPostgres(folder):
        pointed_to = Path((folder / "cluster-path").read_text())
        assert (pointed_to / "postgres" / "PG_VERSION").exists()
        well = all(finding.ok for finding in diagnose(folder))

    EmbeddedPostgres(folder).destroy()
    assert pointed_to.parent == Path("/var/lib/scrapersky/clusters")
    assert well
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert not pointed_to.exists()


def test_a_moved_data_folder_keeps_its_cluster_and_a_copied_one_does_not_share_it(
    tmp_path: Path,
) -> None:
    first, moved, copy = tmp_path / "first", tmp_path / "moved", tmp_path / "copy"
    first.mkdir()
    home = establish_layout(first).home
    first.rename(moved)

    assert establish_layout(moved).home == home
    shutil.copytree(moved, copy)
    with pytest.raises(DatabaseRefused, match="two folders cannot share a database"):
        EmbeddedPostgres(copy).acquire()

    EmbeddedPostgres(moved).destroy()


def test_a_new_folder_never_gets_the_cluster_of_one_that_lay_there_before(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    old = establish_layout(folder)
    old.cluster.mkdir()
    shutil.rmtree(folder)
    folder.mkdir()

    new = establish_layout(folder)

    assert new.home == old.home.with_name(f"{old.home.name}-2")
    shutil.rmtree(old.home)
    shutil.rmtree(new.home)


def test_a_pointer_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster-path").write_text("/var/lib/scrapersky/clusters/gone")

    with pytest.raises(DatabaseRefused, match=r"which no longer exists\. Restore it"):
        EmbeddedPostgres(tmp_path).acquire()
    assert "cluster" in {finding.name for finding in diagnose(tmp_path) if not finding.ok}


def test_a_cluster_in_a_folder_closed_later_is_refused(roots_dir: Path) -> None:
    roots_dir.chmod(0o700)

    with pytest.raises(DatabaseRefused, match="cannot enter"):
        EmbeddedPostgres(roots_dir).acquire()

    roots_dir.chmod(0o711)


def test_a_root_that_may_not_become_another_user_is_told(open_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from scrapersky.db.embedded import EmbeddedPostgres;"
        "EmbeddedPostgres(Path(sys.argv[1])).acquire()"
    )
    powerless = ["setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-setuid,-setgid"]
    if shutil.which("setpriv") is None or subprocess.run([*powerless, "true"]).returncode != 0:
        pytest.skip("capabilities cannot be dropped here")

    done = subprocess.run(
        [*powerless, sys.executable, "-c", code, str(open_path / "data")],
        capture_output=True,
        text=True,
    )

    assert "this process cannot switch to user" in done.stderr
    assert not (open_path / "data" / "cluster-path").exists()


def test_programs_below_a_private_home_are_copied_once(tmp_path: Path) -> None:
    wheel = find_wheel_folder()
    assert wheel is not None
    private = tmp_path / "site"
    shutil.copytree(wheel / "pginstall18", private / wheel.name / "pginstall18")
    (private / wheel.name / "__init__.py").write_text("raise RuntimeError('imported')")
    shutil.copytree(wheel.with_name(f"{wheel.name}.libs"), private / f"{wheel.name}.libs")
    copies = Path("/var/lib/scrapersky/pg")
    before = set(copies.glob("18*"))
    path = f"{private}:{Path(scrapersky.__file__).parent.parent}"

    told = [_life(0, tmp_path / "data", path, "keep"), _life(0, tmp_path / "data", path)]

    assert [each["user"] for each in told] == ["scrapersky", "scrapersky"]
    made = set(copies.glob("18*")) - before
    assert len(made) <= 1
    assert list(copies.glob("new-*")) == []
    for copy in made:
        shutil.rmtree(copy)


def test_a_program_folder_of_ones_own_that_the_server_cannot_enter_is_refused(
    tmp_path: Path,
) -> None:
    own = tmp_path / "bin"
    own.mkdir(mode=0o700)
    for tool in find_binaries().folder.iterdir():
        (own / tool.name).write_text(f'#!/bin/sh\nexec "{tool}" "$@"\n')
        (own / tool.name).chmod(0o755)

    with pytest.raises(DatabaseRefused, match="Set SCRAPERSKY_PG_BIN to a folder it can enter"):
        EmbeddedPostgres(tmp_path / "data", pg_bin=own).acquire()

    EmbeddedPostgres(tmp_path / "data").destroy()
