"""Undo Cloudflare's e-mail protection: hexadecimal, each byte XORed with the first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapersky.scraper.contact_finder.cloaks.uncloaked import Uncloaked
from scrapersky.scraper.contact_finder.found import Method
from scrapersky.scraper.contact_finder.page import Page

_CODE = re.compile(
    r"""(?:data-cfemail\s{0,9}=\s{0,9}["']?|/email-protection#)([0-9a-f]{8,1000})""", re.IGNORECASE
)


def read_cloudflare(page: Page) -> Iterator[Uncloaked]:
    if "cfemail" not in page.lowered and "email-protection#" not in page.lowered:
        return
    for match in _CODE.finditer(page.attributes):
        text = decoded(match[1])
        # A share link's subject and body are protected too, and begin with their "?".
        if not text.startswith("?"):
            yield Uncloaked(text.partition("?")[0], match[1], Method.CLOUDFLARE, match.start())


def decoded(code: str) -> str:
    key, *rest = bytes.fromhex(code[: len(code) // 2 * 2])
    return bytes(byte ^ key for byte in rest).decode("utf-8", "replace")
