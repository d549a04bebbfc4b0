"""The ledger: every request that a provider may bill."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.dashboard.searching.wording import dollars, provider_in_words, sku_in_words
from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Column, Nothing, Row, Table
from scrapersky.dashboard.wording import NOTHING, in_words
from scrapersky.places.budget_listing import ENTRIES as LISTING


def _provider(row: Row, _: bool) -> Markup:
    return cells.brief(provider_in_words(row.provider))


def _kind(row: Row, _: bool) -> Markup:
    return cells.brief(sku_in_words(row.sku))


def _costs(row: Row, _: bool) -> Markup:
    return Markup("free") if row.is_free else Markup("{}").format(dollars(row.usd))


def _state(row: Row, _: bool) -> Markup:
    return cells.brief(in_words(row.state)) + cells.below(row.note)


def _for(row: Row, _: bool) -> Markup:
    link = Markup('<a href="/{}/{}">{}</a>')
    if row.search_id:
        return link.format("searches", row.search_id, "a search")
    return link.format("places", row.place_id, "a place") if row.place_id else NOTHING


LEDGER = Table(
    kind="budget/entries",
    title="Ledger",
    noun="entry",
    says="Every request that a provider may bill, written down before it is sent.",
    listing=LISTING,
    search="",
    segments="state",
    labels={"sku": "Kind of request", "is_free": "Free", "asked": "Asked"},
    columns=(
        Column("asked_at", "Asked", cells.moment("asked_at"), sort="asked_at"),
        Column("provider", "Provider", _provider),
        Column("sku", "Kind of request", _kind, sort="sku"),
        Column("usd", "Costs", _costs, number=True),
        Column("state", "State", _state, sort="state"),
        Column("for", "For", _for),
        Column("settled_at", "Settled", cells.moment("settled_at"), usual=False),
    ),
    nothing=Nothing(
        "Nothing was asked that may cost. Search for businesses: what it would cost is told before "
        "it starts.",
        "/searches/new",
        "Search for businesses",
    ),
)
