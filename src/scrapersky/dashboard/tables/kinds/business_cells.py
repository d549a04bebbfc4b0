"""Cells that places and businesses have in common."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from scrapersky.dashboard.searching.wording import provider_in_words
from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Cell, Row
from scrapersky.dashboard.wording import NOTHING, badge

OWN = "own"


def website(row: Row, _: bool) -> Markup:
    """With what it really is, where it is none of the business's own."""
    if not row.website_url:
        return NOTHING
    said = cells.outside(row.website_url)
    kind = row.website_kind
    return said if kind in (None, OWN) else said + Markup("<br>") + badge(kind)


def address(name: str) -> Cell:
    """In a column wide enough not to divide a street's name."""
    kept = Markup('<span class="address">{}</span>')
    return lambda row, _: kept.format(cells.brief(getattr(row, name), 60))


def providers(names: Iterable[str]) -> Markup:
    """One on each line, none divided."""
    kept = Markup('<span class="whole">{}</span>')
    said = [kept.format(cells.brief(provider_in_words(each))) for each in sorted(names)]
    return cells.lines(said) if said else NOTHING


def rating(count: str) -> Cell:
    """With how many gave it; `count` names the column."""
    said = Markup('<span class="whole">{} <span class="soft">({})</span></span>')

    def read(row: Row, _: bool) -> Markup:
        if row.rating is None:
            return NOTHING
        return said.format(f"{row.rating:.1f}", f"{getattr(row, count) or 0:,}")

    return read
