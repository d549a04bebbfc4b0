"""A small town of sites, served on loopback by one server that tells them apart by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from aiohttp import web

from scrapersky.demo.answers import Answer, redirect_to
from scrapersky.demo.site import TownSite
from scrapersky.demo.sites import SITES

LOOPBACK = "127.0.0.1"
NETWORK = "127.0.0.0/8"
MISDIRECTED = 421


class Town:
    """The town while it is open: `async with Town() as town`."""

    def __init__(self, sites: Sequence[TownSite] = SITES) -> None:
        self.sites = tuple(sites)
        self.port = 0
        """Known once the town is open."""
        self._names = dict(_doors(self.sites))
        self._runner = web.ServerRunner(
            web.Server(self._answer, access_log=None), shutdown_timeout=0.1
        )

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, LOOPBACK, 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    @property
    def resolve(self) -> str:
        """For FETCH_RESOLVE: every name of the town leads to its one port."""
        return ",".join(f"{name}={LOOPBACK}:{self.port}" for name in self._names)

    def environment(self) -> dict[str, str]:
        """The variables with which another process can fetch from the town."""
        return {"FETCH_ALLOW_NETWORKS": NETWORK, "FETCH_RESOLVE": self.resolve}

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = self._names.get(request.host.partition(":")[0].lower())
        return await answer(request) if answer else web.Response(status=MISDIRECTED)


def _doors(sites: Sequence[TownSite]) -> Iterator[tuple[str, Answer]]:
    """Every name that leads into the town, and who answers there."""
    for site in sites:
        if site.lives_at_www:
            yield site.name, redirect_to(site.base_url)
            yield f"www.{site.name}", site.answer
        else:
            yield site.name, site.answer
