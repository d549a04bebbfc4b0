"""Build sites of the town: pages, sitemaps, robots.txt and the contacts expected on them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from html import escape

from aiohttp import web

from scrapersky.models import EmptyReason
from scrapersky.scraper.contacts.model import ContactChannel, ExtractionMethod
from scrapersky.testing.responses import Handler, not_found, serve_html

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
NEWS_NAMESPACE = "http://www.google.com/schemas/sitemap-news/0.9"
FIRST_DAY = date(2025, 3, 1)


def number_urls(base: str, slug: str, count: int) -> list[str]:
    """Return `base/slug-0001`, `base/slug-0002` and so on."""
    return [f"{base}/{slug}-{number:04}" for number in range(1, count + 1)]


def get_day(number: int) -> str:
    return (FIRST_DAY + timedelta(days=number % 200)).isoformat()


def build_urlset(locs: Iterable[str]) -> str:
    records = (
        f"  <url><loc>{loc}</loc><lastmod>{get_day(number)}</lastmod></url>"
        for number, loc in enumerate(locs)
    )
    return _build_document("urlset", records)


def build_sitemap_index(locs: Iterable[str]) -> str:
    return _build_document(
        "sitemapindex", (f"  <sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    )


def build_news_sitemap(locs: Iterable[str], *, publication: str) -> str:
    records = (
        f"  <url><loc>{loc}</loc><news:news>"
        f"<news:publication><news:name>{publication}</news:name>"
        "<news:language>en</news:language></news:publication>"
        f"<news:publication_date>{get_day(number)}</news:publication_date>"
        f"<news:title>Report {number + 1}</news:title></news:news></url>"
        for number, loc in enumerate(locs)
    )
    return _build_document(f'urlset xmlns:news="{NEWS_NAMESPACE}"', records)


def build_rss(title: str, base: str, locs: Iterable[str]) -> str:
    items = (
        f"  <item><title>Entry {number + 1}</title><link>{loc}</link></item>"
        for number, loc in enumerate(locs)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>\n'
    return (
        f"{head}<title>{title}</title><link>{base}/</link>\n{_join_lines(items)}</channel></rss>\n"
    )


def build_robots_txt(
    *,
    sitemaps: Sequence[str] = (),
    crawl_delay_seconds: float | None = None,
    disallow: str = "/intern/",
) -> str:
    lines = ["User-agent: *", f"Disallow: {disallow}"]
    if crawl_delay_seconds is not None:
        lines.append(f"Crawl-delay: {crawl_delay_seconds:g}")
    return _join_lines([*lines, "", *(f"Sitemap: {each}" for each in sitemaps)])


def _build_document(root: str, records: Iterable[str]) -> str:
    declaration = '<?xml version="1.0" encoding="UTF-8"?>'
    name, _, attributes = root.partition(" ")
    opening = f'<{name} xmlns="{NAMESPACE}"{" " + attributes if attributes else ""}>'
    return f"{declaration}\n{opening}\n{_join_lines(records)}</{name}>\n"


def _join_lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class PublishedContact:
    """Contact on a page, and the extraction method that must find it."""

    kind: ContactChannel
    value: str
    method: ExtractionMethod


@dataclass(frozen=True)
class PageSnippet:
    """Piece of HTML, and the contacts that can be found in it."""

    html: str
    contacts: tuple[PublishedContact, ...] = ()


def build_email_snippet(html: str, address: str, method: ExtractionMethod) -> PageSnippet:
    return PageSnippet(html, (PublishedContact(ContactChannel.EMAIL, address, method),))


def build_phone_snippet(html: str, number: str, method: ExtractionMethod) -> PageSnippet:
    return PageSnippet(html, (PublishedContact(ContactChannel.PHONE, number, method),))


def build_profile_snippet(html: str, url: str, method: ExtractionMethod) -> PageSnippet:
    return PageSnippet(html, (PublishedContact(ContactChannel.SOCIAL, url, method),))


HOME_PATH = "/"


@dataclass(frozen=True, kw_only=True)
class SiteLayout:
    """Properties shared by all pages of a site."""

    name: str
    language: str = "en"
    generator: str | None = None
    head: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    """Menu labels by path."""


@dataclass(frozen=True)
class SitePages:
    """Snippets of each page by path. The home page comes first."""

    house: SiteLayout
    pieces: Mapping[str, Sequence[PageSnippet]]

    @property
    def answers(self) -> dict[str, Handler]:
        return {path: serve_html(self.html(path)) for path in self.pieces}

    def html(self, path: str) -> str:
        layout, name = self.house, escape(self.house.name)
        title = name if path == HOME_PATH else f"{escape(layout.links.get(path, path))} | {name}"
        pieces = "\n".join(each.html for each in self.pieces[path])
        return (
            f'<!doctype html>\n<html lang="{layout.language}"><head><meta charset="utf-8">'
            f"<title>{title}</title>{_build_generator_tag(layout)}{layout.head}</head>\n"
            f"<body><nav>{''.join(_iter_menu(layout))}</nav>\n<h1>{name}</h1>\n{pieces}\n</body></html>\n"
        )

    @property
    def contacts(self) -> dict[tuple[ContactChannel, str], PublishedContact]:
        """Expected contacts, each once.

        If several pages publish a contact, the first one wins; later ones are never more explicit.
        """
        contacts: dict[tuple[ContactChannel, str], PublishedContact] = {}
        for pieces in self.pieces.values():
            for each in (contact for piece in pieces for contact in piece.contacts):
                contacts.setdefault((each.kind, each.value), each)
        return contacts


def _build_generator_tag(layout: SiteLayout) -> str:
    return f'<meta name="generator" content="{layout.generator}">' if layout.generator else ""


def _iter_menu(layout: SiteLayout) -> Iterator[str]:
    for path, text in layout.links.items():
        yield f'<a href="{path}">{escape(text)}</a> '


def build_paragraphs(*sentences: str) -> PageSnippet:
    return PageSnippet("".join(f"<p>{escape(each)}</p>" for each in sentences))


def build_json_ld(
    kind: str,
    name: str,
    *,
    email: str | None = None,
    telephone: str | None = None,
    same_as: Sequence[str] = (),
    address: Mapping[str, str] | None = None,
) -> PageSnippet:
    """Describe the owner of a site as JSON-LD."""
    stated = {
        "@context": "https://schema.org",
        "@type": kind,
        "name": name,
        "email": email,
        "telephone": telephone,
        "sameAs": list(same_as),
        "address": {"@type": "PostalAddress", **address} if address else None,
    }
    written = json.dumps({key: value for key, value in stated.items() if value})
    contacts = [
        PublishedContact(ContactChannel.SOCIAL, each, ExtractionMethod.SAME_AS) for each in same_as
    ]
    if email:
        contacts.append(PublishedContact(ContactChannel.EMAIL, email, ExtractionMethod.JSON_LD))
    if telephone:
        contacts.append(PublishedContact(ContactChannel.PHONE, telephone, ExtractionMethod.JSON_LD))
    return PageSnippet(f'<script type="application/ld+json">{written}</script>', tuple(contacts))


def build_contact_form(*, action: str = "/send") -> PageSnippet:
    return PageSnippet(
        f'<form class="contact-form" method="post" action="{action}">'
        '<input name="name"><input type="email" name="email"><textarea name="message"></textarea>'
        '<button type="submit">Send</button></form>'
    )


class SitemapOutcome(StrEnum):
    """How the search for a site's sitemaps ends."""

    FOUND = "found"
    NONE = "none"
    """The scan succeeded, and the site has no sitemap."""
    FAILED = "failed"
    """The scan failed and became a dead letter."""
    NOT_ASKED = "not asked"
    """No scan was queued, because the home page shows that there is nothing to find."""


@dataclass(frozen=True)
class ExpectedResult:
    """Expected result of a site. The demo reports every difference."""

    ending: SitemapOutcome
    urls: int = 0
    contacts: Mapping[tuple[ContactChannel, str], PublishedContact] = field(default_factory=dict)
    why: EmptyReason | None = None
    """Why the site has no contacts; None if it has some."""


@dataclass(frozen=True, kw_only=True)
class TownSite:
    """Site, and the one behaviour it demonstrates."""

    name: str
    shows: str
    expected: ExpectedResult
    answers: Mapping[str, Handler] = field(default_factory=dict)
    """Handlers by path. The query string is ignored."""
    otherwise: Handler = not_found
    lives_at_www: bool = False
    """The bare name only redirects to `www.`."""
    is_ordinary: bool = False
    """One of the many sites that demonstrate nothing but a way of publishing an e-mail address."""

    @property
    def base_url(self) -> str:
        return build_base_url(f"www.{self.name}" if self.lives_at_www else self.name)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        return await self.answers.get(request.path, self.otherwise)(request)


def build_base_url(name: str) -> str:
    return f"http://{name}"
