"""The evidence of a contact besides its value."""

from __future__ import annotations

from scrapersky.scraper.contacts.model import ContactChannel, ExtractionMethod
from tests.scraper.contacts.finding import contacts, methods, only

PERSON = """<script type="application/ld+json">{"@graph": [
    {"@type": "Person", "givenName": "Jo", "familyName": "Doe", "jobTitle": "Owner",
     "email": "mailto:jo@northwind.de"},
    {"@type": "Organization", "name": "Northwind", "email": "desk@northwind.de",
     "contactPoint": {"@type": "ContactPoint", "contactType": "sales", "telephone": "030 1234567"}}
]}</script>"""


def test_one_contact_however_often_it_is_seen_with_the_best_sighting() -> None:
    page = 'desk@northwind.de desk@northwind.de <a href="mailto:desk@northwind.de">x</a>'
    assert methods(page) == {"desk@northwind.de": ExtractionMethod.MAILTO}


def test_a_name_stays_with_the_contact_when_another_sighting_is_better() -> None:
    card = '<p class="vcard"><b class="fn">Jo Doe</b> <b class="email">jo@northwind.de</b></p>'
    found = only(f'{card}<a href="mailto:jo@northwind.de">x</a>')
    assert (found.method, found.name) == (ExtractionMethod.MAILTO, "Jo Doe")


def test_json_ld_names_people_and_the_roles_of_contact_points() -> None:
    told = {found.value: (found.name, found.role) for found in contacts(PERSON)}
    assert told == {
        "jo@northwind.de": ("Jo Doe", "Owner"),
        "desk@northwind.de": (None, None),
        "+49301234567": (None, "sales"),
    }


def test_microdata_names_the_person() -> None:
    page = """<div itemscope itemtype="https://schema.org/Person"><b itemprop="name">Jo Doe</b>
        <i itemprop="jobTitle">Owner</i>
        <a itemprop="email" href="mailto:jo@northwind.de">x</a></div>"""
    found = only(page)
    assert (found.name, found.role) == ("Jo Doe", "Owner")


def test_an_hcard_names_the_person_and_not_the_house() -> None:
    person = '<p class="h-card"><b class="p-name">Jo</b> <b class="u-email">jo@northwind.de</b></p>'
    house = '<p class="vcard"><b class="fn org">Northwind</b> <b class="tel">030 1234567</b></p>'
    told = {found.value: found.name for found in contacts(person + house)}
    assert told == {"jo@northwind.de": "Jo", "+49301234567": None}


def test_the_snippet_shows_what_people_read_around_a_text() -> None:
    found = only("<div>Menu</div><p>Questions? Write to <b>desk@northwind.de</b> any time.</p>")
    assert found.snippet == "Menu Questions? Write to desk@northwind.de any time."


def test_the_snippet_shows_what_people_read_around_a_link() -> None:
    found = only('<p>Our office: <a href="mailto:desk@northwind.de">write to us</a> soon.</p>')
    assert found.snippet == "Our office: write to us soon."


def test_the_snippet_of_structured_data_says_what_it_is() -> None:
    snippets = {found.value: found.snippet for found in contacts(PERSON)}
    assert snippets["jo@northwind.de"] == "Person · Jo Doe · Owner · email: mailto:jo@northwind.de"


def test_a_snippet_is_never_long() -> None:
    page = f"<p>{'word ' * 500}desk@northwind.de {'word ' * 500}</p>"
    found = only(page)
    assert "desk@northwind.de" in found.snippet
    assert len(found.snippet) <= 200


def test_an_address_of_the_page_s_domain_is_on_the_same_site_and_believed_more() -> None:
    own, foreign = contacts("<p>jo@mail.northwind.de jo@southwind.de</p>")
    assert (own.same_site, foreign.same_site) == (True, False)
    assert own.confidence > foreign.confidence


def test_mailboxes_of_the_house_are_told_from_people() -> None:
    page = "<p>info@a.de kontakt-berlin@a.de ventas@a.es biuro@a.pl iletisim@a.com.tr jo.doe@a.de"
    people = [found.value for found in contacts(page) if not found.is_role_address]
    assert people == ["jo.doe@a.de"]


def test_only_addresses_are_on_a_site() -> None:
    found = only("Tel. 030 1234567")
    assert (found.kind, found.same_site, found.is_role_address) == (
        ContactChannel.PHONE,
        None,
        False,
    )


def test_kinds_stand_together_and_the_surest_first() -> None:
    page = """<a href="https://x.com/northwind">x</a> 030 1234567 a@northwind.de
        <a href="mailto:b@northwind.de">b</a>"""
    assert [found.value for found in contacts(page)] == [
        "b@northwind.de",
        "a@northwind.de",
        "+49301234567",
        "https://x.com/northwind",
    ]
