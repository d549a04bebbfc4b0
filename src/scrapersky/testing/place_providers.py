"""Serve the fake Google Places, Nominatim and Overpass on loopback, one port each, over one map."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from aiohttp import web

from scrapersky.testing.google_places import FakeGoogle
from scrapersky.testing.openstreetmap import FakeNominatim, FakeOverpass
from scrapersky.testing.places import (
    Bill,
    FailureMode,
    FailurePlan,
    FakeArea,
    FakeMap,
    FakePlace,
    PlannedFailure,
    ProviderService,
)
from scrapersky.testing.responses import Handler

LOOPBACK = "127.0.0.1"
DEMO_KEY = "demo-key-of-nobody"


class PlacesProvider:
    """Fake provider server, used as `async with PlacesProvider(places, areas) as provider`."""

    def __init__(
        self,
        places: Sequence[FakePlace] = (),
        areas: Sequence[FakeArea] = (),
        *,
        keys: Iterable[str] = (DEMO_KEY,),
        free_tier: bool = True,
    ) -> None:
        self.map = FakeMap(places, areas)
        """May be changed between requests to simulate a changing world."""
        self.bill = Bill(free_tier=free_tier)
        self.counts: Counter[ProviderService] = Counter()
        """Number of received requests by service."""
        self.answer_seconds = 0.0
        """Simulated latency of each response."""
        self._google = FakeGoogle(self.map, self.bill, frozenset(keys))
        self._nominatim = FakeNominatim(self.map, self.bill)
        self._overpass = FakeOverpass(self.map, self.bill)
        self._troubles = FailurePlan([])
        self._released = asyncio.Event()
        self._arrived = asyncio.Condition()
        self._stack = AsyncExitStack()
        self._ports: dict[ProviderService, int] = {}

    async def __aenter__(self) -> Self:
        for service in ProviderService:
            server = web.Server(self._build_handler(service), access_log=None)
            runner = web.ServerRunner(server, shutdown_timeout=0.1)
            await runner.setup()
            self._stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, LOOPBACK, 0).start()
            self._ports[service] = runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()
        await self._stack.aclose()

    # Addresses

    @property
    def google_url(self) -> str:
        return f"http://{LOOPBACK}:{self._ports[ProviderService.GOOGLE]}"

    @property
    def nominatim_url(self) -> str:
        return f"http://{LOOPBACK}:{self._ports[ProviderService.NOMINATIM]}"

    @property
    def overpass_url(self) -> str:
        return f"http://{LOOPBACK}:{self._ports[ProviderService.OVERPASS]}"

    def environment(self) -> dict[str, str]:
        """Return the environment variables with which a process uses this provider."""
        return {
            "GOOGLE_PLACES_API_KEY": next(iter(self._google.keys), ""),
            "GOOGLE_PLACES_BASE_URL": self.google_url,
            "NOMINATIM_BASE_URL": self.nominatim_url,
            "OVERPASS_BASE_URL": self.overpass_url,
            "PROVIDER_ALLOW_NETWORKS": "127.0.0.0/8",
        }

    # Failures

    def fail(
        self,
        trouble: FailureMode,
        *,
        at: int | None = None,
        times: int | None = 1,
        service: ProviderService = ProviderService.GOOGLE,
        method: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        """Plan a failure for the next requests, or from the service's `at`-th request.

        It happens `times` times, or forever if None. `method` is `SearchText` or `GetPlace`.
        """
        self._troubles.plan(PlannedFailure(trouble, service, at, method, times, retry_after))

    def clear_failures(self) -> None:
        """Cancel all planned failures and daily limits."""
        self._troubles.planned.clear()
        self._google.day_limits.clear()

    def set_daily_limit(self, method: str, requests: int) -> None:
        """Reject requests of the method after `requests` more, like a used-up daily quota."""
        self._google.day_limits[method] = self._google.day_counts[method] + requests

    def release(self) -> None:
        """Send pending slow responses, and send later ones without delay."""
        self._released.set()

    async def wait_for_requests(
        self, requests: int, service: ProviderService = ProviderService.GOOGLE
    ) -> None:
        """Wait until this many requests have arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self.counts[service] >= requests)

    # Request handling

    def _build_handler(self, service: ProviderService) -> Handler:
        services: dict[ProviderService, FakeGoogle | FakeNominatim | FakeOverpass] = {
            ProviderService.GOOGLE: self._google,
            ProviderService.NOMINATIM: self._nominatim,
            ProviderService.OVERPASS: self._overpass,
        }
        service_handler = services[service]

        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            # Read the whole request before waiting: it counts even if the client disconnects.
            await request.read()
            planned = await self._record_arrival(service, request)
            if planned is not None and planned.trouble is FailureMode.SLOW:
                await self._released.wait()
            await asyncio.sleep(self.answer_seconds)
            response = await service_handler.answer(request, planned)
            if response is None:
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()
            return response

        return answer

    async def _record_arrival(
        self, service: ProviderService, request: web.BaseRequest
    ) -> PlannedFailure | None:
        async with self._arrived:
            self.counts[service] += 1
            self._arrived.notify_all()
        method = "SearchText" if request.path.endswith(":searchText") else "GetPlace"
        return self._troubles.take(service, self.counts[service], method)
