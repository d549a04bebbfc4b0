"""When the provider refuses: what the ledger is told, and what it means for the row.

except ProviderFailed as error:
    yield refusal_of(error, charge)
    raise verdict_of(error) from error
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import Rejected, RetryLater
from scrapersky.pipeline.stage import AtOnce
from scrapersky.places.governor import SOONEST, Charge, pause, settle_charge
from scrapersky.places.ledger import providers_time
from scrapersky.scraper.providers.failures import (
    DayQuota,
    MinuteQuota,
    ProviderDown,
    ProviderFailed,
)

AFTER_TROUBLE = timedelta(seconds=10)


@dataclass(frozen=True)
class Refusal(AtOnce):
    """A charge whose request brought nothing."""

    charge: Charge
    note: str
    billed: bool
    pause_for: timedelta | None = None
    """Every worker leaves the method alone for so long: it would be refused as well."""


def refusal_of(error: ProviderFailed, charge: Charge) -> Refusal:
    return Refusal(charge, str(error), billed=error.billed, pause_for=_pause(error))


def _pause(error: ProviderFailed) -> timedelta | None:
    if isinstance(error, MinuteQuota | DayQuota):
        return _wait(error)
    return None


def _wait(error: ProviderFailed) -> timedelta | None:
    if isinstance(error, DayQuota):
        return max(error.until - datetime.now(UTC), SOONEST)
    if isinstance(error, MinuteQuota | ProviderDown) and error.retry_after_seconds is not None:
        return max(timedelta(seconds=error.retry_after_seconds), SOONEST)
    return None


def verdict_of(error: ProviderFailed, *, has_come_on: bool = False) -> Exception:
    """A failure that says nothing of when is tried again as any other, and counts as an attempt;
    but not where the work has come on since it was taken up: a long one meets a bad answer now
    and then, and each time there is less to ask."""
    if error.permanent:
        return Rejected(str(error))
    wait = _wait(error) or (AFTER_TROUBLE if has_come_on else None)
    return error if wait is None else RetryLater(str(error), after=wait)


async def store_refusal(session: AsyncSession, refusal: Refusal) -> None:
    charge = refusal.charge
    await settle_charge(session, charge.entry_id, billed=refusal.billed, note=refusal.note)
    if refusal.pause_for is not None:
        until = (await providers_time(session)).now + refusal.pause_for
        await pause(session, charge.provider, charge.method, until, refusal.note)
