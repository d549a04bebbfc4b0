"""What is wrong right now, and what was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import Context, Overview
from scrapersky.http.errors import problem_responses
from scrapersky.operations.alert_rules import RULES
from scrapersky.operations.alerts import Firing, firing_now, recent
from scrapersky.pipeline.report import full_standing
from scrapersky.pipeline.tables import Alert

router = APIRouter(tags=["operations"], responses=problem_responses(401, 403, 422))

MEANINGS = {rule.name: rule.means for rule in RULES}


class FiringOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    rule: str = Field(examples=["oldest_due_too_old"])
    subject: str = Field(
        description="The stage, process or machine; empty when it is about everything.",
        examples=["process_pending_sitemaps"],
    )
    sentence: str = Field(
        examples=["The oldest due row has waited for 912 seconds, more than the limit of 600."]
    )
    means: str = Field(examples=["A row has been due for too long."])
    since: datetime | None = Field(description="Nothing when it has only just been found.")
    id: UUID | None


class PastAlertOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    rule: str = Field(examples=["listener_down"])
    subject: str
    sentence: str
    began_at: datetime
    cleared_at: datetime


class AlertsOut(BaseModel):
    firing: list[FiringOut]
    recent: list[PastAlertOut] = Field(description="Those that are over, the last to begin first.")


def alerts_out(firing: Sequence[Firing], past: Sequence[Alert]) -> AlertsOut:
    return AlertsOut(
        firing=[FiringOut(**vars(each), means=MEANINGS[each.rule]) for each in firing],
        recent=[PastAlertOut.model_validate(each) for each in past],
    )


@router.get("/alerts", summary="What is wrong right now, and what was")
async def list_alerts(actor: OperatorViewer, context: Context, session: Overview) -> AlertsOut:
    """Judged at the moment of asking, by the rules that `/health/schedulers` goes by too."""
    standing = await full_standing(session, context.stages, context.settings)
    firing = await firing_now(session, standing)
    return alerts_out(firing, await recent(session))
