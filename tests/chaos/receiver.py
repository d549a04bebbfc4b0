"""A webhook receiver that is slow, sometimes fails, and records what it accepted."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from aiohttp import web as aiohttp_web

from tests.fake_web import FakeWeb

FAULTS = 0.15
"""The share of deliveries that it does not take while there is mischief."""


@dataclass
class Receiver:
    url: str
    rng: random.Random
    faulty: Callable[[], bool]
    taken: Counter[UUID] = field(default_factory=Counter)
    """How often it said that it has it, by the id of the delivery."""

    async def take(self, request: aiohttp_web.BaseRequest) -> aiohttp_web.StreamResponse:
        told = UUID(request.headers["webhook-id"])
        await request.read()
        await asyncio.sleep(self.rng.uniform(0.01, 0.1))
        if self.faulty() and self.rng.random() < FAULTS:
            return aiohttp_web.Response(status=self.rng.choice((500, 503)))
        self.taken[told] += 1
        return aiohttp_web.Response(status=204)


def build_receiver(web: FakeWeb, rng: random.Random, *, faulty: Callable[[], bool]) -> Receiver:
    host = web.host("hooks.example")
    made = Receiver(f"{host.base}/catch", rng, faulty)
    host.route("/catch", made.take)
    return made
