"""Rows of every curated kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import httpx
from sqlalchemy import func, insert, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.kinds import CURATIONS
from scrapersky.lists import Curation
from scrapersky.models import DEFAULT_TENANT_ID, Actor, Domain, Lead, LocalBusiness, Page
from scrapersky.models import Contact as ContactRow
from scrapersky.models import SitemapFile as FileRow

API = "/api/v3"
SYSTEM = Actor(user_id=UUID("5905e9fe-6c61-4694-b09a-6602017b000a"), tenant_id=DEFAULT_TENANT_ID)
KINDS = {each.kind: each for each in CURATIONS}
WITH_QUEUE = {name: each for name, each in KINDS.items() if each.queues is not None}


def owned(actor: Actor) -> dict[str, UUID]:
    return {"tenant_id": actor.tenant_id, "created_by": actor.user_id}


async def add_rows(
    database: Database, kind: str, count: int, *, actor: Actor = SYSTEM, **more: Any
) -> list[UUID]:
    """In the order of their ids."""
    async with database.transaction() as session:
        domains = [_domain(actor) for _ in range(count)]
        if kind == "domain":
            domains = [{**each, **more} for each in domains]
        await session.execute(insert(Domain), domains)
        ids = sorted(each["id"] for each in domains)
        if kind != "domain":
            rows = [{**_row(kind, each), **owned(actor), **more} for each in domains]
            await session.execute(insert(KINDS[kind].model), rows)
            ids = sorted(each["id"] for each in rows)
    return ids


def _domain(actor: Actor) -> dict[str, Any]:
    return {"id": uuid7(), "domain": f"{uuid7().hex}.example", **owned(actor)}


def _row(kind: str, domain: dict[str, Any]) -> dict[str, Any]:
    row_id = uuid7()
    address = {"url": f"https://{domain['domain']}/", "url_digest": row_id.bytes}
    own: dict[Any, dict[str, Any]] = {
        FileRow: {**address, "discovery_method": "manual", "status": "ok"},
        Page: {**address, "path_depth": 0},
        ContactRow: {
            "kind": "email",
            "value": f"post@{domain['domain']}",
            "method": "mailto",
            "confidence": 0.9,
        },
        Lead: {},
        LocalBusiness: {"business_name": domain["domain"]},
    }
    if kind == "place":
        return {"id": row_id, "provider": "csv", "place_id": domain["domain"]}
    return {"id": row_id, "domain_id": domain["id"], **own[KINDS[kind].model]}


def status_of(curation: Curation) -> str:
    """The name of the column with people's decision."""
    return str(curation.column.key)


async def decisions(database: Database, kind: str, ids: Sequence[UUID]) -> list[str]:
    curation = KINDS[kind]
    async with database.reading() as session:
        found = await session.execute(
            select(curation.model.id, curation.column).where(curation.model.id.in_(ids))
        )
        by_id = {row_id: word for row_id, word in found}  # noqa: C416
    return [by_id[each] for each in ids]


async def set_queue(database: Database, kind: str, row_id: UUID, **state: Any) -> None:
    """The queue columns of a row by their plain names: `status`, `attempts`, …"""
    curation = KINDS[kind]
    values = {getattr(curation.queue, name): value for name, value in state.items()}
    async with database.transaction() as session:
        await session.execute(
            update(curation.model).where(curation.model.id == row_id).values(values)
        )


async def queue_of(database: Database, kind: str, row_id: UUID) -> Any:
    curation = KINDS[kind]
    assert curation.queue is not None
    async with database.reading() as session:
        row = await session.get_one(curation.model, row_id)
        return curation.queue.of(row)


async def now_of(database: Database) -> Any:
    async with database.reading() as session:
        return await session.scalar(select(func.now()))


async def curate(client: httpx.AsyncClient, kind: str, status: str, **which: Any) -> dict[str, Any]:
    if "ids" in which:
        which["ids"] = [str(each) for each in which["ids"]]
    body = {"status": status, **which}
    answer = await client.post(f"{API}/{KINDS[kind].rows}/curate", json=body)
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def counts(said: dict[str, Any]) -> tuple[int, int, int, int]:
    names = ("matched_count", "updated_count", "queued_count", "remaining_count")
    matched, updated, queued, remaining = (said[name] for name in names)
    return matched, updated, queued, remaining
