"""The API matches its OpenAPI document: generated requests against a real process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.effort import choose
from tests.processes import HASTY, free_port, start
from tests.waiting import PATIENCE_SECONDS

EXAMPLES = choose(5, 100)
"""Per operation; the sum over all operations is some hundreds of requests."""


@pytest.fixture
def described(url: str, tmp_path: Path) -> Iterator[Any]:
    port = free_port()
    environ = {**HASTY, "DATABASE_URL": url, "SCHEDULER_ENABLED": "false"}
    program = start("serve", "--port", str(port), environ=environ, log=tmp_path / "api.log")
    base = f"http://127.0.0.1:{port}"
    try:
        asyncio.run(_answering(base))
        yield schemathesis.openapi.from_url(f"{base}/openapi.json", timeout=PATIENCE_SECONDS)
    finally:
        program.process.kill()
        program.process.wait()


async def _answering(base: str) -> None:
    async with httpx.AsyncClient(base_url=base) as client, asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                if (await client.get("/health")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)


CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
TELLS_BY_503 = "/health/schedulers"
"""Where 503 is an answer like any other."""


def test_no_generated_request_breaks_it_or_its_description(described: Any) -> None:
    tried = 0

    def try_one(case: Any) -> None:
        nonlocal tried
        tried += 1
        case.call_and_validate(checks=CHECKS, timeout=PATIENCE_SECONDS)

    for found in described.get_all_operations():
        operation = found.ok()
        if operation.path != TELLS_BY_503:
            patiently(given(case=operation.as_strategy())(try_one))()

    assert tried > 100


patiently = settings(
    derandomize=True,
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
