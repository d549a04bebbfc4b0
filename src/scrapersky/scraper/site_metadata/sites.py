"""Whether two addresses belong to the same registrable site."""

from __future__ import annotations

from scrapersky.scraper.addresses import parse_ip
from scrapersky.scraper.contact_finder.suffixes import registrable_domain
from scrapersky.scraper.urls import host_of


def registrable_site(url: str) -> str:
    """`https://shop.example.co.uk/a` → `example.co.uk`: the part of a name that is registered."""
    host = host_of(url)
    try:
        if parse_ip(host) is not None:
            return host
    except ValueError:
        return host
    return registrable_domain(host) or host
