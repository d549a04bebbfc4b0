"""Clients that use the public routes and remember every accepted request."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import httpx

from tests.chaos.audit import Audit
from tests.chaos.towns import Town

SCAN, SEARCH = "/api/v3/sitemap/scan", "/api/v3/places/search"
SEARCHES = 0.25
"""The share of requests that are for a search."""
MAX_ASK_SECONDS = 300.0
"""After which a request that is never accepted is a failure."""
NOT_NOW = (409, 503)
"""Correct answers while a request with the same key is under way or the database is away."""


class Clients:
    """Keep asking for scans and searches; a request that got no answer is asked again with its
    key."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        names: Sequence[str],
        towns: Sequence[Town],
        rng: random.Random,
        *,
        disturb: Callable[[], None],
        audit: Audit,
    ) -> None:
        self._client, self._names, self._towns, self._rng = client, names, towns, rng
        self._audit = audit
        self._disturb = disturb
        """Called before each search: it may go wrong at the provider."""
        self.scans: set[UUID] = set()
        self.searches: set[UUID] = set()
        self.unanswered = 0
        self.wrong_answers: Counter[int] = Counter()
        self.stop = asyncio.Event()

    @property
    def accepted(self) -> set[UUID]:
        return self.scans | self.searches

    async def listen(self, url: str) -> None:
        """Have it told at this address when a job has ended."""
        wanted = {"url": url, "events": ["job.finished"]}
        answer = await self._client.post("/api/v3/webhooks", json=wanted, timeout=60)
        assert answer.status_code == 201, answer.text

    async def keep_asking(self) -> None:
        while not self.stop.is_set():
            if self._rng.random() < SEARCHES:
                self._disturb()
                await self.search(self._rng.choice(self._towns))
            else:
                await self.scan(self._rng.choice(self._names))
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), self._rng.uniform(0.05, 0.4))

    async def scan(self, name: str) -> None:
        with self._audit.collecting(f"scan of {name}"):
            self.scans.add(await self._ask(SCAN, {"base_url": name}))

    async def search(self, town: Town) -> None:
        with self._audit.collecting(f"search in town {town.number}"):
            self.searches.add(await self._ask(SEARCH, town.wanted))

    async def _ask(self, path: str, wanted: dict[str, Any]) -> UUID:
        key = {"Idempotency-Key": uuid4().hex}
        async with asyncio.timeout(MAX_ASK_SECONDS):
            while True:
                try:
                    answer = await self._client.post(path, json=wanted, headers=key)
                except httpx.TransportError:
                    self.unanswered += 1
                else:
                    if answer.status_code == 202:
                        return UUID(answer.json()["job_id"])
                    if answer.status_code not in NOT_NOW:
                        self._note_wrong_answer(answer)
                await asyncio.sleep(0.2)

    def _note_wrong_answer(self, answer: httpx.Response) -> None:
        """Anything but "not now" is a wrong answer to a right question. The first of each status is
        told in full."""
        self.wrong_answers[answer.status_code] += 1
        if self.wrong_answers[answer.status_code] == 1:
            self._audit.fail(f"{answer.url.path} answered {answer.status_code}: {answer.text}")

    async def make_all_end(
        self, nothing_left: Callable[[], Awaitable[bool]], *, budget_usd: Decimal, seconds: float
    ) -> None:
        """As an operator would: give more money, ask sick hosts again, replay what was given up,
        wait; and then look once more at what may have been read while its site was sick."""
        with self._audit.collecting("making everything end"):
            await self._make_all_end(nothing_left, budget_usd, seconds)

    async def _make_all_end(
        self, nothing_left: Callable[[], Awaitable[bool]], budget_usd: Decimal, seconds: float
    ) -> None:
        async with asyncio.timeout(seconds):
            await self._raise_budget(budget_usd)
            await self._make_end(nothing_left)
            await self._ask_for_everything()
            await self._make_end(nothing_left)

    async def _make_end(self, nothing_left: Callable[[], Awaitable[bool]]) -> None:
        while True:
            with suppress(httpx.TransportError):
                await self._mend()
                if await self._all_complete() and await nothing_left():
                    return
            await asyncio.sleep(0.5)

    async def _raise_budget(self, usd: Decimal) -> None:
        raised = False
        while not raised:
            with suppress(httpx.TransportError):
                wanted = {"monthly_cap_usd": str(usd)}
                raised = (await self._client.put("/api/v3/budget", json=wanted)).is_success
            await asyncio.sleep(0.2)

    async def _ask_for_everything(self) -> None:
        for name in self._names:
            await self.scan(name)
        for town in self._towns:
            await self.search(town)

    async def _mend(self) -> None:
        hosts = await self._client.get("/api/v3/hosts", params={"left_alone": True})
        for each in hosts.json().get("items", []):
            await self._client.post(f"/api/v3/hosts/{each['host']}/ask-again")
        letters = await self._client.get("/api/v3/dead-letters", params={"limit": 1000})
        for each in letters.json().get("items", []):
            await self._client.post(f"/api/v3/dead-letters/{each['id']}/replay")

    async def _all_complete(self) -> bool:
        for status in ("pending", "processing"):
            answer = await self._client.get("/api/v3/jobs", params={"status": status, "limit": 1})
            if answer.status_code != 200 or answer.json()["items"]:
                return False
        letters = await self._client.get("/api/v3/dead-letters", params={"limit": 1})
        return letters.status_code == 200 and not letters.json()["items"]
