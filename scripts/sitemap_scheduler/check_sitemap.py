"""Show how far the newest scan of a site has come and what it has found."""

from __future__ import annotations

from typing import Annotated

import in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from by_hand import newest_job, run_script, say

from scrapersky.cli.session import CommandContext, run_with_context
from scrapersky.errors import NotFound
from scrapersky.sitemaps.service import count_urls, list_job_files


def check_sitemap(domain: Annotated[str, typer.Option(help="A domain that was asked for.")]) -> int:
    """Show the newest job of a site, its sitemaps and how many URLs are stored."""

    async def command(everything: CommandContext) -> int:
        job = await newest_job(everything, domain)
        if job is None or job.domain_id is None:
            raise NotFound(f"Nobody has asked for a scan of {domain} yet.")
        async with everything.database.reading() as session:
            files = await list_job_files(session, job)
            urls = await count_urls(session, job.domain_id)
        say(f"Domain: {job.subject}")
        say(f"Job ID: {job.id}")
        say(f"Status: {job.status}")
        say(f"Error: {job.error or 'none'}")
        say(f"Sitemaps: {len(files)}")
        for each in files:
            say(f"  {each.url} ({each.sitemap_type}, {each.status}, {each.url_count} URLs)")
        say(f"URLs stored: {urls}")
        return 0

    return run_with_context(command)


if __name__ == "__main__":
    run_script(check_sitemap)
