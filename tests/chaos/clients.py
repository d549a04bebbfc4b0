"""Clients that ask through the public routes and remember every promise they were given."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID, uuid4

import httpx

ENDED = {"complete", "failed", "cancelled"}


class Clients:
    """Keep asking for scans; a request that got no answer is asked again with its key."""

    def __init__(self, client: httpx.AsyncClient, names: Sequence[str], rng: random.Random) -> None:
        self._client, self._names, self._rng = client, names, rng
        self.accepted: set[UUID] = set()
        self.unanswered = 0
        self.stop = asyncio.Event()

    async def keep_asking(self) -> None:
        while not self.stop.is_set():
            await self.ask(self._rng.choice(self._names))
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), self._rng.uniform(0.05, 0.4))

    async def ask(self, name: str) -> None:
        key = uuid4().hex
        while True:
            try:
                answer = await self._client.post(
                    "/api/v3/sitemap/scan",
                    json={"base_url": name},
                    headers={"Idempotency-Key": key},
                )
            except httpx.TransportError:
                self.unanswered += 1
            else:
                if answer.status_code == 202:
                    self.accepted.add(UUID(answer.json()["job_id"]))
                    return
                # Anything else but "not now" would be a wrong answer to a right question.
                assert answer.status_code in (409, 500, 503), answer.text
            await asyncio.sleep(0.2)

    async def make_all_end(self, *, seconds: float) -> None:
        """As an operator would: ask sick hosts again, replay what was given up, wait."""
        async with asyncio.timeout(seconds):
            while True:
                with suppress(httpx.TransportError):
                    await self._mend()
                    if await self._all_complete():
                        return
                await asyncio.sleep(0.5)

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
