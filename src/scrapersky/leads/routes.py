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


@router.get("", summary="Leads, newest first")
async def list_leads(
    actor: Viewer, session: Reading, asked: Annotated[ListQuery, Depends(LEADS.parse_query)]
) -> ListPage[LeadOut]:
    """One row per business: whom to write to and why, or why nobody is known."""
    return (await LEADS.show(session, actor, asked)).to_page(LeadOut.model_validate)


@router.get("/{lead_id}", summary="One lead", responses=problem_responses(404))
async def get_lead(actor: Viewer, session: Reading, lead_id: UUID) -> LeadDetail:
    """With all its contacts."""
    return await service.get_detail(session, await service.get_lead(session, actor, lead_id))


@router.get("/{lead_id}/lineage", summary="Where it comes from", responses=problem_responses(404))
async def get_lineage(actor: Viewer, session: Reading, lead_id: UUID) -> LeadLineage:
    """Its site, the businesses that share it, the places they are at their providers, and the
    searches that found those."""
    return await service.get_lineage(session, await service.get_lead(session, actor, lead_id))


@router.patch("/{lead_id}", summary="Decide about a lead", responses=problem_responses(404))
async def edit_lead(
    actor: Curator, session: Transaction, lead_id: UUID, wanted: LeadChange
) -> LeadOut:
    """What pages and providers say is theirs to change; correct a contact to change the lead."""
    decided = await service.update_curation(session, actor, lead_id, wanted.lead_curation_status)
    return LeadOut.model_validate(decided)
