"""The ways in which the town's sites show an address: openly, marked, or hidden from programs."""

from __future__ import annotations

import codecs
from base64 import b64encode
from collections.abc import Callable
from html import escape

from scrapersky.demo.published import Shown, email
from scrapersky.scraper.contact_finder import Method

Cloak = Callable[[str], Shown]

CLOUDFLARE_KEY = 0x5C
TYPO3_OFFSET = 3
TYPO3_RANGES = (("+", ":"), ("@", "Z"), ("a", "z"))
"""Within each of these TYPO3 turns characters around; others stay."""


# Openly


def mailto(address: str) -> Shown:
    html = f'<p><a href="mailto:{address}?subject=A%20question">Write to us</a></p>'
    return email(html, address, Method.MAILTO)


def plain_text(address: str) -> Shown:
    return email(f"<p>Write to {address}, we answer on weekdays.</p>", address, Method.TEXT)


def without_scripts(address: str) -> Shown:
    """For people whose browser runs no scripts."""
    return email(f"<noscript><p>{address}</p></noscript>", address, Method.NOSCRIPT)


def on_click(address: str) -> Shown:
    html = f"""<button onclick="window.open('mailto:{address}')">Send a message</button>"""
    return email(html, address, Method.ONCLICK)


# Marked


def hcard(address: str) -> Shown:
    html = (
        '<div class="vcard"><span class="fn">Front desk</span>, '
        f'<span class="email">{address}</span></div>'
    )
    return email(html, address, Method.HCARD)


def microdata(address: str) -> Shown:
    html = (
        '<div itemscope itemtype="https://schema.org/LocalBusiness">'
        f'<span itemprop="email">{address}</span></div>'
    )
    return email(html, address, Method.MICRODATA)


# Hidden by software that many sites run


def cloudflare(address: str) -> Shown:
    html = (
        '<p><a href="/cdn-cgi/l/email-protection" class="__cf_email__" '
        f'data-cfemail="{cloudflare_code(address)}">[email&#160;protected]</a></p>'
    )
    return email(html, address, Method.CLOUDFLARE)


def cloudflare_code(text: str) -> str:
    return bytes([CLOUDFLARE_KEY, *(CLOUDFLARE_KEY ^ byte for byte in text.encode())]).hex()


def typo3_token(address: str) -> Shown:
    token = escape(_typo3(f"mailto:{address}"), quote=True)
    html = (
        f'<p><a href="#" data-mailto-token="{token}" data-mailto-vector="{TYPO3_OFFSET}">E-Mail</a>'
    )
    return email(f"{html}</p>", address, Method.TYPO3)


def typo3_call(address: str) -> Shown:
    """As its older versions do."""
    call = f"javascript:linkTo_UnCryptMailto('{_typo3(f'mailto:{address}')}');"
    return email(f'<p><a href="{escape(call)}">E-Mail</a></p>', address, Method.TYPO3)


def _typo3(text: str) -> str:
    return "".join(map(_turned, text))


def _turned(character: str) -> str:
    for first, last in TYPO3_RANGES:
        if first <= character <= last:
            size = ord(last) - ord(first) + 1
            return chr(ord(first) + (ord(character) - ord(first) + TYPO3_OFFSET) % size)
    return character


def joomla(address: str) -> Shown:
    first, last = map(_base64, address.split("@"))
    html = (
        f'<p><joomla-hidden-mail is-link="1" is-email="1" first="{first}" last="{last}" '
        f'text="{_base64(address)}">This address is protected.</joomla-hidden-mail></p>'
    )
    return email(html, address, Method.JOOMLA)


def spamspan(address: str) -> Shown:
    user, host = address.split("@")
    html = (
        f'<p><span class="spamspan"><span class="u">{user}</span> [at] '
        f'<span class="d">{host.replace(".", " [dot] ")}</span></span></p>'
    )
    return email(html, address, Method.SPAMSPAN)


def wordpress_encoder(address: str) -> Shown:
    code = codecs.encode(address, "rot13").replace("@", "[at]")
    html = f'<p><a href="javascript:;" data-enc-email="{code}" class="mail-link">E-mail</a></p>'
    return email(html, address, Method.WORDPRESS_ENCODER)


# Hidden by hand


def spelled_out(address: str) -> Shown:
    written = address.replace("@", " (at) ").replace(".", " (dot) ")
    return email(f"<p>{written}</p>", address, Method.AT_DOT)


def spelled_out_in_german(address: str) -> Shown:
    written = address.replace("@", " [ät] ").replace(".", " [Punkt] ")
    return email(f"<p>{written}</p>", address, Method.AT_DOT)


def back_to_front(address: str) -> Shown:
    html = f'<p style="unicode-bidi:bidi-override;direction:rtl">{address[::-1]}</p>'
    return email(html, address, Method.REVERSED)


def rot13(address: str) -> Shown:
    html = f'<p><a href="#" class="mail" data-rot13="{codecs.encode(address, "rot13")}">E-mail</a>'
    return email(f"{html}</p>", address, Method.ROT13)


def base64(address: str) -> Shown:
    html = f'<p><a href="#" class="mail" data-address="{_base64(address)}">E-mail</a></p>'
    return email(html, address, Method.BASE64)


def entities(address: str) -> Shown:
    """Every character by its number: a browser shows an ordinary text."""
    written = "".join(f"&#{ord(character)};" for character in address)
    return email(f"<p>{written}</p>", address, Method.TEXT)


def escaped_twice(address: str) -> Shown:
    """So that people see `info&#64;…`."""
    return email(f"<p>{address.replace('@', '&amp;#64;')}</p>", address, Method.ENTITIES)


def broken_up(address: str) -> Shown:
    """By what nobody sees: a place to break the line, and a space without width."""
    user, host = address.split("@")
    return email(f"<p>{user}&#8203;@<wbr>{host}</p>", address, Method.TEXT)


def in_two_attributes(address: str) -> Shown:
    user, host = address.split("@")
    html = f'<p><a href="#" data-user="{user}" data-domain="{host}">E-mail</a></p>'
    return email(html, address, Method.SPLIT_ATTRIBUTES)


def put_together_by_a_script(address: str) -> Shown:
    user, host = address.split("@")
    html = (
        f"<script>var who = '{user}', where = '{host}';"
        "document.write('<a href=\"mailto:' + who + '@' + where + '\">E-mail</a>');</script>"
    )
    return email(html, address, Method.JAVASCRIPT)


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


EVERY_CLOAK: tuple[Cloak, ...] = (
    mailto,
    cloudflare,
    typo3_token,
    joomla,
    spamspan,
    spelled_out,
    back_to_front,
    rot13,
    entities,
    hcard,
    wordpress_encoder,
    typo3_call,
    plain_text,
    microdata,
    base64,
    escaped_twice,
    in_two_attributes,
    put_together_by_a_script,
    broken_up,
    on_click,
    without_scripts,
    spelled_out_in_german,
)
