"""Routes for leads: list, get, lineage, curate and export."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends

from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.problems import problem_responses
from scrapersky.leads import service
from scrapersky.leads.listing import CURATION, EXPORT, LEADS
from scrapersky.leads.schemas import LeadChange, LeadDetail, LeadLineage, LeadOut
from scrapersky.lists import ListPage, ListQuery, curation_routes, export_routes

router = APIRouter(prefix="/leads", tags=["leads"], responses=problem_responses(401, 403, 422))
router.include_router(curation_routes(CURATION))
router.include_router(export_routes(EXPORT))


@router.get("", summary="List leads")
async def list_leads(
    actor: Viewer, session: Reading, query: Annotated[ListQuery, Depends(LEADS.parse_query)]
) -> ListPage[LeadOut]:
    """Return one row per business, newest first: the best contact and why it was chosen, or why
    there is none.
    """
    return (await LEADS.show(session, actor, query)).to_page(LeadOut.model_validate)


@router.get("/{lead_id}", summary="Get a lead", responses=problem_responses(404))
async def get_lead(actor: Viewer, session: Reading, lead_id: UUID) -> LeadDetail:
    """Return a lead with all its contacts."""
    return await service.get_detail(session, await service.get_lead(session, actor, lead_id))


@router.get("/{lead_id}/lineage", summary="Get a lead's lineage", responses=problem_responses(404))
async def get_lineage(actor: Viewer, session: Reading, lead_id: UUID) -> LeadLineage:
    """Return the lead's site, the businesses that share it, their places and the searches that
    found them.
    """
    return await service.get_lineage(session, await service.get_lead(session, actor, lead_id))


@router.patch("/{lead_id}", summary="Update a lead", responses=problem_responses(404))
async def edit_lead(
    actor: Curator, session: Transaction, lead_id: UUID, body: LeadChange
) -> LeadOut:
    """Set the curation status. The other fields are derived from pages and providers; to change
    them, correct a contact.
    """
    decided = await service.update_curation(session, actor, lead_id, body.lead_curation_status)
    return LeadOut.model_validate(decided)
