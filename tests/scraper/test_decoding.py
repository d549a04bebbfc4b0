"""Unpacking within limits."""

from __future__ import annotations

import gzip
import os

from scrapersky.scraper.decoding import PIECE_BYTES, RATIO_FREE_BYTES, Unpacker


def unpack(unpacker: Unpacker, data: bytes, *, size: int = 1000) -> list[bytes]:
    pieces: list[bytes] = []
    for start in range(0, len(data), size):
        pieces += unpacker.feed(data[start : start + size])
    unpacker.finish()
    return pieces


def test_pieces_are_small_and_complete() -> None:
    data = os.urandom(500_000) + b"a" * 500_000
    unpacker = Unpacker(max_bytes=10**9)

    pieces = unpack(unpacker, gzip.compress(data))

    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= PIECE_BYTES
    assert unpacker.problem is None


def test_the_limit_of_bytes_stops_it() -> None:
    unpacker = Unpacker(max_bytes=300_000)

    pieces = unpack(unpacker, gzip.compress(os.urandom(900_000)))

    assert sum(map(len, pieces)) <= 300_000 + PIECE_BYTES
    assert unpacker.is_stopped
    assert "300000 bytes" in (unpacker.problem or "")


def test_the_limit_of_ratio_stops_a_bomb() -> None:
    unpacker = Unpacker(max_bytes=10**9)

    pieces = unpack(unpacker, gzip.compress(b"\0" * 50_000_000))

    assert sum(map(len, pieces)) < 2 * RATIO_FREE_BYTES + 1000 * 1000
    assert "times its size" in (unpacker.problem or "")


def test_many_empty_members_do_not_hang_it() -> None:
    unpacker = Unpacker(max_bytes=10**9)

    pieces = unpack(unpacker, gzip.compress(b"") * 20_000, size=65536)

    assert (pieces, unpacker.problem) == ([], None)


def test_damage_keeps_what_came_before_it() -> None:
    packed = bytearray(gzip.compress(os.urandom(200_000)))
    packed[100_000:100_100] = b"\xff" * 100
    packed[-5:] = b"\0" * 5
    unpacker = Unpacker(max_bytes=10**9)

    unpack(unpacker, bytes(packed))

    assert unpacker.problem is not None
