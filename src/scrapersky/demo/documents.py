"""Write the documents the town's sites are made of; the same ones every time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
NEWS_NAMESPACE = "http://www.google.com/schemas/sitemap-news/0.9"
FIRST_DAY = date(2025, 3, 1)


def numbered(base: str, slug: str, count: int) -> list[str]:
    """`base/slug-0001` and so on."""
    return [f"{base}/{slug}-{number:04}" for number in range(1, count + 1)]


def day(number: int) -> str:
    return (FIRST_DAY + timedelta(days=number % 200)).isoformat()


def urlset(locs: Iterable[str]) -> str:
    records = (
        f"  <url><loc>{loc}</loc><lastmod>{day(number)}</lastmod></url>"
        for number, loc in enumerate(locs)
    )
    return _document("urlset", records)


def index(locs: Iterable[str]) -> str:
    return _document("sitemapindex", (f"  <sitemap><loc>{loc}</loc></sitemap>" for loc in locs))


def news(locs: Iterable[str], *, publication: str) -> str:
    records = (
        f"  <url><loc>{loc}</loc><news:news>"
        f"<news:publication><news:name>{publication}</news:name>"
        "<news:language>en</news:language></news:publication>"
        f"<news:publication_date>{day(number)}</news:publication_date>"
        f"<news:title>Report {number + 1}</news:title></news:news></url>"
        for number, loc in enumerate(locs)
    )
    return _document(f'urlset xmlns:news="{NEWS_NAMESPACE}"', records)


def rss(title: str, base: str, locs: Iterable[str]) -> str:
    items = (
        f"  <item><title>Entry {number + 1}</title><link>{loc}</link></item>"
        for number, loc in enumerate(locs)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>\n'
    return f"{head}<title>{title}</title><link>{base}/</link>\n{_lines(items)}</channel></rss>\n"


def robots(
    *,
    sitemaps: Sequence[str] = (),
    crawl_delay_seconds: float | None = None,
    disallow: str = "/intern/",
) -> str:
    lines = ["User-agent: *", f"Disallow: {disallow}"]
    if crawl_delay_seconds is not None:
        lines.append(f"Crawl-delay: {crawl_delay_seconds:g}")
    return _lines([*lines, "", *(f"Sitemap: {each}" for each in sitemaps)])


def _document(root: str, records: Iterable[str]) -> str:
    declaration = '<?xml version="1.0" encoding="UTF-8"?>'
    name, _, attributes = root.partition(" ")
    opening = f'<{name} xmlns="{NAMESPACE}"{" " + attributes if attributes else ""}>'
    return f"{declaration}\n{opening}\n{_lines(records)}</{name}>\n"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
