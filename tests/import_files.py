"""Import lists like clients do, and read the result of each row."""

from __future__ import annotations

import json
from typing import Any

import httpx

CSV = {"Content-Type": "text/csv"}
JSON = {"Content-Type": "application/json"}


async def import_csv(
    client: httpx.AsyncClient, kind: str, body: bytes | str, **params: Any
) -> dict[str, Any]:
    answer = await client.post(
        f"/api/v3/{kind}/import-csv",
        content=body.encode() if isinstance(body, str) else body,
        headers=CSV,
        params=params,
    )
    assert answer.status_code == 202, answer.text
    said: dict[str, Any] = answer.json()
    return said


async def refusal(client: httpx.AsyncClient, kind: str, body: bytes, **headers: str) -> str:
    """Why a file is not taken at all."""
    answer = await client.post(
        f"/api/v3/{kind}/import-csv", content=body, headers={**CSV, **headers}
    )
    return f"{answer.status_code} {answer.json()['detail']}"


async def submit(client: httpx.AsyncClient, kind: str, **body: Any) -> dict[str, Any]:
    # As text of our own: a client's JSON cannot spell half a character.
    answer = await client.post(
        f"/api/v3/{kind}/direct-submit", content=json.dumps(body), headers=JSON
    )
    assert answer.status_code == 202, answer.text
    said: dict[str, Any] = answer.json()
    return said


def statuses(said: dict[str, Any]) -> list[tuple[int, str]]:
    return [(each["line"], each["status"]) for each in said["results"]]
