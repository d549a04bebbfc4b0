"""Tell what the scans came to: what was found, and what was refused or failed, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from scrapersky.demo.display import counted
from scrapersky.demo.results import Result
from scrapersky.demo.site import Ending, TownSite
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
  [cyan]scrapersky scan DOMAIN[/cyan]  scans a real site and keeps what it finds
  [cyan]scrapersky serve[/cyan]        serves the API and works the queues, on http://127.0.0.1:8000"""


def introduce(console: Console, sites: Sequence[TownSite]) -> None:
    table = _table(f"A town of {counted(len(sites), 'site')}")
    table.add_column("Site", no_wrap=True)
    table.add_column("What it shows", style="dim")
    for site in sites:
        table.add_row(site.name, site.shows)
    console.print(table)


def _table(title: str, *, show_footer: bool = False) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_footer=show_footer,
        pad_edge=False,
    )


def tell(console: Console, results: Sequence[Result]) -> None:
    console.print(found_table(results))
    console.print(refused_table(results))


def found_table(results: Sequence[Result]) -> Table:
    found = [each for each in results if each.ending is Ending.FOUND]
    total = sum(each.urls for each in found)
    table = _table("What was found", show_footer=True)
    table.add_column("Site", f"{len(found)} of {len(results)} sites", no_wrap=True)
    table.add_column("How found")
    table.add_column("Sitemaps", str(sum(map(_usable, found))), justify="right")
    table.add_column("URLs", f"{total:,}", justify="right")
    table.add_column("Verdicts")
    for each in found:
        cells = (_ways(each), str(_usable(each)), f"{each.urls:,}", "\n".join(_verdicts(each)))
        table.add_row(each.site.name, *cells)
    return table


def _usable(result: Result) -> int:
    return sum(file.status in USABLE for file in result.files)


def _ways(result: Result) -> str:
    """In the order they came about: an index before what it led to."""
    return ", ".join(dict.fromkeys(WAYS[Method(file.discovery_method)] for file in result.files))


def _verdicts(result: Result) -> Iterator[str]:
    """`4 ok`, and the reason beside whatever is not."""
    counts = Counter((file.status, file.reason) for file in result.files)
    for (status, reason), count in counts.items():
        yield f"{count} {status}: {reason}" if reason else f"{count} {status}"


def refused_table(results: Sequence[Result]) -> Table:
    table = _table("What was refused or failed, and why")
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
        yield f"the scan, given up after {attempts}; a dead letter", result.letter.error
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


def conclude(console: Console, results: Sequence[Result], *, seconds: float) -> int:
    """The exit code, and the sentences that explain it."""
    differences = [each.difference for each in results if each.difference]
    for sentence in differences:
        console.print(f"[red]{sentence}[/red]", soft_wrap=True, highlight=False)
    if differences:
        return 1
    console.print(f"Every site ended as expected, in {seconds:.1f} seconds.\n", highlight=False)
    console.print(NEXT, highlight=False, soft_wrap=True)
    return 0
