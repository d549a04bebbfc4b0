"""The pages of a house in the town, with the contacts that stand on them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from scrapersky.demo.answers import Answer, page
from scrapersky.demo.published import Published, Shown
from scrapersky.scraper.contact_finder import Kind, Method

HOME = "/"


@dataclass(frozen=True, kw_only=True)
class House:
    """What all pages of a site have in common."""

    name: str
    language: str = "en"
    generator: str | None = None
    head: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    """What the menu says, by path."""


@dataclass(frozen=True)
class Pages:
    """By path, the pieces of each page; the home page comes first."""

    house: House
    pieces: Mapping[str, Sequence[Shown]]

    @property
    def answers(self) -> dict[str, Answer]:
        return {path: page(self.html(path)) for path in self.pieces}

    def html(self, path: str) -> str:
        house, name = self.house, escape(self.house.name)
        title = name if path == HOME else f"{escape(house.links.get(path, path))} | {name}"
        pieces = "\n".join(each.html for each in self.pieces[path])
        return (
            f'<!doctype html>\n<html lang="{house.language}"><head><meta charset="utf-8">'
            f"<title>{title}</title>{_generator(house)}{house.head}</head>\n"
            f"<body><nav>{''.join(_menu(house))}</nav>\n<h1>{name}</h1>\n{pieces}\n</body></html>\n"
        )

    @property
    def contacts(self) -> dict[tuple[Kind, str], Published]:
        """Each once. Where a page repeats one, it says it no better than the first has said it."""
        found: dict[tuple[Kind, str], Published] = {}
        for pieces in self.pieces.values():
            for each in (contact for piece in pieces for contact in piece.contacts):
                found.setdefault((each.kind, each.value), each)
        return found


def _generator(house: House) -> str:
    return f'<meta name="generator" content="{house.generator}">' if house.generator else ""


def _menu(house: House) -> Iterator[str]:
    for path, text in house.links.items():
        yield f'<a href="{path}">{escape(text)}</a> '


def says(*sentences: str) -> Shown:
    return Shown("".join(f"<p>{escape(each)}</p>" for each in sentences))


def organisation(
    kind: str,
    name: str,
    *,
    email: str | None = None,
    telephone: str | None = None,
    same_as: Sequence[str] = (),
    address: Mapping[str, str] | None = None,
) -> Shown:
    """Whose site it is, as JSON-LD."""
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
    contacts = [Published(Kind.SOCIAL, each, Method.SAME_AS) for each in same_as]
    if email:
        contacts.append(Published(Kind.EMAIL, email, Method.JSON_LD))
    if telephone:
        contacts.append(Published(Kind.PHONE, telephone, Method.JSON_LD))
    return Shown(f'<script type="application/ld+json">{written}</script>', tuple(contacts))


def contact_form(*, action: str = "/send") -> Shown:
    return Shown(
        f'<form class="contact-form" method="post" action="{action}">'
        '<input name="name"><input type="email" name="email"><textarea name="message"></textarea>'
        '<button type="submit">Send</button></form>'
    )
