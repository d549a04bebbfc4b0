"""The fake provider rejects, pages, omits and bills like the real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import aiohttp
import pytest

from scrapersky.scraper.providers import Area
from scrapersky.testing import (
    DEMO_KEY,
    FailureMode,
    FakeArea,
    FakePlace,
    PlacesProvider,
    ProviderService,
    scatter,
)
from tests.waiting import PATIENCE_SECONDS

LEIPZIG = Area(51.24, 12.20, 51.44, 12.55)
HEADERS = {"X-Goog-Api-Key": DEMO_KEY, "X-Goog-FieldMask": "places.id,nextPageToken"}
PLUMBER = FakePlace(
    name="Rohrfrei",
    latitude=51.3,
    longitude=12.4,
    types=("plumber",),
    category="Plumber",
    is_service_area=True,
)


@pytest.fixture
async def provider() -> AsyncIterator[PlacesProvider]:
    places = (*scatter(65, LEIPZIG), PLUMBER)
    async with PlacesProvider(places, [FakeArea("Leipzig", LEIPZIG)]) as opened:
        yield opened


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


class Asking:
    """Requests as anybody could send them."""

    def __init__(self, provider: PlacesProvider, client: aiohttp.ClientSession) -> None:
        self._provider = provider
        self._client = client

    async def search(
        self, headers: dict[str, str] = HEADERS, **body: Any
    ) -> tuple[int, dict[str, Any]]:
        url = f"{self._provider.google_url}/v1/places:searchText"
        async with self._client.post(url, json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def details(self, place_id: str, mask: str = "id") -> tuple[int, dict[str, Any]]:
        url = f"{self._provider.google_url}/v1/places/{place_id}"
        headers = {"X-Goog-Api-Key": DEMO_KEY, "X-Goog-FieldMask": mask}
        async with self._client.get(url, headers=headers) as answer:
            return answer.status, await answer.json()


@pytest.fixture
def asking(provider: PlacesProvider, client: aiohttp.ClientSession) -> Asking:
    return Asking(provider, client)


async def test_only_what_the_mask_names_is_told(asking: Asking) -> None:
    headers = {**HEADERS, "X-Goog-FieldMask": "places.displayName.text,places.rating"}

    _, answer = await asking.search(headers, textQuery="bakery in Leipzig")

    assert all(set(each) == {"displayName", "rating"} for each in answer["places"])
    assert all(set(each["displayName"]) == {"text"} for each in answer["places"])
    assert "nextPageToken" not in answer, "who does not ask for it is not told that there is more"


async def test_pages_of_twenty_end_at_sixty(asking: Asking) -> None:
    sizes, token = [], None
    for _ in range(3):
        more: dict[str, Any] = {"pageToken": token} if token else {}
        _, answer = await asking.search(textQuery="bakery in Leipzig", **more)
        sizes.append(len(answer["places"]))
        token = answer.get("nextPageToken")

    assert sizes == [20, 20, 20]
    assert token is None


async def test_nothing_found_is_an_empty_document(asking: Asking) -> None:
    assert await asking.search(textQuery="bakery in Atlantis") == (200, {})


async def test_a_town_in_the_text_and_an_area_keep_to_both(asking: Asking) -> None:
    corner = {"latitude": 48, "longitude": 11}
    around_munich = {"low": corner, "high": {"latitude": 49, "longitude": 12}}
    far = await asking.search(
        textQuery="bakery in Leipzig", locationRestriction={"rectangle": around_munich}
    )
    _, near = await asking.search(
        textQuery="bakery in Leipzig", locationRestriction={"rectangle": BOX}
    )

    assert far == (200, {})
    assert len(near["places"]) == 20


async def test_those_without_an_address_are_hidden_unless_asked_for(asking: Asking) -> None:
    assert await asking.search(textQuery="plumbers in Leipzig") == (200, {})

    _, answer = await asking.search(
        textQuery="plumbers in Leipzig", includePureServiceAreaBusinesses=True
    )

    assert answer == {"places": [{"id": PLUMBER.place_id}]}


BOX = {"low": {"latitude": 51, "longitude": 12}, "high": {"latitude": 52, "longitude": 13}}
UPSIDE_DOWN = {"low": BOX["high"], "high": {**BOX["low"], "longitude": 14}}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"textQuery": " "}, "Empty text_query."),
        ({"pageToken": "x"}, "Empty text_query."),
        ({"textQuery": "x", "colour": 1}, 'Unknown name "colour"'),
        ({"textQuery": "x", "pageSize": -1}, "negative"),
        ({"textQuery": "x", "openNow": "yes"}, "Invalid value at 'openNow'"),
        ({"textQuery": "x", "minRating": 6}, "between 0 and 5"),
        ({"textQuery": "x", "pageToken": "made up"}, "page_token"),
        (
            {
                "textQuery": "x",
                "locationBias": {"rectangle": BOX},
                "locationRestriction": {"rectangle": BOX},
            },
            "Only one of",
        ),
        ({"textQuery": "x", "locationRestriction": {"circle": {}}}, "takes a rectangle"),
        ({"textQuery": "x", "locationRestriction": {"rectangle": UPSIDE_DOWN}}, "low latitude"),
    ],
)
async def test_a_body_that_is_wrong_is_refused_and_not_billed(
    asking: Asking, provider: PlacesProvider, body: dict[str, Any], said: str
) -> None:
    status, answer = await asking.search(**body)

    assert status == answer["error"]["code"] == 400
    assert answer["error"]["status"] == "INVALID_ARGUMENT"
    assert said in answer["error"]["message"]
    assert provider.bill.count(billed=True) == 0


async def test_a_token_is_bound_to_its_request(asking: Asking) -> None:
    _, first = await asking.search(textQuery="bakery in Leipzig")

    status, answer = await asking.search(
        textQuery="bakery in Leipzig", openNow=True, pageToken=first["nextPageToken"]
    )
    same, _ = await asking.search(
        textQuery="bakery in Leipzig", pageSize=5, pageToken=first["nextPageToken"]
    )

    assert status == 400
    assert "must match the initial SearchText request" in answer["error"]["message"]
    assert same == 200, "the size of a page may change"


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ("", "FieldMask is a required parameter"),
        ("id", "invalid argument"),
        ("places.id, places.types", "invalid argument"),
    ],
)
async def test_a_mask_that_is_wrong_is_refused(asking: Asking, mask: str, said: str) -> None:
    status, answer = await asking.search({**HEADERS, "X-Goog-FieldMask": mask}, textQuery="x")

    assert status == 400
    assert said in answer["error"]["message"]
    if mask:
        (violation,) = answer["error"]["details"][0]["fieldViolations"]
        assert violation["field"] == mask
        assert "Cannot find matching fields for path" in violation["description"]


async def test_a_key_is_needed_and_must_be_known(asking: Asking) -> None:
    mask = {"X-Goog-FieldMask": "places.id"}

    without, _ = await asking.search(mask, textQuery="x")
    status, answer = await asking.search({**mask, "X-Goog-Api-Key": "other"}, textQuery="x")

    assert without == 403
    assert status == 400
    assert answer["error"]["details"][0]["reason"] == "API_KEY_INVALID"


async def test_details_of_a_dead_id_and_of_none(asking: Asking) -> None:
    dead, _ = await asking.details("ChIJnobody-at-all")
    none, answer = await asking.details("foo")

    assert (dead, none) == (404, 400)
    assert answer["error"]["message"] == "Not a valid Place ID: foo"


async def test_the_bill_is_by_tier_and_counts_what_succeeded(
    asking: Asking, provider: PlacesProvider
) -> None:
    provider.bill.before["text_search.enterprise"] = 999
    full = {**HEADERS, "X-Goog-FieldMask": "places.id,places.websiteUri"}
    provider.fail(FailureMode.SERVER_ERROR, at=2)

    statuses = [(await asking.search(full, textQuery="bakery in Leipzig"))[0] for _ in range(4)]
    await asking.search(textQuery="bakery in Leipzig")
    await asking.details(PLUMBER.place_id, "displayName")

    assert statuses == [200, 500, 200, 200]
    assert provider.bill.billed == {
        "text_search.enterprise": 3,
        "text_search.ids": 1,
        "place_details.pro": 1,
    }
    assert provider.bill.usd == 2 * Decimal("0.035"), "the first was the last free one"
    assert provider.bill.paid == 4
    assert provider.bill.count(method="SearchText") == 5
    assert provider.bill.count(method="SearchText", page=1, billed=False) == 1


async def test_without_free_requests_everything_has_its_price(
    asking: Asking, provider: PlacesProvider
) -> None:
    provider.bill.free_tier = False
    full = {**HEADERS, "X-Goog-FieldMask": "places.id,places.websiteUri"}

    await asking.search(full, textQuery="nothing in Leipzig")

    assert provider.bill.usd == Decimal("0.035"), "no hits are billed, too"


async def test_troubles_come_when_they_are_planned(
    asking: Asking, provider: PlacesProvider
) -> None:
    provider.fail(FailureMode.DAY_QUOTA, at=2, times=2, method="SearchText")

    statuses = [(await asking.search(textQuery="bakery in Leipzig"))[0] for _ in range(4)]

    assert statuses == [200, 429, 429, 200]


async def test_a_trouble_without_end_is_healed(asking: Asking, provider: PlacesProvider) -> None:
    provider.fail(FailureMode.UNAVAILABLE, times=None)
    before = [(await asking.search(textQuery="bakery in Leipzig"))[0] for _ in range(3)]

    provider.clear_failures()

    assert before == [503, 503, 503]
    assert (await asking.search(textQuery="bakery in Leipzig"))[0] == 200


async def test_the_quota_of_a_day_is_its_methods_own(
    asking: Asking, provider: PlacesProvider
) -> None:
    provider.set_daily_limit("SearchText", 2)

    statuses = [(await asking.search(textQuery="bakery in Leipzig"))[0] for _ in range(4)]

    assert statuses == [200, 200, 429, 429]
    assert (await asking.details(PLUMBER.place_id))[0] == 200


async def test_a_slow_answer_comes_when_it_is_released(
    asking: Asking, provider: PlacesProvider
) -> None:
    provider.fail(FailureMode.SLOW)
    waiting = asyncio.create_task(asking.search(textQuery="bakery in Leipzig"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await provider.wait_for_requests(1)
        assert not waiting.done()

        provider.release()

        assert (await waiting)[0] == 200


async def test_the_services_have_ports_of_their_own(provider: PlacesProvider) -> None:
    urls = {provider.google_url, provider.nominatim_url, provider.overpass_url}

    assert len(urls) == len(ProviderService)
    assert set(provider.environment()) == {
        "PROVIDER_ALLOW_NETWORKS",
        "GOOGLE_PLACES_API_KEY",
        "GOOGLE_PLACES_BASE_URL",
        "NOMINATIM_BASE_URL",
        "OVERPASS_BASE_URL",
    }


def test_the_same_seed_scatters_the_same_places() -> None:
    assert scatter(30, LEIPZIG, seed=3) == scatter(30, LEIPZIG, seed=3)
    assert scatter(30, LEIPZIG, seed=3) != scatter(30, LEIPZIG, seed=4)
    assert len({each.place_id for each in scatter(500, LEIPZIG)}) == 500
