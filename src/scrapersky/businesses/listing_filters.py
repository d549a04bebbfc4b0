"""Ways to narrow the list of businesses that other lists do not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy import select

from scrapersky.http.lists.filters import MAX_VALUES, Conditions, Given, Parameters
from scrapersky.models import Actor, BusinessSighting, LocalBusiness, SearchPlace
from scrapersky.models.businesses import MergeCandidate


@dataclass(frozen=True)
class ToldBy:
    """Somebody of these told us of it, be it the first or not."""

    words: tuple[str, ...]
    name: str = "provider"

    def parameters(self) -> Parameters:
        said = "Only those that one of these told us of; several may be given."
        kind: Any = list.__class_getitem__(Literal[self.words])
        return {self.name: (kind | None, Field(None, max_length=MAX_VALUES, description=said))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (providers := given.get(self.name)) is not None:
            yield LocalBusiness.id.in_(
                select(BusinessSighting.business_id).where(
                    BusinessSighting.tenant_id == actor.tenant_id,
                    BusinessSighting.provider.in_(sorted(set(providers))),
                )
            )


@dataclass(frozen=True)
class FoundBySearch:
    """One of its places was found by one of the searches given."""

    name: str = "search_id"

    def parameters(self) -> Parameters:
        said = "Only those that this search found; several may be given."
        kind = list[UUID] | None
        return {self.name: (kind, Field(None, max_length=MAX_VALUES, description=said))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (searches := given.get(self.name)) is not None:
            yield LocalBusiness.id.in_(
                select(BusinessSighting.business_id)
                .join(SearchPlace, SearchPlace.place_id == BusinessSighting.place_id)
                .where(
                    SearchPlace.tenant_id == actor.tenant_id,
                    SearchPlace.search_id.in_(sorted(set(searches))),
                )
            )


@dataclass(frozen=True)
class EitherSide:
    """One of the two is the business given."""

    name: str = "business_id"

    def parameters(self) -> Parameters:
        said = "Only where one of the two is this business."
        return {self.name: (UUID | None, Field(None, description=said))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (wanted := given.get(self.name)) is not None:
            yield (MergeCandidate.left_id == wanted) | (MergeCandidate.right_id == wanted)
