"""`/metrics`, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import Context, Overview
from scrapersky.http.errors import problem_responses
from scrapersky.operations.alerts import facts_now
from scrapersky.operations.metrics import Everything, exposition
from scrapersky.operations.spending import get_installation_cap, spent_this_month
from scrapersky.pipeline.report import full_standing

router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    summary="Figures of the installation and of this process, for Prometheus",
    response_class=Response,
    responses={
        200: {
            "description": "The Prometheus text format.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **problem_responses(401, 403),
    },
)
async def metrics(actor: OperatorViewer, context: Context, session: Overview) -> Response:
    standing = await full_standing(session, context.stages, context.settings)
    facts = await facts_now(session, standing)
    engine = context.scheduler.engine if context.scheduler else None
    spent = await spent_this_month(session)
    cap = await get_installation_cap(session, context.settings)
    figures = exposition(Everything(facts, context.database, engine, spent, cap))
    return Response(figures, media_type=CONTENT_TYPE_LATEST)
