"""Registrable domains of hosts and URLs, by the public suffix list."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from scrapersky.scraper.http.addresses import parse_ip
from scrapersky.scraper.http.urls import get_host

# Read when the program starts: the first page would wait for them longer than any page may take.
_SUFFIXES = PublicSuffixList()
_ICANN_SUFFIXES = PublicSuffixList(accept_unknown=False, only_icann=True)
"""Without what companies added for their customers: their own domains take mail, too."""


@lru_cache(maxsize=4096)
def get_registrable_domain(host: str) -> str | None:
    """`example.co.uk` for `mail.example.co.uk`; the host must be lower-case A-labels."""
    return _SUFFIXES.privatesuffix(host)


def has_known_suffix(host: str) -> bool:
    return get_icann_domain(host) is not None


@lru_cache(maxsize=4096)
def get_icann_domain(host: str) -> str | None:
    """What somebody registered with a registry: `github.io` for `bakery.github.io`; None below a
    suffix that there is not."""
    return _ICANN_SUFFIXES.privatesuffix(host)


def get_host_without_www(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def get_registrable_site(url: str) -> str:
    """`https://shop.example.co.uk/a` → `example.co.uk`: the part of a name that is registered."""
    host = get_host(url)
    try:
        if parse_ip(host) is not None:
            return host
    except ValueError:
        return host
    return get_registrable_domain(host) or host
