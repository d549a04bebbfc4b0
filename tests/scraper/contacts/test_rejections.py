"""Text that looks like an address but is not one."""

from __future__ import annotations

import pytest

from scrapersky.scraper.contacts.model import ContactChannel
from tests.scraper.contacts.finding import contacts, values

NOT_ADDRESSES = {
    "pictures for fine screens": "logo@2x.png hero@3x.jpg cover@2x.media",
    "versions": "jquery@3.5.1 vue@3.2.0.min.js @types/node@18",
    "handles": "@northwind @jo.berlin and @jo@mastodon.social",
    "a handle after a word": "Instagram @northwind.berlin",
    "unknown endings": "jo@northwind.foobar jo@localhost jo@10.0.0.1",
    "a suffix nobody can register": "jo@co.uk",
    "halves": "jo@ @northwind.de jo@.de jo@-northwind.de jo@north..de",
    "names cut short": "reinh...@northwind.de pixel-@northwind.de plus+@northwind.de",
    "letters cut off by a foreign one": "müller@northwind.de",
    "signs without a letter": "____@northwind.de",
    "keys of error reporters": (
        "605a7baede844d278b89dc95ae0a9123@northwind.de key@o1.ingest.sentry.io a@x.wixpress.com"
    ),
    "logins in addresses": "https://jo:secret@northwind.de/ ftp://jo@northwind.de",
    "placeholders": "you@example.com your@email.com name@domain.com vorname.nachname@northwind.de",
    "what site builders left": "info@mysite.com filler@godaddy.com a@untitled.tld",
    "an example in a field": '<input placeholder="jo@northwind.de" value="jo@northwind.de">',
    "a link to a page": '<a href="jo@northwind.de">x</a> <img src="/jo@northwind.de">',
    "comments": "<!-- jo@northwind.de --><p>x",
    "templates": "<template><p>jo@northwind.de</p></template>",
    "styles": "<style>/* jo@northwind.de */</style>",
    "programmers named in programs": "<script>/*! by Jo <jo@northwind.de> */</script>",
    "subjects and bodies of mails": '<a href="mailto:?subject=jo@northwind.de&body=jo@x.de">x</a>',
    "places people meet at": "Meet us at northwind.de, look at northwind.de",
    "words after a sign": "jo @ work. More words",
    "an encoded share link": '<a href="/cdn-cgi/l/email-protection#5a65292f38303f392e67323b">x</a>',
    "an example in a component's field": '<b data-placeholder="jo@northwind.de">x</b>',
    "where programs are fetched from": "git@github.com:northwind/shop.git",
    "places people met at": "We met at northwind dot de last year",
    "words that are no sign": "Wir sind (bei) der Sonne. Kunde bei northwind.de",
    "a flag between words": 'Wir liefern nach<img src="/flags/at.svg">Wien.berlin',
    "a word between words": 'Look<span class="look-at">north</span>wind.de',
    "an icon beside a word": 'Mail<i class="fa fa-at"></i> northwind.de',
    "calls that count clicks": (
        "<script>function t(a,b){log(a+b)} t('home','northwind.de')</script>"
        "<a onclick=\"track('click','northwind.de')\">x</a>"
    ),
    "a program that only counts letters": (
        "<script>s='nothing to be seen here'; h+=s.charCodeAt(i)-32</script>"
    ),
    "an encoded title": '<i data-cfemail="5118151e1d1c1102051403">x</i>',
}


@pytest.mark.parametrize("page", NOT_ADDRESSES.values(), ids=NOT_ADDRESSES)
def test_no_address_is_made_of(page: str) -> None:
    assert values(page) == []


def test_an_example_domain_is_hardly_believed() -> None:
    (found,) = contacts("<p>jo@example.org</p>")
    assert (found.value, found.confidence) == ("jo@example.org", 0.1)


def test_an_example_domain_is_believed_on_its_own_page() -> None:
    (found,) = contacts("<p>jo@example.org</p>", url="https://example.org/")
    assert found.confidence > 0.8


def test_share_buttons_are_not_profiles() -> None:
    page = '<a href="https://www.facebook.com/sharer/sharer.php?u=x">Share</a>'
    assert values(page, ContactChannel.SOCIAL) == []
