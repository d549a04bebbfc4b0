"""Ask for a scan of a site, as the API would; nothing is worked here."""

from __future__ import annotations

from typing import Annotated

import in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from by_hand import run_script, say
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.models import Job
from scrapersky.sitemaps.service import request_scan


def add_test_sitemap(
    domain: Annotated[str, typer.Option(help="A domain or a URL.")],
    max_pages: Annotated[int | None, typer.Option(min=1, help="Store at most so many.")] = None,
) -> int:
    """Store a job for the site and show its id."""

    async def step(session: AsyncSession, everything: CommandContext) -> tuple[Job, bool]:
        return await request_scan(session, everything.actor, everything.settings, domain, max_pages)

    def show(asked: tuple[Job, bool]) -> None:
        job, created = asked
        say(f"{'Added' if created else 'There is already'} a job for {job.subject}")
        say(f"Job ID: {job.id}")
        say(f"Status: {job.status}")

    return run_in_transaction(step, show)


if __name__ == "__main__":
    run_script(add_test_sitemap)
