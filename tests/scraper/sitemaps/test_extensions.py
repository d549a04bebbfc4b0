"""Images, videos, news and languages in a sitemap."""

from __future__ import annotations

import pytest

from scrapersky.scraper.sitemaps.parse import UrlEntry, parse_sitemap

URL = "https://example.com/dir/sitemap.xml"


def only(record: str) -> UrlEntry:
    """The one entry of a urlset with this record in it."""
    parsed = parse_sitemap(f"<urlset>{record}</urlset>".encode(), url=URL)
    assert parsed.error is None
    (entry,) = parsed.entries
    return entry


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


@pytest.mark.parametrize("name", ["image", "video"])
@pytest.mark.parametrize("namespace", ["", ' xmlns="http://www.google.com/schemas/sitemap"'])
def test_an_extension_without_prefix_is_one_all_the_same(name: str, namespace: str) -> None:
    entry = only(f"<url><loc>/p</loc><{name}{namespace}><loc>/i.jpg</loc></{name}></url>")

    assert entry.loc == "https://example.com/p"
    assert [*entry.images, *entry.videos] == [{"loc": "https://example.com/i.jpg"}]


def test_languages_are_read_however_their_links_are_written() -> None:
    entry = only(
        "<url><loc>/p</loc><xhtml:link rel='alternate' hreflang='de' href='/de'/>"
        '<link xmlns="http://www.w3.org/1999/xhtml" hreflang="fr" href="/fr"/>'
        '<XHTML:LINK REL="alternate" HREFLANG="it" HREF="/it"></XHTML:LINK>'
        '<x:link rel="alternate" media="print" href="/print"/>'
        '<x:link hreflang="nl" href="javascript:x"/></url>'
    )

    assert entry.alternates == [
        (language, f"https://example.com/{language}") for language in ("de", "fr", "it")
    ]


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("blank", ["\t", "\n", "\r\n", "\x01"])
def test_control_characters_are_taken_out_of_every_url(blank: str, count: int) -> None:
    record = (
        f"<url><loc>https://example.com/a{blank}b</loc><image:image><image:loc>"
        f"https://example.com/c{blank}d</image:loc></image:image><video:video><video:gallery_loc>"
        f"https://example.com/e{blank}f</video:gallery_loc></video:video></url>"
    )
    parsed = parse_sitemap(f"<urlset>{record * count}</urlset>".encode(), url=URL)

    assert len(parsed.entries) == count
    for entry in parsed.entries:
        assert entry.loc == "https://example.com/ab"
        assert entry.images == [{"loc": "https://example.com/cd"}]
        assert entry.videos == [{"gallery_loc": "https://example.com/ef"}]


def test_news_fields_of_one_name_count_in_their_order() -> None:
    record = (
        "<url><loc>/p</loc><news:news><news:publication_date>2024-05-06</news:publication_date>"
        "<news:publication><news:date>no</news:date><news:name>A</news:name></news:publication>"
        "<news:name>B</news:name><news:title a='b'>T</news:title><news:title>U</news:title>"
        "</news:news></url>"
    )
    parsed = parse_sitemap(f"<urlset>{record * 4}</urlset>".encode(), url=URL)

    assert [entry.news for entry in parsed.entries] == [
        {
            "publication_date": "2024-05-06T00:00:00+00:00",
            "publication_name": "A",
            "title": "T",
        }
    ] * 4


@pytest.mark.parametrize("name", ["__import__", "None", "x.y-z", "\u00fcber", "t", "lambda"])
def test_what_a_document_calls_its_fields_is_only_ever_a_key(name: str) -> None:
    record = (
        "<url><loc>/p</loc><image:image><image:loc>/i</image:loc>"
        f"<image:{name}>a %s b</image:{name}></image:image></url>"
    )
    parsed = parse_sitemap(f"<urlset>{record * 5}</urlset>".encode(), url=URL)

    assert [entry.images for entry in parsed.entries] == [
        [{"loc": "https://example.com/i", name.lower(): "a %s b"}]
    ] * 5
