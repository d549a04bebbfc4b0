"""Sitemaps of every format, valid and broken."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from scrapersky.scraper.sitemaps.parse import SitemapFormat, UrlEntry, parse_sitemap
from tests.fake_web import index, urlset

URL = "https://example.com/dir/sitemap.xml"


def locs(data: str | bytes) -> list[str]:
    raw = data.encode() if isinstance(data, str) else data
    return [entry.loc for entry in parse_sitemap(raw, url=URL).entries]


def only(record: str) -> UrlEntry:
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

    assert entry == UrlEntry(
        "https://example.com/a", datetime(2024, 5, 6, tzinfo=UTC), "daily", 0.8
    )


def test_an_index_lists_sitemaps() -> None:
    parsed = parse_sitemap(index("https://example.com/a.xml", "/b.xml.gz").encode(), url=URL)

    assert parsed.kind is SitemapFormat.INDEX
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

    assert parsed.kind is SitemapFormat.RSS
    assert parsed.entries == [
        UrlEntry("https://example.com/1?a=1&b=2", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        UrlEntry("https://example.com/2"),
    ]


def test_atom_lists_the_alternate_link_of_each_entry() -> None:
    parsed = parse_sitemap(
        b'<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.com/"/>'
        b'<entry><link rel="self" href="/self"/><link href="/1"/>'
        b"<published>2024-01-01</published><updated>2024-05-06</updated>"
        b'<content><link href="/not-me"/></content></entry></feed>',
        url=URL,
    )

    assert parsed.kind is SitemapFormat.ATOM
    assert parsed.entries == [UrlEntry("https://example.com/1", datetime(2024, 5, 6, tzinfo=UTC))]


def test_atom_may_have_a_prefix_of_its_own() -> None:
    parsed = parse_sitemap(
        b'<atom:feed xmlns:atom="http://www.w3.org/2005/Atom"><atom:entry>'
        b'<atom:link href="/1"/><atom:updated>2024-05-06</atom:updated></atom:entry></atom:feed>',
        url=URL,
    )

    assert parsed.entries == [UrlEntry("https://example.com/1", datetime(2024, 5, 6, tzinfo=UTC))]


def test_an_item_of_rss_1_is_where_it_says_it_is_about() -> None:
    parsed = parse_sitemap(
        b'<rdf:RDF><channel rdf:about="/"><items><rdf:li resource="/no"/></items></channel>'
        b'<item rdf:about="https://example.com/1"><title>x</title></item>'
        b'<item rdf:about="urn:2"><link>/2</link></item><item rdf:about="urn:3"/></rdf:RDF>',
        url=URL,
    )

    assert parsed.kind is SitemapFormat.RSS
    assert [entry.loc for entry in parsed.entries] == [
        "https://example.com/1",
        "https://example.com/2",
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_text_file_lists_a_url_per_line(line_end: str) -> None:
    data = line_end.join(["\ufeffMy pages", "", "https://example.com/1 ", "HTTP://example.com/2"])
    parsed = parse_sitemap(data.encode(), url=URL)

    assert parsed.kind is SitemapFormat.TEXT
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


def test_the_generator_is_named_where_the_document_says_so() -> None:
    document = '<?xml version="1.0"?><!-- generator="Plone/6" --><urlset></urlset>'

    assert parse_sitemap(document.encode(), url=URL).generator == "Plone/6"


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
        (b"\x1f\x8b broken", "corrupt"),
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
        "<urlset><url><loc>https://example.com/b&x;</loc></url>"
        "<url><loc>https://example.com/a</loc></url></urlset>",
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
    assert (parsed.kind, parsed.error, parsed.partial) == (SitemapFormat.URLSET, None, None)


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


@pytest.mark.parametrize("reference", ["&shop;", "&unknown;", "&a.b;", "&_x;"])
@pytest.mark.parametrize("count", [1, 2_000])
def test_a_url_with_an_undefined_entity_is_dropped_and_counted(reference: str, count: int) -> None:
    """Without what the entity stands for it would be the URL of another page; every tier of the
    parser has to know, so there are records like it before and behind."""
    plain = "".join(f"<url><loc>https://example.com/{n}</loc></url>" for n in range(count))
    for written in (f"p{reference}q", f"?a=1&amp;b={reference}", f"{reference}"):
        parsed = parse_sitemap(
            "<!DOCTYPE urlset [<!ENTITY shop 'x'>]><urlset>"
            f"{plain}<url><loc>https://example.com/{written}</loc></url>{plain}</urlset>".encode(),
            url=URL,
        )
        assert {entry.loc for entry in parsed.entries} == {
            f"https://example.com/{n}" for n in range(count)
        }
        assert parsed.dropped == {"undefined_entity": 1}


def test_an_entity_inside_cdata_is_text() -> None:
    written = "<![CDATA[https://example.com/?a&b;c]]>"
    assert only(f"<url><loc>{written}</loc></url>").loc == "https://example.com/?a&b;c"


def test_a_picture_with_an_undefined_entity_in_its_address_is_left_out() -> None:
    parsed = parse_sitemap(
        b"<urlset><url><loc>/a</loc><image:image><image:loc>https://example.com/b&x;.png"
        b"</image:loc><image:title>B</image:title></image:image></url></urlset>",
        url=URL,
    )
    assert [image.get("loc") for entry in parsed.entries for image in entry.images] in ([], [None])


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

    assert parsed.entries == [UrlEntry("https://example.com/ok")]
    assert parsed.dropped == {
        "not_http": 2,
        "empty_loc": 1,
        "bad_url": 1,
        "bad_lastmod": 1,
        "bad_priority": 1,
        "bad_changefreq": 1,
    }


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
