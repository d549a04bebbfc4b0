"""Pages of businesses that do not exist, with what is to be found on each and what is not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import phonenumbers


def _list(words: str) -> list[str]:
    return words.split()


REGIONS = {"DE": "de", "AT": "de", "US": "com", "FR": "fr", "GB": "co.uk", "CZ": "cz", "NL": "nl"}
LANGUAGES = {
    "DE": "de",
    "AT": "de-AT",
    "US": "en",
    "FR": "fr",
    "GB": "en-GB",
    "CZ": "cs",
    "NL": "nl",
}
PHONE_LABELS = {"DE": "Telefon", "AT": "Tel.", "FR": "Tél.", "CZ": "Tel.", "NL": "Telefoon"}
SIZES_KB = (5, 25, 45, 75, 125, 185)
"""Of ordinary content; what every page has adds 15."""
TRADES = _list("bakery dental garden hotel joinery law metal optics roofing travel winery yoga")
PLACES = _list("brook castle field gate harbour hill lake meadow mill north park river")
MAILBOXES = _list("info kontakt office hello sales service booking press jobs eva.berg j.marsh")
WORDS = _list(
    "about after always around bread build careful city clean colour customer daily deliver early "
    "every experience family find fresh friendly garden glad good great handmade help home honest "
    "house idea invite large later learn light little local long made many market modern morning "
    "natural near never offer often open order people place plan quality quick quiet ready region "
    "room season serve simple small sound spring street summer table team together town tradition "
    "trust under value visit warm water week welcome winter wood work world year young"
)
PLATFORM_URLS = (
    "https://www.facebook.com/{}",
    "https://www.instagram.com/{}/",
    "https://twitter.com/{}",
    "https://www.linkedin.com/company/{}/",
    "https://www.youtube.com/@{}",
    "https://www.tiktok.com/@{}?lang=en",
    "https://www.pinterest.com/{}/",
    "https://www.xing.com/pages/{}",
)


@dataclass
class Page:
    """`either` holds what nobody is praised or blamed for, such as fax numbers."""

    url: str
    region: str
    html: str = ""
    emails: set[str] = field(default_factory=set)
    phones: set[str] = field(default_factory=set)
    profiles: set[str] = field(default_factory=set)
    either: set[str] = field(default_factory=set)


def pages(count: int, seed: int = 1) -> list[Page]:
    """The same pages for the same numbers."""
    return [_page(random.Random(f"{seed}/{number}"), number) for number in range(count)]


def _page(chance: random.Random, number: int) -> Page:
    region = chance.choice(list(REGIONS))
    name = f"{chance.choice(TRADES)}-{chance.choice(PLACES)}-{number}"
    page = Page(f"https://www.{name}.{REGIONS[region]}/contact", region)
    contacts = [
        *_emails(chance, page, name),
        *_phones(chance, page),
        *_profiles(chance, page, name),
    ]
    chance.shuffle(contacts)
    body = [*_filler(chance, SIZES_KB[number % len(SIZES_KB)] * 1024)]
    for contact in contacts:
        body.insert(chance.randrange(len(body) // 2, len(body) + 1), contact)
    body.insert(len(body) // 2, _decoys(chance, region))
    head = f"<title>{name}</title>{_style(chance)}{_json_ld(page, name)}{_state(chance)}"
    page.html = (
        f'<!DOCTYPE html>\n<html lang="{LANGUAGES[region]}">\n<head><meta charset="utf-8">'
        f"{head}</head>\n"
        f"<body>\n{_navigation(chance)}\n<main>\n{chr(10).join(body)}\n</main>\n{_sharing(page.url)}\n"
        f"{_program(chance)}\n</body>\n</html>\n"
    )
    return page


# What is to be found


def _emails(chance: random.Random, page: Page, name: str) -> Iterator[str]:
    domain = f"{name}.{REGIONS[page.region]}"
    for mailbox in chance.sample(MAILBOXES, chance.randint(1, 4)):
        address = f"{mailbox}@{domain}"
        page.emails.add(address)
        yield chance.choice(SPELLINGS)(address)


def _cloudflare(address: str) -> str:
    coded = "".join(f"{ord(letter) ^ 0x5A:02x}" for letter in address)
    protected = f'class="__cf_email__" data-cfemail="5a{coded}"'
    return f'<a href="/cdn-cgi/l/email-protection" {protected}>[email&#160;protected]</a>'


def _typo3(address: str) -> str:
    coded = "".join(_moved(letter, 2) for letter in f"mailto:{address}")
    link = f"javascript:linkTo_UnCryptMailto(%27{coded}%27);"
    return f'<p><a href="{link}">Write to us</a></p>'


def _moved(letter: str, by: int) -> str:
    for first, last in (("+", ":"), ("@", "Z"), ("a", "z")):
        if first <= letter <= last:
            size = ord(last) - ord(first) + 1
            return chr(ord(first) + (ord(letter) - ord(first) + by) % size)
    return letter


def _entities(address: str) -> str:
    return "<p>" + "".join(f"&#{ord(letter)};" for letter in address) + "</p>"


def _in_words(address: str) -> str:
    return f"<p>{address.replace('@', ' [at] ').replace('.', ' [dot] ')}</p>"


SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda address: f'<p><a href="mailto:{address}">{address}</a></p>',
    lambda address: f'<p><a href="mailto:{address}?subject=Hello%20there">Write to us</a></p>',
    lambda address: f"<p>Write to {address}, we answer soon.</p>",
    lambda address: f"<p>{address.replace('@', '<wbr>@<wbr>')}</p>",
    *(_cloudflare, _typo3, _entities, _in_words),
)


def _phones(chance: random.Random, page: Page) -> Iterator[str]:
    label = PHONE_LABELS.get(page.region, "Phone")
    for _ in range(chance.randint(1, 3)):
        number = _number(chance, page.region)
        value = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
        page.phones.add(value)
        style = chance.choice(("NATIONAL", "INTERNATIONAL"))
        written = phonenumbers.format_number(number, getattr(phonenumbers.PhoneNumberFormat, style))
        yield chance.choice(
            (
                f"<p>{label}: {written}</p>",
                f'<p><a href="tel:{value}">Call us</a></p>',
                f'<p>{label} <a href="tel:{written.replace(" ", "%20")}">{written}</a></p>',
                f"<table><tr><td>{label}</td><td>{written}</td></tr></table>",
            )
        )
    fax = phonenumbers.format_number(
        _number(chance, page.region), phonenumbers.PhoneNumberFormat.INTERNATIONAL
    )
    page.either.add("+" + "".join(filter(str.isdigit, fax)))
    yield f"<p>Fax: {fax}</p>"


def _number(chance: random.Random, region: str) -> phonenumbers.PhoneNumber:
    example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.FIXED_LINE)
    assert example is not None
    while True:
        national = str(example.national_number)[:-4] + f"{chance.randrange(10_000):04}"
        number = phonenumbers.parse(f"+{example.country_code}{national}")
        if phonenumbers.is_valid_number(number):
            return number


def _profiles(chance: random.Random, page: Page, name: str) -> Iterator[str]:
    for url in chance.sample(PLATFORM_URLS, chance.randint(1, 5)):
        profile = url.format(name.replace("-", "")[:15])
        page.profiles.add(profile)
        yield f'<a class="icon" href="{profile}" target="_blank" rel="noopener"><i></i></a>'


def _json_ld(page: Page, name: str) -> str:
    business = {
        "@context": "https://schema.org",
        "@type": "LocalBusiness",
        "name": name,
        "telephone": min(page.phones),
        "email": min(page.emails),
        "sameAs": sorted(page.profiles)[:1],
    }
    return f'<script type="application/ld+json">{json.dumps(business)}</script>'


# What is not


def _decoys(chance: random.Random, region: str) -> str:
    order, stamp = chance.randrange(10**9, 10**10), 1_700_000_000 + chance.randrange(10**7)
    return f"""
<!-- built by someone@agency-{order}.com, 202-555-0143 -->
<img src="/img/logo.png" srcset="/img/logo@2x.png 2x, /img/logo@3x.png 3x">
<p>Order {order}, placed {stamp}, invoice INV-2024-{order % 10**6}, {region} 123 456 789.</p>
<p>ISBN 978-3-16-148410-0. 24.12.2024 – 02.01.2025. 1.234.567,00 EUR. 52.520008, 13.404954.</p>
<p>IBAN {region}89 3704 0044 0532 0130 00. Version 10.0.19045.3570 on 192.168.100.200.</p>
<a href="https://www.facebook.com/wix"></a><a href="https://twitter.com/squarespace"></a>
<a href="https://www.facebook.com/{{{{ page }}}}"></a><a href="https://youtu.be/dQw4w9WgXcQ"></a>
<a href="https://www.instagram.com/p/C{order}/">photo</a>
<input type="email" placeholder="you@example.com">"""


def _sharing(url: str) -> str:
    return f"""<footer>
<a href="https://www.facebook.com/sharer/sharer.php?u={url}">share</a>
<a href="https://twitter.com/intent/tweet?url={url}">share</a>
<a href="https://www.linkedin.com/shareArticle?url={url}">share</a>
<a href="https://wa.me/?text={url}">share</a>
<a href="https://www.pinterest.com/pin/create/button/?url={url}">share</a>
</footer>"""


def _state(chance: random.Random) -> str:
    key = f"https://{chance.randrange(16**32):032x}@o{chance.randrange(10**6)}.ingest.sentry.io/1"
    items = [{"id": chance.randrange(10**10), "at": 1_700_000_000 + n} for n in range(60)]
    return f"<script>window.state = {json.dumps({'dsn': key, 'items': items})}</script>"


def _program(chance: random.Random) -> str:
    lines = (f"function f{n}(a,b){{return a*{chance.random():.6f}+b[{n}]}}" for n in range(120))
    return f'<script src="https://cdn.test/npm/swiper@11.0.5/s.js"></script><script>{"".join(lines)}</script>'


# What pages are made of


def _style(chance: random.Random) -> str:
    rules = (f".c{n}{{margin:{chance.randrange(40)}px;color:#{n:06x}}}" for n in range(100))
    return f"<style>{''.join(rules)}@media(max-width:600px){{.c1{{display:none}}}}</style>"


def _navigation(chance: random.Random) -> str:
    items = (f'<li><a href="/{w}/{chance.randrange(99)}">{w}</a></li>' for w in WORDS[:60])
    return f"<header><nav><ul>{''.join(items)}</ul></nav></header>"


def _filler(chance: random.Random, size: int) -> Iterator[str]:
    made = 0
    while made < size:
        piece = chance.choice((_paragraph, _paragraph, _card, _row))(chance)
        made += len(piece)
        yield piece


def _paragraph(chance: random.Random) -> str:
    text = " ".join(chance.choices(WORDS, k=chance.randint(40, 120)))
    return f'<section class="c{chance.randrange(100)}"><h2>{text[:30]}</h2><p>{text}.</p></section>'


def _card(chance: random.Random) -> str:
    word, date = chance.choice(WORDS), f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    text = " ".join(chance.choices(WORDS, k=20))
    image = f'<img src="/i/{word}.jpg" alt="{word}" loading="lazy" width="400" height="300">'
    return (
        f'<div class="card c{chance.randrange(100)}"><a href="/news/{word}">{image}</a>'
        f'<h3>{word}</h3><time datetime="{date}">{date}</time><p>{text}</p></div>'
    )


def _row(chance: random.Random) -> str:
    price, sku = chance.randrange(100, 99_999), chance.randrange(10**8, 10**9)
    return (
        f'<div class="row"><span>Art. {sku}</span><span>{chance.choice(WORDS)}</span>'
        f"<span>{price / 100:.2f} €</span><button>buy</button></div>"
    )
