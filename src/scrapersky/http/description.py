"""The API's own description, for those who may use it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from scrapersky.http.auth import Viewer
from scrapersky.http.errors import problem_responses

router = APIRouter(tags=["description"], responses=problem_responses(401, 403))


@router.get("/openapi.json", summary="This API as an OpenAPI document")
async def openapi(actor: Viewer, request: Request) -> dict[str, Any]:
    described: dict[str, Any] = request.app.openapi()
    return described
