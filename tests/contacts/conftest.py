"""The API over contacts, without workers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.app import serving
from tests.conftest import make_settings


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made
