"""The codec of cursors."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from scrapersky.errors import InvalidInput
from scrapersky.lists.cursor import MAX_CURSOR_CHARACTERS, decode_cursor, encode_cursor

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
PARTS = (NOON, UUID(int=7), b"\x00\xff", 2**62, "é", 0.5)
KINDS = (datetime, UUID, bytes, int, str, float)


def encode(plain: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(plain).encode()).decode()


def test_what_was_encoded_is_decoded_with_its_types() -> None:
    assert decode_cursor(encode_cursor(*PARTS), *KINDS) == PARTS


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "é",
        "not base64",
        encode(7),
        encode([]),
        encode(["1", "2"]),
        encode([None]),
        encode(["seven"]),
        encode([2**63]),
        encode([float("inf")]),
        encode([[1]]),
        encode("7" * MAX_CURSOR_CHARACTERS),
    ],
)
def test_a_cursor_that_was_not_returned_by_the_list_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor is not valid"):
        decode_cursor(cursor, int)


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert decode_cursor(encode(["2026-11-18T12:00:00"]), datetime) == (NOON,)
