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
        result = await session.execute(select(func.current_database(), version, size))
        name, server, bytes_pretty = result.one()
    where = database.url.host or database.url.query.get("host", "")
    return {
        "Database": f"{name} at {where}",
        "Server": f"PostgreSQL {server}",
        "Size": str(bytes_pretty),
    }


async def refuse_restore(database: Database, settings: Settings, *, replace: bool) -> None:
    """Raise `Conflict` while workers are alive, or if data would be replaced without --yes."""
    async with database.reading() as session:
        tables = await _list_tables(session)
        if Worker.__tablename__ in tables and (alive := await list_live_workers(session, settings)):
            raise Conflict(
                f"The database is in use by {format_count(len(alive), 'worker')}. "
                "Stop `scrapersky serve` and `scrapersky worker` first."
            )
        if not replace and await _holds_data(session, tables):
            raise Conflict(
                "The database is not empty. Add --yes to replace its contents with the backup."
            )


async def _list_tables(session: AsyncSession) -> set[str]:
    listed = table("pg_tables", column("schemaname"), column("tablename"))
    ours = listed.c.schemaname == func.current_schema()
    return set(await session.scalars(select(listed.c.tablename).where(ours)))


async def _holds_data(session: AsyncSession, tables: set[str]) -> bool:
    """Return whether the database contains user data.

    Unknown tables count as data. Known tables count only if they contain rows that users created.
    """
    if not tables:
        return False
    if any(model.__tablename__ not in tables for model in USER_DATA_MODELS):
        return True
    for model in USER_DATA_MODELS:
        if await session.scalar(select(model.id).limit(1)) is not None:
            return True
    return False


MAX_ERROR_CHARACTERS = 500
"""Maximum length of a tool's error message in our own."""
STOP_SECONDS = 10.0
"""Grace between SIGTERM and SIGKILL."""
PR_SET_PDEATHSIG = 1
"""From prctl(2)."""
LOST_CLIENT_OPTIONS = {
    "client_connection_check_interval": "2s",
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
"""Session settings for tools. Without them the session of a killed tool would not notice the lost
client while it waits for a lock or runs a long statement, and would keep its locks until then.
"""


async def run_tool(settings: Settings, url: str, name: str, *arguments: str) -> None:
    """Run a PostgreSQL tool to completion. Raise `DatabaseRefused` with its error message."""
    options = " ".join(f"-c {name}={value}" for name, value in LOST_CLIENT_OPTIONS.items())
    process = await _start_tool(
        settings, url, name, *arguments, stderr=PIPE, dies_with_us=True, PGOPTIONS=options
    )
    async with _terminate_on_cancel(process):
        _, errors = await process.communicate()
    if process.returncode:
        raise DatabaseRefused(f"{name} failed: {_extract_error(errors, name)}")


async def run_interactive_tool(settings: Settings, url: str, name: str, *arguments: str) -> int:
    """Run a tool interactively. Ctrl-C goes to the tool; this process keeps the server running."""
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
        except TimeoutError:  # The tool asks the server to cancel, and the server may not answer.
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
    """Build a `preexec_fn` that has the child killed when this process ends, for whatever reason.

    No handler runs when this process is killed by SIGKILL or by the OOM killer. A pg_restore that
    survived would commit later and overwrite what was stored in the meantime.
    """
    if sys.platform != "linux":  # no equivalent elsewhere
        return None
    libc = ctypes.CDLL(None)  # load before the fork: hardly anything is safe after it
    parent = os.getpid()

    def ask_for_signal() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # the parent exited before prctl took effect
            os._exit(1)

    return ask_for_signal


def build_tool_env(url: URL, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment with all PG* variables replaced by those of this database."""
    options = {name: value for name, value in url.query.items() if isinstance(value, str)}
    way = {
        "PGHOST": url.host or options.get("host"),
        "PGPORT": str(url.port) if url.port else options.get("port"),
        "PGUSER": url.username or options.get("user"),
        "PGPASSWORD": str(url.password) if url.password else options.get("password"),
        "PGDATABASE": url.database or options.get("database"),
        "PGSSLMODE": options.get("sslmode") or options.get("ssl"),
    }
    others = {name: value for name, value in environ.items() if not name.startswith("PG")}
    return {**others, **{name: value for name, value in way.items() if value}}


def _extract_error(output: bytes, name: str) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    text = (lines[0] if lines else "no error message").removeprefix(f"{name}: ")
    return text.removeprefix("error: ")[:MAX_ERROR_CHARACTERS].rstrip(".") + "."


app = typer.Typer(help="Upgrade, back up, restore and open the database.", no_args_is_help=True)

DUMP_MAGIC = b"PGDMP"
"""First bytes of every file in pg_dump's custom format."""


@app.command()
def upgrade() -> int:
    """Migrate the database to the revision this version needs."""
    return run(_upgrade(load_interactive_settings()))


async def _upgrade(settings: Settings) -> None:
    async with open_unchecked(settings, report=note) as database:
        changed = await upgrade_database(database)
    sentence = "was upgraded to" if changed else "is already at"
    out.print(f"The database {sentence} revision {get_head_revision()}.", highlight=False)


@app.command()
def status() -> int:
    """Show the database's location, revision and size."""
    return run(_status(load_interactive_settings()))


async def _status(settings: Settings) -> int:
    async with open_unchecked(settings, report=note) as database:
        facts = await load_database_facts(database)
        revision = await get_current_revision(database)
    for name, fact in facts.items():
        out.print(f"{name:10} {fact}", markup=False, highlight=False, soft_wrap=True)
    current = revision == get_head_revision()
    advice = (
        ""
        if current
        else f"; this version needs {get_head_revision()}: run `scrapersky db upgrade`"
    )
    out.print(f"{'Revision':10} {revision or 'none'}{advice}", markup=False, highlight=False)
    return ExitCode.OK if current else ExitCode.FAILED


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Backup file; written atomically.")],
) -> int:
    """Back up the database to a file in pg_dump's custom format. Workers can keep running."""
    code = run(_backup(load_interactive_settings(), file))
    if code == ExitCode.OK:
        size = file.stat().st_size
        out.print(f"Backed up to {file} ({size:,} bytes).", markup=False, highlight=False)
    return code


async def _backup(settings: Settings, file: Path) -> None:
    with replace_atomically(file) as path:
        async with open_server_url(settings, report=note) as url:
            await run_tool(settings, url, "pg_dump", "--format=custom", f"--file={path}")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="File written by `db backup`.")],
    yes: Annotated[bool, typer.Option("--yes", help="Replace the existing data.")] = False,
) -> int:
    """Replace the database with a backup, in one transaction."""
    settings = load_interactive_settings()
    refuse_invalid_dump(file)
    return run(_restore(settings, file, replace=yes))


async def _restore(settings: Settings, file: Path, *, replace: bool) -> None:
    options = ("--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error")
    async with open_unchecked(settings, report=note) as database:
        await refuse_restore(database, settings, replace=replace)
        url = database.url.render_as_string(hide_password=False)
        into = f"--dbname={database.url.database}"
        await run_tool(settings, url, "pg_restore", *options, into, str(file))
        revision = await get_current_revision(database)
    behind = revision != get_head_revision()
    advice = "; run `scrapersky db upgrade` next" if behind else ""
    out.print(f"Restored. The database is at revision {revision}{advice}.", highlight=False)


@app.command("reset-erasure-key")
def reset_erasure_key(
    yes: Annotated[bool, typer.Option("--yes", help="Delete the digests.")] = False,
) -> int:
    """Continue without a lost erasure key: delete the digests that were made with it."""
    return run(_reset_erasure_key(load_interactive_settings(), delete=yes))


async def _reset_erasure_key(settings: Settings, *, delete: bool) -> int:
    async with open_unchecked(settings, report=note) as database:
        await require_current(database)
        async with database.transaction() as session:
            count = await (delete_unreadable if delete else count_unreadable)(session)
    people = format_count(count, "digest")
    if not count:
        out.print("The erasure key matches; nothing to reset.", highlight=False)
    elif delete:
        out.print(f"{people} deleted. Erase these people again.", highlight=False)
    else:
        note(
            f"{people} of erased people were made with another key. Copy that key here if you "
            "have it. --yes deletes the digests; these people are then collected again until you "
            "erase them again."
        )
    return ExitCode.OK if delete or not count else ExitCode.FAILED


def refuse_invalid_dump(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            begins = opened.read(len(DUMP_MAGIC))
    except OSError as error:
        raise InvalidInput(f"Cannot read {file}: {error.strerror}.") from error
    if begins != DUMP_MAGIC:
        raise InvalidInput(f"{file} is not a backup written by `scrapersky db backup`.")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(context: typer.Context) -> int:
    """Open psql on the database. Further arguments are passed to psql."""
    return run(_psql(load_interactive_settings(), context.args))


async def _psql(settings: Settings, arguments: list[str]) -> int:
    async with open_server_url(settings, report=note) as url:
        return await run_interactive_tool(settings, url, "psql", *arguments)
