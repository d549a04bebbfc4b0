"""Each test gets every stage, one after the other."""

from __future__ import annotations

import pytest

from scrapersky.db.session import Database
from scrapersky.settings import Settings
from tests.every_stage.bench import Bench
from tests.stage_cases import CASES, Case, prepare


@pytest.fixture
async def case(name: str, database: Database) -> Case:
    await prepare(database)
    return CASES[name]


@pytest.fixture
async def bench(case: Case, database: Database, settings: Settings) -> Bench:
    # Retries wait until the test says that their time has come.
    return Bench(case, database, settings.model_copy(update={"retry_base_seconds": 600}))
