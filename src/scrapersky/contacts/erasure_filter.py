"""Remove erased people from results before anything is stored.

Everything that is fetched or submitted passes `remove_erased` on its way to the database: home
pages, pages, contacts, place data from providers and imports, and user input. Only a keyed digest
of an erased value exists, so the value cannot be searched for. Instead, everything that looks like
an address or a number is extracted from the texts and its digest is compared. A match reveals the
value, and all its spellings are then masked.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast
from uuid import UUID

from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, NumberParseException, PhoneMetadata
from sqlalchemy import BigInteger, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.value_patterns import (
    ERASED_PLACEHOLDER,
    MIN_PHONE_DIGITS,
    ValuePattern,
    build_email_pattern,
    build_phone_pattern,
    build_url_pattern,
    list_spellings,
)
from scrapersky.db.erasure_key import ErasureKey, get_key_source, require_key
from scrapersky.logging import get_logger
from scrapersky.models import Suppression, SuppressionKind
from scrapersky.models.suppression import compute_digest
from scrapersky.scraper.contacts.emails import to_a_label
from scrapersky.scraper.contacts.encodings import read_at_dot
from scrapersky.scraper.contacts.model import FoundContact
from scrapersky.scraper.contacts.phone_numbers import SPACES, extract_digits, to_ascii_digits

T = TypeVar("T")
MAX_GUESSED_NUMBERS = 5_000
"""Limit per result. A number without a country code is tried in every country, which takes about
0.5 ms while the transaction waits. Numbers beyond the limit are masked, no matter whose they
are.
"""
MAX_COMBINATIONS = 500_000
"""Limit per result for combinations of adjacent digit groups that are read as numbers without a
country code. It bounds the work for repeating digits, such as those of a table.
"""
MAX_E164_DIGITS = 15
"""Maximum digits of an E.164 number."""
MAX_RUN_DIGITS = MAX_E164_DIGITS + 3
"""Maximum digits of an international number as written: `00` or `(0)` is not part of E.164."""
MAX_URL_CHARACTERS = 2_000

log = get_logger(__name__)

_REVERSED_LOCAL_PART = re.compile(r"[\w.%+'\-]{1,64}")
_DOMAIN = re.compile(r"[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,10}")
_ESCAPE_RESIDUE = re.compile(r"\A(?:%[0-9a-f]{2}|u00[0-9a-f]{2})+")
_GLUED_DIGITS = re.compile(r"\A[\d.\-]*\d{4}(?=[a-z])")
_GLUED_WORD = re.compile(r"(?<=[a-z])\.?[A-Z].*\Z", re.DOTALL)
_NUMBER = re.compile(rf"\+?\d(?:[{SPACES}\s().\-/\u00b7\u2010-\u2015]{{0,4}}\d)+")
_DIGITS = re.compile(r"\d+")
_E164 = re.compile(r"\+\d{7,15}\Z")
_DATE = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\d")


async def remove_erased(session: AsyncSession, tenant_id: UUID, result: T) -> T:
    """Return the result with all erased values masked.

    Takes a shared lock that blocks erasures until the transaction ends. To avoid deadlocks, call it
    before locking rows that an erasure changes.
    """
    erased = await load_erased(session, tenant_id)
    if not erased:
        return result
    return await asyncio.to_thread(erased.redact, result)


async def load_erased(session: AsyncSession, tenant_id: UUID) -> ErasedValues:
    """Load the tenant's erased values; raise `ErasureKeyRefused` without their key."""
    await session.execute(select(func.pg_advisory_xact_lock_shared(get_erasure_lock(tenant_id))))
    result = await session.execute(
        select(Suppression.id, Suppression.kind, Suppression.digest, Suppression.key_id).where(
            Suppression.tenant_id == tenant_id, Suppression.value.is_(None)
        )
    )
    rows = result.all()
    source = get_key_source(session)
    keys = {key_id: require_key(source, key_id) for _, _, _, key_id in rows if key_id}
    return ErasedValues(
        ids={bytes(digest): row_id for row_id, _, digest, _ in rows},
        kinds=frozenset(kind for _, kind, _, _ in rows),
        key=next(iter(keys.values()), None),
    )


def get_erasure_lock(tenant_id: UUID) -> Any:
    """Return the key of the tenant's advisory lock for erasures.

    Transactions that store results share it; an erasure holds it exclusively. So no transaction can
    store a value that was compared before it was erased.
    """
    name = hashlib.blake2b(f"erasures of {tenant_id}".encode(), digest_size=8)
    return sql_cast(int.from_bytes(name.digest(), "big", signed=True), BigInteger)


@dataclass(frozen=True)
class ErasedValues:
    """The digests of a tenant's erased values."""

    ids: Mapping[bytes, UUID]
    """Suppression ID by digest."""
    kinds: frozenset[str]
    key: ErasureKey | None
    """None if all digests come from an earlier version, which had no key."""

    def __bool__(self) -> bool:
        return bool(self.ids)

    def find(self, value: str) -> UUID | None:
        """Return the ID of the suppression if the value was erased."""
        digest = compute_digest(value)
        keyed = self.ids.get(self.key.rekey(digest)) if self.key else None
        return keyed or self.ids.get(digest)

    def redact(self, result: T) -> T:
        """Mask every erased value, and every number that could not be compared."""
        if not self:
            return result
        texts = dict.fromkeys(_list_texts(result))
        candidates = self._find_candidates(result, texts)
        numbers = _NumberGuesses(self, candidates)
        if SuppressionKind.PHONE in self.kinds:
            for text in texts:
                numbers.compare(text)
        for value, raws in candidates.raws.items():
            if self.find(value) is not None and (wording := _build_pattern(value, raws)):
                result = wording.redact(result)
        if numbers.is_exhausted:
            log.warning("numbers were masked without comparing them", compared=numbers.compared)
            result = cast(T, _map_texts(result, numbers.mask))
        return result

    def _find_candidates(self, result: Any, texts: Iterable[str]) -> _Candidates:
        candidates = _Candidates()
        for each in _list_contacts(result):
            candidates.add(each.value, each.raw)
        for text in texts:
            if text.startswith("http") and len(text) <= MAX_URL_CHARACTERS:
                candidates.add(text, text)
            if SuppressionKind.EMAIL in self.kinds:
                candidates.add_all(_find_addresses(text))
            if SuppressionKind.PHONE in self.kinds and _E164.match(text):
                candidates.add(text, text)
        return candidates

    def guess_country(self, digits: str) -> str:
        """Return the erased number that these digits form in some country.

        They are tried with and without a leading trunk prefix. Without a match, the digits are
        returned as if they included the country code.
        """
        nationals = [digits]
        if digits[0] in "018":
            nationals.append(digits[1:])
        if digits.startswith("06"):  # trunk prefix of Hungary
            nationals.append(digits[2:])
        for national in nationals:
            for code in _get_calling_codes().get(len(national), ()):
                if self.find(number := f"+{code}{national}") is not None:
                    return number
        return f"+{digits}"


@cache
def _get_calling_codes() -> Mapping[int, tuple[int, ...]]:
    """Return the calling codes by the possible lengths of their national numbers."""
    by_code: dict[int, set[int]] = {}
    for code, regions in COUNTRY_CODE_TO_REGION_CODE.items():
        for region in regions:
            plan = PhoneMetadata.metadata_for_region_or_calling_code(code, region)
            for length in plan.general_desc.possible_length if plan and plan.general_desc else ():
                by_code.setdefault(length, set()).add(code)
    return {length: tuple(sorted(codes)) for length, codes in by_code.items()}


class _NumberGuesses:
    """Compares the numbers in texts, including those without a country code.

    Only the digest of an erased number is stored, so each such number costs one digest per country.
    Their count is limited, because a hostile page can contain a million of them; numbers beyond the
    limit are masked. Texts are compared in the order of the result, so the outcome is
    deterministic.
    """

    def __init__(self, erased: ErasedValues, candidates: _Candidates) -> None:
        self._erased = erased
        self._candidates = candidates
        # Only erased numbers: others would hide an erased number of another country with the same
        # ending.
        known = (each for each in candidates.raws if _E164.match(each))
        self._known = _KnownNumbers(each for each in known if erased.find(each) is not None)
        self._guessed: dict[str, str] = {}
        self._combinations = 0
        self._compared_runs: set[str] = set()
        self.is_exhausted = False

    @property
    def compared(self) -> int:
        return len(self._guessed)

    def compare(self, text: str) -> None:
        for spelling in list_spellings(text):
            for start, end in _find_runs(spelling):
                self._compare_run(spelling[start:end], is_url=_is_url(spelling))

    def _compare_run(self, run: str, *, is_url: bool) -> None:
        for written in _read_run(run, is_url=is_url):
            if written.is_international:
                self._candidates.add(f"+{written.digits}", written.raw)
                continue
            self._combinations += 1
            if self._combinations > MAX_COMBINATIONS:
                self.is_exhausted = True
                return
            if number := self._known.find(written.digits) or self._guessed.get(written.digits):
                self._candidates.add(number, written.raw)
            elif len(self._guessed) < MAX_GUESSED_NUMBERS:
                number = self._erased.guess_country(written.digits)
                self._guessed[written.digits] = number
                self._candidates.add(number, written.raw)
            else:
                self.is_exhausted = True
                return
        if not is_url:
            self._compared_runs.add(run)

    def mask(self, text: str) -> str:
        """Replace the digit runs that were not fully compared."""
        for spelling in list_spellings(text):
            if (masked := self._mask_spelling(spelling)) != spelling:
                text = masked
        return text

    def _mask_spelling(self, text: str) -> str:
        if _is_url(text):
            return text
        parts, at = [], 0
        for start, end in _find_runs(text):
            if text[start:end] not in self._compared_runs:
                parts += [text[at:start], ERASED_PLACEHOLDER]
                at = end
        return "".join((*parts, text[at:]))


@dataclass
class _Candidates:
    """Values that may be erased, each with its spellings."""

    raws: dict[str, set[str]] = field(default_factory=dict)

    def add(self, value: str, raw: str | None) -> None:
        self.raws.setdefault(value, set()).add(raw or value)

    def add_all(self, pairs: Iterable[tuple[str, str]]) -> None:
        for value, raw in pairs:
            self.add(value, raw)


class _KnownNumbers:
    """Erased numbers that occur with their country code, to recognise them without it."""

    def __init__(self, values: Iterable[str]) -> None:
        self._by_end: dict[str, list[str]] = {}
        for each in values:
            self._by_end.setdefault(each[-MIN_PHONE_DIGITS:], []).append(each)

    def find(self, digits: str) -> str | None:
        alike = self._by_end.get(digits[-MIN_PHONE_DIGITS:], ())
        return next((each for each in alike if each.endswith(digits.lstrip("0"))), None)


@dataclass(frozen=True)
class _WrittenNumber:
    """Digits in a text that may be a phone number."""

    digits: str
    raw: str | None
    """The original spelling, if it contains more than `digits` does."""
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


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy with `change` applied to every text that `_list_texts` yields."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            change(key) if isinstance(key, str) else key: _map_texts(each, change)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(_map_texts(each, change) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        values = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        changed = {name: _map_texts(each, change) for name, each in values.items()}
        return replace(value, **changed) if changed != values else value
    return value


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


def _build_pattern(value: str, raws: Iterable[str]) -> ValuePattern | None:
    if "://" in value:
        return build_url_pattern(value)
    if "@" in value:
        return build_email_pattern(value, raws)
    try:
        return build_phone_pattern(value, raws)
    except NumberParseException:
        return None


def _find_addresses(text: str) -> Iterator[tuple[str, str]]:
    """Yield (value, spelling), including addresses with an escaped or spelled-out "@"."""
    for spelling in list_spellings(text):
        at = spelling.find("@")
        while at >= 0:
            yield from _read_address(spelling, at)
            at = spelling.find("@", at + 1)
        for match in read_at_dot(spelling):
            yield match.text, match.raw


def _read_address(text: str, at: int) -> Iterator[tuple[str, str]]:
    before = _REVERSED_LOCAL_PART.match(text[max(0, at - 64) : at][::-1])
    after = _DOMAIN.match(text[at + 1 : at + 255])
    if before is None or after is None:
        return
    local = before[0][::-1].lstrip(".%+'-")
    locals_ = {local, _ESCAPE_RESIDUE.sub("", local), _GLUED_DIGITS.sub("", local.lower())}
    domains = {after[0], _GLUED_WORD.sub("", after[0])}
    for domain in filter(None, map(to_a_label, domains)):
        for each in filter(None, locals_):
            yield f"{each.lower()}@{domain}", f"{each}@{domain}"


def _is_url(text: str) -> bool:
    return text.startswith("http")


def _find_runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of digits that are separated only by punctuation and spaces."""
    for match in _NUMBER.finditer(_DATE.sub(lambda date: "x" * len(date[0]), text)):
        yield match.span()


def _read_run(run: str, *, is_url: bool) -> Iterator[_WrittenNumber]:
    """Yield every sequence of adjacent digit groups that is long enough for a number.

    All adjacent combinations are tried, because a run may contain two numbers, or a time before a
    number. In a URL only numbers with a country code are considered: there are too many IDs to try
    them all.
    """
    numbers = (
        (each.span(), extract_digits(to_ascii_digits(each[0]))) for each in _DIGITS.finditer(run)
    )
    window: deque[tuple[tuple[int, int], str]] = deque()  # never longer than one number
    is_start = True
    while True:
        while sum(len(digits) for _, digits in window) <= MAX_RUN_DIGITS:
            if (group := next(numbers, None)) is None:
                break
            window.append(group)
        if not window:
            return
        is_international = is_start and (run.startswith("+") or window[0][1].startswith("00"))
        yield from _join_groups(run, list(window), is_start, is_url or is_international)
        if is_international and sum(len(digits) for _, digits in window) <= MAX_RUN_DIGITS:
            return  # the whole run is one number
        window.popleft()
        is_start = False


def _join_groups(
    run: str, groups: list[tuple[tuple[int, int], str]], is_start: bool, is_international: bool
) -> Iterator[_WrittenNumber]:
    """Yield the numbers that start with the first group."""
    start = 0 if is_start else groups[0][0][0]
    joined = ""
    for last, ((_, end), digits) in enumerate(groups):
        joined += digits
        bare = joined.removeprefix("00") if is_international else joined
        if len(bare) > MAX_E164_DIGITS + 1:
            return
        if len(bare) < MIN_PHONE_DIGITS:
            continue
        raw = _get_non_ascii_spelling(run[start:end])
        yield _WrittenNumber(bare, raw, is_international)
        if is_international and last > 0 and groups[1][1] in ("0", "8"):  # +49 (0)30
            code = groups[0][1].removeprefix("00")
            rest = "".join(each for _, each in groups[2 : last + 1])
            yield _WrittenNumber(code + rest, raw, True)


def _get_non_ascii_spelling(raw: str) -> str | None:
    """Return the spelling if it contains non-ASCII digits, otherwise None.

    A `ValuePattern` covers all spellings in ASCII digits. Bare digits such as `30901820` are not
    among them, because they may be any ID.
    """
    return None if all(map(str.isascii, filter(str.isdigit, raw))) else raw
