"""`scrapersky webhook`."""

from __future__ import annotations

import json
import re

import pytest
from aiohttp.web import Response
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import AuditEntry, WebhookEndpoint
from scrapersky.pipeline.tables import Worker
from tests.cli.conftest import Cli, Invoke, from_database, until
from tests.fake_web import FakeWeb
from tests.webhooks.receivers import SECRET, add_endpoint, is_signed, receiver

HOOK = "https://hooks.example/catch"


def test_a_webhook_is_made_listed_and_deleted(invoke: Invoke, url: str) -> None:
    empty = invoke("webhook", "list")
    made = invoke("webhook", "create", HOOK, "--event", "lead.completed", "--event", "job.finished")
    listed = json.loads(invoke("webhook", "list", "--json").out)
    shown = invoke("webhook", "list").out
    unasked = invoke("webhook", "delete", listed[0]["id"])
    gone = invoke("webhook", "delete", listed[0]["id"], "--yes")

    assert empty.out == "No webhooks.\n"
    assert made.code == 0
    assert re.fullmatch(r"whsec_[\w+/]{43}=\n", made.out)
    assert listed[0]["events"] == ["lead.completed", "job.finished"]
    assert HOOK in shown
    assert made.out.strip() not in shown
    assert (unasked.code, gone.code) == (2, 0)
    assert from_database(url, select(WebhookEndpoint)) == []
    acts = [each.action for each in from_database(url, select(AuditEntry))]
    assert acts == ["webhook.create", "webhook.delete"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("http://10.0.0.7/", "--event", "lead.completed"),
        (HOOK, "--event", "test"),
        (HOOK, "--event", "lead.eaten"),
        (HOOK,),
    ],
)
def test_what_cannot_be_is_refused(invoke: Invoke, url: str, wrong: tuple[str, ...]) -> None:
    said = invoke("webhook", "create", *wrong)

    assert said.code != 0
    assert said.err
    assert from_database(url, select(WebhookEndpoint)) == []


def test_a_test_that_nobody_sends_says_so(invoke: Invoke, url: str) -> None:
    invoke("webhook", "create", HOOK, "--event", "lead.completed")
    (endpoint,) = from_database(url, select(WebhookEndpoint))
    said = invoke("webhook", "test", str(endpoint.id), "--wait", "0.2")
    unawaited = invoke("webhook", "test", str(endpoint.id), "--wait", "0")
    listed = json.loads(
        invoke("webhook", "deliveries", str(endpoint.id), "--event", "test", "--json").out
    )

    assert (said.code, unawaited.code) == (1, 0)
    assert "Is a worker running?" in said.out
    assert [each["status"] for each in listed] == ["pending", "pending"]
    none = invoke("webhook", "deliveries", str(endpoint.id), "--status", "failed")
    assert none.out == "No deliveries.\n"
    assert invoke("webhook", "deliveries", str(endpoint.id), "--status", "eaten").code == 2


async def some_worker(rows: Database) -> bool:
    async with rows.reading() as session:
        return await session.scalar(select(Worker.id)) is not None


async def test_a_test_says_what_came_of_it(cli: Cli, web: FakeWeb, rows: Database) -> None:
    hooks = receiver(web)
    hooks.answers = [Response(status=200), Response(status=418, text="I am a teapot.")]
    cli.environ |= web.environ
    webhook_id = str(await add_endpoint(rows, hooks.url))
    await cli.start("worker")
    await until(lambda: some_worker(rows))
    taken = await cli("webhook", "test", webhook_id, "--wait", "15")
    refused = await cli("webhook", "test", webhook_id, "--wait", "15")

    assert (taken.code, taken.out) == (0, "Delivered: 200.\n")
    assert refused.code == 1
    assert "answered 418: it did not accept the payload." in refused.out
    assert "teapot" not in refused.out, "the receiver is on a private address"
    assert [is_signed(got, SECRET) for got in hooks.got] == [True, True]
