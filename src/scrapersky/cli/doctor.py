"""`scrapersky doctor`: is everything in order, and if not, what to do. Changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rich.markup import escape

from scrapersky.cli.exits import Exit
from scrapersky.cli.output import out
from scrapersky.cli.session import run
from scrapersky.cli.settings_in_force import load_checked_settings
from scrapersky.cli.surroundings import (
    check_descriptors,
    check_exposure,
    check_python,
    check_settings,
    running_server,
)
from scrapersky.cli.vital_signs import check_database
from scrapersky.db.embedded import Finding, diagnose
from scrapersky.errors import SettingsError
from scrapersky.logging import configure_logging
from scrapersky.redaction import redact
from scrapersky.settings import Settings


def doctor() -> int:
    """Look whether everything is in order; starts and changes nothing."""
    configure_logging(level="critical")
    return run(_report())


async def _report() -> int:
    wrong = 0
    async for finding in examine():
        good = "[yellow]![/yellow]" if finding.is_warning else "[green]✓[/green]"
        mark = good if finding.ok else "[red]✗[/red]"
        line = f"{mark} [bold]{finding.name:13}[/bold] {escape(redact(finding.sentence))}"
        out.print(line, highlight=False, soft_wrap=True)
        wrong += not finding.ok
    out.print()
    out.print("All is well." if not wrong else f"[red]{wrong} to be mended.[/red]")
    return Exit.FAILED if wrong else Exit.OK


async def examine() -> AsyncIterator[Finding]:
    """In the order things depend on each other."""
    yield check_python()
    yield check_descriptors()
    try:
        settings = load_checked_settings()
        yield check_settings(settings)
        yield check_exposure(settings)
    except SettingsError as error:
        yield Finding("settings", False, str(error))
        return
    async for finding in _examine_database(settings):
        yield finding


async def _examine_database(settings: Settings) -> AsyncIterator[Finding]:
    url = settings.database_url
    if not url:
        for finding in diagnose(settings.scrapersky_data_dir, settings.scrapersky_pg_bin):
            yield finding
        server = running_server(settings)
        url = server.url if server else ""
    if url:
        async for finding in check_database(settings, url):
            yield finding
