"""The throughput chart and its data: zeros are shown, and numbers are readable as text."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import func

from scrapersky.dashboard.charts import CHART_HEIGHT, Series, build_stacked_bars, get_axis_maximum
from scrapersky.dashboard.overview import page as keeping
from scrapersky.dashboard.overview.page import SingleFlightCache
from scrapersky.dashboard.overview.throughput import ChartPeriod
from scrapersky.db.session import Database
from scrapersky.models.stage_names import METADATA_STAGE, PAGE_STAGE
from scrapersky.pipeline.tables import StageEvent
from scrapersky.stages import STAGES
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.contacts.rows import a_domain, stored

CELL = re.compile(r'<td class="number">([^<]*)</td>')


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


def table_of(page: str) -> list[list[str]]:
    """The chart's numbers, the newest line first."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [CELL.findall(line) for line in body.split("<tr>")[1:]]


@pytest.mark.parametrize(
    ("highest", "top"), [(0, 4), (3, 4), (5, 6), (10, 10), (11, 20), (37, 40), (81_234, 100_000)]
)
def test_the_axis_ends_at_an_even_round_number(highest: int, top: int) -> None:
    assert get_axis_maximum(highest) == top


def test_bars_stand_on_each_other_and_say_what_they_mean() -> None:
    drawn = build_stacked_bars(
        [Series("a", "Apples", (0, 2)), Series("b", "Pears", (0, 1))], ["before", "now"]
    )

    empty, full = drawn.columns
    assert (empty.bars, empty.says) == ((), "before: nothing")
    assert full.says == "now: Apples 2, Pears 1"
    apples, pears = full.bars
    assert apples.y + apples.height == CHART_HEIGHT
    assert pears.y + pears.height == apples.y
    assert apples.height == 2 * pears.height
    assert drawn.ticks == (4, 2, 0)
    assert {each.colour for each in full.bars} == {0, 1}


def column_of(stage: str) -> int:
    return [each.name for each in STAGES].index(stage)


@pytest.mark.parametrize("over", ChartPeriod)
async def test_every_bucket_is_there_and_holds_a_zero_where_nothing_was_done(
    client: httpx.AsyncClient, database: Database, over: ChartPeriod
) -> None:
    size = over.bucket
    async with database.transaction() as session:
        for stage, count, ago in (
            (METADATA_STAGE, 5, timedelta()),
            (METADATA_STAGE, 1_000, size * 3),
            (PAGE_STAGE, 7, size * 3),
            (PAGE_STAGE, 9_999, size * (over.buckets + 31)),
        ):
            session.add(StageEvent(stage=stage, kind="completed", rows=count, at=func.now() - ago))

    page = (await client.get("/", params={"over": over})).text
    rows = table_of(page)
    assert len(rows) == over.buckets
    assert {len(each) for each in rows} == {len(STAGES)}
    metadata, pages = (column_of(each) for each in (METADATA_STAGE, PAGE_STAGE))
    # A bucket may have ended since the rows were stored.
    first = next(place for place, row in enumerate(rows) if row[metadata] == "5")
    assert first <= 1
    assert (rows[first + 3][metadata], rows[first + 3][pages]) == ("1,000", "7")
    assert rows[first + 3].count("0") == len(STAGES) - 2
    filled = {first, first + 3}
    assert all(set(row) == {"0"} for place, row in enumerate(rows) if place not in filled)
    assert f'href="?over={over}" aria-current="true"' in page
    assert f"Over the last {over}: Search places 0," in page
    assert ", Read home pages 1,005," in page
    assert "9,999" not in page


async def test_another_span_than_these_is_refused_on_a_page(client: httpx.AsyncClient) -> None:
    answer = await client.get("/", params={"over": "year"})
    assert answer.status_code == 422
    assert "over" in answer.text


async def test_a_tenant_sees_what_it_got_over_time(url: str, database: Database) -> None:
    other = await add_tenant(database, "other")
    _, key = await add_key(database, other)
    owned = {"tenant_id": other.tenant_id, "created_by": other.user_id}
    await stored(database, a_domain("theirs.example", **owned), a_domain("ours.example"))

    async with asking(signed_in_settings(url), key) as client:
        rows = table_of((await client.get("/")).text)
    assert len(rows) == ChartPeriod.DAY.buckets
    assert [sum(map(int, column)) for column in zip(*rows, strict=True)] == [1, 0, 0, 0, 1]


async def test_of_those_who_ask_at_once_one_finds_out() -> None:
    keeper, asked = SingleFlightCache[int](), 0

    async def find() -> int:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.05)
        return asked

    found = await asyncio.gather(*(keeper.get("same", find) for _ in range(5)))
    assert (found, asked) == ([1] * 5, 1)
    assert await keeper.get("other", find) == 2


async def test_an_answer_is_not_kept_for_longer_than_it_is_worth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "MAX_TTL_SECONDS", 0.0)
    keeper, answers = SingleFlightCache[int](), iter(range(9))

    async def find() -> int:
        return next(answers)

    async def fail() -> int:
        raise ValueError("The database is away.")

    assert [await keeper.get("key", find), await keeper.get("key", find)] == [0, 1]
    with pytest.raises(ValueError, match="away"):
        await keeper.get("key", fail)
    assert await keeper.get("key", find) == 2
