"""A fake web with one site in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fake_web import FakeHost, FakeWeb


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as web:
        web.host("bakery.example")
        yield web


@pytest.fixture
def bakery(web: FakeWeb) -> FakeHost:
    return web.host("bakery.example")
