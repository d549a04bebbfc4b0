"""The audit reports all failures of a run, not only the first."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import islice
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest

from scrapersky.db.session import Database
from scrapersky.pipeline.tables import DeadLetter
from tests.chaos.audit import Audit
from tests.chaos.clients import Clients
from tests.chaos.mischief import KILLED, Mischief, draw_schedule
from tests.chaos.sites import HOST_LIMIT, Site
from tests.fake_web import FakeWeb


@pytest.fixture
def audit() -> Audit:
    return Audit(cast(Any, None), "seed 7")


class IdleCrew:
    """All its acts do nothing."""

    async def replace_the_gone(self) -> None: ...

    def __getattr__(self, name: str) -> Any: ...


class Request:
    """Under way, from a client that is still there."""

    path = "/"

    class transport:  # noqa: N801
        @staticmethod
        def get_extra_info(name: str) -> tuple[str, int]:
            return ("127.0.0.1", 4711)


async def test_all_failures_are_told_together() -> None:
    audit = Audit(cast(Any, None), "seed 7")
    audit.check("sitemaps", 3, 4)
    audit.check("URLs", 5, 5)
    audit.check_that(False, "nobody was killed")
    with pytest.raises(AssertionError) as told:
        audit.conclude()

    assert str(told.value) == "seed 7\nsitemaps: 3, and not 4\nnobody was killed"


async def test_an_act_that_fails_is_collected_and_the_next_ones_are_still_performed(
    audit: Audit,
) -> None:
    performed = []

    async def fail(_: random.Random) -> None:
        raise TimeoutError("nobody was busy")

    async def succeed(_: random.Random) -> None:
        performed.append(1)

    mischief = Mischief(cast(Any, IdleCrew()), cast(Any, None), cast(Any, None), [], audit)
    mischief.acts = {KILLED: fail, "SIGTERM": succeed, "SIGSTOP": fail}
    await mischief.go_on_for(0, random.Random(7))

    assert (len(performed), mischief.done) == (1, {KILLED: 1, "SIGTERM": 1})
    assert audit.failures == [f"{KILLED}: TimeoutError: nobody was busy"]


def test_a_seed_repeats_the_schedule() -> None:
    def draw(seed: int) -> list[tuple[str, float, float]]:
        acts = draw_schedule([KILLED, "a", "b", "c"], random.Random(seed))
        return [(name, pause, dice.random()) for name, pause, dice in islice(acts, 20)]

    assert draw(7) == draw(7) != draw(8)
    assert draw(7)[0][0] == KILLED
    assert {name for name, _, _ in draw(7)[:4]} == {KILLED, "a", "b", "c"}


async def test_an_answer_that_was_not_promised_is_a_failure(audit: Audit) -> None:
    answers = iter([409, 503, 500, 500, 202])

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(next(answers), json={"job_id": str(uuid4())})

    transport = httpx.MockTransport(answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        clients = Clients(client, [], [], random.Random(7), disturb=lambda: None, audit=audit)
        await clients.scan("site0.example")

    assert len(clients.scans) == 1
    assert clients.wrong_answers == {500: 2}
    assert len(audit.failures) == 1
    assert "/api/v3/sitemap/scan answered 500" in audit.failures[0]


async def test_what_never_ends_is_a_failure(audit: Audit) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(503))
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        clients = Clients(client, [], [], random.Random(7), disturb=lambda: None, audit=audit)
        await clients.make_all_end(cast(Any, None), budget_usd=Decimal(1), seconds=0.1)

    assert audit.failures == ["making everything end: TimeoutError: "]


@pytest.mark.parametrize(
    ("error_class", "is_ours"),
    [
        ("TimedOut", False),
        ("ScanFailed", False),
        ("WorkerDied", True),
        ("DatabaseUnavailable", True),
        ("KeyError", True),
    ],
)
async def test_dead_letters_of_lost_workers_and_outages_are_failures(
    database: Database, error_class: str, is_ours: bool
) -> None:
    audit = Audit(database, "seed 7")
    letter = {"stage": "scan", "row_id": uuid4(), "attempts": 1, "worker": "here:1"}
    async with database.transaction() as session:
        session.add(DeadLetter(**letter, error_class=error_class, error="Oops.", state="replayed"))
    await audit.dead_letters()

    assert audit.letters == {error_class: 1}
    assert audit.failures == [f"dead letter of scan: {error_class}: Oops."] * is_ours


async def test_a_site_that_was_asked_too_much_is_named_each_time() -> None:
    site = Site(FakeWeb().host("site0.example"), random.Random(0), lambda: False)
    audit = Audit(cast(Any, None), "seed 7")
    site._open = cast(Any, [Request()] * HOST_LIMIT)
    site.count()
    audit.politeness([site])
    audit.conclude()
    site._open = cast(Any, [Request()] * (HOST_LIMIT + 1))
    site.count()
    audit.politeness([site])

    assert len(audit.failures) == 1
    assert "site0.example was asked too much at once" in audit.failures[0]
    assert "from port 4711" in audit.failures[0]
