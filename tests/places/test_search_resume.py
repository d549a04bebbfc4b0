"""An interrupted search continues where it was: nothing is lost, and nothing is paid twice."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.models import Budget, CostEntry, CostMonth, Job, ProviderPause, SearchTile
from scrapersky.pipeline.stage import AnyStage
from scrapersky.places.search import execution
from scrapersky.places.search.steps import PlacesFetched
from scrapersky.places.search.store import store_step
from scrapersky.settings import Settings
from scrapersky.testing import FailureMode, PlacesProvider, scatter
from tests.places.conftest import LEIPZIG
from tests.places.searches import (
    ACTOR,
    asked,
    found,
    job_of,
    links,
    make_due,
    places,
    tiles,
    worked,
)

PAID = "text_search.enterprise"


async def spent(database: Database) -> Decimal:
    async with database.reading() as session:
        return await session.scalar(select(func.sum(CostMonth.spent_usd))) or Decimal(0)


async def set_budget(database: Database, usd: str) -> None:
    async with database.transaction() as session:
        await session.merge(
            Budget(
                tenant_id=ACTOR.tenant_id, monthly_cap_usd=Decimal(usd), changed_by=ACTOR.user_id
            )
        )


class Died(Exception):
    """As a process that is killed: what it was about to store is lost."""


def dying_at(answer: int) -> AnyStage:
    """The stage in a process that dies with so many answers paid for, and the last not stored."""
    left = answer

    async def store_or_die(session: AsyncSession, job: Job, step: Any) -> None:
        nonlocal left
        left -= isinstance(step, PlacesFetched)
        if not left:
            raise Died
        await store_step(session, job, step)

    return replace(execution.STAGE, store=store_or_die)


@pytest.mark.parametrize("answer", [1, 2, 5])
async def test_a_worker_that_dies_in_the_middle_leaves_the_rest_to_another(
    database: Database, place_settings: Settings, provider: PlacesProvider, answer: int
) -> None:
    provider.map.places = scatter(150, LEIPZIG)
    search_id = await asked(database, place_settings)
    await worked(database, place_settings, stage=dying_at(answer))
    paid, stored = provider.bill.billed[PAID], len(await places(database))
    await make_due(database)

    await worked(database, place_settings)

    job = await job_of(database, search_id)
    assert paid == answer
    assert 20 * (answer - 2) < stored <= 20 * (answer - 1)
    assert (job.status, job.error) == ("complete", None)
    assert len(await places(database)) == 150
    assert provider.bill.billed[PAID] <= 9 + 1  # only the page that was under way is asked again
    async with database.reading() as session:
        assert await session.scalar(select(func.count(CostEntry.id))) == provider.bill.billed[PAID]


async def test_a_cap_that_is_reached_in_the_middle_of_a_tile_loses_nothing_and_spends_no_more(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.map.places = scatter(150, LEIPZIG)
    costly = place_settings.model_copy(update={"google_free_requests": False})
    await set_budget(database, "0.071")  # two requests of 0.035 each

    waiting = await found(database, costly)
    after_cap = provider.bill.billed[PAID]
    had = len(await places(database))
    await set_budget(database, "10")
    await make_due(database)
    await worked(database, costly)

    job = await job_of(database, waiting.id)
    assert (waiting.status, after_cap, had) == ("pending", 2, 40)
    assert "budget is used up" in (waiting.error or "")
    assert (job.status, job.error) == ("complete", None)
    assert len(await places(database)) == 150
    assert provider.bill.billed[PAID] <= 1.2 * 8
    assert await spent(database) == Decimal("0.035") * provider.bill.billed[PAID]
    assert Decimal(str((job.result_data or {})["cost_usd"])) == await spent(database)


async def test_without_a_budget_only_what_is_free_is_asked(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    costly = place_settings.model_copy(update={"google_free_requests": False})

    job = await found(database, costly)

    assert (job.status, provider.bill.paid) == ("pending", 0)
    assert await spent(database) == 0
    assert len(await tiles(database, job.id)) == 1


async def test_a_minute_s_quota_is_waited_for_and_costs_no_attempt(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.fail(FailureMode.MINUTE_QUOTA, at=2)

    waiting = await found(database, place_settings, max_results=60)
    await make_due(database)
    await worked(database, place_settings)

    job = await job_of(database, waiting.id)
    assert (waiting.status, waiting.attempts, len(await places(database))) == ("pending", 0, 40)
    assert (job.status, provider.bill.billed[PAID]) == ("complete", 2)


async def test_a_day_s_quota_keeps_other_searches_from_asking(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.set_daily_limit("SearchText", 1)
    first = await found(database, place_settings, max_results=60)
    asked_by_then = len(provider.bill.requests)

    second = await found(database, place_settings, business_type="bakery", max_results=20)

    assert (first.status, second.status) == ("pending", "pending")
    assert len(provider.bill.requests) == asked_by_then
    assert "until" in (second.error or "")
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(ProviderPause)) == 1
    assert len(await links(database, first.id)) == 20


@pytest.mark.parametrize("trouble", [FailureMode.KEY_INVALID, FailureMode.BILLING_OFF])
async def test_a_key_that_is_refused_ends_the_search_with_a_sentence_and_costs_nothing(
    database: Database, place_settings: Settings, provider: PlacesProvider, trouble: FailureMode
) -> None:
    provider.fail(trouble, times=None)

    job = await found(database, place_settings, max_results=60)

    assert (job.status, provider.bill.paid) == ("failed", 0)
    assert job.error
    assert place_settings.google_places_api_key not in job.error
    assert await spent(database) == 0


@pytest.mark.parametrize(
    "trouble", [FailureMode.SERVER_ERROR, FailureMode.WEB_PAGE, FailureMode.NOT_JSON]
)
async def test_a_provider_that_is_down_for_a_moment_is_asked_again(
    database: Database, place_settings: Settings, provider: PlacesProvider, trouble: FailureMode
) -> None:
    provider.fail(trouble)

    waiting = await found(database, place_settings, max_results=60)
    await make_due(database)
    await worked(database, place_settings)

    job = await job_of(database, waiting.id)
    assert (waiting.attempts, job.status) == (1, "complete")
    assert len(await places(database)) == 40


async def test_a_page_token_that_is_too_old_makes_the_tile_begin_once_more(
    database: Database, place_settings: Settings, provider: PlacesProvider
) -> None:
    provider.fail(FailureMode.MINUTE_QUOTA, at=2)
    waiting = await found(database, place_settings, max_results=60)
    async with database.transaction() as session:
        row = (await session.scalars(select(SearchTile))).one()
        row.next_token = "long forgotten"
    await make_due(database)

    await worked(database, place_settings)

    job = await job_of(database, waiting.id)
    (whole,) = await tiles(database, job.id)
    assert (job.status, whole.asked_again, whole.state) == ("complete", True, "done")
    assert len(await places(database)) == 40


async def test_a_search_whose_time_is_up_goes_on_in_the_next_turn(
    database: Database,
    place_settings: Settings,
    provider: PlacesProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider.map.places = scatter(150, LEIPZIG)
    with monkeypatch.context() as patch:
        patch.setattr(execution, "TIME_BUDGET_SHARE", 0.0)
        waiting = await found(database, place_settings)
    looked_at = len(await tiles(database, waiting.id))
    await make_due(database)

    await worked(database, place_settings)

    assert "the search resumes shortly" in (waiting.error or "")
    assert (waiting.status, waiting.attempts) == ("pending", 0)
    assert looked_at
    assert (await job_of(database, waiting.id)).status == "complete"
