"""The fast sitemap readers return the same as the slow one, and as an XML parser."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from time import process_time
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.sitemaps.parse import UrlEntry, parse_sitemap
from scrapersky.scraper.sitemaps.parse.entries import EntryChain, EntryColumns
from scrapersky.scraper.sitemaps.parse.fast_reader import MAX_TEMPLATE_MISSES, FastReader
from scrapersky.scraper.sitemaps.parse.readers import RecordReader
from scrapersky.scraper.sitemaps.parse.stream import MAX_STEP_BYTES, SitemapStream
from scrapersky.scraper.sitemaps.parse.tokenizer import XmlScrubber
from scrapersky.scraper.sitemaps.parse.values import ValueParser

URL = "https://example.com/dir/sitemap.xml"
Found = tuple[list[UrlEntry], dict[str, int]]


def patiently(text: str) -> Found:
    """Tag by tag."""
    values, scrubber = ValueParser(URL), XmlScrubber()
    clean = scrubber.feed(text) + scrubber.close()
    values.entities = scrubber.entities
    return list(RecordReader(values).read(clean)), dict(values.dropped)


def quickly(text: str, *, by_template: bool) -> Found:
    """By template or by shape as far as that goes, and tag by tag from there."""
    values, scrubber = ValueParser(URL), XmlScrubber()
    reader = RecordReader(values)
    fast = FastReader(values, record_end="</url>", read_tags=reader.read)
    if not by_template:
        fast._unfit = MAX_TEMPLATE_MISSES
    entries, position = fast.read(text)
    rest = scrubber.feed(text[position:]) + scrubber.close()
    return [*entries, *reader.read(rest)], dict(values.dropped)


# Records, from the usual to the odd

LOCS = st.sampled_from(
    [
        "https://example.com/a",
        "https://example.com/b?x=1&amp;y=2",
        "https://example.com/c?x=1&y=2",
        "https://example.com/ü",
        "https://other.example/d",
        "http://example.com:8080/e",
        "https://example.com",
        "https://example.com/&#32;x",
        "https://example.com/a b",
        "https://example.com/a\\b",
        "https://user@example.com/",
        "/relative",
        " https://example.com/spaced ",
        "javascript:alert(1)",
        "<![CDATA[https://example.com/?a=1&b=2]]>",
        "https://example.com/<!-- no -->x",
        "",
    ]
)
DATES = st.sampled_from(
    [
        "2024-05-06",
        "2024-05-06T07:08:09+00:00",
        "2024-05-06T07:08:09-05:00",
        "2024-05-06T07:08:09Z",
        "2024-05-06T07:08:09.123Z",
        "2024-13-06T07:08:09+00:00",
        "2024-05-06T07:08:09.12345",
        "20240506T070809.1234+0000",
        "2024-W01-1T07:08:09+00:00",
        "Mon, 06 May 2024 07:08:09 GMT",
        " 2024-05-06 ",
        "soon",
        "",
    ]
)
FIELDS = st.one_of(
    DATES.map(lambda text: f"<lastmod>{text}</lastmod>"),
    st.sampled_from(["daily", "DAILY", "often", " ", "&#100;aily"]).map(
        lambda text: f"<changefreq>{text}</changefreq>"
    ),
    st.sampled_from(["0.5", "1.00", "0,5", "7", "x", ""]).map(
        lambda text: f"<priority>{text}</priority>"
    ),
)
TEXTS = st.sampled_from(["A", "A  B", " A ", "A &amp; B", "&lt;", "ü", "", "<![CDATA[A & <b>]]>"])
MEDIA = st.one_of(
    st.tuples(LOCS, TEXTS).map(
        lambda pair: (
            f"<image:image><image:loc>{pair[0]}</image:loc>"
            f"<image:title>{pair[1]}</image:title></image:image>"
        )
    ),
    st.tuples(TEXTS, DATES).map(
        lambda pair: (
            f"<news:news><news:publication><news:name>{pair[0]}</news:name>"
            f"</news:publication><news:publication_date>{pair[1]}</news:publication_date>"
            f"<news:keywords>{pair[0]}, x</news:keywords></news:news>"
        )
    ),
    st.tuples(LOCS, TEXTS, st.sampled_from(["60", "x", ""])).map(
        lambda three: (
            f"<video:video><video:content_loc>{three[0]}</video:content_loc>"
            f"<video:title>{three[1]}</video:title><video:tag>a</video:tag><video:tag>b</video:tag>"
            f'<video:duration>{three[2]}</video:duration><video:title a="b">again</video:title>'
            '<video:price currency="EUR">1</video:price></video:video>'
        )
    ),
    st.sampled_from(["de", "x-default", "", "d&amp;e"]).map(
        lambda language: f'<xhtml:link rel="alternate" hreflang="{language}" href="/{language}"/>'
    ),
    st.sampled_from(
        [
            '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de?a&amp;b"/>',
            "<xhtml:link rel='alternate' hreflang='de' href='/de'/>",
            "<mobile:mobile/>",
            "<image:image/>",
            "<image:loc>/stray.png</image:loc>",
            "<image><loc>/plain.png</loc></image>",
            "<image><loc>/open.png</loc>",
            '<link rel="alternate" hreflang="de" href="https://example.com/de" />',
            "<unknown>text</unknown>",
            "<video:video><video:tags>x</video:tags><video:tag>y</video:tag></video:video>",
        ]
    ),
)
GAPS = st.sampled_from(["", "\n", "\n  ", " "])
ODDITIES = st.sampled_from(
    [
        "<!-- <url><loc>https://no.example/</loc></url> -->",
        "<!-- </url> -->",
        "<?php echo 1 ?>",
        "stray text",
        "<url><loc>https://example.com/open</loc>",
        "<url>https://example.com/text</url>",
        "<url><loc>https://example.com/1</loc><loc>https://example.com/2</loc></url>",
        "<url><loc><url>https://example.com/nested</url></loc><lastmod>2024</lastmod></url>",
        "<URL><LOC>https://example.com/upper</LOC></URL>",
        "<sitemap><loc>https://example.com/s.xml</loc></sitemap>",
        "<url ><loc >https://example.com/blank</loc ></url >",
        "<url></url>",
        "</url>",
        "<url",
        "<",
    ]
)


@st.composite
def records(draw: st.DrawFn, *, extensions: bool) -> str:
    gap = draw(GAPS)
    parts = [f"<loc>{draw(LOCS)}</loc>", *draw(st.lists(FIELDS, max_size=3))]
    if extensions:
        parts += draw(st.lists(MEDIA, max_size=4))
    if draw(st.integers(0, 9)) == 0:
        parts = draw(st.permutations(parts))
    return f"<url>{gap}{gap.join(parts)}{gap}</url>"


@st.composite
def alike(draw: st.DrawFn) -> str:
    """A run of records that a program wrote, so that there is something to learn."""
    fields = draw(st.permutations(["lastmod", "changefreq", "priority"]))
    fields = fields[: draw(st.integers(0, 3))]
    gap = draw(GAPS)
    good = {"lastmod": draw(DATES), "changefreq": "daily", "priority": "0.5"}
    rows = []
    for number in range(draw(st.integers(1, 6))):
        loc = draw(LOCS) if draw(st.integers(0, 5)) == 0 else f"https://example.com/{number}"
        rest = gap.join(f"<{name}>{good[name]}</{name}>" for name in fields)
        rows.append(f"<url>{gap}<loc>{loc}</loc>{gap}{rest}{gap}</url>")
    return gap.join(rows)


@st.composite
def alike_with_media(draw: st.DrawFn) -> str:
    """The same with extensions: a shape that is learned at its second record."""
    gap, tail = draw(GAPS), draw(st.sampled_from(["", " "]))
    images, links, has_news = draw(st.integers(0, 2)), draw(st.integers(0, 2)), draw(st.booleans())
    rows = []
    for number in range(draw(st.integers(2, 5))):
        odd = draw(st.integers(0, 3)) == 0
        loc, title, date = f"https://example.com/{number}", f"Title {number}", "2024-05-06"
        if odd:
            loc, title, date = draw(LOCS), draw(TEXTS), draw(DATES)
        parts = [f"<loc>{loc}</loc>", f"<lastmod>{date}</lastmod>"]
        parts += [
            f"<image:image>{gap}<image:loc>{loc}</image:loc><image:title>{title}</image:title>"
            f"<image:x.y-z>{title}</image:x.y-z></image:image>"
        ] * images
        parts += [f'<x:link rel="alternate" hreflang="de" href="{loc}"{tail}/>'] * links
        if has_news:
            parts.append(
                f"<news:news><news:publication><news:name>{title}</news:name></news:publication>"
                f"<news:publication_date>{date}</news:publication_date><news:title>{title}"
                f"</news:title><news:genres>{title}</news:genres></news:news>"
            )
        rows.append(f"<url>{gap}{gap.join(parts)}{gap}</url>")
    return gap.join(rows)


BODIES = st.lists(
    st.one_of(
        alike(), alike_with_media(), records(extensions=False), records(extensions=True), ODDITIES
    ),
    max_size=8,
).map("\n".join)


@given(BODIES, st.booleans())
def test_all_ways_of_reading_agree(body: str, by_template: bool) -> None:
    assert quickly(body, by_template=by_template) == patiently(body)


@given(BODIES, st.integers(1, 50))
def test_a_whole_document_reads_the_same_in_any_chunks(body: str, size: int) -> None:
    data = f"<urlset>{body}</urlset>".encode()
    stream = SitemapStream(url=URL)
    entries = [
        entry
        for start in range(0, len(data), size)
        for entry in stream.feed(data[start : start + size])
    ]
    entries += stream.close()
    parsed = parse_sitemap(data, url=URL)

    assert (entries, stream.dropped, stream.partial) == (
        parsed.entries,
        parsed.dropped,
        parsed.partial,
    )


# Well-formed documents, beside an XML parser

WORDS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=["Cc", "Zs"]),
    min_size=1,
    max_size=12,
)
PATHS = st.text(
    st.characters(
        min_codepoint=33,
        max_codepoint=0x17F,
        exclude_characters="\\\x7f",
        exclude_categories=["Cc", "Zs"],
    ),
    max_size=20,
)


@given(
    st.lists(
        st.tuples(PATHS, st.none() | st.dates(), st.lists(st.tuples(PATHS, WORDS), max_size=2)),
        min_size=1,
        max_size=12,
    ),
    GAPS,
)
def test_well_formed_documents_read_as_an_xml_parser_reads_them(
    pages: list[tuple[str, object, list[tuple[str, str]]]], gap: str
) -> None:
    rows = []
    for path, date, images in pages:
        lastmod = f"<lastmod>{date}</lastmod>{gap}" if date else ""
        media = gap.join(
            f"<i:image><i:loc>{escape(f'https://cdn.example/{each}')}</i:loc>"
            f"<i:title>{escape(title)}</i:title></i:image>"
            f"<x:link hreflang={quoteattr(title)} href={quoteattr(f'https://a.example/{each}')} />"
            for each, title in images
        )
        loc = escape(f"https://example.com/{path}")
        rows.append(f"<url>{gap}<loc>{loc}</loc>{gap}{lastmod}{media}{gap}</url>")
    document = f'<urlset xmlns:i="i" xmlns:x="x">{gap.join(rows)}</urlset>'

    parsed = parse_sitemap(document.encode(), url=URL)

    assert [_plainly(entry) for entry in parsed.entries] == [
        (
            url.findtext("loc"),
            url.findtext("lastmod"),
            [{each.tag[3:]: each.text for each in image} for image in url.findall("{i}image")],
            [(each.get("hreflang"), each.get("href")) for each in url.findall("{x}link")],
        )
        for url in ElementTree.fromstring(document)
    ]


def _plainly(entry: UrlEntry) -> tuple[object, ...]:
    date = entry.lastmod.date().isoformat() if entry.lastmod else None
    return entry.loc, date, list(entry.images), list(entry.alternates)


# Rows that become entries late


def test_rows_behave_like_the_list_of_their_entries() -> None:
    rests = [("daily", 0.5)] * 2
    rows = EntryColumns(["/1", "/2"], [None, None], rests, is_sitemap=False, origin=None)
    made = [UrlEntry("/1", None, "daily", 0.5), UrlEntry("/2", None, "daily", 0.5)]
    joined = EntryChain([rows, [UrlEntry("/3")]])

    assert rows == made
    assert joined == [*made, UrlEntry("/3")]
    assert (joined[0], joined[-1], joined[1:]) == (
        made[0],
        UrlEntry("/3"),
        [made[1], UrlEntry("/3")],
    )
    assert (list(rows[1:]), len(joined), bool(EntryChain([]))) == ([made[1]], 3, False)
    with pytest.raises(IndexError):
        joined[3]


# Cost


def steps_of(data: bytes) -> Sequence[int]:
    return [len(part) for part in SitemapStream(url=URL).parts(data)]


def test_plain_entries_give_the_garbage_collector_nothing_to_do() -> None:
    record = "<url><loc>https://example.com/{}</loc><lastmod>2024-05-06T07:08:09Z</lastmod></url>"
    data = "".join(record.format(number) for number in range(20_000))
    gc.collect()
    before = len(gc.get_objects())
    parsed = parse_sitemap(f"<urlset>{data}</urlset>".encode(), url=URL)
    gc.collect()

    assert len(parsed.entries) == 20_000
    assert len(gc.get_objects()) - before < 2_000


def test_learning_never_takes_more_than_one_record_of_a_step() -> None:
    def record(number: int) -> str:
        field = f"<image:f{number}>x</image:f{number}>"
        return f"<url><loc>/p</loc><image:image>{field}</image:image></url>"

    values = ValueParser(URL)
    fast = FastReader(values, record_end="</url>", read_tags=RecordReader(values).read)
    body = "".join(record(number) * 3 for number in range(50))
    position, steps = 0, 0
    while position < len(body):
        lessons = fast._lessons
        _, position = fast.read_records(body, position)
        steps += 1

        assert fast._lessons - lessons <= 1

    assert steps >= fast._lessons == 50


def test_a_large_chunk_is_read_in_small_steps() -> None:
    record = b"<url><loc>https://example.com/a</loc></url>"
    steps = steps_of(b"<urlset>" + record * 60_000)

    assert len(steps) >= len(record) * 60_000 // MAX_STEP_BYTES
    assert max(steps) <= 2 * MAX_STEP_BYTES // len(record)
    assert MAX_STEP_BYTES <= 256 * 1024


@pytest.mark.parametrize(
    "shape",
    [
        "<url><loc>https://example.com/a</loc></url>",
        "<url><loc>https://example.com/a b</loc></url>",
        "<url><loc>https://example.com/{}</loc><a{}>x</a{}></url>",
        "<url><loc>https://example.com/a</loc>" + "<image:image>" * 30 + "</url>",
        "<url><loc>https://example.com/a</loc>" + "<x:link " + 'a="b" ' * 30 + "</url>",
        "<url>" + " " * 500 + "</url>",
        "<url><loc>" + "https://a" * 300 + "</loc></url>",
        "<url><url></url>",
        "<url><loc>x</loc></url><!-- -->",
        "</url>",
        "</loc>",
        "</loc><lastmod>",
        "<url><loc>https://example.com/a</loc><loc>b</loc></url>",
        "<url><loc>https://example.com/a</loc>" + " " * 3000 + "</url></loc></loc></loc>",
        "<url><loc>&amp;" + "&" * 300 + "</loc></url>",
    ],
)
def test_records_take_time_in_proportion_to_their_number(shape: str) -> None:
    def cost(characters: int) -> float:
        count = characters // len(shape)
        body = "".join(shape.replace("{}", str(number)) for number in range(count))
        started = process_time()
        parse_sitemap(f"<urlset>{body}</urlset>".encode(), url=URL)
        return process_time() - started

    cost(50_000)
    small, large = cost(100_000), cost(800_000)

    assert large < 24 * max(small, 0.02)
