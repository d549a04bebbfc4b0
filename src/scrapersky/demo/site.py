"""A site of the town is a value: its name, what it shows, what it answers and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from aiohttp import web

from scrapersky.demo.answers import Answer, not_found
from scrapersky.demo.published import Published
from scrapersky.models import WhyEmpty
from scrapersky.scraper.contact_finder import Kind


class Ending(StrEnum):
    """How the search for a site's sitemaps ends."""

    FOUND = "found"
    NONE = "none"
    """The site was looked at and has no sitemap."""
    FAILED = "failed"
    """The site could not be looked at, and was given up."""
    NOT_ASKED = "not asked"
    """Its home page shows that there is nothing to look for."""


@dataclass(frozen=True)
class Expected:
    """What the site must come to, or the demo says so."""

    ending: Ending
    urls: int = 0
    contacts: Mapping[tuple[Kind, str], Published] = field(default_factory=dict)
    why: WhyEmpty | None = None
    """Why it has no contacts; nothing where it has some."""


@dataclass(frozen=True, kw_only=True)
class TownSite:
    """One site, and the one thing it is there to show."""

    name: str
    shows: str
    expected: Expected
    answers: Mapping[str, Answer] = field(default_factory=dict)
    """By path; the query does not matter."""
    otherwise: Answer = not_found
    lives_at_www: bool = False
    """The bare name then only redirects there."""
    is_ordinary: bool = False
    """One of the many that show nothing but the way in which they publish their address."""

    @property
    def base_url(self) -> str:
        return base_url(f"www.{self.name}" if self.lives_at_www else self.name)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        return await self.answers.get(request.path, self.otherwise)(request)


def base_url(name: str) -> str:
    return f"http://{name}"
