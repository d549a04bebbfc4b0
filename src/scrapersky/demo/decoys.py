"""What looks like a contact and is none; the town expects that nothing of it is stored."""

from __future__ import annotations

from scrapersky.demo.cloaks import cloudflare_code
from scrapersky.demo.published import Shown


def retina_logo() -> Shown:
    return Shown('<img src="/images/logo@2x.png" srcset="/images/logo@3x.png 3x" alt="logo@2x">')


def order_number() -> Shown:
    return Shown("<p>Order no. 2025550123, invoice 4930231259, VAT ID DE 302312599.</p>")


def dates_and_prices() -> Shown:
    return Shown("<p>Since 12.03.1931, open 09.00-17.30. Now 1.299.000 EUR, build 1731732000.</p>")


def placeholder_in_a_form() -> Shown:
    """Only an example of an address; the form belongs to a newsletter."""
    field = '<input type="email" name="email" placeholder="you@example.com">'
    return Shown(f'<form class="newsletter" action="/subscribe">{field}</form>')


def placeholder_in_the_text() -> Shown:
    return Shown("<p>Write it like this: name@example.com</p>")


def share_links() -> Shown:
    page = "http%3A%2F%2Ftown.example%2F"
    links = (
        f"https://www.facebook.com/sharer/sharer.php?u={page}",
        f"https://twitter.com/intent/tweet?url={page}",
        f"https://www.linkedin.com/shareArticle?mini=true&amp;url={page}",
        f"https://pinterest.com/pin/create/button/?url={page}",
    )
    return Shown("".join(f'<a href="{link}">Share</a>' for link in links))


def shared_by_mail() -> Shown:
    """Cloudflare hides the recipient of a link that has none."""
    code = cloudflare_code("?subject=Look at this&body=http://town.example/")
    return Shown(f'<a href="/cdn-cgi/l/email-protection#{code}">Share by e-mail</a>')


def programmers_comment() -> Shown:
    return Shown("<!-- theme by studio, questions to themes@studio.example -->")


def error_reporter_key() -> Shown:
    key = "https://0123456789abcdef0123456789abcdef@o99999.ingest.sentry.io/4501"
    return Shown(f"<script>var reporter = '{key}';</script>")


def handle_in_the_text() -> Shown:
    return Shown("<p>Photos by @millbrook_daily, bread by @corner.</p>")


def everything() -> tuple[Shown, ...]:
    return (
        retina_logo(),
        order_number(),
        dates_and_prices(),
        placeholder_in_a_form(),
        placeholder_in_the_text(),
        share_links(),
        shared_by_mail(),
        programmers_comment(),
        error_reporter_key(),
        handle_in_the_text(),
    )
