"""Registrable domains of hosts and URLs, from the public suffix list."""

from __future__ import annotations

from functools import cache, lru_cache
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from scrapersky.scraper.http.addresses import parse_ip
from scrapersky.scraper.http.urls import get_host


@cache
def _load_suffixes() -> PublicSuffixList:
    """Load the list on first use; it takes a tenth of a second."""
    return PublicSuffixList()


@cache
def _load_icann_suffixes() -> PublicSuffixList:
    """Load the ICANN suffixes only.

    Private suffixes, added by companies for their customers, are left out because those domains
    receive e-mail too.
    """
    return PublicSuffixList(accept_unknown=False, only_icann=True)


@lru_cache(maxsize=4096)
def get_registrable_domain(host: str) -> str | None:
    """Return the registrable domain, such as `example.co.uk` for `mail.example.co.uk`.

    The host must be in lower-case A-labels.
    """
    return _load_suffixes().privatesuffix(host)


def has_known_suffix(host: str) -> bool:
    return get_icann_domain(host) is not None


@lru_cache(maxsize=4096)
def get_icann_domain(host: str) -> str | None:
    """Return the domain registered with a registry, such as `github.io` for `bakery.github.io`.

    Return None if the suffix does not exist.
    """
    return _load_icann_suffixes().privatesuffix(host)


def get_host_without_www(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def get_registrable_site(url: str) -> str:
    """Return the registrable domain of a URL: `https://shop.example.co.uk/a` → `example.co.uk`."""
    host = get_host(url)
    try:
        if parse_ip(host) is not None:
            return host
    except ValueError:
        return host
    return get_registrable_domain(host) or host
