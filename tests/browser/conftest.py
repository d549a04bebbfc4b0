"""Real Chromium with a real server. A page that violates its content security policy fails its
test.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvicorn
from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from scrapersky.main import create_app
from scrapersky.settings import Settings
from tests.conftest import make_settings
from tests.processes import free_port
from tests.waiting import PATIENCE_SECONDS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
PICTURES = Path(os.environ.get("SCREENSHOTS", "") or Path(__file__).parents[2] / "screenshots")
"""Where tests leave pictures of pages; not kept in the repository."""
DESK = {"width": 1360, "height": 860}
PHONE = {"width": 390, "height": 844}
PATIENCE_MILLISECONDS = 120_000
"""For what a page is to show: machines that run tests are busy."""
expect.set_options(timeout=PATIENCE_MILLISECONDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Chromium these are skipped for an ordinary user, and fail where it can be had."""
    if CHROMIUM or os.geteuid() == 0 or os.environ.get("CI"):
        return
    missing = pytest.mark.skip(reason="Chromium is missing: apt-get install chromium")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(missing)


@dataclass
class Site:
    """A running server, as a browser sees it."""

    address: str
    app: FastAPI


class Server(uvicorn.Server):
    """Within a test; the signals stay the test runner's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving_pages(settings: Settings, *, port: int | None = None) -> AsyncIterator[Site]:
    app = create_app(settings)
    port = port or free_port()
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", log_config=None)
    server = Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not server.started:
                await asyncio.sleep(0.02)
        yield Site(f"http://127.0.0.1:{port}", app)
    finally:
        if server.started:
            app.state.context.stopping.set()
        server.should_exit = True
        await serving


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """The address of one Chromium for all tests.

    Each test has an event loop of its own, so it is kept by the loop of a thread.
    """
    assert CHROMIUM, "Chromium is missing: apt-get install chromium"
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_launched()) as made:
        yield made


@asynccontextmanager
async def _launched() -> AsyncIterator[str]:
    port = free_port()
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[*ARGUMENTS, f"--remote-debugging-port={port}"],
            timeout=10 * PATIENCE_MILLISECONDS,
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await launched.close()


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        yield await playwright.chromium.connect_over_cdp(
            chromium, timeout=10 * PATIENCE_MILLISECONDS
        )


@dataclass
class Complaints:
    """What a browser complained about while a test ran."""

    heard: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.heard.append(str(error)))
        page.on("console", lambda said: self._hear(said.type, said.text))

    def _hear(self, kind: str, text: str) -> None:
        if kind == "error" and "Failed to load resource" not in text:
            self.heard.append(text)


@pytest.fixture
async def complaints() -> AsyncIterator[Complaints]:
    """Errors of scripts and breaches of the security policy; there are to be none."""
    made = Complaints()
    yield made
    assert made.heard == []


@pytest.fixture
async def window(browser: Browser, complaints: Complaints) -> AsyncIterator[BrowserContext]:
    """A person's browser: its own cookies, a zone of its own."""
    made = await browser.new_context(
        viewport=DESK,  # type: ignore[arg-type]
        timezone_id="Europe/Berlin",
        locale="en-GB",
        accept_downloads=True,
    )
    made.set_default_timeout(PATIENCE_MILLISECONDS)
    made.on("page", complaints.listen)
    yield made
    await made.close()


@pytest.fixture
async def page(window: BrowserContext) -> Page:
    return await window.new_page()


@pytest.fixture
async def site(url: str) -> AsyncIterator[Site]:
    """In open mode, taking requests only: no row is worked."""
    async with serving_pages(make_settings(url, scheduler_enabled=False)) as running:
        yield running


async def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=PICTURES / f"{name}.png", full_page=False)
