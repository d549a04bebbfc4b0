"""What the town knows to stand on its pages: the truth that the demo is measured by."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.scraper.contact_finder import Kind, Method


@dataclass(frozen=True)
class Published:
    """A contact, and the way in which its page gives it away."""

    kind: Kind
    value: str
    method: Method


@dataclass(frozen=True)
class Shown:
    """A piece of a page, and the contacts that people find in it."""

    html: str
    contacts: tuple[Published, ...] = ()


def email(html: str, address: str, method: Method) -> Shown:
    return Shown(html, (Published(Kind.EMAIL, address, method),))


def phone(html: str, number: str, method: Method) -> Shown:
    return Shown(html, (Published(Kind.PHONE, number, method),))


def profile(html: str, url: str, method: Method) -> Shown:
    return Shown(html, (Published(Kind.SOCIAL, url, method),))
