"""Ways to narrow the list of places that other lists do not have."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pydantic import Field
from sqlalchemy import select

from scrapersky.http.lists.filters import MAX_VALUES, Conditions, Given, Parameters
from scrapersky.models import Actor, Place, SearchPlace


@dataclass(frozen=True)
class FoundBy:
    """Was found by one of the searches given, be it the first or not."""

    name: str = "search_id"
    fitting: str = "fits"

    def parameters(self) -> Parameters:
        said = "Only those that this search found; several may be given."
        fits = "With a search: whether they pass its filters."
        return {
            self.name: (list[UUID] | None, Field(None, max_length=MAX_VALUES, description=said)),
            self.fitting: (bool | None, Field(None, description=fits)),
        }

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        searches, fits = given.get(self.name), given.get(self.fitting)
        if searches is None and fits is None:
            return
        found = select(SearchPlace.place_id).where(SearchPlace.tenant_id == actor.tenant_id)
        if searches is not None:
            found = found.where(SearchPlace.search_id.in_(sorted(set(searches))))
        if fits is not None:
            found = found.where(SearchPlace.fits.is_(fits))
        yield Place.id.in_(found)
