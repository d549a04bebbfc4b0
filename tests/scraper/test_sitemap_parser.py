"""Sitemaps of every kind, whole and broken."""

from __future__ import annotations

import gzip
import tracemalloc
from datetime import UTC, datetime
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapersky.scraper.sitemap_parser import Entry, Kind, SitemapStream, parse_sitemap
from scrapersky.scraper.sitemap_parser.records import RecordReader
from scrapersky.scraper.sitemap_parser.values import Values
from scrapersky.scraper.urls import clean_url
from tests.fake_web import NAMESPACE, index, urlset

URL = "https://example.com/dir/sitemap.xml"


def locs(data: str | bytes) -> list[str]:
    raw = data.encode() if isinstance(data, str) else data
    return [entry.loc for entry in parse_sitemap(raw, url=URL).entries]


def only(record: str) -> Entry:
    """The one entry of a urlset with this record in it."""
    parsed = parse_sitemap(f"<urlset>{record}</urlset>".encode(), url=URL)
    assert parsed.error is None
    (entry,) = parsed.entries
    return entry


# Kinds


def test_a_urlset_lists_pages_with_their_fields() -> None:
    entry = only(
        "<url><loc>https://example.com/a</loc><lastmod>2024-05-06</lastmod>"
        "<changefreq>Daily</changefreq><priority>0.8</priority></url>"
    )

    assert entry == Entry("https://example.com/a", datetime(2024, 5, 6, tzinfo=UTC), "daily", 0.8)


def test_an_index_lists_sitemaps() -> None:
    parsed = parse_sitemap(index("https://example.com/a.xml", "/b.xml.gz").encode(), url=URL)

    assert parsed.kind is Kind.INDEX
    assert [entry.loc for entry in parsed.entries] == [
        "https://example.com/a.xml",
        "https://example.com/b.xml.gz",
    ]
    assert all(entry.is_sitemap for entry in parsed.entries)


def test_rss_lists_its_items_and_not_its_channel() -> None:
    parsed = parse_sitemap(
        b"<rss><channel><link>https://example.com/</link><image><url>https://example.com/i</url>"
        b"</image><item><title>x</title><link>https://example.com/1?a=1&amp;b=2</link>"
        b"<pubDate>Mon, 06 May 2024 07:08:09 GMT</pubDate></item>"
        b"<item><guid>https://example.com/2</guid></item><item><guid>17</guid></item>"
        b"</channel></rss>",
        url=URL,
    )

    assert parsed.kind is Kind.RSS
    assert parsed.entries == [
        Entry("https://example.com/1?a=1&b=2", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        Entry("https://example.com/2"),
    ]


def test_atom_lists_the_alternate_link_of_each_entry() -> None:
    parsed = parse_sitemap(
        b'<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.com/"/>'
        b'<entry><link rel="self" href="/self"/><link href="/1"/>'
        b"<published>2024-01-01</published><updated>2024-05-06</updated>"
        b'<content><link href="/not-me"/></content></entry></feed>',
        url=URL,
    )

    assert parsed.kind is Kind.ATOM
    assert parsed.entries == [Entry("https://example.com/1", datetime(2024, 5, 6, tzinfo=UTC))]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_text_file_lists_a_url_per_line(line_end: str) -> None:
    data = line_end.join(["\ufeffMy pages", "", "https://example.com/1 ", "HTTP://example.com/2"])
    parsed = parse_sitemap(data.encode(), url=URL)

    assert parsed.kind is Kind.TEXT
    assert [entry.loc for entry in parsed.entries] == [
        "https://example.com/1",
        "http://example.com/2",
    ]
    assert parsed.dropped == {"not_a_url": 1}


def test_a_sitemap_in_a_urlset_and_a_url_in_an_index_are_told_apart() -> None:
    mixed = "<url><loc>/page</loc></url><sitemap><loc>/child.xml</loc></sitemap>"
    for root in ("urlset", "sitemapindex"):
        parsed = parse_sitemap(f"<{root}>{mixed}</{root}>".encode(), url=URL)

        assert [entry.is_sitemap for entry in parsed.entries] == [False, True]


# Refused


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "HTML"),
        (b"\n<!-- hi --><HTML lang=en><head>", "HTML"),
        (b"<div>Not found</div>", "HTML"),
        (b"<?xml version='1.0'?><note><to>you</to></note>", "<note>"),
        (b"Not found", "neither"),
        (b'{"error": "https://example.com/"}', "neither"),
        (b"\x89PNG\r\n\x1a\n\0\0", "neither"),
        (b"\x1f\x8b broken", "damaged"),
        (gzip.compress(b"<html><body>404", mtime=0), "HTML"),
        (b"<urlset><url does not close</urlset>", "nothing in it is readable"),
    ],
)
def test_what_is_no_sitemap_is_refused_by_its_bytes(data: bytes, word: str) -> None:
    parsed = parse_sitemap(data, url=URL, content_type="application/xml")

    assert parsed.kind is None
    assert parsed.entries == []
    assert word in (parsed.error or "")


# Leniency


@pytest.mark.parametrize(
    "document",
    [
        "\n\n  <?xml version='1.0'?><urlset><url><loc>https://example.com/a</loc></url></urlset>",
        "Warning: line 3<br />\n<urlset><url><loc>https://example.com/a</loc></url></urlset>",
        "<URLSET><URL><LOC>https://example.com/a</LOC></URL></URLSET>",
        "<sm:urlset><sm:url><sm:loc>https://example.com/a</sm:loc></sm:url></sm:urlset>",
        "<urlset xmlns='nonsense'><url ><loc >https://example.com/a</loc ></url ></urlset >",
        "<urlset><url><loc> \n https://example.com/a\u00a0</loc></url></urlset>",
        "<urlset><url><loc><![CDATA[https://example.com/a]]></loc></url></urlset>",
        "<urlset><url><loc>https://exa<!-- x -->mple.com/a</loc></url></urlset>",
        "<urlset><!-- <url><loc>https://no.example/</loc></url> -->"
        "<url><loc>https://example.com/a</loc></url></urlset>",
        "<!DOCTYPE urlset [<!ENTITY x '<url><loc>https://no.example/</loc></url>'>]>"
        "<urlset><url><loc>https://example.com/a&x;</loc></url></urlset>",
        "<urlset><url><loc><url>https://example.com/a</url></loc></url></urlset>",
        "<urlset><url><loc/></url><url><loc></loc></url><url><loc>/a</loc></url></urlset>",
        "<urlset><url>https://example.com/a</url></urlset>",
        "<urlset><url><loc>https://example.com/a<lastmod>2024</lastmod></url></urlset>",
        "<urlset><urlset><url><loc>https://example.com/a</loc></url></urlset></urlset>",
        "<urlset><url><loc>https://example.com/a</loc></url></urlset> junk <br> after",
        "<urlset><url><loc>//example.com/a</loc></url></urlset>",
        "<urlset><url><loc>../a</loc></url></urlset>",
        "<urlset><url><loc>https://example.com/\x0ba\x00</loc></url></urlset>",
        "<urlset><loc>https://example.com/a</loc></urlset>",
    ],
)
def test_broken_documents_still_give_their_page(document: str) -> None:
    parsed = parse_sitemap(document.encode(), url=URL)

    assert [entry.loc for entry in parsed.entries] == ["https://example.com/a"]
    assert (parsed.kind, parsed.error, parsed.partial) == (Kind.URLSET, None, None)


def test_a_record_without_its_end_does_not_swallow_the_next() -> None:
    assert locs("<urlset><url><loc>/a</loc><url><loc>/b</loc></url></urlset>") == [
        "https://example.com/a",
        "https://example.com/b",
    ]


def test_several_locs_in_a_record_are_several_entries() -> None:
    parsed = parse_sitemap(
        b"<sitemapindex><sitemap><loc>/1</loc><lastmod>2024</lastmod><loc>/2</loc></sitemap>"
        b"</sitemapindex>",
        url=URL,
    )

    assert [entry.lastmod for entry in parsed.entries] == [datetime(2024, 1, 1, tzinfo=UTC), None]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?a=1&amp;b=2", "?a=1&b=2"),
        ("?a=1&b=2", "?a=1&b=2"),
        ("?a=1&copy=2", "?a=1&copy=2"),
        ("?a=1&amp;amp;b=2", "?a=1&amp;b=2"),
        ("?q=&lt;x&gt;&quot;&apos;", "?q=<x>\"'"),
        ("&#x41;&#66;", "AB"),
        ("&eacute;", "é"),
        ("?a&unknown;b", "?a&unknown;b"),
        ("&#0;&#xD800;x", "x"),
        ("<![CDATA[?a=1&amp;b]]>", "?a=1&amp;b"),
        ("ünï", "ünï"),
        ("a b", "a b"),
        ("?x=1#frag", "?x=1#frag"),
    ],
)
def test_references_are_undone_exactly_once(written: str, meant: str) -> None:
    assert only(f"<url><loc>https://example.com/{written}</loc></url>").loc == (
        f"https://example.com/{meant}"
    )


def test_a_bare_ampersand_costs_no_url() -> None:
    pages = [f"https://example.com/p?id={n}&ref=a&x={n}" for n in range(5_000)]

    assert locs(urlset(*pages)) == pages


def test_what_is_dropped_is_counted_by_reason() -> None:
    parsed = parse_sitemap(
        b"<urlset><url><loc>javascript:alert(1)</loc></url><url><loc>file:///x</loc></url>"
        b"<url><loc></loc></url><url><loc>https://[</loc></url>"
        b"<url><loc>/ok</loc><lastmod>soon</lastmod><priority>7</priority>"
        b"<changefreq>often</changefreq></url></urlset>",
        url=URL,
    )

    assert parsed.entries == [Entry("https://example.com/ok")]
    assert parsed.dropped == {
        "not_http": 2,
        "empty_loc": 1,
        "bad_url": 1,
        "bad_lastmod": 1,
        "bad_priority": 1,
        "bad_changefreq": 1,
    }


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
    assert parsed.partial == "The compressed data ends too early."


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


# Truncation


def test_a_document_cut_anywhere_gives_whole_urls_only_and_is_flagged() -> None:
    pages = [f"https://example.com/page/{n}" for n in range(3)]
    data = urlset(*pages, lastmod="2024-01-01").encode().rstrip()
    for end in range(data.index(b"<urlset") + 8, len(data)):
        parsed = parse_sitemap(data[:end], url=URL)

        assert [entry.loc for entry in parsed.entries] == pages[: len(parsed.entries)]
        assert parsed.partial or parsed.error


def test_a_whole_document_is_not_flagged() -> None:
    for data in (urlset("/a"), urlset(), index("/a"), "<urlset/>", "<rss><channel/></rss>"):
        parsed = parse_sitemap(data.encode(), url=URL)

        assert (parsed.partial, parsed.error) == (None, None)


# Extensions


def test_images_belong_to_their_page_and_lend_it_no_loc() -> None:
    entry = only(
        "<url><image:image><image:loc>/i.jpg</image:loc><image:title> A  &amp; B </image:title>"
        "</image:image><loc>/page</loc><image:image><image:loc>/j.jpg</image:loc></image:image>"
        "</url>"
    )

    assert entry.loc == "https://example.com/page"
    assert entry.images == [
        {"loc": "https://example.com/i.jpg", "title": "A & B"},
        {"loc": "https://example.com/j.jpg"},
    ]


@pytest.mark.parametrize(
    "image",
    [
        "<image:loc>/i.jpg</image:loc>",
        "<image:image><image:loc>/i.jpg</image:loc>",
        "<i:image xmlns:i='x'><i:loc>/i.jpg</i:loc></i:image>",
        "<image:image><loc>/i.jpg</loc></image:image>",
    ],
)
def test_a_loc_of_an_image_is_never_a_page(image: str) -> None:
    page = "<loc>/page</loc>"

    assert only(f"<url>{image}{page}</url>").loc == "https://example.com/page"
    assert only(f"<url>{page}{image}</url>").loc == "https://example.com/page"


def test_videos_news_alternates_and_mobile_are_read() -> None:
    entry = only(
        "<url><loc>/p</loc><mobile:mobile/>"
        '<xhtml:link rel="alternate" hreflang="de" href="/de?a=1&amp;b=2"/>'
        "<video:video><video:title>T</video:title><video:duration>60</video:duration>"
        "<video:tag>a</video:tag><video:tag>b</video:tag><video:live>no</video:live>"
        '<video:restriction relationship="deny">DE FR</video:restriction>'
        '<video:price currency="EUR">1,99</video:price>'
        "<video:publication_date>2024-05-06</video:publication_date></video:video>"
        "<news:news><news:publication><news:name>N</news:name><news:language>en</news:language>"
        "</news:publication><news:title>H</news:title><news:keywords>x, y</news:keywords>"
        "<news:publication_date>2024-05-06</news:publication_date></news:news></url>"
    )

    assert entry.mobile
    assert entry.alternates == [("de", "https://example.com/de?a=1&b=2")]
    assert entry.videos == [
        {
            "title": "T",
            "duration": 60,
            "tags": ["a", "b"],
            "live": False,
            "restriction_deny": ["DE", "FR"],
            "price": {"value": 1.99, "currency": "EUR"},
            "publication_date": "2024-05-06T00:00:00+00:00",
        }
    ]
    assert entry.news == {
        "publication_name": "N",
        "publication_language": "en",
        "title": "H",
        "keywords": ["x", "y"],
        "publication_date": "2024-05-06T00:00:00+00:00",
    }


def test_the_generator_is_named_where_the_document_says_so() -> None:
    document = '<?xml version="1.0"?><!-- generator="Plone/6" --><urlset></urlset>'

    assert parse_sitemap(document.encode(), url=URL).generator == "Plone/6"


# Streaming


def streamed(data: bytes, size: int) -> tuple[list[Entry], SitemapStream]:
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
@settings(max_examples=400, deadline=None)
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
@settings(max_examples=400, deadline=None)
def test_the_short_way_to_a_url_leads_where_the_long_one_does(path: str, start: str) -> None:
    text = f"{start}{path}".strip()

    assert Values(URL).loc_of_text(text) == (clean_url(text, URL) if text else None)


FIELDS = st.fixed_dictionaries(
    {"loc": st.sampled_from(["/a", "https://x.example/?a=1&amp;b", " /b ", "javascript:x", ""])},
    optional={
        "lastmod": st.sampled_from(["2024-01-01", "bad", ""]),
        "changefreq": st.sampled_from(["daily", "DAILY", "odd"]),
        "priority": st.sampled_from(["0.5", "0,5", "9", "x"]),
    },
)


@given(st.lists(FIELDS, max_size=8))
@settings(max_examples=200, deadline=None)
def test_the_fast_and_the_thorough_reading_agree(records: list[dict[str, str]]) -> None:
    body = "".join(
        "<url>" + "".join(f"<{name}>{text}</{name}>" for name, text in record.items()) + "</url>"
        for record in records
    )
    fast, thorough = Values(URL), Values(URL)

    assert list(RecordReader(fast).read(body)) == list(RecordReader(thorough).read(body))
    assert fast.dropped == thorough.dropped
