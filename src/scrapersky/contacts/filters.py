"""Ways to narrow the list of contacts that other lists do not have."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pydantic import Field
from sqlalchemy import select

from scrapersky.harvest.suppressing import is_suppressed
from scrapersky.http.lists.filters import (
    MAX_VALUES,
    Conditions,
    Given,
    Parameters,
)
from scrapersky.models import Actor, Contact, ContactEvidence


@dataclass(frozen=True)
class Suppressed:
    """Whether nobody is to write there."""

    name: str = "suppressed"

    def parameters(self) -> Parameters:
        said = "Whether the address, the number, its domain or its site is on the suppression list."
        return {self.name: (bool | None, Field(None, description=said))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (wanted := given.get(self.name)) is not None:
            yield is_suppressed(Contact) if wanted else ~is_suppressed(Contact)


@dataclass(frozen=True)
class SeenOn:
    """Has evidence on one of the pages given, be it the best or not."""

    name: str = "page_id"

    def parameters(self) -> Parameters:
        said = "Only those seen on this page; several may be given."
        given = Field(None, max_length=MAX_VALUES, description=said)
        return {self.name: (list[UUID] | None, given)}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (pages := given.get(self.name)) is not None:
            seen = select(ContactEvidence.contact_id).where(
                ContactEvidence.tenant_id == actor.tenant_id,
                ContactEvidence.page_id.in_(sorted(set(pages))),
            )
            yield Contact.id.in_(seen)
