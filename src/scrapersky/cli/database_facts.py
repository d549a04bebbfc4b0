"""What is in a database, and whether a backup may be put in its place."""

from __future__ import annotations

from sqlalchemy import column, func, select, table
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.output import counted
from scrapersky.db.session import Database
from scrapersky.errors import Conflict
from scrapersky.models import ApiKey, Domain, Job
from scrapersky.pipeline.report import live_workers
from scrapersky.pipeline.tables import Worker
from scrapersky.settings import Settings

HOLDS_PEOPLES_DATA = (Domain, Job, ApiKey)


async def database_facts(database: Database) -> dict[str, str]:
    size = func.pg_size_pretty(func.pg_database_size(func.current_database()))
    version = func.current_setting("server_version")
    async with database.reading() as session:
        found = await session.execute(select(func.current_database(), version, size))
        name, server, bytes_pretty = found.one()
    where = database.url.host or database.url.query.get("host", "")
    return {
        "Database": f"{name} at {where}",
        "Server": f"PostgreSQL {server}",
        "Size": str(bytes_pretty),
    }


async def refuse_restore(database: Database, settings: Settings, *, replace: bool) -> None:
    """A restore ends what workers hold, and replaces what people have."""
    async with database.reading() as session:
        tables = await _tables(session)
        if Worker.__tablename__ in tables and (alive := await live_workers(session, settings)):
            raise Conflict(
                f"{counted(len(alive), 'worker')} use this database; stop `scrapersky serve` and "
                "`scrapersky worker` first."
            )
        if not replace and await _holds_data(session, tables):
            raise Conflict(
                "The database is not empty; add --yes to replace all of it by the backup."
            )


async def _tables(session: AsyncSession) -> set[str]:
    listed = table("pg_tables", column("schemaname"), column("tablename"))
    ours = listed.c.schemaname == func.current_schema()
    return set(await session.scalars(select(listed.c.tablename).where(ours)))


async def _holds_data(session: AsyncSession, tables: set[str]) -> bool:
    """Tables that are not ours count as data; ours only with rows that people caused."""
    if not tables:
        return False
    if any(model.__tablename__ not in tables for model in HOLDS_PEOPLES_DATA):
        return True
    for model in HOLDS_PEOPLES_DATA:
        if await session.scalar(select(model.id).limit(1)) is not None:
            return True
    return False
