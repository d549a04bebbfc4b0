"""List the sitemaps that are stored for a domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import sitemap_scheduler.in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from sitemap_scheduler.by_hand import run_script, say
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.models import SitemapFile
from scrapersky.sitemaps.service import domain_named, files_of_domain, site_of


def check_domain_sitemaps(domain: Annotated[str, typer.Argument(help="That was scanned.")]) -> int:
    """Show every sitemap of a domain: where it is, how it was found, and by which job."""

    async def step(session: AsyncSession, everything: Opened) -> Sequence[SitemapFile]:
        key = site_of(domain, everything.settings).key
        known = await domain_named(session, everything.actor, key)
        return await files_of_domain(session, known.id)

    def show(files: Sequence[SitemapFile]) -> None:
        say(f"Found {len(files)} sitemaps for domain {domain}:")
        for each in files:
            say()
            say(f"ID: {each.id}")
            say(f"URL: {each.url}")
            say(f"Type: {each.sitemap_type}")
            say(f"Discovery: {each.discovery_method}")
            say(f"Status: {each.status}")
            say(f"Job ID: {each.job_id}")
            say(f"Created by: {each.created_by}")
            say(f"Created at: {each.created_at.isoformat()}")

    return run_in_transaction(step, show)


if __name__ == "__main__":
    run_script(check_domain_sitemaps)
