"""Serve the town's sites on loopback from one server that selects them by host name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from aiohttp import web

from scrapersky.demo.sites import server_quirks, sitemap_formats, streets, without_contacts
from scrapersky.demo.sites.builder import TownSite
from scrapersky.testing.responses import Handler, redirect_paths

SITES: tuple[TownSite, ...] = (
    sitemap_formats.BAKERY,
    sitemap_formats.NEWSPAPER,
    sitemap_formats.MUSEUM,
    sitemap_formats.FLORIST,
    sitemap_formats.BOOKSHOP,
    sitemap_formats.CHOIR,
    server_quirks.PHARMACY,
    server_quirks.LIBRARY,
    server_quirks.BREWERY,
    server_quirks.BICYCLE_SHOP,
    server_quirks.CAFE,
    server_quirks.HOTEL,
    server_quirks.POST_OFFICE,
    without_contacts.BARBER,
    without_contacts.GALLERY,
    without_contacts.DENTIST,
    without_contacts.ARCADE,
    without_contacts.NOTARY,
    without_contacts.BANK,
    without_contacts.TAILOR,
    without_contacts.TOY_SHOP,
    without_contacts.CINEMA,
    *streets.STREET_SITES,
)


LOOPBACK = "127.0.0.1"
NETWORK = "127.0.0.0/8"
MISDIRECTED = 421


class Town:
    """Server for the town's sites, used as `async with Town() as town`."""

    def __init__(self, sites: Sequence[TownSite] = SITES) -> None:
        self.sites = tuple(sites)
        self.port = 0
        """Set once the server is listening."""
        self._names = dict(_iter_handlers(self.sites))
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
        """Value for FETCH_RESOLVE that maps every name of the town to its port."""
        return ",".join(f"{name}={LOOPBACK}:{self.port}" for name in self._names)

    def environment(self) -> dict[str, str]:
        """Return the environment variables with which a process fetches from the town."""
        return {"FETCH_ALLOW_NETWORKS": NETWORK, "FETCH_RESOLVE": self.resolve}

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = self._names.get(request.host.partition(":")[0].lower())
        return await answer(request) if answer else web.Response(status=MISDIRECTED)


def _iter_handlers(sites: Sequence[TownSite]) -> Iterator[tuple[str, Handler]]:
    """Yield every host name of the town with its handler."""
    for site in sites:
        if site.lives_at_www:
            yield site.name, redirect_paths(site.base_url)
            yield f"www.{site.name}", site.answer
        else:
            yield site.name, site.answer
