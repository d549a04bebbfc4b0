"""Sitemaps in chunks, and other content."""

from __future__ import annotations

import tracemalloc
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.http.urls import clean_url
from scrapersky.scraper.sitemaps.parse import SitemapStream, UrlEntry, parse_sitemap
from scrapersky.scraper.sitemaps.parse.values import ValueParser
from tests.fake_web import NAMESPACE

URL = "https://example.com/dir/sitemap.xml"


def streamed(data: bytes, size: int) -> tuple[list[UrlEntry], SitemapStream]:
    stream = SitemapStream(url=URL)
    entries = [
        entry
        for start in range(0, len(data), size)
        for entry in stream.feed(data[start : start + size])
    ]
    return entries + stream.close(), stream


def test_a_stream_gives_entries_before_its_end_in_little_memory() -> None:
    stream = SitemapStream(url=URL)
    head = f'<urlset xmlns="{NAMESPACE}">'.encode()
    stream.feed(head)
    found = 0
    tracemalloc.start()
    for start in range(0, 50_000, 1000):
        part = "".join(f"<url><loc>/{n}</loc></url>\n" for n in range(start, start + 1000))
        found += len(stream.feed(part.encode()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found > 45_000
    assert peak < 6 * 1024 * 1024
    assert found + len(stream.close()) == 50_000


def test_a_record_that_never_ends_is_dropped_in_bounded_memory() -> None:
    stream = SitemapStream(url=URL)
    tracemalloc.start()
    stream.feed(b"<urlset><url><loc>/a</loc><junk>")
    for _ in range(400):
        stream.feed(b"x" * 64 * 1024)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stream.close()

    assert peak < 24 * 1024 * 1024
    assert stream.dropped["oversized_record"] >= 1
    assert stream.partial is not None


@pytest.mark.parametrize(
    "shape",
    [
        "<",
        "<url>",
        "<loc>",
        "&",
        "&#",
        '<a "',
        "<!--",
        "<![CDATA[",
        "<!DOCTYPE",
        "<!",
        '<!"',
        "<!x'>",
        '<!ENTITY a "b">',
        "</url>",
        "<url><loc>",
        "<?",
        "<xhtml:link a='",
        "<image:image>",
        "\n",
        " ",
        "https://a/ ",
    ],
)
def test_hostile_shapes_take_time_in_proportion_to_their_length(shape: str) -> None:
    def cost(characters: int) -> float:
        data = ("<urlset>" + shape * (characters // len(shape))).encode()
        started = process_time()
        parse_sitemap(data, url=URL)
        return process_time() - started

    cost(50_000)
    small, large = cost(40_000), cost(320_000)

    assert large < 24 * max(small, 0.02)


PIECES = st.sampled_from(
    [
        "<urlset>",
        "</urlset>",
        "<url>",
        "</url>",
        "<sitemap>",
        "</sitemap>",
        "<loc>",
        "</loc>",
        "<loc/>",
        "https://example.com/a",
        "/b?x=1&y=2",
        "&amp;",
        "<lastmod>2024-01-01</lastmod>",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<image:image>",
        "</image:image>",
        "<image:loc>/i.png</image:loc>",
        "<!DOCTYPE x [",
        "]>",
        "<?x",
        "?>",
        "<rss>",
        "<item>",
        "</item>",
        "<link>",
        "</link>",
        "<",
        ">",
        '"',
        "\n",
        " ",
        "é",
    ]
)
DOCUMENTS = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(PIECES, max_size=60).map(lambda pieces: "".join(pieces).encode()),
    st.lists(PIECES, max_size=60).map(lambda pieces: ("<urlset>" + "".join(pieces)).encode()),
)


@given(DOCUMENTS, st.integers(1, 40))
def test_no_input_crashes_it_and_chunks_do_not_matter(data: bytes, size: int) -> None:
    parsed = parse_sitemap(data, url=URL)
    entries, stream = streamed(data, size)

    assert entries == parsed.entries
    assert (stream.kind, stream.partial, stream.error) == (
        parsed.kind,
        parsed.partial,
        parsed.error,
    )
    assert all(entry.loc.startswith(("http://", "https://")) for entry in entries)


@given(
    st.text(alphabet="ab/.?#&:;@[]%\\\u00e9 ", max_size=12),
    st.sampled_from(["", "https://x.example"]),
)
def test_the_short_way_to_a_url_leads_where_the_long_one_does(path: str, start: str) -> None:
    text = f"{start}{path}".strip()

    assert ValueParser(URL).clean_loc(text) == (clean_url(text, URL) if text else None)
