"""Classification of e-mail addresses: shared inbox, person, free mail and others."""

from __future__ import annotations

import pytest

from scrapersky.models import EmailType as StoredType
from scrapersky.scraper.contacts.emails import MailboxType, classify_email, is_free_mail


@pytest.mark.parametrize(
    ("value", "desk", "own", "expected"),
    [
        ("info@backhaus.de", True, True, MailboxType.SERVICE),
        ("office@steuerberater.at", True, False, MailboxType.SERVICE),
        ("anna.berger@backhaus.de", False, True, MailboxType.CORPORATE),
        ("anna.berger@agentur.de", False, False, MailboxType.UNKNOWN),
        ("backhaus@gmx.de", False, False, MailboxType.FREE),
        ("info@gmail.com", True, False, MailboxType.FREE),
        ("kontakt@t-online.de", True, True, MailboxType.FREE),
    ],
)
def test_an_address_tells_whose_it_is(
    value: str, desk: bool, own: bool, expected: MailboxType
) -> None:
    assert classify_email(value, is_role_address=desk, same_site=own) is expected


FREEMAILERS = """
    gmail.com web.de gmx.at bluewin.ch orange.fr wanadoo.fr skynet.be libero.it telefonica.net
    sapo.pt ziggo.nl btinternet.com eircom.net telia.com jubii.dk online.no kolumbus.fi wp.pl
    onet.pl seznam.cz azet.sk freemail.hu abv.bg otenet.gr mynet.com yandex.ru ukr.net inbox.lv
    comcast.net sympatico.ca uol.com.br yahoo.com.mx qq.com naver.com docomo.ne.jp rediffmail.com
    bigpond.com xtra.co.nz mweb.co.za yahoo.co.uk tampabay.rr.com
"""


@pytest.mark.parametrize("domain", FREEMAILERS.split())
def test_freemailers_of_many_countries_are_known(domain: str) -> None:
    assert is_free_mail(domain)


@pytest.mark.parametrize(
    "domain", ["notgmail.com", "gmail.com.backhaus.de", "web.de.example", "com", ""]
)
def test_what_only_looks_like_one_is_none(domain: str) -> None:
    assert not is_free_mail(domain)


def test_every_type_can_be_stored() -> None:
    assert {each.value for each in MailboxType} == {each.value for each in StoredType}
