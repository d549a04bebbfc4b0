"""Whom not to write to: addresses, numbers and domains that are in no export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import func, or_, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.values import kind_of, suppressed_value
from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput, NotAllowed, NotFound
from scrapersky.harvest.erasure_filter import ErasedValues, load_erased
from scrapersky.harvest.leads import refresh_leads, refresh_leads_of_businesses
from scrapersky.harvest.leads_told import businesses_suppressed
from scrapersky.harvest.spellings import ERASED
from scrapersky.harvest.suppressing import digest_of
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

Key = tuple[str, bytes]
"""Kind and digest: what tells suppressions of a tenant apart."""
AT_ONCE = 1_000
"""Rows of one statement: its parameters are limited."""


@dataclass(frozen=True)
class Wanted:
    value: str
    kind: SuppressionKind | None = None
    """Left out: what the value looks like."""
    reason: str | None = None


class Outcome(StrEnum):
    ADDED = "added"
    ALREADY_THERE = "already_there"
    REFUSED = "refused"


@dataclass(frozen=True)
class Line:
    """What came of one that was given."""

    given: str
    outcome: Outcome
    kind: SuppressionKind | None = None
    value: str | None = None
    reason: str | None = None
    error: str | None = None
    id: UUID | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether there is something to store, or to be found stored."""
        return self.outcome is not Outcome.REFUSED and self.value is not None

    @property
    def key(self) -> Key:
        return str(self.kind), digest_of(self.value or "")


async def suppress(session: AsyncSession, actor: Actor, wanted: Sequence[Wanted]) -> list[Line]:
    """Each on its own: one that cannot be does not keep the others from it. Who was erased is
    suppressed already, and is not written down again."""
    erased = await load_erased(session, actor.tenant_id)
    lines = [_without_erased(_read(each), erased) for each in wanted]
    made: dict[Key, UUID] = {}
    known: dict[Key, UUID] = {}
    for part in _parts([each for each in lines if each.is_wanted]):
        new = await _insert(session, actor, part)
        made |= new
        known |= await _ids(session, actor, [each for each in part if each.key not in new])
        await refresh_leads(session, await _domains_of(session, actor, list(new.values())))
        told_of = await businesses_suppressed(session, actor.tenant_id, list(new.values()))
        await refresh_leads_of_businesses(session, told_of)
    ended = list(_ended(lines, made, known))
    _note(session, actor, ended)
    return ended


def _ended(
    lines: Sequence[Line], made: Mapping[Key, UUID], known: Mapping[Key, UUID]
) -> Iterator[Line]:
    """Of a value that was given twice only the first is new."""
    fresh = set(made)
    for line in lines:
        if not line.is_wanted:
            yield line
            continue
        outcome = Outcome.ADDED if line.key in fresh else Outcome.ALREADY_THERE
        fresh.discard(line.key)
        yield replace(line, id=made.get(line.key) or known.get(line.key), outcome=outcome)


def _read(wanted: Wanted) -> Line:
    try:
        kind = wanted.kind or kind_of(wanted.value)
        value = suppressed_value(kind, wanted.value)
    except InvalidInput as error:
        return Line(wanted.value, Outcome.REFUSED, wanted.kind, error=str(error))
    return Line(wanted.value, Outcome.ALREADY_THERE, kind, value, wanted.reason)


def _without_erased(line: Line, erased: ErasedValues) -> Line:
    known = erased.find(line.value) if line.value is not None else None
    if known is not None:
        return Line(ERASED, Outcome.ALREADY_THERE, line.kind, id=known)
    return replace(line, reason=erased.remove_from(line.reason)) if line.reason else line


def _parts(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Each once, and in one order, so that two lists at once do not wait for each other."""
    different = {each.key: each for each in reversed(lines)}
    ordered = [different[key] for key in sorted(different)]
    for start in range(0, len(ordered), AT_ONCE):
        yield ordered[start : start + AT_ONCE]


async def _insert(session: AsyncSession, actor: Actor, lines: Sequence[Line]) -> dict[Key, UUID]:
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
    made = await session.execute(
        insert(Suppression)
        .values(rows)
        .on_conflict_do_nothing(
            index_elements=[Suppression.tenant_id, Suppression.kind, Suppression.digest]
        )
        .returning(Suppression.kind, Suppression.digest, Suppression.id)
    )
    return {(kind, bytes(digest)): row_id for kind, digest, row_id in made}


async def _ids(session: AsyncSession, actor: Actor, lines: Sequence[Line]) -> dict[Key, UUID]:
    if not lines:
        return {}
    found = await session.execute(
        select(Suppression.kind, Suppression.digest, Suppression.id).where(
            Suppression.tenant_id == actor.tenant_id,
            tuple_(Suppression.kind, Suppression.digest).in_([each.key for each in lines]),
        )
    )
    return {(kind, bytes(digest)): row_id for kind, digest, row_id in found}


async def _domains_of(session: AsyncSession, actor: Actor, ids: Sequence[UUID]) -> set[UUID]:
    """The domains with contacts that these suppressions are about."""
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
                (Contact.kind == ContactKind.EMAIL) & _is_under(host, Suppression.value),
                _is_under(Domain.domain, Suppression.value),
            ),
        )
    )
    return {*await session.scalars(by_value), *await session.scalars(by_domain)}


def _is_under(host: Any, domain: Any) -> Any:
    return or_(host == domain, host.endswith("." + domain))


def _note(session: AsyncSession, actor: Actor, lines: Sequence[Line]) -> None:
    added = [each for each in lines if each.outcome is Outcome.ADDED]
    if len(added) == 1:
        [only] = added
        record(session, actor, "suppression.add", only.id, kind=str(only.kind), value=only.value)
    elif added:
        record(session, actor, "suppression.add", None, added=len(added))


async def lift(session: AsyncSession, actor: Actor, suppression_id: UUID) -> Suppression:
    """What it named is in exports again."""
    found = await session.scalar(
        select(Suppression)
        .where(Suppression.id == suppression_id, Suppression.tenant_id == actor.tenant_id)
        .with_for_update()
    )
    if found is None:
        raise NotFound(f"There is no suppression {suppression_id}.")
    if found.value is None and not actor.role.includes(Role.ADMIN):
        raise NotAllowed("It keeps an erased person from coming back; only an admin may remove it.")
    touched = await _domains_of(session, actor, [suppression_id])
    told_of = await businesses_suppressed(session, actor.tenant_id, [suppression_id])
    await session.delete(found)
    await session.flush()
    said = {"kind": found.kind, "value": found.value, "erased": found.value is None or None}
    record(session, actor, "suppression.remove", suppression_id, **said)
    await refresh_leads(session, touched)
    await refresh_leads_of_businesses(session, told_of)
    return found
