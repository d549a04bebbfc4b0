"""The bytes of a sitemap: encodings and compression."""

from __future__ import annotations

import gzip
import tracemalloc
from time import process_time

import pytest

from scrapersky.scraper.sitemaps.parse import SitemapStream, parse_sitemap
from tests.fake_web import urlset

URL = "https://example.com/dir/sitemap.xml"


def locs(data: str | bytes) -> list[str]:
    raw = data.encode() if isinstance(data, str) else data
    return [entry.loc for entry in parse_sitemap(raw, url=URL).entries]


# Encodings


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("latin-1", "ISO-8859-1"),
        ("cp1252", "windows-1252"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("utf-8", "UTF-16"),
        ("utf-8", "no-such-thing"),
        ("utf-8", "rot13"),
    ],
)
def test_the_encoding_is_what_the_bytes_are(encoding: str, declared: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?><urlset><url><loc>/é</loc></url></urlset>'

    assert locs(text.encode(encoding)) == ["https://example.com/é"]


@pytest.mark.parametrize(
    "declared",
    [
        *("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7"),
        *("hex", "base64", "zlib", "bz2", "uu", "mbcs", "ascii", "cp037", "hz"),
    ],
)
def test_a_declared_encoding_that_no_web_page_has_does_no_harm(declared: str) -> None:
    head = f'<?xml version="1.0" encoding="{declared}"?>'.encode()
    body = r"<urlset><url><loc>https://example.com/\u0041+AOk-é</loc></url></urlset>".encode()

    assert locs(head + body) == [r"https://example.com/\u0041+AOk-é"]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_what_says_latin_1_may_be_utf_8_all_the_same(encoding: str) -> None:
    head = '<?xml version="1.0" encoding="ISO-8859-1"?><urlset>'
    pages = [f"https://example.com/{n}/caf\u00e9/\u201equote\u201c" for n in range(2000)]
    records = "".join(f"<url><loc>{page}</loc></url>" for page in pages)

    assert locs(f"{head}{records}</urlset>".encode(encoding)) == pages


def test_a_charset_in_the_header_counts_where_the_document_has_none() -> None:
    data = "<urlset><url><loc>/\u4e2d</loc></url></urlset>".encode("gb2312")
    parsed = parse_sitemap(data, url=URL, content_type="text/xml; charset=GB2312")

    assert [entry.loc for entry in parsed.entries] == ["https://example.com/\u4e2d"]


def test_bytes_that_are_no_utf_8_spoil_only_themselves() -> None:
    data = urlset("https://example.com/a", "https://example.com/X", "https://example.com/b")

    found = locs(data.encode().replace(b"/X", b"/\xff\xfe"))

    assert [found[0], found[2]] == ["https://example.com/a", "https://example.com/b"]


# Compression


def test_gzip_is_known_by_its_magic_and_undone_twice_at_most() -> None:
    data = urlset("https://example.com/a").encode()
    once, twice = gzip.compress(data), gzip.compress(gzip.compress(data))

    assert locs(once) == locs(twice) == ["https://example.com/a"]
    assert parse_sitemap(gzip.compress(twice), url=URL).error is not None


def test_members_of_a_gzip_file_are_joined_and_padding_is_ignored() -> None:
    data = urlset("https://example.com/a", "https://example.com/b").encode()
    packed = gzip.compress(data[:90]) + gzip.compress(data[90:]) + b"\0" * 512

    parsed = parse_sitemap(packed, url=URL)

    assert (len(parsed.entries), parsed.partial) == (2, None)


def test_a_truncated_gzip_file_gives_what_it_has_and_says_so() -> None:
    packed = gzip.compress(
        urlset(*(f"https://example.com/{n * 7919}" for n in range(5000))).encode()
    )

    parsed = parse_sitemap(packed[: len(packed) // 2], url=URL)

    assert 1000 < len(parsed.entries) < 4000
    assert parsed.partial == "The compressed data is truncated."


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_wrong_checksum_costs_no_url_but_is_said(size: int, layers: int) -> None:
    packed = gzip.compress(urlset("https://example.com/a", "https://example.com/b").encode())
    packed = packed[:-8] + b"\0\0\0\0" + packed[-4:]
    for _ in range(layers - 1):
        packed = gzip.compress(packed)
    stream = SitemapStream(url=URL)
    chunks = [packed[start : start + size] for start in range(0, len(packed), size)]
    entries = [entry for chunk in chunks for entry in stream.feed(chunk)] + stream.close()

    assert [entry.loc for entry in entries] == ["https://example.com/a", "https://example.com/b"]
    assert stream.partial == "The compressed data is corrupt."


def test_a_bomb_is_cut_before_it_fills_the_memory() -> None:
    bomb = gzip.compress(urlset("https://example.com/a").encode() + b" " * 128 * 1024 * 1024)
    tracemalloc.start()
    started = process_time()

    parsed = parse_sitemap(bomb, url=URL)
    used, peak = process_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert parsed.partial is not None
    assert peak < 40 * 1024 * 1024
    assert used < 5
