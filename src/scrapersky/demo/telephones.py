"""Phone numbers as people write them in several countries, all of ranges set aside for fiction."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.demo.published import Shown, phone
from scrapersky.scraper.contact_finder import Method


@dataclass(frozen=True)
class Number:
    """One telephone."""

    value: str
    """E.164."""
    written: str
    """As its owners write it for their neighbours."""
    label: str = "Phone"


def american(last: int) -> Number:
    return Number(f"+120255501{last:02}", f"(202) 555-01{last:02}")


def british(last: int) -> Number:
    return Number(f"+4420794600{last:02}", f"020 7946 00{last:02}", "Telephone")


def german(last: int) -> Number:
    return Number(f"+493023125{last:03}", f"030 / 231 25-{last:03}", "Telefon")


def french(last: int) -> Number:
    digits = f"{last:02}"
    return Number(f"+331990012{digits}", f"01.99.00.12.{digits}", "Tél.")


def swedish(last: int) -> Number:
    return Number(f"+468465004{last:02}", f"08-465 004 {last:02}", "Telefon")


def australian(last: int) -> Number:
    return Number(f"+612555012{last:02}", f"(02) 5550 12{last:02}")


def call_link(number: Number) -> Shown:
    html = f'<p><a href="tel:{number.value}">{number.written}</a></p>'
    return phone(html, number.value, Method.TEL)


def careless_call_link(number: Number) -> Shown:
    """Slashes, spaces, and the national zero behind the country's code."""
    code, rest = number.value[:3], number.value[3:]
    html = f'<p><a href="tel://{code} (0) {rest[:2]} {rest[2:]}">{number.label}</a></p>'
    return phone(html, number.value, Method.TEL)


def national(number: Number) -> Shown:
    """In the text; which country is meant, the page's language tells."""
    return phone(f"<p>{number.label}: {number.written}</p>", number.value, Method.TEXT)


def international(number: Number) -> Shown:
    groups = " ".join((number.value[:3], number.value[3:5], number.value[5:]))
    return phone(f"<p>{number.label}: {groups}</p>", number.value, Method.TEXT)
