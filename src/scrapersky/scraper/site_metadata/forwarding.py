"""Where a page sends its visitors without a redirect: by a refresh, a script or a frame."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scrapersky.scraper.page_facts.document import Document, attribute
from scrapersky.scraper.page_facts.model import PageFacts

FEW_WORDS = 25
"""A page with more to read is one."""
MAX_SCRIPT_CHARACTERS = 5_000

_LOCATION = re.compile(
    r"\blocation(?:\.href)?\s{0,9}(?:=\s{0,9}|\.(?:replace|assign)\(\s{0,9})[\"']([^\"'\s]{1,500})[\"']"
)


@dataclass(frozen=True)
class Forwarding:
    """Where to, and by what."""

    url: str
    means: str


def forwarding_of(document: Document, facts: PageFacts) -> Forwarding | None:
    """None for a page that has something to read."""
    if facts.word_count > FEW_WORDS:
        return None
    found = (
        (facts.refresh_url, "by a refresh"),
        (_by_script(document), "by a script"),
        (_in_frame(document), "in a frame"),
    )
    return next((Forwarding(url, means) for url, means in found if url), None)


def _by_script(document: Document) -> str | None:
    for script in document.scripts:
        if len(script.text) < MAX_SCRIPT_CHARACTERS and (match := _LOCATION.search(script.text)):
            url = document.absolute(match[1])
            return url if url != document.url else None
    return None


def _in_frame(document: Document) -> str | None:
    """The only frame of a page that has nothing else."""
    frames = document.tree.css("frame[src]") or document.tree.css("body > iframe[src]")
    shown = [attribute(frame, "src") for frame in frames if attribute(frame, "height") != "0"]
    if len(shown) != 1 or document.tree.css_first("img, form, noscript"):
        return None
    return document.absolute(shown[0])
