"""Events are delivered signed, retried until accepted, and deliveries do not block each other."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp.web import BaseRequest, Response, StreamResponse
from sqlalchemy import delete, func, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import WebhookDelivery, WebhookEndpoint
from scrapersky.pipeline.bulk import BulkOptions, replay_letters
from scrapersky.webhooks.delivery import STAGE
from tests.fake_web import FakeWeb
from tests.processes import HASTY, running
from tests.waiting import PATIENCE_SECONDS
from tests.webhooks.receivers import (
    FINISHED,
    SECRET,
    add_endpoint,
    deliveries,
    endpoint_of,
    is_signed,
    letters,
    only_delivery,
    posting,
    receiver,
    tell,
)


async def test_an_event_arrives_signed_with_an_id_and_all_it_tells(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        endpoint = await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()

    (got,) = hooks.got
    delivery = await only_delivery(database)
    assert got.told == {
        "id": str(delivery.id),
        "event": "job.finished",
        "api_version": "v3",
        "created_at": delivery.created_at.isoformat(),
        "tenant_id": str(delivery.tenant_id),
        "data": FINISHED,
    }
    assert is_signed(got, SECRET)
    assert not is_signed(got, b"another secret")
    assert got.headers["webhook-id"] == str(delivery.id)
    assert got.headers["User-Agent"].startswith("ScraperSky/")
    assert (delivery.status, delivery.response_status) == ("delivered", 204)
    assert delivery.delivered_at is not None
    told = await endpoint_of(database, endpoint)
    assert (told.failures, told.last_error, told.last_delivery_at is None) == (0, None, False)


@pytest.mark.parametrize(
    ("status", "headers", "ends_as", "attempts"),
    [
        (200, {}, "delivered", 1),
        (302, {"Location": "http://elsewhere.example/"}, "failed", 1),
        (400, {}, "failed", 1),
        (404, {}, "failed", 1),
        (408, {}, "pending", 1),
        (425, {}, "pending", 1),
        (429, {}, "pending", 1),
        (429, {"Retry-After": "600"}, "pending", 0),
        (500, {}, "pending", 1),
        (503, {}, "pending", 1),
        (503, {"Retry-After": "600"}, "pending", 0),
    ],
)
async def test_an_answer_decides_whether_it_is_told_again(
    status: int,
    headers: dict[str, str],
    ends_as: str,
    attempts: int,
    url: str,
    database: Database,
) -> None:
    async with FakeWeb() as web:
        hooks, elsewhere = receiver(web), receiver(web, "elsewhere.example", "/")
        hooks.answers = [Response(status=status, headers=headers)]
        endpoint = await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()

    delivery = await only_delivery(database)
    assert (delivery.status, delivery.attempts) == (ends_as, attempts)
    assert delivery.response_status == status
    assert len(await letters(database)) == (ends_as == "failed")
    assert (await endpoint_of(database, endpoint)).failures == (ends_as != "delivered")
    assert elsewhere.got == []


async def test_who_puts_us_off_for_days_is_not_waited_for_for_ever(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        hooks.answers = [Response(status=429, headers={"Retry-After": "600"})]
        await add_endpoint(database, hooks.url)
        await tell(database)
        async with database.transaction() as session:
            days_ago = func.now() - timedelta(days=4)
            await session.execute(update(WebhookDelivery).values(created_at=days_ago))
        async with posting(url, database, web) as post:
            await post.work()

    assert (await only_delivery(database)).attempts == 1


async def test_it_is_told_again_under_the_same_id_until_it_is_taken(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        hooks.answers = [Response(status=500, text="out of\tpaper\n"), Response(status=502)]
        endpoint = await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()
            after_one = await only_delivery(database)
            noted = await endpoint_of(database, endpoint)
            await post.work()
            await post.work()

    assert after_one.error == "hooks.example answered 500: it did not accept the payload."
    assert (noted.failures, noted.last_error) == (1, after_one.error)
    assert len({got.told["id"] for got in hooks.got}) == 1
    assert len(hooks.got) == 3
    assert all(is_signed(got, SECRET) for got in hooks.got)
    delivery, end = await only_delivery(database), await endpoint_of(database, endpoint)
    assert (delivery.status, delivery.attempts, delivery.error) == ("delivered", 3, None)
    assert (end.failures, end.last_error) == (0, None)


async def test_a_receiver_that_keeps_failing_ends_as_a_dead_letter_that_can_be_replayed(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        hooks.answers = [Response(status=500) for _ in range(10)]
        await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            for _ in range(12):
                await post.work()
            (letter,) = await letters(database)
            tries = len(hooks.got)
            async with database.transaction() as session:
                await replay_letters(session, STAGE, [], options=BulkOptions())
            await post.work()

    assert (tries, letter.attempts, letter.error_class) == (10, 10, "DeliveryFailed")
    assert (await only_delivery(database)).status == "delivered"
    assert {got.told["id"] for got in hooks.got} == {str(letter.row_id)}


async def test_a_receiver_that_is_gone_is_switched_off_and_told_nothing_more(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        hooks.answers = [Response(status=410)]
        endpoint = await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()
            await tell(database)

    off = await endpoint_of(database, endpoint)
    assert not off.is_active
    assert "410" in (off.last_error or "")
    assert (await only_delivery(database)).status == "failed"


async def test_what_waits_for_an_endpoint_that_was_switched_off_is_skipped(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await tell(database)
        async with database.transaction() as session:
            await session.execute(update(WebhookEndpoint).values(is_active=False))
        async with posting(url, database, web) as post:
            await post.work()

    delivery = await only_delivery(database)
    assert (delivery.status, delivery.error) == ("skipped", "The endpoint is switched off.")
    assert (hooks.got, await letters(database)) == ([], [])


async def test_what_waits_for_an_endpoint_goes_with_it(database: Database) -> None:
    await add_endpoint(database)
    await tell(database)
    async with database.transaction() as session:
        await session.execute(delete(WebhookEndpoint))

    assert await deliveries(database) == []


@pytest.mark.parametrize("address", ["http://127.0.0.1:8000/", "http://inside.localhost/"])
async def test_private_addresses_are_refused_for_good_when_something_is_sent(
    address: str, url: str, database: Database
) -> None:
    await add_endpoint(database, address)
    await tell(database)
    async with (
        FakeWeb() as web,
        posting(url, database, web, webhook_allow_networks="") as post,
    ):
        await post.work()

    delivery = await only_delivery(database)
    assert (delivery.status, delivery.attempts) == ("failed", 1)
    assert "WEBHOOK_ALLOW_NETWORKS to allow it" in (delivery.error or "")


@pytest.mark.parametrize(
    ("oddity", "patience", "says"),
    [
        (lambda host: host.hang("/catch"), 0.3, "did not answer within 0.3 s"),
        (lambda host: host.closes("/catch"), 60, "closed the connection without a response"),
    ],
)
async def test_a_receiver_that_gives_no_answer_is_told_again(
    oddity: Any, patience: float, says: str, url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        host = web.host("hooks.example")
        oddity(host)
        endpoint = await add_endpoint(database, f"{host.base}/catch")
        await tell(database)
        async with posting(url, database, web, webhook_timeout_seconds=patience) as post:
            await post.work()

    delivery = await only_delivery(database)
    assert (delivery.status, delivery.attempts) == ("pending", 1)
    assert says in (delivery.error or "")
    assert (await endpoint_of(database, endpoint)).failures == 1


async def test_a_receiver_that_hangs_keeps_no_other_waiting(url: str, database: Database) -> None:
    let_go = asyncio.Event()

    async def hang(request: BaseRequest) -> StreamResponse:
        await let_go.wait()
        return Response()

    async with FakeWeb() as web:
        web.host("slow.example").route("/catch", hang)
        hooks = receiver(web)
        await add_endpoint(database, "http://slow.example/catch")
        await add_endpoint(database, hooks.url)
        for n in range(40):
            await tell(database, {"n": n})
        async with posting(url, database, web, webhook_timeout_seconds=60) as post:
            run = asyncio.create_task(post.work())
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(hooks.got) < 40:
                    await asyncio.sleep(0.02)
            waiting = [each for each in await deliveries(database) if each.host == "slow.example"]
            let_go.set()
            await run

    assert {each.status for each in waiting} == {"pending", "processing"}
    assert sorted(got.told["data"]["n"] for got in hooks.got) == list(range(40))
    assert {each.status for each in await deliveries(database)} == {"delivered"}


async def test_a_worker_killed_after_the_post_has_it_told_again_under_the_same_id(
    url: str, database: Database, tmp_path: Path
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        killing: list[Any] = []

        async def take(request: BaseRequest) -> StreamResponse:
            answer = await hooks.take(request)
            if killing:  # it is posted, and nobody will write down that it was taken
                program = killing.pop()
                program.process.kill()
                program.process.wait()
            return answer

        web.host("hooks.example").route("/catch", take)
        await add_endpoint(database, hooks.url)
        environ = {**HASTY, **web.environ, "DATABASE_URL": url}
        async with running("worker", environ=environ, log=tmp_path / "first") as first:
            killing.append(first)
            await tell(database)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not hooks.got:
                    await asyncio.sleep(0.05)
            held = await only_delivery(database)
        async with running("worker", environ=environ, log=tmp_path / "second"):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (await only_delivery(database)).status != "delivered":
                    await asyncio.sleep(0.05)

    assert held.status == "processing"
    assert len(hooks.got) == 2
    assert {got.told["id"] for got in hooks.got} == {str(held.id)}
    assert (await only_delivery(database)).attempts == 1  # the loss of a worker costs none


async def test_neither_the_secret_nor_the_path_of_the_url_is_in_what_is_written_down(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapersky.scraper.http.webhook_client.is_public", lambda address: True)
    async with FakeWeb() as web:
        hooks = receiver(web, path="/catch/opens-something")
        hooks.answers = [Response(status=400, text=f"bad signature for {SECRET} " + "x" * 5_000)]
        await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()

    delivery, (letter,) = await only_delivery(database), await letters(database)
    written = f"{delivery.error} {letter.error} {letter.traceback}"
    assert "bad signature for" in written
    assert SECRET not in written
    assert "opens-something" not in written
    assert len(delivery.error or "") < 250


async def test_deliveries_of_one_endpoint_go_to_its_new_address(
    url: str, database: Database
) -> None:
    """Also: a secret without `whsec_`, from before they had that form, is the key as it stands."""
    async with FakeWeb() as web:
        old, new = receiver(web), receiver(web, "new.example")
        await add_endpoint(database, old.url)
        await tell(database)
        async with database.transaction() as session:
            await session.execute(update(WebhookEndpoint).values(url=new.url, secret="sky_hook_2"))
        async with posting(url, database, web) as post:
            await post.work()

    assert old.got == []
    assert is_signed(new.got[0], b"sky_hook_2")


async def test_an_answer_of_bytes_is_not_quoted(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        hooks.answers = [Response(status=500, body=b"\x00\x01\xff" * 10)]
        await add_endpoint(database, hooks.url)
        await tell(database, {"id": str(uuid7())})
        async with posting(url, database, web) as post:
            await post.work()

    error = (await only_delivery(database)).error
    assert error == "hooks.example answered 500: it did not accept the payload."


async def test_what_a_public_receiver_says_is_quoted(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapersky.scraper.http.webhook_client.is_public", lambda address: True)
    async with FakeWeb() as web:
        hooks = receiver(web)
        hooks.answers = [Response(status=500, text="out of\tpaper\n")]
        endpoint = await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()

    error = (await only_delivery(database)).error
    assert (
        error
        == 'hooks.example answered 500: it did not accept the payload. It said: "out of paper"'
    )
    assert (await endpoint_of(database, endpoint)).last_error == error


@pytest.mark.parametrize("status", [200, 301, 404, 410, 429, 500])
async def test_no_word_of_a_private_receiver_is_kept_anywhere(
    url: str, database: Database, status: int
) -> None:
    """Whoever may add webhooks must not read, through us, what they cannot reach themselves."""
    said = "inside-knowledge"
    async with FakeWeb() as web:
        hooks = receiver(web)
        headers = {"Location": f"/{said}", "Retry-After": "1", "X-Said": said}
        hooks.answers = [Response(status=status, text=said, headers=headers, reason=said)]
        endpoint = await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()

    delivery, end = await only_delivery(database), await endpoint_of(database, endpoint)
    assert delivery.response_status == status
    kept = [delivery.error, end.last_error]
    kept += [f"{each.error} {each.traceback}" for each in await letters(database)]
    assert said not in str(kept)


async def test_an_open_network_for_sites_is_closed_for_webhooks(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await tell(database)
        only_sites = {"webhook_allow_networks": "", "fetch_allow_networks": "127.0.0.0/8"}
        async with posting(url, database, web, **only_sites) as post:
            await post.work()

    assert hooks.got == []
    delivery = await only_delivery(database)
    assert delivery.status == "failed"
    assert "WEBHOOK_ALLOW_NETWORKS" in (delivery.error or "")
