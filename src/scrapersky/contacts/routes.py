"""Contacts: list, look, add, correct, delete; and erase a person."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from scrapersky.contacts import looking, service
from scrapersky.contacts.erasure import erase
from scrapersky.contacts.exporting import EXPORT
from scrapersky.contacts.history import history
from scrapersky.contacts.listing import CONTACTS, CURATION
from scrapersky.contacts.schemas import (
    ContactChange,
    ContactDetail,
    ContactIn,
    ContactLineage,
    ContactOut,
    DeletedOut,
    ErasedOut,
    EraseIn,
    Happened,
)
from scrapersky.http.auth import Admin, Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists import Asked, Listed, curation_routes, export_routes
from scrapersky.models import SuppressionKind

router = APIRouter(
    prefix="/contacts", tags=["contacts"], responses=problem_responses(401, 403, 422)
)
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))

COMES_BACK = (
    "It is deleted with its evidence. A page that still has it brings it back when it is read "
    "again; set such a contact to Skipped, or suppress it, and it is in no lead and no export."
)
STAYS_OUT = (
    "It is deleted with its evidence, and suppressed: should a page bring it back when it is read "
    "again, it is in no lead and no export."
)


@router.get("", summary="Contacts, newest first")
async def list_contacts(
    actor: Viewer, session: Reading, asked: Annotated[Asked, Depends(CONTACTS.asked)]
) -> Listed[ContactOut]:
    found = await CONTACTS.show(session, actor, asked)
    seen = {each.id: each for each in await looking.shown(session, found.rows)}
    return found.listed(lambda row: seen[row.id])


@router.post("", status_code=201, summary="Add a contact", responses=problem_responses(404, 409))
async def add_contact(actor: Curator, session: Transaction, wanted: ContactIn) -> ContactDetail:
    """One that a person found. It is spelled as one that a page has would be, and counts as sure.
    One that is known already is answered with 409 and its id."""
    new = service.NewContact(
        site=str(wanted.domain or wanted.domain_id),
        kind=wanted.kind,
        value=wanted.value,
        name=wanted.name,
        role=wanted.role,
        note=wanted.note,
    )
    return await looking.detail(session, await service.add(session, actor, new))


@router.post("/erase", summary="Erase a person")
async def erase_person(actor: Admin, session: Transaction, wanted: EraseIn) -> ErasedOut:
    """Everything this tenant has of an address or a number: contacts with their evidence, and
    wherever else it stands, the audit log included. Only its SHA-256 digest is kept, so that it is
    not collected again. Asking twice is the same as asking once."""
    kind = SuppressionKind.EMAIL if wanted.email else SuppressionKind.PHONE
    erased = await erase(session, actor, kind, wanted.email or wanted.phone or "")
    return ErasedOut.model_validate(erased)


@router.get("/{contact_id}", summary="One contact", responses=problem_responses(404))
async def get_contact(actor: Viewer, session: Reading, contact_id: UUID) -> ContactDetail:
    """With the evidence for it, and where it comes from."""
    return await looking.detail(session, await looking.contact_of(session, actor, contact_id))


@router.get(
    "/{contact_id}/history", summary="What was done to it", responses=problem_responses(404)
)
async def get_history(actor: Viewer, session: Reading, contact_id: UUID) -> list[Happened]:
    """Newest first; decisions about many rows are in it, and one that was deleted has its own."""
    return await history(session, actor, contact_id)


@router.get(
    "/{contact_id}/lineage", summary="Where it comes from", responses=problem_responses(404)
)
async def get_lineage(actor: Viewer, session: Reading, contact_id: UUID) -> ContactLineage:
    """The pages that have it, the sitemaps that list them, its site, the businesses that share the
    site, the places they are at their providers, and the searches that found those."""
    return await looking.lineage(session, await looking.contact_of(session, actor, contact_id))


@router.patch("/{contact_id}", summary="Correct a contact", responses=problem_responses(404, 409))
async def edit_contact(
    actor: Curator, session: Transaction, contact_id: UUID, wanted: ContactChange
) -> ContactDetail:
    """What pages say does not change name and role any more once a person did. Under a value that
    was corrected a page may find the old one again, as a contact of its own."""
    edited = await service.edit(
        session, actor, contact_id, wanted.changes(), seen_at=wanted.updated_at
    )
    return await looking.detail(session, edited)


@router.delete("/{contact_id}", summary="Delete a contact", responses=problem_responses(404))
async def delete_contact(
    actor: Curator,
    session: Transaction,
    contact_id: UUID,
    suppress: Annotated[bool, Query(description="Whether nobody is to write there.")] = False,
) -> DeletedOut:
    """A page that still has it brings it back when it is read again: suppress it as well, or set it
    to Skipped instead. To erase a person for good there is `POST /contacts/erase`."""
    await service.delete(session, actor, contact_id, hush=suppress)
    said = STAYS_OUT if suppress else COMES_BACK
    return DeletedOut(id=contact_id, suppressed=suppress, explanation=said)
