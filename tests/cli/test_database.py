"""`db`: upgrade, back up, restore, psql."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url, select

from scrapersky.cli.database import build_tool_env
from scrapersky.models import SitemapUrl
from tests.cli.conftest import Invoke, from_database

URLS = select(SitemapUrl.url).order_by(SitemapUrl.url)
LOCS = ["http://bakery.example/", "http://bakery.example/bread"]


def test_upgrade_makes_the_tables_once(invoke: Invoke, empty_url: str) -> None:
    before = invoke("db", "status", DATABASE_URL=empty_url)
    first = invoke("db", "upgrade", DATABASE_URL=empty_url)
    second = invoke("db", "upgrade", DATABASE_URL=empty_url)

    assert (before.code, first.code, second.code) == (1, 0, 0)
    assert "Revision   none; this version needs" in before.out
    assert "was upgraded to revision" in first.out
    assert "is already at revision" in second.out


@pytest.mark.usefixtures("scanned")
def test_a_backup_brings_everything_back(invoke: Invoke, empty_url: str, tmp_path: Path) -> None:
    file = tmp_path / "everything.dump"

    backup = invoke("db", "backup", str(file))
    restore = invoke("db", "restore", str(file), DATABASE_URL=empty_url)

    assert (backup.code, restore.code) == (0, 0), (backup, restore)
    assert [each.name for each in tmp_path.iterdir()] == ["everything.dump"]
    assert file.stat().st_mode & 0o077 == 0
    assert from_database(empty_url, URLS) == LOCS


def test_a_restore_replaces_what_is_there_only_when_told(
    invoke: Invoke, url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    file = tmp_path / "nothing.dump"
    invoke("db", "backup", str(file))
    request.getfixturevalue("scanned")

    refused = invoke("db", "restore", str(file))
    assert (refused.code, "Add --yes" in refused.err) == (1, True)
    assert from_database(url, URLS) == LOCS

    done = invoke("db", "restore", str(file), "--yes")
    assert done.code == 0, done
    assert from_database(url, URLS) == []


def test_only_backups_are_restored(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear Sir or Madam")

    said = invoke("db", "restore", str(file), "--yes")

    assert said.code == 2
    assert "is not a backup" in said.err


def test_a_backup_that_fails_leaves_no_file(invoke: Invoke, tmp_path: Path) -> None:
    nowhere = "postgresql://somebody:secret@127.0.0.1:1/none"

    said = invoke("db", "backup", str(tmp_path / "x.dump"), DATABASE_URL=nowhere)

    assert said.code == 1
    assert said.err.startswith("Error: pg_dump failed: ")
    assert "secret" not in said.err
    assert list(tmp_path.iterdir()) == []


def test_psql_is_given_its_arguments(invoke: Invoke) -> None:
    said = invoke("db", "psql", "-A", "-t", "-c", "SELECT 6 * 7")
    wrong = invoke("db", "psql", "-c", "SELECT nonsense")

    assert (said.code, said.out) == (0, "42\n")
    assert wrong.code == 1


def test_passwords_travel_in_the_environment() -> None:
    url = make_url("postgresql+asyncpg://me:a%40b@db.example:6432/sky?ssl=require")

    assert build_tool_env(url, {"PGHOST": "elsewhere", "HOME": "/root"}) == {
        "HOME": "/root",
        "PGHOST": "db.example",
        "PGPORT": "6432",
        "PGUSER": "me",
        "PGPASSWORD": "a@b",
        "PGDATABASE": "sky",
        "PGSSLMODE": "require",
    }
