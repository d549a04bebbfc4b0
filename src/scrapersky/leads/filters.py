"""Ways to narrow the list of leads that other lists do not have."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pydantic import Field
from sqlalchemy import or_, select

from scrapersky.http.lists.filters import Conditions, Given, Parameters
from scrapersky.http.lists.ownership import owned_by
from scrapersky.models import Actor, BusinessSighting, Lead, LocalBusiness, SearchPlace


@dataclass(frozen=True)
class FoundBySearch:
    """Of a business that the search found, be it one of many that share the site."""

    name: str = "search_id"

    def parameters(self) -> Parameters:
        said = "Only what this search of places led to."
        return {self.name: (UUID | None, Field(None, description=said))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (search_id := given.get(self.name)) is None:
            return
        found = (
            select(LocalBusiness.id, LocalBusiness.domain_id)
            .join(BusinessSighting, BusinessSighting.business_id == LocalBusiness.id)
            .join(SearchPlace, SearchPlace.place_id == BusinessSighting.place_id)
            .where(owned_by(LocalBusiness, actor), SearchPlace.search_id == search_id)
            .cte("found_by_search")
        )
        yield or_(
            Lead.domain_id.in_(select(found.c.domain_id)),
            Lead.local_business_id.in_(select(found.c.id)),
        )
