"""`scrapersky db`: upgrade, status, backup, restore and psql."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import column, func, select, table
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.errors import ExitCode
from scrapersky.cli.files import replace_atomically
from scrapersky.cli.output import format_count, note, out
from scrapersky.cli.session import load_interactive_settings, run
from scrapersky.db.connection import build_embedded_postgres, open_server_url, open_unchecked
from scrapersky.db.erasure_key import count_unreadable, delete_unreadable
from scrapersky.db.migrate import get_current_revision, get_head_revision, require_current
from scrapersky.db.migrate import upgrade as upgrade_database
from scrapersky.db.session import Database, parse_database_url
from scrapersky.errors import Conflict, DatabaseRefused, InvalidInput
from scrapersky.models import ApiKey, Domain, Job
from scrapersky.pipeline.report import list_live_workers
from scrapersky.pipeline.tables import Worker
from scrapersky.settings import Settings

USER_DATA_MODELS = (Domain, Job, ApiKey)


async def load_database_facts(database: Database) -> dict[str, str]:
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
        tables = await _list_tables(session)
        if Worker.__tablename__ in tables and (alive := await list_live_workers(session, settings)):
            raise Conflict(
                f"{format_count(len(alive), 'worker')} use this database; stop `scrapersky serve` and "
                "`scrapersky worker` first."
            )
        if not replace and await _holds_data(session, tables):
            raise Conflict(
                "The database is not empty; add --yes to replace all of it by the backup."
            )


async def _list_tables(session: AsyncSession) -> set[str]:
    listed = table("pg_tables", column("schemaname"), column("tablename"))
    ours = listed.c.schemaname == func.current_schema()
    return set(await session.scalars(select(listed.c.tablename).where(ours)))


async def _holds_data(session: AsyncSession, tables: set[str]) -> bool:
    """Tables that are not ours count as data; ours only with rows that people caused."""
    if not tables:
        return False
    if any(model.__tablename__ not in tables for model in USER_DATA_MODELS):
        return True
    for model in USER_DATA_MODELS:
        if await session.scalar(select(model.id).limit(1)) is not None:
            return True
    return False


MAX_ERROR_CHARACTERS = 500
"""Characters of a program's complaint that are passed on."""
STOP_SECONDS = 10.0
"""A program that was asked to end and has not by then is killed."""
PR_SET_PDEATHSIG = 1
"""Of prctl(2)."""
LOST_CLIENT_OPTIONS = {
    "client_connection_check_interval": "2s",
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
"""Settings of a tool's session. Otherwise the session of a killed tool would not notice while it
waits for a lock or works on a long statement, and would hold its own locks for as long."""


async def run_tool(settings: Settings, url: str, name: str, *arguments: str) -> None:
    """To its end; what it complains about is our complaint."""
    options = " ".join(f"-c {name}={value}" for name, value in LOST_CLIENT_OPTIONS.items())
    process = await _start_tool(
        settings, url, name, *arguments, stderr=PIPE, dies_with_us=True, PGOPTIONS=options
    )
    async with _terminate_on_cancel(process):
        _, said = await process.communicate()
    if process.returncode:
        raise DatabaseRefused(f"{name} did not succeed: {_extract_error(said, name)}")


async def run_interactive_tool(settings: Settings, url: str, name: str, *arguments: str) -> int:
    """Let a person use it; Ctrl-C is for it, not for us, who keep the server running meanwhile."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
    process = await _start_tool(settings, url, name, *arguments)
    async with _terminate_on_cancel(process):
        return await process.wait()


@asynccontextmanager
async def _terminate_on_cancel(process: Process) -> AsyncIterator[None]:
    try:
        yield
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:  # it asks the server to cancel, which may not answer
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        raise


async def _start_tool(
    settings: Settings,
    url: str,
    name: str,
    *arguments: str,
    stderr: int | None = None,
    dies_with_us: bool = False,
    **more_env: str,
) -> Process:
    tool = build_embedded_postgres(settings).binaries.tool(name)
    env = {**build_tool_env(parse_database_url(url), os.environ), **more_env}
    before = _build_death_signal() if dies_with_us else None
    return await asyncio.create_subprocess_exec(
        tool, *arguments, env=env, stderr=stderr, preexec_fn=before
    )


def _build_death_signal() -> Callable[[], None] | None:
    """Build what a child runs so that it is killed when this process ends, however that ends.

    No handler of ours runs when we are killed with SIGKILL or by the kernel for want of memory. A
    pg_restore that went on would commit some time later, over what was stored meanwhile.
    """
    if sys.platform != "linux":  # others have nothing like it
        return None
    libc = ctypes.CDLL(None)  # loaded before the fork, after which hardly anything is safe
    parent = os.getpid()

    def ask_for_signal() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # we were gone before it could ask
            os._exit(1)

    return ask_for_signal


def build_tool_env(url: URL, environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, with the way to this database in place of any other."""
    given = {name: value for name, value in url.query.items() if isinstance(value, str)}
    way = {
        "PGHOST": url.host or given.get("host"),
        "PGPORT": str(url.port) if url.port else given.get("port"),
        "PGUSER": url.username or given.get("user"),
        "PGPASSWORD": str(url.password) if url.password else given.get("password"),
        "PGDATABASE": url.database or given.get("database"),
        "PGSSLMODE": given.get("sslmode") or given.get("ssl"),
    }
    others = {name: value for name, value in environ.items() if not name.startswith("PG")}
    return {**others, **{name: value for name, value in way.items() if value}}


def _extract_error(said: bytes, name: str) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    text = (lines[0] if lines else "it did not say why").removeprefix(f"{name}: ")
    return text.removeprefix("error: ")[:MAX_ERROR_CHARACTERS].rstrip(".") + "."


app = typer.Typer(help="Upgrade, back up, restore or open the database.", no_args_is_help=True)

DUMP_MAGIC = b"PGDMP"
"""How every file in pg_dump's custom format starts."""


@app.command()
def upgrade() -> int:
    """Bring the database to the revision this program needs."""
    return run(_upgrade(load_interactive_settings()))


async def _upgrade(settings: Settings) -> None:
    async with open_unchecked(settings, say=note) as database:
        changed = await upgrade_database(database)
    sentence = "was brought to" if changed else "is already at"
    out.print(f"The database {sentence} revision {get_head_revision()}.", highlight=False)


@app.command()
def status() -> int:
    """Show where the database is, its revision and its size."""
    return run(_status(load_interactive_settings()))


async def _status(settings: Settings) -> int:
    async with open_unchecked(settings, say=note) as database:
        facts = await load_database_facts(database)
        revision = await get_current_revision(database)
    for name, fact in facts.items():
        out.print(f"{name:10} {fact}", markup=False, highlight=False, soft_wrap=True)
    current = revision == get_head_revision()
    advice = (
        "" if current else f"; this program needs {get_head_revision()}: `scrapersky db upgrade`"
    )
    out.print(f"{'Revision':10} {revision or 'none'}{advice}", markup=False, highlight=False)
    return ExitCode.OK if current else ExitCode.FAILED


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Written whole or not at all.")],
) -> int:
    """Write everything to a file, in pg_dump's custom format, while others go on working."""
    code = run(_backup(load_interactive_settings(), file))
    if code == ExitCode.OK:
        size = file.stat().st_size
        out.print(f"Backed up to {file} ({size:,} bytes).", markup=False, highlight=False)
    return code


async def _backup(settings: Settings, file: Path) -> None:
    with replace_atomically(file) as path:
        async with open_server_url(settings, say=note) as url:
            await run_tool(settings, url, "pg_dump", "--format=custom", f"--file={path}")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `db backup` wrote.")],
    yes: Annotated[bool, typer.Option("--yes", help="Replace what is there.")] = False,
) -> int:
    """Put a backup in the place of the database, all of it or nothing."""
    settings = load_interactive_settings()
    refuse_invalid_dump(file)
    return run(_restore(settings, file, replace=yes))


async def _restore(settings: Settings, file: Path, *, replace: bool) -> None:
    options = ("--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error")
    async with open_unchecked(settings, say=note) as database:
        await refuse_restore(database, settings, replace=replace)
        url = database.url.render_as_string(hide_password=False)
        into = f"--dbname={database.url.database}"
        await run_tool(settings, url, "pg_restore", *options, into, str(file))
        revision = await get_current_revision(database)
    behind = revision != get_head_revision()
    advice = ": run `scrapersky db upgrade` next" if behind else ""
    out.print(f"Restored; the database is at revision {revision}{advice}.", highlight=False)


@app.command("reset-erasure-key")
def reset_erasure_key(
    yes: Annotated[bool, typer.Option("--yes", help="Delete them.")] = False,
) -> int:
    """Go on without a lost erasure key: delete the digests that were made with it."""
    return run(_reset_erasure_key(load_interactive_settings(), delete=yes))


async def _reset_erasure_key(settings: Settings, *, delete: bool) -> int:
    async with open_unchecked(settings, say=note) as database:
        await require_current(database)
        async with database.transaction() as session:
            count = await (delete_unreadable if delete else count_unreadable)(session)
    people = format_count(count, "digest")
    if not count:
        out.print("The erasure key is the right one; nothing to reset.", highlight=False)
    elif delete:
        out.print(f"{people} deleted. Erase these people again.", highlight=False)
    else:
        note(
            f"{people} of erased people were made with another key. Copy that key here if you "
            "have it. With --yes they are deleted, and these people are collected again until "
            "they are erased again."
        )
    return ExitCode.OK if delete or not count else ExitCode.FAILED


def refuse_invalid_dump(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            begins = opened.read(len(DUMP_MAGIC))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    if begins != DUMP_MAGIC:
        raise InvalidInput(f"{file} is no backup: only what `scrapersky db backup` wrote is.")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(context: typer.Context) -> int:
    """Open psql on the database; what follows is passed on to it."""
    return run(_psql(load_interactive_settings(), context.args))


async def _psql(settings: Settings, arguments: list[str]) -> int:
    async with open_server_url(settings, say=note) as url:
        return await run_interactive_tool(settings, url, "psql", *arguments)
