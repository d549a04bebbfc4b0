"""Print the demo's report: sitemaps, contacts, leads, failures and unexpected results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from scrapersky.demo.display import pluralize
from scrapersky.demo.results import (
    MAX_LEADS,
    DemoOutcome,
    SearchFindings,
    SiteResult,
    list_search_differences,
    list_site_differences,
)
from scrapersky.demo.search import SearchOutcome
from scrapersky.demo.sites.builder import SitemapOutcome, TownSite
from scrapersky.models import Contact, SitemapFile
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.contacts.model import ContactChannel
from scrapersky.scraper.sitemaps.events import DiscoveryMethod


def build_table(title: str, *, show_footer: bool = False) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_footer=show_footer,
        pad_edge=False,
    )


def build_contacts_table(results: Sequence[SiteResult]) -> Table:
    """Build a table with the best contact of each kind per site, as chosen by its lead."""
    with_contacts = [each for each in results if each.contacts]
    total = sum(len(each.contacts) for each in with_contacts)
    table = build_table("Contacts by site", show_footer=True)
    table.add_column("Site", pluralize(len(with_contacts), "site"), overflow="fold")
    table.add_column("Best e-mail", pluralize(total, "contact"), overflow="fold")
    table.add_column("Phone", no_wrap=True)
    table.add_column("Profile", overflow="fold")
    table.add_column("How found")
    table.add_column("Page", overflow="fold")
    for each in with_contacts:
        table.add_row(each.site.name, *_build_contact_cells(each))
    return table


def _build_contact_cells(result: SiteResult) -> tuple[str, ...]:
    best = [contact for kind in ContactChannel if (contact := result.best(kind))]
    by_kind = {contact.kind: contact for contact in best}
    return (
        *(_format_value(by_kind.get(kind)) for kind in ContactChannel),
        _join_unique(contact.method for contact in best),
        _join_unique(_get_page_path(result, contact) for contact in best),
    )


def _format_value(contact: Contact | None) -> str:
    return contact.value.removeprefix("https://").removeprefix("www.") if contact else ""


def _get_page_path(result: SiteResult, contact: Contact) -> str:
    return urlsplit(result.pages.get(contact.page_id, "") if contact.page_id else "").path


def _join_unique(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def build_empty_table(results: Sequence[SiteResult]) -> Table:
    table = build_table("Sites without contacts")
    table.add_column("Site", no_wrap=True)
    table.add_column("Reason", no_wrap=True)
    table.add_column("Details", overflow="fold")
    for each in results:
        if each.lead is not None and each.lead.why_empty:
            cells = (each.lead.why_empty, each.lead.why_empty_detail or "")
            table.add_row(each.site.name, *cells)
    return table


def build_leads_table(findings: SearchFindings) -> Table:
    """Build the table of leads, one row per business.

    It shows the first `MAX_LEADS` leads and every lead without a site. The dashboard and the
    exports have all of them.
    """
    visible = [
        *findings.leads[:MAX_LEADS],
        *(each for each in findings.leads if each.domain_id is None),
    ]
    table = build_table("Leads", show_footer=True)
    table.add_column("Name", pluralize(len(findings.leads), "lead"), overflow="fold")
    table.add_column("Rating", justify="right")
    table.add_column("Best e-mail", overflow="fold")
    table.add_column("Phone", no_wrap=True)
    table.add_column("Website or reason", overflow="fold")
    for each in visible:
        rating = f"{each.rating:.1f}" if each.rating is not None else ""
        reached = each.why_empty_detail if each.domain_id is None else each.website
        cells = (each.name, rating, each.best_email, each.phone, reached)
        table.add_row(*(cell or "" for cell in cells))
    return table


DISCOVERY_LABELS = {
    DiscoveryMethod.ROBOTS_TXT: "robots.txt",
    DiscoveryMethod.HTML_LINK: "home page",
    DiscoveryMethod.COMMON_PATH: "common path",
    DiscoveryMethod.SITEMAP_INDEX: "index",
    DiscoveryMethod.MANUAL: "manual",
}
USABLE_STATUSES = (FileStatus.OK, FileStatus.PARTIAL)
NEXT_STEPS = """\
[b]Next steps[/b]
  [cyan]scrapersky search bakeries --in Leipzig --provider osm[/cyan]  needs no API key
  [cyan]scrapersky scan DOMAIN[/cyan]  scans a real site and stores the results
  [cyan]scrapersky serve[/cyan]        dashboard, API and queues on http://127.0.0.1:8000
  [cyan]scrapersky demo --serve[/cyan] shows this town in the dashboard"""


def print_introduction(console: Console, sites: Sequence[TownSite]) -> None:
    table = build_table(f"A town of {pluralize(len(sites), 'site')}")
    table.add_column("Site", no_wrap=True)
    table.add_column("Demonstrates", style="dim")
    for site in sites:
        if not site.is_ordinary:
            table.add_row(site.name, site.shows)
    ordinary = sum(site.is_ordinary for site in sites)
    table.add_row(
        f"{ordinary} ordinary sites", "Each publishes its e-mail address in a different way."
    )
    console.print(table)


def describe_search(search: SearchOutcome) -> str:
    """Summarise the results and the cost of the search in one or two sentences."""
    result, cost = search.result, float(search.result.get("cost_usd") or 0)
    requests = pluralize(int(result.get("requests") or 0), "request")
    return (
        f"Found {search.places} places with {requests} for ${cost:.2f}: "
        f"{pluralize(search.businesses, 'business')} with {pluralize(search.domains, 'site')}."
    )


def print_report(console: Console, outcome: DemoOutcome) -> None:
    for table in (
        build_sitemaps_table,
        build_refusals_table,
        build_contacts_table,
        build_empty_table,
    ):
        console.print(table(outcome.sites))
    console.print(build_leads_table(outcome.found))


def build_sitemaps_table(results: Sequence[SiteResult]) -> Table:
    successful = [each for each in results if each.ending is SitemapOutcome.FOUND]
    ordinary = [each for each in successful if each.site.is_ordinary]
    table = build_table("Sitemaps found", show_footer=True)
    table.add_column("Site", f"{len(successful)} of {len(results)} sites", no_wrap=True)
    table.add_column("How found")
    table.add_column("Sitemaps", str(sum(map(_count_usable, successful))), justify="right")
    table.add_column("URLs", f"{sum(each.urls for each in successful):,}", justify="right")
    table.add_column("Verdicts")
    for each in successful:
        if not each.site.is_ordinary:
            table.add_row(each.site.name, *_build_sitemap_cells([each]))
    if ordinary:
        table.add_row(f"{len(ordinary)} ordinary sites", *_build_sitemap_cells(ordinary))
    return table


def _build_sitemap_cells(results: Sequence[SiteResult]) -> tuple[str, ...]:
    files = [file for each in results for file in each.files]
    urls = sum(each.urls for each in results)
    return (
        _describe_discovery(files),
        str(sum(map(_count_usable, results))),
        f"{urls:,}",
        "\n".join(_iter_verdicts(files)),
    )


def _count_usable(result: SiteResult) -> int:
    return sum(file.status in USABLE_STATUSES for file in result.files)


def _describe_discovery(files: Sequence[SitemapFile]) -> str:
    """List the discovery methods in discovery order: an index comes before its children."""
    return ", ".join(
        dict.fromkeys(DISCOVERY_LABELS[DiscoveryMethod(file.discovery_method)] for file in files)
    )


def _iter_verdicts(files: Sequence[SitemapFile]) -> Iterator[str]:
    """Yield one line per status and reason, such as `4 ok`."""
    counts = Counter((file.status, file.reason) for file in files)
    for (status, reason), count in counts.items():
        yield f"{count} {status}: {reason}" if reason else f"{count} {status}"


def build_refusals_table(results: Sequence[SiteResult]) -> Table:
    table = build_table("Sitemaps rejected or failed")
    table.add_column("Site", no_wrap=True)
    table.add_column("Item")
    table.add_column("Reason", overflow="fold")
    for each in results:
        for number, (what, why) in enumerate(_iter_refusals(each)):
            table.add_row(each.site.name if number == 0 else "", what, why)
    return table


def _iter_refusals(result: SiteResult) -> Iterator[tuple[str, str]]:
    """Yield what failed and why: the scan, then announced sitemaps, then common paths."""
    if result.letter is not None:
        attempts = pluralize(result.letter.attempts, "attempt")
        what = "scan" if result.job else "home page"
        yield f"{what}, failed after {attempts} (dead letter)", result.letter.error
    for file in result.files:
        if file.status not in USABLE_STATUSES:
            source = DISCOVERY_LABELS[DiscoveryMethod(file.discovery_method)]
            yield f"{_get_path(file.url)}, from {source}", file.reason or ""
    reasons = Counter(each["reason"] for each in result.data.get("refused", ()))
    for reason, count in reasons.items():
        yield pluralize(count, "common path"), reason


def _get_path(url: str) -> str:
    return urlsplit(url).path


def print_conclusion(console: Console, outcome: DemoOutcome, *, seconds: float) -> int:
    """Print the unexpected results, or a summary, and return the exit code."""
    results = outcome.sites
    sentences = [sentence for each in results for sentence in list_site_differences(each)]
    sentences += list_search_differences(outcome.found, len(results))
    for sentence in sentences:
        console.print(f"[red]{sentence}[/red]", soft_wrap=True, highlight=False)
    if sentences:
        return 1
    contacts = sum(len(each.contacts) for each in results)
    console.print(
        f"Found all {contacts} contacts that the town publishes, and nothing else. "
        f"One search led to {pluralize(len(outcome.found.leads), 'lead')}. "
        f"Every site finished as expected in {seconds:.1f} s.\n",
        highlight=False,
        soft_wrap=True,
    )
    console.print(NEXT_STEPS, highlight=False, soft_wrap=True)
    return 0
