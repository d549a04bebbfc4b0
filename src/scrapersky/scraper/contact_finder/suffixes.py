"""Which part of a host name somebody registered, by the public suffix list."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

# Read when the program starts: the first page would wait for them longer than any page may take.
_SUFFIXES = PublicSuffixList()
_PUBLIC_SUFFIXES = PublicSuffixList(accept_unknown=False, only_icann=True)
"""Without what companies added for their customers: their own domains take mail, too."""


@lru_cache(maxsize=4096)
def registrable_domain(host: str) -> str | None:
    """`example.co.uk` for `mail.example.co.uk`; the host must be lower-case A-labels."""
    return _SUFFIXES.privatesuffix(host)


def is_under_known_suffix(host: str) -> bool:
    return publicly_registered(host) is not None


@lru_cache(maxsize=4096)
def publicly_registered(host: str) -> str | None:
    """What somebody registered with a registry: `github.io` for `bakery.github.io`; None below a
    suffix that there is not."""
    return _PUBLIC_SUFFIXES.privatesuffix(host)


def host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
