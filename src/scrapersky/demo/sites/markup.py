"""Markup that publishes e-mail addresses, phone numbers and profiles, and decoys."""

from __future__ import annotations

import codecs
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from scrapersky.demo.sites.builder import (
    PageSnippet,
    build_email_snippet,
    build_phone_snippet,
    build_profile_snippet,
)
from scrapersky.scraper.contacts.model import ExtractionMethod

EmailMarkup = Callable[[str], PageSnippet]

CLOUDFLARE_KEY = 0x5C
TYPO3_OFFSET = 3
TYPO3_RANGES = (("+", ":"), ("@", "Z"), ("a", "z"))
"""Ranges within which TYPO3 rotates characters. Other characters stay as they are."""


# Published openly


def mailto(address: str) -> PageSnippet:
    html = f'<p><a href="mailto:{address}?subject=A%20question">Write to us</a></p>'
    return build_email_snippet(html, address, ExtractionMethod.MAILTO)


def plain_text(address: str) -> PageSnippet:
    return build_email_snippet(
        f"<p>Write to {address}, we answer on weekdays.</p>", address, ExtractionMethod.TEXT
    )


def noscript(address: str) -> PageSnippet:
    """Publish the address for browsers without scripts."""
    return build_email_snippet(
        f"<noscript><p>{address}</p></noscript>", address, ExtractionMethod.NOSCRIPT
    )


def onclick_handler(address: str) -> PageSnippet:
    html = f"""<button onclick="window.open('mailto:{address}')">Send a message</button>"""
    return build_email_snippet(html, address, ExtractionMethod.ONCLICK)


# Marked up


def hcard(address: str) -> PageSnippet:
    html = (
        '<div class="vcard"><span class="fn">Front desk</span>, '
        f'<span class="email">{address}</span></div>'
    )
    return build_email_snippet(html, address, ExtractionMethod.HCARD)


def microdata(address: str) -> PageSnippet:
    html = (
        '<div itemscope itemtype="https://schema.org/LocalBusiness">'
        f'<span itemprop="email">{address}</span></div>'
    )
    return build_email_snippet(html, address, ExtractionMethod.MICRODATA)


# Obfuscated by common software


def cloudflare(address: str) -> PageSnippet:
    html = (
        '<p><a href="/cdn-cgi/l/email-protection" class="__cf_email__" '
        f'data-cfemail="{encode_cloudflare(address)}">[email&#160;protected]</a></p>'
    )
    return build_email_snippet(html, address, ExtractionMethod.CLOUDFLARE)


def encode_cloudflare(text: str) -> str:
    return bytes([CLOUDFLARE_KEY, *(CLOUDFLARE_KEY ^ byte for byte in text.encode())]).hex()


def typo3_token(address: str) -> PageSnippet:
    token = escape(_encode_typo3(f"mailto:{address}"), quote=True)
    html = (
        f'<p><a href="#" data-mailto-token="{token}" data-mailto-vector="{TYPO3_OFFSET}">E-Mail</a>'
    )
    return build_email_snippet(f"{html}</p>", address, ExtractionMethod.TYPO3)


def typo3_call(address: str) -> PageSnippet:
    """Call the script used by older TYPO3 versions."""
    call = f"javascript:linkTo_UnCryptMailto('{_encode_typo3(f'mailto:{address}')}');"
    return build_email_snippet(
        f'<p><a href="{escape(call)}">E-Mail</a></p>', address, ExtractionMethod.TYPO3
    )


def _encode_typo3(text: str) -> str:
    return "".join(map(_shift_character, text))


def _shift_character(character: str) -> str:
    for first, last in TYPO3_RANGES:
        if first <= character <= last:
            size = ord(last) - ord(first) + 1
            return chr(ord(first) + (ord(character) - ord(first) + TYPO3_OFFSET) % size)
    return character


def joomla(address: str) -> PageSnippet:
    first, last = map(_encode_base64, address.split("@"))
    html = (
        f'<p><joomla-hidden-mail is-link="1" is-email="1" first="{first}" last="{last}" '
        f'text="{_encode_base64(address)}">This address is protected.</joomla-hidden-mail></p>'
    )
    return build_email_snippet(html, address, ExtractionMethod.JOOMLA)


def spamspan(address: str) -> PageSnippet:
    user, host = address.split("@")
    html = (
        f'<p><span class="spamspan"><span class="u">{user}</span> [at] '
        f'<span class="d">{host.replace(".", " [dot] ")}</span></span></p>'
    )
    return build_email_snippet(html, address, ExtractionMethod.SPAMSPAN)


def wordpress_encoder(address: str) -> PageSnippet:
    code = codecs.encode(address, "rot13").replace("@", "[at]")
    html = f'<p><a href="javascript:;" data-enc-email="{code}" class="mail-link">E-mail</a></p>'
    return build_email_snippet(html, address, ExtractionMethod.WORDPRESS_ENCODER)


# Obfuscated manually


def spelled_at_dot(address: str) -> PageSnippet:
    written = address.replace("@", " (at) ").replace(".", " (dot) ")
    return build_email_snippet(f"<p>{written}</p>", address, ExtractionMethod.AT_DOT)


def german_at_dot(address: str) -> PageSnippet:
    written = address.replace("@", " [ät] ").replace(".", " [Punkt] ")
    return build_email_snippet(f"<p>{written}</p>", address, ExtractionMethod.AT_DOT)


def reversed_text(address: str) -> PageSnippet:
    html = f'<p style="unicode-bidi:bidi-override;direction:rtl">{address[::-1]}</p>'
    return build_email_snippet(html, address, ExtractionMethod.REVERSED)


def rot13(address: str) -> PageSnippet:
    html = f'<p><a href="#" class="mail" data-rot13="{codecs.encode(address, "rot13")}">E-mail</a>'
    return build_email_snippet(f"{html}</p>", address, ExtractionMethod.ROT13)


def base64(address: str) -> PageSnippet:
    html = f'<p><a href="#" class="mail" data-address="{_encode_base64(address)}">E-mail</a></p>'
    return build_email_snippet(html, address, ExtractionMethod.BASE64)


def entities(address: str) -> PageSnippet:
    """Write every character as a numeric entity. A browser shows ordinary text."""
    written = "".join(f"&#{ord(character)};" for character in address)
    return build_email_snippet(f"<p>{written}</p>", address, ExtractionMethod.TEXT)


def double_escaped(address: str) -> PageSnippet:
    """Escape the entities twice, so that a browser shows `info&#64;…`."""
    return build_email_snippet(
        f"<p>{address.replace('@', '&amp;#64;')}</p>", address, ExtractionMethod.ENTITIES
    )


def zero_width_breaks(address: str) -> PageSnippet:
    """Split the address with invisible characters: a zero-width space and `<wbr>`."""
    user, host = address.split("@")
    return build_email_snippet(f"<p>{user}&#8203;@<wbr>{host}</p>", address, ExtractionMethod.TEXT)


def split_attributes(address: str) -> PageSnippet:
    user, host = address.split("@")
    html = f'<p><a href="#" data-user="{user}" data-domain="{host}">E-mail</a></p>'
    return build_email_snippet(html, address, ExtractionMethod.SPLIT_ATTRIBUTES)


def script_concatenation(address: str) -> PageSnippet:
    user, host = address.split("@")
    html = (
        f"<script>var who = '{user}', where = '{host}';"
        "document.write('<a href=\"mailto:' + who + '@' + where + '\">E-mail</a>');</script>"
    )
    return build_email_snippet(html, address, ExtractionMethod.JAVASCRIPT)


def _encode_base64(text: str) -> str:
    return b64encode(text.encode()).decode()


EMAIL_MARKUPS: tuple[EmailMarkup, ...] = (
    mailto,
    cloudflare,
    typo3_token,
    joomla,
    spamspan,
    spelled_at_dot,
    reversed_text,
    rot13,
    entities,
    hcard,
    wordpress_encoder,
    typo3_call,
    plain_text,
    microdata,
    base64,
    double_escaped,
    split_attributes,
    script_concatenation,
    zero_width_breaks,
    onclick_handler,
    noscript,
    german_at_dot,
)


def retina_logo() -> PageSnippet:
    return PageSnippet(
        '<img src="/images/logo@2x.png" srcset="/images/logo@3x.png 3x" alt="logo@2x">'
    )


def order_number() -> PageSnippet:
    return PageSnippet("<p>Order no. 2025550123, invoice 4930231259, VAT ID DE 302312599.</p>")


def dates_and_prices() -> PageSnippet:
    return PageSnippet(
        "<p>Since 12.03.1931, open 09.00-17.30. Now 1.299.000 EUR, build 1731732000.</p>"
    )


def form_placeholder() -> PageSnippet:
    """Build a newsletter form with an example address as placeholder."""
    field = '<input type="email" name="email" placeholder="you@example.com">'
    return PageSnippet(f'<form class="newsletter" action="/subscribe">{field}</form>')


def text_placeholder() -> PageSnippet:
    return PageSnippet("<p>Write it like this: name@example.com</p>")


def share_links() -> PageSnippet:
    page = "http%3A%2F%2Ftown.example%2F"
    links = (
        f"https://www.facebook.com/sharer/sharer.php?u={page}",
        f"https://twitter.com/intent/tweet?url={page}",
        f"https://www.linkedin.com/shareArticle?mini=true&amp;url={page}",
        f"https://pinterest.com/pin/create/button/?url={page}",
    )
    return PageSnippet("".join(f'<a href="{link}">Share</a>' for link in links))


def mail_share_link() -> PageSnippet:
    """Build a share link without a recipient, as obfuscated by Cloudflare."""
    code = encode_cloudflare("?subject=Look at this&body=http://town.example/")
    return PageSnippet(f'<a href="/cdn-cgi/l/email-protection#{code}">Share by e-mail</a>')


def html_comment() -> PageSnippet:
    return PageSnippet("<!-- theme by studio, questions to themes@studio.example -->")


def sentry_dsn() -> PageSnippet:
    key = "https://0123456789abcdef0123456789abcdef@o99999.ingest.sentry.io/4501"
    return PageSnippet(f"<script>var reporter = '{key}';</script>")


def text_handle() -> PageSnippet:
    return PageSnippet("<p>Photos by @millbrook_daily, bread by @corner.</p>")


def list_decoys() -> tuple[PageSnippet, ...]:
    return (
        retina_logo(),
        order_number(),
        dates_and_prices(),
        form_placeholder(),
        text_placeholder(),
        share_links(),
        mail_share_link(),
        html_comment(),
        sentry_dsn(),
        text_handle(),
    )


def instagram(handle: str) -> PageSnippet:
    return _link_profile(f"https://www.instagram.com/{handle}", "/?hl=en")


def facebook(handle: str) -> PageSnippet:
    return _link_profile(f"https://www.facebook.com/{handle}", "/?ref=page_internal")


def x(handle: str) -> PageSnippet:
    """Link the profile under the service's former name."""
    url = f"https://x.com/{handle}"
    return build_profile_snippet(
        f'<a href="https://twitter.com/{handle}">Twitter</a>', url, ExtractionMethod.LINK
    )


def linkedin(company: str) -> PageSnippet:
    return _link_profile(f"https://www.linkedin.com/company/{company}", "/about/")


def youtube(handle: str) -> PageSnippet:
    return _link_profile(f"https://www.youtube.com/@{handle}", "/videos")


def _link_profile(url: str, rest: str) -> PageSnippet:
    """Link a profile with the trailing path or parameters that people copy along with its URL."""
    return build_profile_snippet(f'<a href="{url}{rest}">Follow us</a>', url, ExtractionMethod.LINK)


@dataclass(frozen=True)
class DemoPhoneNumber:
    """Phone number with its national and international spelling."""

    value: str
    """E.164 number."""
    written: str
    """National spelling."""
    label: str = "Phone"


def american(last: int) -> DemoPhoneNumber:
    return DemoPhoneNumber(f"+120255501{last:02}", f"(202) 555-01{last:02}")


def british(last: int) -> DemoPhoneNumber:
    return DemoPhoneNumber(f"+4420794600{last:02}", f"020 7946 00{last:02}", "Telephone")


def german(last: int) -> DemoPhoneNumber:
    return DemoPhoneNumber(f"+493023125{last:03}", f"030 / 231 25-{last:03}", "Telefon")


def french(last: int) -> DemoPhoneNumber:
    digits = f"{last:02}"
    return DemoPhoneNumber(f"+331990012{digits}", f"01.99.00.12.{digits}", "Tél.")


def swedish(last: int) -> DemoPhoneNumber:
    return DemoPhoneNumber(f"+468465004{last:02}", f"08-465 004 {last:02}", "Telefon")


def australian(last: int) -> DemoPhoneNumber:
    return DemoPhoneNumber(f"+612555012{last:02}", f"(02) 5550 12{last:02}")


def call_link(number: DemoPhoneNumber) -> PageSnippet:
    html = f'<p><a href="tel:{number.value}">{number.written}</a></p>'
    return build_phone_snippet(html, number.value, ExtractionMethod.TEL)


def malformed_call_link(number: DemoPhoneNumber) -> PageSnippet:
    """Link the number with slashes, spaces and the national zero after the country code."""
    code, rest = number.value[:3], number.value[3:]
    html = f'<p><a href="tel://{code} (0) {rest[:2]} {rest[2:]}">{number.label}</a></p>'
    return build_phone_snippet(html, number.value, ExtractionMethod.TEL)


def national(number: DemoPhoneNumber) -> PageSnippet:
    """Publish the national number as text. The page's language implies the country."""
    return build_phone_snippet(
        f"<p>{number.label}: {number.written}</p>", number.value, ExtractionMethod.TEXT
    )


def international(number: DemoPhoneNumber) -> PageSnippet:
    groups = " ".join((number.value[:3], number.value[3:5], number.value[5:]))
    return build_phone_snippet(
        f"<p>{number.label}: {groups}</p>", number.value, ExtractionMethod.TEXT
    )
