"""Upgrade the schema, or refuse a database whose revision does not match."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlalchemy import Connection, select, text

from scrapersky.db.migrations import upgrade_from_0016
from scrapersky.db.outages import is_writable
from scrapersky.db.session import Database
from scrapersky.errors import DatabaseReadOnly, DatabaseRefused, SchemaMismatch

MIGRATIONS = Path(__file__).parent / "migrations"
UPGRADE_LOCK = 0x5C4A9E45
"""Advisory lock: of several processes that start concurrently, one migrates and the others wait."""
MIN_SERVER_VERSION = 150000


@cache
def list_revisions() -> tuple[str, ...]:
    """Return all revisions, oldest first. Each is the name of its file.

    Alembic would give the same, but takes as long to import as a whole command needs. It is loaded
    only when there is something to upgrade.
    """
    return tuple(sorted(path.stem for path in (MIGRATIONS / "versions").glob("*.py")))


def get_head_revision() -> str:
    return list_revisions()[-1]


async def get_current_revision(database: Database) -> str | None:
    async with database.engine.connect() as connection:
        return await connection.run_sync(_read_revision)


async def upgrade(database: Database) -> bool:
    """Apply pending migrations; return whether there were any."""
    # No timeout: building an index can take very long, and processes waiting for the lock wait for
    # it.
    patient = Database(
        database.url.render_as_string(hide_password=False),
        pool_size=1,
        pooled=database.pooled,
        command_timeout=None,
    )
    try:
        return await _upgrade(patient)
    finally:
        await patient.close()


async def _upgrade(database: Database) -> bool:
    async with database.engine.begin() as connection:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": UPGRADE_LOCK})
        await connection.run_sync(_refuse_old_server)
        before = await connection.run_sync(_read_revision)
        _refuse_unknown(before)
        if before == get_head_revision():
            return False
        if before in upgrade_from_0016.REVISIONS:
            await connection.run_sync(upgrade_from_0016.upgrade_from, before)
        await connection.run_sync(_upgrade_to_head)
        return True


async def require_current(database: Database) -> None:
    """Raise an error if the schema is not at the current revision."""
    revision = await get_current_revision(database)
    _refuse_unknown(revision)
    if revision != get_head_revision():
        raise SchemaMismatch(
            f"The database is at revision {revision or 'none'}, but this version needs "
            f"{get_head_revision()}. Run `scrapersky db upgrade`, then start again."
        )


async def require_writable(database: Database) -> None:
    """Raise an error if the server is a standby or read-only."""
    async with database.reading() as session:
        if not await session.scalar(select(is_writable())):
            raise DatabaseReadOnly


def _read_revision(connection: Connection) -> str | None:
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar() is None:
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _upgrade_to_head(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _refuse_old_server(connection: Connection) -> None:
    version = int(connection.execute(text("SHOW server_version_num")).scalar_one())
    if version < MIN_SERVER_VERSION:
        raise DatabaseRefused(
            f"The server is PostgreSQL {version // 10000}. Version 15 or later is required."
        )


def _refuse_unknown(revision: str | None) -> None:
    if revision in upgrade_from_0016.TOO_OLD:
        raise SchemaMismatch(
            f"The database is at revision {revision}, but this version upgrades from 0016 on. "
            "Run `scrapersky db upgrade` of version 0.1.0 first, then of this version."
        )
    if revision is not None and revision not in (*list_revisions(), *upgrade_from_0016.REVISIONS):
        raise SchemaMismatch(
            f"The database is at revision {revision}, which this version does not know: "
            "it was upgraded by a newer version. Start that version instead."
        )
