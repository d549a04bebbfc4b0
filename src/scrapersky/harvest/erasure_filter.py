"""Take erased people out of whatever was read, before any of it is stored.

Everything that is read or handed in passes `remove_erased` on its way to the database: home pages,
pages, contacts, what providers and lists say of a place, what people type. Of an erased value only
a keyed digest is known, so it cannot be searched for: whatever looks like an address or a number is
read out of the texts, and its digest is compared. Once a value is recognised it is known, and all
its spellings are masked.
"""

from __future__ import annotations

import asyncio
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import unquote
from uuid import UUID

from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, NumberParseException
from sqlalchemy import BigInteger, cast, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.erasure_key import ErasureKey, get_key_source, refuse_other_key
from scrapersky.harvest.spellings import (
    FEWEST_DIGITS,
    Wording,
    email_wording,
    phone_wording,
    url_wording,
)
from scrapersky.harvest.suppressing import digest_of
from scrapersky.models import Suppression, SuppressionKind
from scrapersky.scraper.contact_finder import FoundContact
from scrapersky.scraper.contact_finder.cloaks.at_dot import read_at_dot
from scrapersky.scraper.contact_finder.emails import a_label
from scrapersky.scraper.contact_finder.phone_numbers import SPACES, digits_of, plain

T = TypeVar("T")
MAX_GUESSED_NUMBERS = 2_000
"""Of one result: a number without its country is tried in every country, which takes about 1 ms."""
MOST_DIGITS = 15
"""Of an E.164 number."""
LONGEST_URL = 2_000
CALLING_CODES = tuple(sorted(COUNTRY_CODE_TO_REGION_CODE))

_LOCAL_BACKWARDS = re.compile(r"[\w.%+'\-]{1,64}")
_DOMAIN = re.compile(r"[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,10}")
_ESCAPE_REMAINS = re.compile(r"\A(?:%[0-9a-f]{2}|u00[0-9a-f]{2})+")
_GLUED_DIGITS = re.compile(r"\A[\d.\-]*\d{4}(?=[a-z])")
_GLUED_WORD = re.compile(r"(?<=[a-z])\.?[A-Z].*\Z", re.DOTALL)
_NUMBER = re.compile(rf"\+?\d(?:[{SPACES}\s().\-/\u00b7\u2010-\u2015]{{0,4}}\d)+")
_DIGITS = re.compile(r"\d+")
_E164 = re.compile(r"\+\d{7,15}\Z")
_DATE = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\d")


async def remove_erased(session: AsyncSession, tenant_id: UUID, result: T) -> T:
    """The same without anybody who was erased. Nobody is erased from here to the transaction's
    end, so call it before rows are locked that an erasure changes."""
    erased = await load_erased(session, tenant_id)
    if not erased:
        return result
    return await asyncio.to_thread(erased.remove_from, result)


async def load_erased(session: AsyncSession, tenant_id: UUID) -> ErasedValues:
    """What the tenant erased; `ErasureKeyRefused` where it could not be recognised."""
    await session.execute(select(func.pg_advisory_xact_lock_shared(get_erasure_lock(tenant_id))))
    found = await session.execute(
        select(Suppression.id, Suppression.kind, Suppression.digest, Suppression.key_id).where(
            Suppression.tenant_id == tenant_id, Suppression.value.is_(None)
        )
    )
    rows = found.all()
    source = get_key_source(session)
    keys = {key_id: refuse_other_key(source, key_id) for _, _, _, key_id in rows if key_id}
    return ErasedValues(
        ids={bytes(digest): row_id for row_id, _, digest, _ in rows},
        kinds=frozenset(kind for _, kind, _, _ in rows),
        key=next(iter(keys.values()), None),
    )


def get_erasure_lock(tenant_id: UUID) -> Any:
    """Advisory lock: shared by those who store what was read, held alone by whoever erases. So
    nobody stores a value that was compared before it was erased."""
    name = hashlib.blake2b(f"erasures of {tenant_id}".encode(), digest_size=8)
    return cast(int.from_bytes(name.digest(), "big", signed=True), BigInteger)


@dataclass(frozen=True)
class ErasedValues:
    """The digests of a tenant's erased values."""

    ids: Mapping[bytes, UUID]
    """Of the suppression, by digest."""
    kinds: frozenset[str]
    key: ErasureKey | None
    """None where all digests are of an earlier version, which had no key."""

    def __bool__(self) -> bool:
        return bool(self.ids)

    def find(self, value: str) -> UUID | None:
        """The suppression of a value that was erased."""
        keyed = self.ids.get(self.key.get_digest(value)) if self.key else None
        return keyed or self.ids.get(digest_of(value))

    def remove_from(self, result: T) -> T:
        if not self:
            return result
        for wording in self._find_wordings(result):
            result = wording.out_of(result)
        return result

    def _find_wordings(self, result: Any) -> list[Wording]:
        texts = set(_list_texts(result))
        candidates = _Candidates()
        for each in _list_contacts(result):
            candidates.add(each.value, each.raw)
        for text in texts:
            if text.startswith("http") and len(text) <= LONGEST_URL:
                candidates.add(text, text)
            if SuppressionKind.EMAIL in self.kinds:
                candidates.add_all(_find_addresses(text))
        if SuppressionKind.PHONE in self.kinds:
            self._add_numbers(candidates, texts)
        return [
            wording
            for value, raws in candidates.raws.items()
            if self.find(value) is not None and (wording := _make_wording(value, raws))
        ]

    def _add_numbers(self, candidates: _Candidates, texts: Iterable[str]) -> None:
        for text in texts:
            if _E164.match(text):
                candidates.add(text, text)
        known = _KnownNumbers(candidates.raws)
        tried: dict[str, str | None] = {}
        for written in {each for text in texts for each in _find_numbers(text)}:
            if written.is_international:
                candidates.add(f"+{written.digits}", written.raw)
            elif number := known.find(written.digits):
                candidates.add(number, written.raw)
            elif written.digits in tried or len(tried) < MAX_GUESSED_NUMBERS:
                if written.digits not in tried:
                    tried[written.digits] = self._guess_country(written.digits)
                if found := tried[written.digits]:
                    candidates.add(found, written.raw)

    def _guess_country(self, digits: str) -> str | None:
        """The erased number that these digits are in some country, with or without the digit that
        is dialled before it there."""
        spellings = {digits, digits[1:] if digits[0] in "018" else digits}
        spellings |= {digits[2:]} if digits.startswith("06") else set()
        for national in spellings:
            for code in CALLING_CODES:
                if self.find(number := f"+{code}{national}") is not None:
                    return number
        return f"+{digits}"


@dataclass
class _Candidates:
    """Values that may be erased ones, each with how it is written."""

    raws: dict[str, set[str]] = field(default_factory=dict)

    def add(self, value: str, raw: str | None) -> None:
        self.raws.setdefault(value, set()).add(raw or value)

    def add_all(self, found: Iterable[tuple[str, str]]) -> None:
        for value, raw in found:
            self.add(value, raw)


class _KnownNumbers:
    """Numbers of which the country is known, to recognise them where it is not written."""

    def __init__(self, values: Iterable[str]) -> None:
        self._by_end: dict[str, list[str]] = {}
        for each in values:
            if _E164.match(each):
                self._by_end.setdefault(each[-FEWEST_DIGITS:], []).append(each)

    def find(self, digits: str) -> str | None:
        alike = self._by_end.get(digits[-FEWEST_DIGITS:], ())
        return next((each for each in alike if each.endswith(digits.lstrip("0"))), None)


@dataclass(frozen=True)
class _Written:
    """Digits of a text that may be a number."""

    digits: str
    raw: str | None
    """As written, where that tells more than its digits."""
    is_international: bool


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, Enum):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from _list_texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _list_texts(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _list_texts(getattr(value, each.name))


def _list_contacts(value: Any) -> Iterator[FoundContact]:
    if isinstance(value, FoundContact):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _list_contacts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _list_contacts(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _list_contacts(getattr(value, each.name))


def _make_wording(value: str, raws: Iterable[str]) -> Wording | None:
    if "://" in value:
        return url_wording(value)
    if "@" in value:
        return email_wording(value, raws)
    try:
        return phone_wording(value, raws)
    except NumberParseException:
        return None


def _find_addresses(text: str) -> Iterator[tuple[str, str]]:
    """(value, as written), also where the "@" is escaped or spelled out."""
    spellings = {text}
    if "%" in text:
        spellings.add(unquote(text))
    if "&" in text:
        spellings.add(html.unescape(text))
    for spelling in spellings:
        at = spelling.find("@")
        while at >= 0:
            yield from _read_address(spelling, at)
            at = spelling.find("@", at + 1)
    for found in read_at_dot(text):
        yield found.text, found.raw


def _read_address(text: str, at: int) -> Iterator[tuple[str, str]]:
    before = _LOCAL_BACKWARDS.match(text[max(0, at - 64) : at][::-1])
    after = _DOMAIN.match(text[at + 1 : at + 255])
    if before is None or after is None:
        return
    local = before[0][::-1].lstrip(".%+'-")
    locals_ = {local, _ESCAPE_REMAINS.sub("", local), _GLUED_DIGITS.sub("", local.lower())}
    domains = {after[0], _GLUED_WORD.sub("", after[0])}
    for domain in filter(None, map(a_label, domains)):
        for each in filter(None, locals_):
            yield f"{each.lower()}@{domain}", f"{each}@{domain}"


def _find_numbers(text: str) -> Iterator[_Written]:
    """Every run of digit groups with as many digits as a number may have. Groups of two numbers
    in a row, or of an hour before a number, are tried in all neighbourly combinations. In a URL
    a number has its country, or it is some id of which there are too many to be tried."""
    is_url = text.startswith("http")
    for match in _NUMBER.finditer(_DATE.sub(lambda date: "x" * len(date[0]), text)):
        run = match[0]
        groups = [(each.start(), each.end()) for each in _DIGITS.finditer(run)]
        digits = [digits_of(plain(run[start:end])) for start, end in groups]
        is_international = run.startswith("+") or digits[0].startswith("00")
        is_one = is_international and sum(map(len, digits)) <= MOST_DIGITS + 3
        for first in range(1 if is_one else len(groups)):
            has_country = is_url or (is_international and first == 0)
            yield from _join_groups(run, groups, digits, first, has_country)


def _join_groups(
    run: str, groups: list[tuple[int, int]], digits: list[str], first: int, is_international: bool
) -> Iterator[_Written]:
    start = 0 if first == 0 else groups[first][0]
    joined = ""
    for last in range(first, len(groups)):
        joined += digits[last]
        bare = joined.removeprefix("00") if is_international else joined
        if len(bare) > MOST_DIGITS + 1:
            return
        if len(bare) < FEWEST_DIGITS:
            continue
        raw = _keep_foreign_digits(run[start : groups[last][1]])
        yield _Written(bare, raw, is_international)
        if is_international and last > first and digits[first + 1] in ("0", "8"):  # +49 (0)30
            code = digits[first].removeprefix("00")
            yield _Written(code + "".join(digits[first + 2 : last + 1]), raw, True)


def _keep_foreign_digits(raw: str) -> str | None:
    """A wording knows all ways to write a number in ASCII digits; `30901820` alone is none of
    them, for it may be any id."""
    return None if all(map(str.isascii, filter(str.isdigit, raw))) else raw
