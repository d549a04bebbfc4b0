"""API keys: make, list, revoke."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from scrapersky.accounts import service
from scrapersky.accounts.schemas import ApiKeyIn, ApiKeyOut, NewApiKey
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.errors import problem_responses

router = APIRouter(
    prefix="/api-keys", tags=["accounts"], responses=problem_responses(401, 403, 422)
)


@router.post("", status_code=201, summary="Make a key")
async def create_key(actor: Admin, session: Transaction, wanted: ApiKeyIn) -> NewApiKey:
    key, secret = await service.create_api_key(session, actor, name=wanted.name, role=wanted.role)
    await session.refresh(key)
    return NewApiKey(**ApiKeyOut.model_validate(key).model_dump(), key=secret)


@router.get("", summary="Keys, oldest first")
async def list_keys(actor: Admin, session: Reading) -> list[ApiKeyOut]:
    return [ApiKeyOut.model_validate(each) for each in await service.list_api_keys(session, actor)]


@router.post("/{key_id}/revoke", summary="Make a key worthless", responses=problem_responses(404))
async def revoke_key(actor: Admin, session: Transaction, key_id: UUID) -> ApiKeyOut:
    return ApiKeyOut.model_validate(await service.revoke_api_key(session, actor, key_id))
