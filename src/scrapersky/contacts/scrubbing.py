"""Take an address or a number out of whatever a tenant's rows say, in any of its spellings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID

import idna
from phonenumbers import PhoneNumberFormat, format_number, parse
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    SQLColumnExpression,
    Text,
    cast,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import Base
from scrapersky.models import ApiKey, IdempotencyKey, Suppression, Tenant, User

ERASED = "[erased]"
NOT_SCRUBBED: tuple[type[Base], ...] = (Tenant, User, ApiKey, Suppression)
"""Accounts are no contacts, although somebody may be called like one."""
KEPT_COLUMNS = frozenset({"url", "value", "kind", "id"})
"""What a row is known by: URLs are a site's own words, and other contacts are other people's."""
SHORTEST_RAW = 16
"""What a page hid an address in is looked for only where it cannot be a plain word."""
FEWEST_DIGITS = 7

_BEFORE_EMAIL = r"(?:(?<![\w.+'\-])|(?<=%[0-9A-Fa-f]{2}))"
_AFTER_EMAIL = r"(?![\w\-])(?!\.\w)"
_BEFORE_NUMBER, _AFTER_NUMBER = r"(?<![\d+])", r"(?!\d)"


@dataclass(frozen=True)
class Wording:
    """All the ways one value may be written."""

    spellings: tuple[str, ...]
    pattern: re.Pattern[str]

    def stands_in(self, column: SQLColumnExpression[str]) -> ColumnElement[bool]:
        """Roughly; the pattern decides."""
        return or_(*(column.icontains(each, autoescape=True) for each in self.spellings))

    def is_in(self, text: str) -> bool:
        return self.pattern.search(text) is not None

    def out_of(self, value: Any) -> Any:
        """The same without it: from lists and objects what holds it goes, in texts it is blotted
        out."""
        if isinstance(value, str):
            return self.pattern.sub(ERASED, value)
        if isinstance(value, list):
            return [self.out_of(each) for each in value if not self._is_all_of(each)]
        if isinstance(value, dict):
            return {
                key: self.out_of(each)
                for key, each in value.items()
                if not self._is_all_of(each) and not self.is_in(key)
            }
        return value

    def _is_all_of(self, value: Any) -> bool:
        """Or so much of it that the rest says nothing, as of a link."""
        if not isinstance(value, str):
            return False
        bare = value.strip()
        return bool(self.pattern.fullmatch(bare)) or (" " not in bare and self.is_in(bare))


def email_wording(address: str, raws: Iterable[str]) -> Wording:
    local, _, domain = address.partition("@")
    plain = {address, f"{local}%40{domain}", f"{local}@{_readable(domain)}", quote(address)}
    said = {each.strip() for each in raws if _tells_address(each, local, domain)}
    return _wording(plain | said, _BEFORE_EMAIL, _AFTER_EMAIL)


def _readable(domain: str) -> str:
    try:
        return str(idna.decode(domain))
    except (idna.IDNAError, UnicodeError):
        return domain


def _tells_address(raw: str, local: str, domain: str) -> bool:
    """`kontakt` alone would be blotted out of half of all texts."""
    bare = raw.strip().lower()
    spelled_out = local in bare and domain.partition(".")[0] in bare
    return spelled_out or (len(bare) >= SHORTEST_RAW and not any(map(str.isspace, bare)))


def phone_wording(number: str, raws: Iterable[str]) -> Wording:
    parsed = parse(number)
    formats = (PhoneNumberFormat.INTERNATIONAL, PhoneNumberFormat.NATIONAL)
    written = {format_number(parsed, each) for each in formats}
    plain = {number, number.removeprefix("+"), *written, *map(_digits, written)}
    said = {each.strip() for each in raws if len(_digits(each)) >= FEWEST_DIGITS}
    return _wording(plain | said, _BEFORE_NUMBER, _AFTER_NUMBER)


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _wording(spellings: Iterable[str], before: str, after: str) -> Wording:
    longest_first = sorted({each for each in spellings if each}, key=len, reverse=True)
    either = "|".join(map(re.escape, longest_first))
    pattern = re.compile(f"{before}(?:{either}){after}", re.IGNORECASE)
    return Wording(tuple(longest_first), pattern)


async def scrub(session: AsyncSession, tenant_id: UUID, wording: Wording) -> dict[str, set[Any]]:
    """Of every table with rows of the tenant: the first key of those that said it."""
    changed = {
        model.__tablename__: await _scrub_table(session, model, tenant_id, wording)
        for model in _tables()
    }
    return {name: keys for name, keys in changed.items() if keys}


def _tables() -> Iterator[Any]:
    """Those that are not there yet are found by themselves."""
    for mapper in sorted(Base.registry.mappers, key=lambda each: each.class_.__name__):
        model = mapper.class_
        if hasattr(model, "tenant_id") and model not in NOT_SCRUBBED and any(_columns(model)):
            yield model


def _columns(model: Any) -> Iterator[Any]:
    for column in model.__table__.columns:
        listed = isinstance(column.type, ARRAY) and isinstance(column.type.item_type, Text)
        said = isinstance(column.type, Text | JSONB) or listed
        if said and column.name not in KEPT_COLUMNS and not column.primary_key:
            yield getattr(model, column.key)


def _as_text(column: Any) -> Any:
    if isinstance(column.type, ARRAY):
        return func.array_to_string(column, " ")
    return cast(column, Text) if isinstance(column.type, JSONB) else column


async def _scrub_table(
    session: AsyncSession, model: Any, tenant_id: UUID, wording: Wording
) -> set[Any]:
    columns = list(_columns(model))
    keys = [getattr(model, each.name) for each in model.__table__.primary_key]
    found = await session.execute(
        select(*keys, *columns).where(
            model.tenant_id == tenant_id,
            or_(*(wording.stands_in(_as_text(each)) for each in columns)),
        )
    )
    changed: set[Any] = set()
    for row in found.all():
        mine, said = row[: len(keys)], row[len(keys) :]
        if better := _changes(columns, said, wording):
            same = [key == value for key, value in zip(keys, mine, strict=True)]
            statement = update(model).where(*same).values(**better)
            await session.execute(statement.execution_options(synchronize_session=False))
            changed.add(mine[0])
    return changed


def _changes(columns: Sequence[Any], said: Sequence[Any], wording: Wording) -> dict[str, Any]:
    both = (
        (each.key, value, wording.out_of(value)) for each, value in zip(columns, said, strict=True)
    )
    return {name: after for name, before, after in both if after != before}


async def forget_answers(session: AsyncSession, tenant_id: UUID, wording: Wording) -> int:
    """Answers kept to be repeated are not repeated if they say it."""
    body: Any = func.encode(IdempotencyKey.body, "escape")
    forgotten = await session.execute(
        update(IdempotencyKey)
        .where(IdempotencyKey.tenant_id == tenant_id, wording.stands_in(body))
        .values(body=None)
        .execution_options(synchronize_session=False)
    )
    return int(getattr(forgotten, "rowcount", 0))
