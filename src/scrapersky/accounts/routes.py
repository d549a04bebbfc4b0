"""API keys: make, list, rotate, revoke."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter

from scrapersky.accounts import service
from scrapersky.accounts.schemas import ApiKeyIn, ApiKeyOut, NewApiKey, RotationIn
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.idempotency import SHOWN_ONCE
from scrapersky.models import ApiKey

router = APIRouter(
    prefix="/api-keys", tags=["accounts"], responses=problem_responses(401, 403, 422)
)


@router.post(
    "",
    status_code=201,
    summary="Make a key",
    dependencies=[SHOWN_ONCE],
    responses=problem_responses(404, 409),
)
async def create_key(actor: Admin, session: Transaction, wanted: ApiKeyIn) -> NewApiKey:
    made = await service.create_api_key(
        session,
        actor,
        name=wanted.name,
        role=wanted.role,
        user_id=wanted.user_id,
        expires_at=wanted.expires_at,
    )
    return _shown_once(*made)


@router.get("", summary="Keys, oldest first")
async def list_keys(actor: Admin, session: Reading) -> list[ApiKeyOut]:
    return [ApiKeyOut.model_validate(each) for each in await service.list_api_keys(session, actor)]


@router.post(
    "/{key_id}/rotate",
    summary="Give a key a new secret",
    dependencies=[SHOWN_ONCE],
    responses=problem_responses(404, 409),
)
async def rotate_key(
    actor: Admin, session: Transaction, key_id: UUID, wanted: RotationIn | None = None
) -> NewApiKey:
    """The old secret is worthless at once, or after the grace. The key keeps its id, its role and
    its expiry."""
    grace = timedelta(seconds=wanted.grace_seconds if wanted else 0)
    return _shown_once(*await service.rotate_api_key(session, actor, key_id, grace=grace))


@router.post("/{key_id}/revoke", summary="Make a key worthless", responses=problem_responses(404))
async def revoke_key(actor: Admin, session: Transaction, key_id: UUID) -> ApiKeyOut:
    return ApiKeyOut.model_validate(await service.revoke_api_key(session, actor, key_id))


def _shown_once(key: ApiKey, secret: str) -> NewApiKey:
    return NewApiKey(**ApiKeyOut.model_validate(key).model_dump(), key=secret)
