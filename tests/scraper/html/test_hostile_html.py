"""Pages designed to keep a parser busy."""

from __future__ import annotations

import pytest

from scrapersky.scraper import Response
from scrapersky.scraper.html.document import parse_html
from scrapersky.scraper.html.facts import read_page
from scrapersky.scraper.html.sanitize import sanitize_html
from scrapersky.scraper.site.metadata import read_site

URL = "https://bakery.example/"
END = '<a href="/contact">Contact</a>'
MANY = 100_000

HOSTILE = {
    "nested": "<div>" * MANY,
    "nested and closed": "<div>" * MANY + "</div>" * MANY,
    "nested lists": "<ul><li>" * MANY,
    "nested tables": "<table><tr><td>" * 40_000,
    "styles that never end": "".join(f"<b a{number}>" for number in range(MANY)),
    "styles opened anew": "<p>" + "".join(f"<i a{n}>" for n in range(2_000)) + "</p><p>x" * 50_000,
    "attributes": "<p " + " ".join(f"a{number}=1" for number in range(MANY)) + ">",
    "options": "<select>" + "<option>x" * MANY + "</select>",
    "one line": "x" * 1_000_000,
    "angle brackets": "<" * 1_000_000,
    "open quotes": '<p a="' * MANY,
    "entities": "&" * 1_000_000,
    "comments": "<!--x-->" * MANY,
    "scripts": "<script>x</script>" * 50_000,
    "forms": "<form><input><textarea></textarea></form>" * 20_000,
    "metas": '<meta name="a" content="b">' * 50_000,
    "json": '<script type="application/ld+json">' + "[" * MANY + "</script>",
    "json with many objects": '<script type="application/ld+json">['
    + '{"@type":"Store","name":"x"},' * 15_000
    + "0]</script>",
    "links within links": "<a href=/x><object>" * 50_000,
    "headings": "<h1>" * MANY,
    "logos": '<div class="logo"><img>' * 50_000,
    "scripts that send away": "<script>" + "location = " * 400 + "</script>" * 5_000,
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_read_to_its_end_or_left(name: str) -> None:
    body = f"<title>Bread</title>{HOSTILE[name]}{END}".encode()

    metadata = read_site(Response(URL, URL, 200, {}, body))

    assert metadata.status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        *("nested", "nested and closed", "nested lists", "attributes", "styles that never end"),
        *("styles opened anew", "options", "one line", "comments", "scripts"),
    ],
)
def test_what_stands_behind_a_hostile_part_is_still_found(name: str) -> None:
    facts = read_page(f"{HOSTILE[name]}{END}", url=URL)

    assert [link.text for link in facts.links] == ["Contact"]


def test_binary_garbage_is_no_page() -> None:
    garbage = bytes(range(256)) * 4_000

    facts = read_page(garbage, url=URL)

    assert facts.links == ()


@pytest.mark.parametrize(
    "html",
    [
        "<div><p>a</p></div>" * 3_000,
        "<ul>" + "<li>a" * 5_000 + "</ul>",
        "<p>a<br>b<img src=x>" * 3_000,
        "<table>" + "<tr><td>a<td>b" * 3_000 + "</table>",
        f"<script>{'if (a<b) { c = &quot;<div>&quot; }' * 5_000}</script><p>x</p>",
        "<select>" + "<option>a</option>" * 900 + "</select>",
        f'<img src="data:image/png;base64,{"A" * 50_000}">',
        "<b>a</b><i>b</i>" * 10_000,
        "<!--" + "<div>" * 5_000 + "-->",
    ],
)
def test_an_ordinary_page_stays_as_it_is(html: str) -> None:
    assert sanitize_html(html) is html


def test_a_page_that_nests_too_deep_is_flattened_and_keeps_its_text() -> None:
    html = "<div>" * 5_000 + "bread" + "</div>" * 5_000 + "<p>rolls</p>"

    body = parse_html(html).body

    assert body is not None
    assert body.text(separator=" ").split() == ["bread", "rolls"]
    paragraph = body.css_first("p")
    assert paragraph is not None
    assert paragraph.parent is not None
    assert paragraph.parent.tag == "body"


def test_a_tag_keeps_its_first_attributes() -> None:
    many = " ".join(f'a{number}="<b>"' for number in range(5_000))

    tree = parse_html(f'<p id="x" {many}>bread</p>')

    node = tree.css_first("p#x")
    assert node is not None
    assert len(node.attributes) == 256
    assert node.text() == "bread"
