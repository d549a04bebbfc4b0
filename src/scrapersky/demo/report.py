"""Tell what it all came to: sitemaps, contacts, and whatever was refused, failed or is empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from scrapersky.demo.beginning import Begun
from scrapersky.demo.display import counted
from scrapersky.demo.found import Outcome, differences_of
from scrapersky.demo.judgement import differences
from scrapersky.demo.results import Result
from scrapersky.demo.site import Ending, TownSite
from scrapersky.demo.tables import contacts_table, empty_table, leads_table, titled
from scrapersky.models import SitemapFile
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.events import Method

WAYS = {
    Method.ROBOTS_TXT: "robots.txt",
    Method.HTML_LINK: "home page",
    Method.COMMON_PATH: "usual place",
    Method.SITEMAP_INDEX: "index",
    Method.MANUAL: "named by hand",
}
USABLE = (FileStatus.OK, FileStatus.PARTIAL)
NEXT = """\
[b]What next?[/b]
  [cyan]scrapersky search bakeries --in Leipzig --provider osm[/cyan]  needs no key
  [cyan]scrapersky scan DOMAIN[/cyan]  scans a real site and keeps what it finds
  [cyan]scrapersky serve[/cyan]        dashboard, API and the queues, on http://127.0.0.1:8000
  [cyan]scrapersky demo --serve[/cyan] shows this town in the dashboard"""


def introduce(console: Console, sites: Sequence[TownSite]) -> None:
    table = titled(f"A town of {counted(len(sites), 'site')}")
    table.add_column("Site", no_wrap=True)
    table.add_column("What it shows", style="dim")
    for site in sites:
        if not site.is_ordinary:
            table.add_row(site.name, site.shows)
    ordinary = sum(site.is_ordinary for site in sites)
    table.add_row(f"{ordinary} ordinary houses", "Each publishes its address in another way.")
    console.print(table)


def sentence_of(begun: Begun) -> str:
    """What the search brought, and for how much."""
    said, cost = begun.result, float(begun.result.get("cost_usd") or 0)
    requests = counted(int(said.get("requests") or 0), "request")
    return (
        f"{begun.places} places found with {requests}, for {cost:.2f} US dollars. They are "
        f"{counted(begun.businesses, 'business')} with {counted(begun.domains, 'site')}."
    )


def tell(console: Console, outcome: Outcome) -> None:
    for table in (found_table, refused_table, contacts_table, empty_table):
        console.print(table(outcome.sites))
    console.print(leads_table(outcome.found))


def found_table(results: Sequence[Result]) -> Table:
    found = [each for each in results if each.ending is Ending.FOUND]
    ordinary = [each for each in found if each.site.is_ordinary]
    table = titled("Sitemaps that were found", show_footer=True)
    table.add_column("Site", f"{len(found)} of {len(results)} sites", no_wrap=True)
    table.add_column("How found")
    table.add_column("Sitemaps", str(sum(map(_usable, found))), justify="right")
    table.add_column("URLs", f"{sum(each.urls for each in found):,}", justify="right")
    table.add_column("Verdicts")
    for each in found:
        if not each.site.is_ordinary:
            table.add_row(each.site.name, *_found_cells([each]))
    if ordinary:
        table.add_row(f"{len(ordinary)} ordinary houses", *_found_cells(ordinary))
    return table


def _found_cells(results: Sequence[Result]) -> tuple[str, ...]:
    files = [file for each in results for file in each.files]
    urls = sum(each.urls for each in results)
    return _ways(files), str(sum(map(_usable, results))), f"{urls:,}", "\n".join(_verdicts(files))


def _usable(result: Result) -> int:
    return sum(file.status in USABLE for file in result.files)


def _ways(files: Sequence[SitemapFile]) -> str:
    """In the order they came about: an index before what it led to."""
    return ", ".join(dict.fromkeys(WAYS[Method(file.discovery_method)] for file in files))


def _verdicts(files: Sequence[SitemapFile]) -> Iterator[str]:
    """`4 ok`, and the reason beside whatever is not."""
    counts = Counter((file.status, file.reason) for file in files)
    for (status, reason), count in counts.items():
        yield f"{count} {status}: {reason}" if reason else f"{count} {status}"


def refused_table(results: Sequence[Result]) -> Table:
    table = titled("Sitemaps that were refused or failed, and why")
    table.add_column("Site", no_wrap=True)
    table.add_column("What")
    table.add_column("Why", overflow="fold")
    for each in results:
        for number, (what, why) in enumerate(_refusals(each)):
            table.add_row(each.site.name if number == 0 else "", what, why)
    return table


def _refusals(result: Result) -> Iterator[tuple[str, str]]:
    """The scan itself, then announced sitemaps, then the places where one might have been."""
    if result.letter is not None:
        attempts = counted(result.letter.attempts, "attempt")
        what = "the scan" if result.job else "its home page"
        yield f"{what}, given up after {attempts}; a dead letter", result.letter.error
    for file in result.files:
        if file.status not in USABLE:
            yield (
                f"{_path(file.url)}, named by {WAYS[Method(file.discovery_method)]}",
                (file.reason or ""),
            )
    reasons = Counter(each["reason"] for each in result.data.get("refused", ()))
    for reason, count in reasons.items():
        yield counted(count, "usual place"), reason


def _path(url: str) -> str:
    return urlsplit(url).path


def conclude(console: Console, outcome: Outcome, *, seconds: float) -> int:
    """The exit code, and the sentences that explain it."""
    results = outcome.sites
    sentences = [sentence for each in results for sentence in differences(each)]
    sentences += differences_of(outcome.found, len(results))
    for sentence in sentences:
        console.print(f"[red]{sentence}[/red]", soft_wrap=True, highlight=False)
    if sentences:
        return 1
    contacts = sum(len(each.contacts) for each in results)
    console.print(
        f"From one search to {counted(len(outcome.found.leads), 'lead')}: all {contacts} contacts "
        "that the town publishes were found, and nothing else; every site ended as expected, "
        f"in {seconds:.1f} seconds.\n",
        highlight=False,
        soft_wrap=True,
    )
    console.print(NEXT, highlight=False, soft_wrap=True)
    return 0
