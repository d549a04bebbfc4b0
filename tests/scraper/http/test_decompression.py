"""Decompression within limits."""

from __future__ import annotations

import gzip
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.http.decompression import MAX_CHUNK_BYTES, RATIO_EXEMPT_BYTES, Decompressor


def unpack(unpacker: Decompressor, data: bytes, *, size: int = 1000) -> list[bytes]:
    pieces: list[bytes] = []
    for start in range(0, len(data), size):
        pieces += unpacker.feed(data[start : start + size])
    unpacker.finish()
    return pieces


def test_pieces_are_small_and_complete() -> None:
    data = os.urandom(500_000) + b"a" * 500_000
    unpacker = Decompressor(max_bytes=10**9)

    pieces = unpack(unpacker, gzip.compress(data))

    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= MAX_CHUNK_BYTES
    assert unpacker.problem is None


def test_the_limit_of_bytes_stops_it() -> None:
    unpacker = Decompressor(max_bytes=300_000)

    pieces = unpack(unpacker, gzip.compress(os.urandom(900_000)))

    assert sum(map(len, pieces)) <= 300_000 + MAX_CHUNK_BYTES
    assert unpacker.is_stopped
    assert "300000 bytes" in (unpacker.problem or "")


def test_the_limit_of_ratio_stops_a_bomb() -> None:
    unpacker = Decompressor(max_bytes=10**9)

    pieces = unpack(unpacker, gzip.compress(b"\0" * 50_000_000))

    assert sum(map(len, pieces)) < 2 * RATIO_EXEMPT_BYTES + 1000 * 1000
    assert "times its size" in (unpacker.problem or "")


def test_many_empty_members_do_not_hang_it() -> None:
    unpacker = Decompressor(max_bytes=10**9)

    pieces = unpack(unpacker, gzip.compress(b"") * 20_000, size=65536)

    assert (pieces, unpacker.problem) == ([], None)


def test_damage_keeps_what_came_before_it() -> None:
    packed = bytearray(gzip.compress(os.urandom(200_000)))
    packed[100_000:100_100] = b"\xff" * 100
    packed[-5:] = b"\0" * 5
    unpacker = Decompressor(max_bytes=10**9)

    unpack(unpacker, bytes(packed))

    assert unpacker.problem is not None


@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_a_cut_body_keeps_all_that_came(size: int) -> None:
    data = os.urandom(300_000)
    unpacker = Decompressor(max_bytes=10**9)

    whole = b"".join(unpack(unpacker, gzip.compress(data)[:-1000], size=size))

    assert data.startswith(whole)
    assert len(whole) > 250_000
    assert unpacker.problem == "The compressed data is truncated."


def test_padding_behind_the_last_member_is_not_damage() -> None:
    unpacker = Decompressor(max_bytes=10**9)

    pieces = unpack(unpacker, gzip.compress(b"hello") + b"\0" * 512)

    assert (b"".join(pieces), unpacker.problem) == (b"hello", None)


@given(st.binary(max_size=400), st.sampled_from([47, 31, 15, -15]), st.integers(1, 50))
def test_no_bytes_break_it(data: bytes, wbits: int, size: int) -> None:
    for packed in (data, gzip.compress(b"start") + data, gzip.compress(data)[: len(data)]):
        unpacker = Decompressor(max_bytes=1000, wbits=wbits)
        assert sum(map(len, unpack(unpacker, packed, size=size))) <= 1000 + MAX_CHUNK_BYTES


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4), st.integers(1, 200))
def test_members_are_joined_wherever_they_are_cut(members: list[bytes], size: int) -> None:
    unpacker = Decompressor(max_bytes=10**9)

    pieces = unpack(unpacker, b"".join(map(gzip.compress, members)), size=size)

    assert (b"".join(pieces), unpacker.problem) == (b"".join(members), None)
