"""`scrapersky db`: upgrade, look, back up, restore, and psql."""

from __future__ import annotations

import typer

from scrapersky.cli.output import note, out
from scrapersky.cli.session import run, settings_for_people
from scrapersky.db.migrate import head_revision
from scrapersky.db.migrate import upgrade as upgrade_database
from scrapersky.db.opening import open_unchecked
from scrapersky.settings import Settings

app = typer.Typer(help="Upgrade, back up, restore or open the database.", no_args_is_help=True)


@app.command()
def upgrade() -> int:
    """Bring the database to the revision this program needs."""
    return run(_upgrade(settings_for_people()))


async def _upgrade(settings: Settings) -> None:
    async with open_unchecked(settings, say=note) as database:
        changed = await upgrade_database(database)
    sentence = "was brought to" if changed else "is already at"
    out.print(f"The database {sentence} revision {head_revision()}.", highlight=False)
