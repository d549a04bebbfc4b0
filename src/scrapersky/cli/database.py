"""`scrapersky db`: upgrade, look, back up, restore, and psql."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scrapersky.cli import postgres_tools
from scrapersky.cli.database_facts import database_facts, refuse_restore
from scrapersky.cli.exits import Exit
from scrapersky.cli.files import replacing
from scrapersky.cli.output import counted, note, out
from scrapersky.cli.session import run, settings_for_people
from scrapersky.db.erasure_key import count_unreadable, delete_unreadable
from scrapersky.db.migrate import current_revision, head_revision, require_current
from scrapersky.db.migrate import upgrade as upgrade_database
from scrapersky.db.opening import open_unchecked, server_url
from scrapersky.errors import InvalidInput
from scrapersky.settings import Settings

app = typer.Typer(help="Upgrade, back up, restore or open the database.", no_args_is_help=True)

DUMP_BEGINS = b"PGDMP"
"""How every file in pg_dump's custom format starts."""


@app.command()
def upgrade() -> int:
    """Bring the database to the revision this program needs."""
    return run(_upgrade(settings_for_people()))


async def _upgrade(settings: Settings) -> None:
    async with open_unchecked(settings, say=note) as database:
        changed = await upgrade_database(database)
    sentence = "was brought to" if changed else "is already at"
    out.print(f"The database {sentence} revision {head_revision()}.", highlight=False)


@app.command()
def status() -> int:
    """Show where the database is, its revision and its size."""
    return run(_status(settings_for_people()))


async def _status(settings: Settings) -> int:
    async with open_unchecked(settings, say=note) as database:
        facts = await database_facts(database)
        revision = await current_revision(database)
    for name, fact in facts.items():
        out.print(f"{name:10} {fact}", markup=False, highlight=False, soft_wrap=True)
    current = revision == head_revision()
    advice = "" if current else f"; this program needs {head_revision()}: `scrapersky db upgrade`"
    out.print(f"{'Revision':10} {revision or 'none'}{advice}", markup=False, highlight=False)
    return Exit.OK if current else Exit.FAILED


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Written whole or not at all.")],
) -> int:
    """Write everything to a file, in pg_dump's custom format, while others go on working."""
    code = run(_backup(settings_for_people(), file))
    if code == Exit.OK:
        size = file.stat().st_size
        out.print(f"Backed up to {file} ({size:,} bytes).", markup=False, highlight=False)
    return code


async def _backup(settings: Settings, file: Path) -> None:
    with replacing(file) as path:
        async with server_url(settings, say=note) as url:
            await postgres_tools.run_tool(
                settings, url, "pg_dump", "--format=custom", f"--file={path}"
            )


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `db backup` wrote.")],
    yes: Annotated[bool, typer.Option("--yes", help="Replace what is there.")] = False,
) -> int:
    """Put a backup in the place of the database, all of it or nothing."""
    settings = settings_for_people()
    refuse_no_dump(file)
    return run(_restore(settings, file, replace=yes))


async def _restore(settings: Settings, file: Path, *, replace: bool) -> None:
    options = ("--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error")
    async with open_unchecked(settings, say=note) as database:
        await refuse_restore(database, settings, replace=replace)
        url = database.url.render_as_string(hide_password=False)
        into = f"--dbname={database.url.database}"
        await postgres_tools.run_tool(settings, url, "pg_restore", *options, into, str(file))
        revision = await current_revision(database)
    behind = revision != head_revision()
    advice = ": run `scrapersky db upgrade` next" if behind else ""
    out.print(f"Restored; the database is at revision {revision}{advice}.", highlight=False)


@app.command("reset-erasure-key")
def reset_erasure_key(
    yes: Annotated[bool, typer.Option("--yes", help="Delete them.")] = False,
) -> int:
    """Go on without a lost erasure key: delete the digests that were made with it."""
    return run(_reset_erasure_key(settings_for_people(), delete=yes))


async def _reset_erasure_key(settings: Settings, *, delete: bool) -> int:
    async with open_unchecked(settings, say=note) as database:
        await require_current(database)
        async with database.transaction() as session:
            count = await (delete_unreadable if delete else count_unreadable)(session)
    people = counted(count, "digest")
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
    return Exit.OK if delete or not count else Exit.FAILED


def refuse_no_dump(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            begins = opened.read(len(DUMP_BEGINS))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    if begins != DUMP_BEGINS:
        raise InvalidInput(f"{file} is no backup: only what `scrapersky db backup` wrote is.")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(context: typer.Context) -> int:
    """Open psql on the database; what follows is passed on to it."""
    return run(_psql(settings_for_people(), context.args))


async def _psql(settings: Settings, arguments: list[str]) -> int:
    async with server_url(settings, say=note) as url:
        return await postgres_tools.hand_over_to(settings, url, "psql", *arguments)
