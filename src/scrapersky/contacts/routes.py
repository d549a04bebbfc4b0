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
    "The contact and its evidence were deleted. It returns when a page that still has it is read "
    "again. To keep it out of leads and exports, suppress it or set it to Skipped instead."
)
SUPPRESSED_EXPLANATION = (
    "The contact and its evidence were deleted and the value is suppressed. If a page brings it "
    "back, it stays out of leads and exports."
)


@router.get("", summary="List contacts")
async def list_contacts(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(CONTACTS.parse_query)]
) -> ListPage[ContactOut]:
    page = await CONTACTS.show(session, actor, query)
    by_id = {each.id: each for each in await service.build_contacts_out(session, page.rows)}
    return page.to_page(lambda row: by_id[row.id])


@router.post("", status_code=201, summary="Add a contact", responses=problem_responses(404, 409))
async def add_contact(actor: Curator, session: Transaction, body: ContactIn) -> ContactDetail:
    """Add a contact with full confidence. The value is normalised. Returns 409 with the ID when the
    contact already exists.
    """
    new = service.NewContact(
        site=str(body.domain or body.domain_id),
        kind=body.kind,
        value=body.value,
        name=body.name,
        role=body.role,
        note=body.note,
    )
    return await service.get_detail(session, await service.add(session, actor, new))


@router.post("/erase", summary="Erase a person")
async def erase_person(actor: Admin, session: Transaction, body: EraseIn) -> ErasedOut:
    """Delete everything this tenant stores about an e-mail address or phone number: contacts,
    evidence, and any text that contains it, including the audit log. Only a keyed digest is
    kept, so that the value is not collected again. Idempotent.
    """
    kind = SuppressionKind.EMAIL if body.email else SuppressionKind.PHONE
    erased = await erase(session, actor, kind, body.email or body.phone or "")
    return ErasedOut.model_validate(erased)


@router.get("/{contact_id}", summary="Get a contact", responses=problem_responses(404))
async def get_contact(actor: Viewer, session: Reading, contact_id: UUID) -> ContactDetail:
    """Return a contact with its evidence and lineage."""
    return await service.get_detail(session, await service.get_contact(session, actor, contact_id))


@router.get(
    "/{contact_id}/history", summary="Get a contact's history", responses=problem_responses(404)
)
async def get_history(actor: Viewer, session: Reading, contact_id: UUID) -> list[ContactEvent]:
    """Return changes newest first, including bulk actions. Works for deleted contacts too."""
    return await load_history(session, actor, contact_id)


@router.get(
    "/{contact_id}/lineage", summary="Get a contact's lineage", responses=problem_responses(404)
)
async def get_lineage(actor: Viewer, session: Reading, contact_id: UUID) -> ContactLineage:
    """Return the pages that contain the contact, the sitemaps that list them, its site, the
    businesses that share the site, their places and the searches that found them.
    """
    return await service.get_lineage(session, await service.get_contact(session, actor, contact_id))


@router.patch("/{contact_id}", summary="Correct a contact", responses=problem_responses(404, 409))
async def edit_contact(
    actor: Curator, session: Transaction, contact_id: UUID, body: ContactChange
) -> ContactDetail:
    """Correct a contact. Once a user has edited it, pages no longer change its name and role. If
    the value was corrected, a page may add the old value again as a separate contact.
    """
    edited = await service.edit(session, actor, contact_id, body.changes(), seen_at=body.updated_at)
    return await service.get_detail(session, edited)


@router.delete("/{contact_id}", summary="Delete a contact", responses=problem_responses(404))
async def delete_contact(
    actor: Curator,
    session: Transaction,
    contact_id: UUID,
    suppress: Annotated[bool, Query(description="Also suppress the value.")] = False,
) -> ContactDeletedOut:
    """Delete a contact and its evidence. A page that still contains it adds it again on the next
    read: suppress it as well, or set it to Skipped instead. To erase a person permanently, use
    `POST /contacts/erase`.
    """
    await service.delete(session, actor, contact_id, suppress_value=suppress)
    explanation = SUPPRESSED_EXPLANATION if suppress else DELETED_EXPLANATION
    return ContactDeletedOut(id=contact_id, suppressed=suppress, explanation=explanation)


suppressions_router = APIRouter(
    route_class=LargeBodyRoute,
    prefix="/suppressions",
    tags=["suppressions"],
    responses=problem_responses(401, 403, 422),
)


@suppressions_router.get("", summary="List suppressions")
async def list_suppressions(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(SUPPRESSIONS.parse_query)]
) -> ListPage[SuppressionOut]:
    page = await SUPPRESSIONS.show(session, actor, query)
    return page.to_page(SuppressionOut.model_validate)


@suppressions_router.post("", summary="Add suppressions")
async def add_suppressions(
    actor: Curator, session: Transaction, body: SuppressionsIn
) -> SuppressedOut:
    """Exclude e-mail addresses, phone numbers or domains from leads and exports. A domain covers
    every address at it or its subdomains, and every contact found on its site. Invalid entries
    are reported and the others are stored.
    """
    requests = [each.to_request() for each in body.items]
    return build_suppressed_out(await suppression.suppress(session, actor, requests))


@suppressions_router.delete(
    "/{suppression_id}", summary="Remove a suppression", responses=problem_responses(404)
)
async def remove_suppression(
    actor: Curator, session: Transaction, suppression_id: UUID
) -> SuppressionOut:
    """Include the value in leads and exports again. Only an admin can remove the suppression of an
    erased person.
    """
    return SuppressionOut.model_validate(
        await suppression.delete_suppression(session, actor, suppression_id)
    )
