"""What the search led to: businesses and leads, with or without a site, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.demo.beginning import Begun
from scrapersky.demo.provider import Bill
from scrapersky.demo.register import WITHOUT_A_SITE
from scrapersky.demo.results import Result
from scrapersky.models import CostEntry, Lead

MOST_LEADS = 12
"""Shown; the table itself has them all."""


@dataclass(frozen=True)
class Found:
    """All that is stored about the search, and what its provider says."""

    begun: Begun
    leads: Sequence[Lead]
    spent_usd: Decimal
    entries: int
    """Requests in the ledger."""
    billed: int
    billed_usd: Decimal
    """Both as the provider counts them."""

    @property
    def without_site(self) -> Mapping[str, str | None]:
        """Of the leads that have no site: their name, and why nobody is known."""
        return {each.name or "": each.why_empty for each in self.leads if each.domain_id is None}


@dataclass(frozen=True)
class Outcome:
    sites: Sequence[Result]
    found: Found


async def read_found(database: Database, begun: Begun, bill: Bill) -> Found:
    async with database.reading() as session:
        leads = await session.scalars(select(Lead).order_by(Lead.contacts.desc(), Lead.name))
        spent, entries = (
            await session.execute(
                select(func.coalesce(func.sum(CostEntry.usd), 0), func.count(CostEntry.id))
            )
        ).one()
        return Found(begun, leads.all(), spent, entries, bill.paid, bill.usd)


def differences_of(found: Found, sites: int) -> Iterator[str]:
    """What is not as the town's register has it; each a sentence."""
    begun, extra = found.begun, len(WITHOUT_A_SITE) + 1
    if (begun.places, begun.businesses) != (sites + extra, sites + extra):
        yield (
            f"The search found {begun.places} places and made {begun.businesses} businesses of "
            f"them; {sites + extra} were there. {begun.error or ''}"
        )
    for place, why in WITHOUT_A_SITE:
        came = found.without_site.get(place.name or "", "not there")
        if came != why.value:
            yield f"The lead of {place.name} is {came or 'not empty'}; expected was {why.value}."
    if (found.entries, found.spent_usd) != (found.billed, found.billed_usd):
        yield (
            f"The ledger has {found.entries} requests for {found.spent_usd} USD; the provider "
            f"counts {found.billed} for {found.billed_usd} USD."
        )
