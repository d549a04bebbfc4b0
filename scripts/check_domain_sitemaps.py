"""List the sitemaps that are stored for a domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import sitemap_scheduler.in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from sitemap_scheduler.by_hand import run_script, say
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.lists.imports.sites import parse_site
from scrapersky.models import SitemapFile
from scrapersky.sitemaps.service import get_domain_by_name, list_domain_files


def check_domain_sitemaps(domain: Annotated[str, typer.Argument(help="That was scanned.")]) -> int:
    """Show every sitemap of a domain: where it is, how it was found, and by which job."""

    async def step(session: AsyncSession, everything: CommandContext) -> Sequence[SitemapFile]:
        key = parse_site(domain, everything.settings).key
        known = await get_domain_by_name(session, everything.actor, key)
        return await list_domain_files(session, known.id)

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
