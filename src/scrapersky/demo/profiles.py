"""Profiles elsewhere, linked as sites link them."""

from __future__ import annotations

from scrapersky.demo.published import Shown, profile
from scrapersky.scraper.contact_finder import Method


def instagram(handle: str) -> Shown:
    return _linked(f"https://www.instagram.com/{handle}", "/?hl=en")


def facebook(handle: str) -> Shown:
    return _linked(f"https://www.facebook.com/{handle}", "/?ref=page_internal")


def x(handle: str) -> Shown:
    """Under the name that it had before."""
    url = f"https://x.com/{handle}"
    return profile(f'<a href="https://twitter.com/{handle}">Twitter</a>', url, Method.LINK)


def linkedin(company: str) -> Shown:
    return _linked(f"https://www.linkedin.com/company/{company}", "/about/")


def youtube(handle: str) -> Shown:
    return _linked(f"https://www.youtube.com/@{handle}", "/videos")


def _linked(url: str, rest: str) -> Shown:
    """With what people copied along with the address."""
    return profile(f'<a href="{url}{rest}">Follow us</a>', url, Method.LINK)
