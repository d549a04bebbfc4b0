"""Read text that a page turns around for people: back to front, or by rot13."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked, rot13
from scrapersky.scraper.contact_finder.emails import email_at
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page

MAX_CANDIDATES = 500
_REACH = 120
_TURNS_LETTERS = ("rot13", "rot-13", "rot_13", "rot18", "znvygb")
_TURNS_AROUND = ("rtl", "bidi-override", "revers", "backward")


def read_turned_text(page: Page) -> Iterator[Uncloaked]:
    """Only where a page says that it turns something, and only what is no address as it stands."""
    if "@" not in page.text:
        return
    scripts = " ".join(script.text[:5_000] for script, _ in page.scripts[:50])
    if ".reverse()" in scripts or _says(_TURNS_AROUND, page.lowered, page.styles):
        yield from _read(page, lambda text: text[::-1], Method.REVERSED)
    if "+13" in scripts or _says(_TURNS_LETTERS, page.lowered, scripts):
        yield from _read(page, rot13, Method.ROT13)


def _says(words: tuple[str, ...], *texts: str) -> bool:
    return any(word in text for text in texts for word in words)


def _read(page: Page, turn: Callable[[str], str], method: Method) -> Iterator[Uncloaked]:
    text, at = page.text, -1
    for _ in range(MAX_CANDIDATES):
        at = text.find("@", at + 1)
        if at < 0:
            return
        if email_at(text, at, site=page.site) is not None:
            continue
        before = _last_line(text[max(0, at - _REACH) : at])
        after = text[at + 1 : at + _REACH].partition("\n")[0]
        turned = turn(f"{before}@{after}")
        sign = turned.find("@", len(after) if method is Method.REVERSED else len(before))
        email = email_at(turned, sign, site=page.site) if sign >= 0 else None
        if email is not None:
            span = (at - len(before), at + 1 + len(after))
            yield Uncloaked(email.value, turn(email.raw), method, span=span)


def _last_line(text: str) -> str:
    return text.rpartition("\n")[2]
