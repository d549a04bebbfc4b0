"""Add and remove suppressions: values that are excluded from leads and exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.erasure_filter import ErasedValues, load_erased
from scrapersky.contacts.value_patterns import ERASED_PLACEHOLDER
from scrapersky.contacts.values import guess_suppression_kind, parse_suppressed_value
from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput, NotAllowed, NotFound
from scrapersky.leads.build import refresh_business_leads, refresh_leads
from scrapersky.leads.provider_facts import find_suppressed_businesses
from scrapersky.models import (
    Actor,
    Contact,
    ContactKind,
    Domain,
    Role,
    Suppression,
    SuppressionKind,
    record,
)
from scrapersky.models.suppression import compute_digest

SuppressionKey = tuple[str, bytes]
"""Kind and digest, unique within a tenant."""
BATCH_SIZE = 1_000
"""Rows per statement: PostgreSQL limits the number of parameters."""


@dataclass(frozen=True)
class SuppressionRequest:
    value: str
    kind: SuppressionKind | None = None
    """Detected from the value when None."""
    reason: str | None = None


class SuppressionOutcome(StrEnum):
    ADDED = "added"
    ALREADY_THERE = "already_there"
    REFUSED = "refused"


@dataclass(frozen=True)
class SuppressionResult:
    """The result of one request."""

    given: str
    outcome: SuppressionOutcome
    kind: SuppressionKind | None = None
    value: str | None = None
    reason: str | None = None
    error: str | None = None
    id: UUID | None = None

    @property
    def is_storable(self) -> bool:
        """Whether there is a value to insert or look up."""
        return self.outcome is not SuppressionOutcome.REFUSED and self.value is not None

    @property
    def key(self) -> SuppressionKey:
        return str(self.kind), compute_digest(self.value or "")


async def suppress(
    session: AsyncSession, actor: Actor, requests: Sequence[SuppressionRequest]
) -> list[SuppressionResult]:
    """Add suppressions. Invalid ones are reported and do not stop the others. An erased person is
    already suppressed, and the value is not stored again.
    """
    erased = await load_erased(session, actor.tenant_id)
    lines = [_redact_erased(_parse_request(each), erased) for each in requests]
    inserted: dict[SuppressionKey, UUID] = {}
    known: dict[SuppressionKey, UUID] = {}
    for part in _split_batches([each for each in lines if each.is_storable]):
        new = await _insert_suppressions(session, actor, part)
        inserted |= new
        known |= await _load_ids(session, actor, [each for each in part if each.key not in new])
        await refresh_leads(session, await _find_domain_ids(session, actor, list(new.values())))
        told_of = await find_suppressed_businesses(session, actor.tenant_id, list(new.values()))
        await refresh_business_leads(session, told_of)
    ended = list(_resolve_outcomes(lines, inserted, known))
    _record_additions(session, actor, ended)
    return ended


def _resolve_outcomes(
    lines: Sequence[SuppressionResult],
    inserted: Mapping[SuppressionKey, UUID],
    known: Mapping[SuppressionKey, UUID],
) -> Iterator[SuppressionResult]:
    """Set the outcomes. Of duplicates within the request only the first counts as added."""
    fresh = set(inserted)
    for line in lines:
        if not line.is_storable:
            yield line
            continue
        outcome = (
            SuppressionOutcome.ADDED if line.key in fresh else SuppressionOutcome.ALREADY_THERE
        )
        fresh.discard(line.key)
        yield replace(line, id=inserted.get(line.key) or known.get(line.key), outcome=outcome)


def _parse_request(request: SuppressionRequest) -> SuppressionResult:
    try:
        kind = request.kind or guess_suppression_kind(request.value)
        value = parse_suppressed_value(kind, request.value)
    except InvalidInput as error:
        return SuppressionResult(
            request.value, SuppressionOutcome.REFUSED, request.kind, error=str(error)
        )
    return SuppressionResult(
        request.value, SuppressionOutcome.ALREADY_THERE, kind, value, request.reason
    )


def _redact_erased(line: SuppressionResult, erased: ErasedValues) -> SuppressionResult:
    known = erased.find(line.value) if line.value is not None else None
    if known is not None:
        return SuppressionResult(
            ERASED_PLACEHOLDER, SuppressionOutcome.ALREADY_THERE, line.kind, id=known
        )
    return replace(line, reason=erased.redact(line.reason)) if line.reason else line


def _split_batches(lines: Sequence[SuppressionResult]) -> Iterator[list[SuppressionResult]]:
    """Yield distinct values in key order, so that concurrent requests cannot deadlock."""
    different = {each.key: each for each in reversed(lines)}
    ordered = [different[key] for key in sorted(different)]
    for start in range(0, len(ordered), BATCH_SIZE):
        yield ordered[start : start + BATCH_SIZE]


async def _insert_suppressions(
    session: AsyncSession, actor: Actor, lines: Sequence[SuppressionResult]
) -> dict[SuppressionKey, UUID]:
    rows = [
        {
            "id": uuid7(),
            "tenant_id": actor.tenant_id,
            "created_by": actor.user_id,
            "kind": str(each.kind),
            "value": each.value,
            "digest": each.key[1],
            "reason": each.reason,
        }
        for each in lines
    ]
    inserted = await session.execute(
        insert(Suppression)
        .values(rows)
        .on_conflict_do_nothing(
            index_elements=[Suppression.tenant_id, Suppression.kind, Suppression.digest]
        )
        .returning(Suppression.kind, Suppression.digest, Suppression.id)
    )
    return {(kind, bytes(digest)): row_id for kind, digest, row_id in inserted}


async def _load_ids(
    session: AsyncSession, actor: Actor, lines: Sequence[SuppressionResult]
) -> dict[SuppressionKey, UUID]:
    if not lines:
        return {}
    result = await session.execute(
        select(Suppression.kind, Suppression.digest, Suppression.id).where(
            Suppression.tenant_id == actor.tenant_id,
            tuple_(Suppression.kind, Suppression.digest).in_([each.key for each in lines]),
        )
    )
    return {(kind, bytes(digest)): row_id for kind, digest, row_id in result}


async def _find_domain_ids(session: AsyncSession, actor: Actor, ids: Sequence[UUID]) -> set[UUID]:
    """Return the domains with contacts that match the suppressions."""
    if not ids:
        return set()
    mine = (
        Suppression.id.in_(ids),
        Suppression.tenant_id == actor.tenant_id,
        Contact.tenant_id == actor.tenant_id,
    )
    by_value = select(Contact.domain_id).where(
        *mine, Suppression.kind == Contact.kind, Suppression.value == Contact.value
    )
    host: Any = func.split_part(Contact.value, "@", 2)
    by_domain = (
        select(Contact.domain_id)
        .join(Domain, Domain.id == Contact.domain_id)
        .where(
            *mine,
            Suppression.kind == SuppressionKind.DOMAIN,
            or_(
                (Contact.kind == ContactKind.EMAIL)
                & _is_same_or_subdomain(host, Suppression.value),
                _is_same_or_subdomain(Domain.domain, Suppression.value),
            ),
        )
    )
    return {*await session.scalars(by_value), *await session.scalars(by_domain)}


def _is_same_or_subdomain(host: Any, domain: Any) -> Any:
    return or_(host == domain, host.endswith("." + domain))


def _record_additions(
    session: AsyncSession, actor: Actor, lines: Sequence[SuppressionResult]
) -> None:
    added = [each for each in lines if each.outcome is SuppressionOutcome.ADDED]
    if len(added) == 1:
        [only] = added
        record(session, actor, "suppression.add", only.id, kind=str(only.kind), value=only.value)
    elif added:
        record(session, actor, "suppression.add", None, added=len(added))


async def delete_suppression(
    session: AsyncSession, actor: Actor, suppression_id: UUID
) -> Suppression:
    """Delete a suppression and refresh the affected leads."""
    row = await session.scalar(
        select(Suppression)
        .where(Suppression.id == suppression_id, Suppression.tenant_id == actor.tenant_id)
        .with_for_update()
    )
    if row is None:
        raise NotFound(f"There is no suppression {suppression_id}.")
    if row.value is None and not actor.role.includes(Role.ADMIN):
        raise NotAllowed("This suppression protects an erased person. Only an admin can remove it.")
    touched = await _find_domain_ids(session, actor, [suppression_id])
    told_of = await find_suppressed_businesses(session, actor.tenant_id, [suppression_id])
    await session.delete(row)
    await session.flush()
    details = {"kind": row.kind, "value": row.value, "erased": row.value is None or None}
    record(session, actor, "suppression.remove", suppression_id, **details)
    await refresh_leads(session, touched)
    await refresh_business_leads(session, told_of)
    return row
