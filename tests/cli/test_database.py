"""`db`: upgrade, back up, restore, psql."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import func, make_url, select

from scrapersky.cli.postgres_tools import tool_env
from scrapersky.db.session import Database
from scrapersky.models import SitemapUrl
from tests.cli.conftest import Cli


async def test_upgrade_makes_the_tables_once(cli: Cli, empty_url: str) -> None:
    before = await cli("db", "status", DATABASE_URL=empty_url)
    first = await cli("db", "upgrade", DATABASE_URL=empty_url)
    second = await cli("db", "upgrade", DATABASE_URL=empty_url)

    assert (before.code, first.code, second.code) == (1, 0, 0)
    assert "Revision   none; this program needs" in before.out
    assert "was brought to revision" in first.out
    assert "is already at revision" in second.out


async def test_a_backup_brings_everything_back(
    cli: Cli, empty_url: str, rows: Database, tmp_path: Path
) -> None:
    file = tmp_path / "everything.dump"
    await cli("scan", "bakery.example")

    backup = await cli("db", "backup", str(file))
    restore = await cli("db", "restore", str(file), DATABASE_URL=empty_url)

    assert (backup.code, restore.code) == (0, 0), (backup, restore)
    assert [each.name for each in tmp_path.iterdir()] == ["everything.dump"]
    assert file.stat().st_mode & 0o077 == 0
    assert await stored_urls(empty_url) == 2
    refused = await cli("db", "restore", str(file))
    assert (refused.code, "add --yes" in refused.err) == (1, True)


async def test_a_restore_replaces_what_is_there(cli: Cli, url: str, tmp_path: Path) -> None:
    file = tmp_path / "nothing.dump"
    await cli("db", "backup", str(file))
    await cli("scan", "bakery.example")
    assert await stored_urls(url) == 2

    said = await cli("db", "restore", str(file), "--yes")

    assert said.code == 0, said
    assert await stored_urls(url) == 0


async def test_only_backups_are_restored(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear Sir or Madam")

    said = await cli("db", "restore", str(file), "--yes")

    assert said.code == 2
    assert "is no backup" in said.err


async def test_a_backup_that_fails_leaves_no_file(cli: Cli, tmp_path: Path) -> None:
    nowhere = "postgresql://somebody:secret@127.0.0.1:1/none"

    said = await cli("db", "backup", str(tmp_path / "x.dump"), DATABASE_URL=nowhere)

    assert said.code == 1
    assert said.err.startswith("Error: pg_dump did not succeed: ")
    assert "secret" not in said.err
    assert list(tmp_path.iterdir()) == []


async def test_psql_is_given_its_arguments(cli: Cli) -> None:
    said = await cli("db", "psql", "-A", "-t", "-c", "SELECT 6 * 7")
    wrong = await cli("db", "psql", "-c", "SELECT nonsense")

    assert (said.code, said.out) == (0, "42\n")
    assert wrong.code == 1


def test_passwords_travel_in_the_environment() -> None:
    url = make_url("postgresql+asyncpg://me:a%40b@db.example:6432/sky?ssl=require")

    assert tool_env(url, {"PGHOST": "elsewhere", "HOME": "/root"}) == {
        "HOME": "/root",
        "PGHOST": "db.example",
        "PGPORT": "6432",
        "PGUSER": "me",
        "PGPASSWORD": "a@b",
        "PGDATABASE": "sky",
        "PGSSLMODE": "require",
    }


async def stored_urls(url: str) -> int:
    database = Database(url, pool_size=2)
    async with database.reading() as session:
        count = await session.scalar(select(func.count(SitemapUrl.id)))
    await database.close()
    return int(count or 0)
