"""Routes for contacts and suppressions: list, get, add, edit, delete, export and erase."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query

from scrapersky.contacts import service, suppression
from scrapersky.contacts.erasure import erase
from scrapersky.contacts.history import load_history
from scrapersky.contacts.listing import CONTACTS, CURATION, EXPORT, SUPPRESSIONS
from scrapersky.contacts.schemas import (
    ContactChange,
    ContactDeletedOut,
    ContactDetail,
    ContactEvent,
    ContactIn,
    ContactLineage,
    ContactOut,
    ErasedOut,
    EraseIn,
    SuppressedOut,
    SuppressionOut,
    SuppressionsIn,
    build_suppressed_out,
)
from scrapersky.http.auth import Admin, Curator, Viewer
from scrapersky.http.body_limits import LargeBodyRoute
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.lists import ListPage, ListQuery, curation_routes, export_routes
from scrapersky.models import SuppressionKind

router = APIRouter(
    prefix="/contacts", tags=["contacts"], responses=problem_responses(401, 403, 422)
)
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))

DELETED_EXPLANATION = (
    "It is deleted with its evidence. A page that still has it brings it back when it is read "
    "again; set such a contact to Skipped, or suppress it, and it is in no lead and no export."
)
SUPPRESSED_EXPLANATION = (
    "It is deleted with its evidence, and suppressed: should a page bring it back when it is read "
    "again, it is in no lead and no export."
)


@router.get("", summary="Contacts, newest first")
async def list_contacts(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(CONTACTS.parse_query)]
) -> ListPage[ContactOut]:
    found = await CONTACTS.show(session, actor, asked)
    seen = {each.id: each for each in await service.build_contacts_out(session, found.rows)}
    return found.to_page(lambda row: seen[row.id])


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
    return await service.get_detail(session, await service.add(session, actor, new))


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
    return await service.get_detail(session, await service.get_contact(session, actor, contact_id))


@router.get(
    "/{contact_id}/history", summary="What was done to it", responses=problem_responses(404)
)
async def get_history(actor: Viewer, session: Reading, contact_id: UUID) -> list[ContactEvent]:
    """Newest first; decisions about many rows are in it, and one that was deleted has its own."""
    return await load_history(session, actor, contact_id)


@router.get(
    "/{contact_id}/lineage", summary="Where it comes from", responses=problem_responses(404)
)
async def get_lineage(actor: Viewer, session: Reading, contact_id: UUID) -> ContactLineage:
    """The pages that have it, the sitemaps that list them, its site, the businesses that share the
    site, the places they are at their providers, and the searches that found those."""
    return await service.get_lineage(session, await service.get_contact(session, actor, contact_id))


@router.patch("/{contact_id}", summary="Correct a contact", responses=problem_responses(404, 409))
async def edit_contact(
    actor: Curator, session: Transaction, contact_id: UUID, wanted: ContactChange
) -> ContactDetail:
    """What pages say does not change name and role any more once a person did. Under a value that
    was corrected a page may find the old one again, as a contact of its own."""
    edited = await service.edit(
        session, actor, contact_id, wanted.changes(), seen_at=wanted.updated_at
    )
    return await service.get_detail(session, edited)


@router.delete("/{contact_id}", summary="Delete a contact", responses=problem_responses(404))
async def delete_contact(
    actor: Curator,
    session: Transaction,
    contact_id: UUID,
    suppress: Annotated[bool, Query(description="Whether nobody is to write there.")] = False,
) -> ContactDeletedOut:
    """A page that still has it brings it back when it is read again: suppress it as well, or set it
    to Skipped instead. To erase a person for good there is `POST /contacts/erase`."""
    await service.delete(session, actor, contact_id, hush=suppress)
    said = SUPPRESSED_EXPLANATION if suppress else DELETED_EXPLANATION
    return ContactDeletedOut(id=contact_id, suppressed=suppress, explanation=said)


suppressions_router = APIRouter(
    route_class=LargeBodyRoute,
    prefix="/suppressions",
    tags=["suppressions"],
    responses=problem_responses(401, 403, 422),
)


@suppressions_router.get("", summary="Suppressions, newest first")
async def list_suppressions(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(SUPPRESSIONS.parse_query)]
) -> ListPage[SuppressionOut]:
    found = await SUPPRESSIONS.show(session, actor, asked)
    return found.to_page(SuppressionOut.model_validate)


@suppressions_router.post("", summary="Suppress addresses, domains or numbers")
async def add_suppressions(
    actor: Curator, session: Transaction, wanted: SuppressionsIn
) -> SuppressedOut:
    """What they name is in no lead and no export from now on. A domain stands for every address at
    it or below it, and for every contact found on its site. One that cannot be is told so, and the
    others are kept."""
    given = [each.to_request() for each in wanted.items]
    return build_suppressed_out(await suppression.suppress(session, actor, given))


@suppressions_router.delete(
    "/{suppression_id}", summary="Remove a suppression", responses=problem_responses(404)
)
async def remove_suppression(
    actor: Curator, session: Transaction, suppression_id: UUID
) -> SuppressionOut:
    """What it named is in leads and exports again. One that keeps an erased person from coming back
    only an admin may remove."""
    return SuppressionOut.model_validate(
        await suppression.delete_suppression(session, actor, suppression_id)
    )
