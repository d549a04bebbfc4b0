"""Determine the state of a site from the response to its home page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scrapersky.scraper.html.document import Document, get_attribute
from scrapersky.scraper.html.model import PageFacts
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import get_host, get_registrable_site
from scrapersky.scraper.site.fingerprints import SiteEvidence, list_fingerprints, match_fingerprints
from scrapersky.scraper.site.model import SiteState, Technology

MAX_SHELL_WORDS = 25
"""A page with more words has content and is not just a shell."""
MAX_SCRIPT_CHARACTERS = 5_000

_LOCATION = re.compile(
    r"\blocation(?:\.href)?\s{0,9}(?:=\s{0,9}|\.(?:replace|assign)\(\s{0,9})[\"']([^\"'\s]{1,500})[\"']"
)


@dataclass(frozen=True)
class ClientRedirect:
    """The target of a redirect in the page, and its mechanism."""

    url: str
    means: str


def find_client_redirect(document: Document, facts: PageFacts) -> ClientRedirect | None:
    """Find a client-side redirect; None if the page has content."""
    if facts.word_count > MAX_SHELL_WORDS:
        return None
    targets = (
        (facts.refresh_url, "by a refresh"),
        (_find_script_redirect(document), "by a script"),
        (_find_frame(document), "in a frame"),
    )
    return next((ClientRedirect(url, means) for url, means in targets if url), None)


def _find_script_redirect(document: Document) -> str | None:
    for script in document.scripts:
        if len(script.text) < MAX_SCRIPT_CHARACTERS and (match := _LOCATION.search(script.text)):
            url = document.absolute(match[1])
            return url if url != document.url else None
    return None


def _find_frame(document: Document) -> str | None:
    """Return the URL of the only frame, if the page contains nothing else."""
    frames = document.tree.css("frame[src]") or document.tree.css("body > iframe[src]")
    visible = [
        get_attribute(frame, "src") for frame in frames if get_attribute(frame, "height") != "0"
    ]
    if len(visible) != 1 or document.tree.css_first("img, form, noscript"):
        return None
    return document.absolute(visible[0])


MAX_WORDS_BY_CATEGORY = {
    "challenge": 200,
    "parking": 400,
    "default page": 300,
    "under construction": 60,
}
"""A page with more words is a real page that happens to use such a script."""
MAX_WORDS_FOR_TEXT_SIGNS = {
    "challenge": 80,
    "parking": 300,
    "default page": 150,
    "under construction": 60,
}
"""Lower limits for pages that only their wording gives away."""

_BLOCKING_STATUSES = {
    401: "requires a password (401)",
    403: "denied access (403)",
    405: "rejects automated requests (405)",
    406: "rejects automated requests (406)",
    407: "requires a password (407)",
    418: "rejects automated requests (418)",
    429: "limits the request rate (429)",
    451: "is unavailable for legal reasons (451)",
}
_APP_ROOTS = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #q-app, app-root, [ng-app], [ng-version], "
    "[data-reactroot], flt-glass-pane, #application, #main-app"
)
_VISIBLE_ELEMENTS = "img, svg, video, object, embed, iframe, frame, form, canvas, picture"
_SCRIPT_NOTICES = ("enable javascript", "requires javascript", "javascript to run")


@dataclass(frozen=True)
class SiteVerdict:
    """A site state with its reason, a sentence for users."""

    state: SiteState
    reason: str
    redirected_to: str | None = None
    blocked_by: str | None = None


def detect_state(
    page: Response,
    document: Document,
    facts: PageFacts,
    evidence: SiteEvidence,
    *,
    requested_url: str,
) -> SiteVerdict:
    """Return the first state that applies."""
    return (
        _check_blocked(page, facts, evidence)
        or _check_dead(page)
        or _check_parked(page, facts, evidence, requested_url=requested_url)
        or _check_redirected(page, document, facts, requested_url=requested_url)
        or _check_empty(page, document)
        or _check_placeholder(page, facts, evidence)
        or _check_unreadable(page, document, facts)
        or SiteVerdict(SiteState.OK, f"{get_host(page.final_url)} answered with its home page.")
    )


def _find_sign(category: str, facts: PageFacts, evidence: SiteEvidence) -> Technology | None:
    if facts.word_count > MAX_WORDS_BY_CATEGORY[category]:
        return None
    for sign in match_fingerprints(evidence, list_fingerprints(category)):
        is_text = sign.evidence.startswith("text")
        if not is_text or facts.word_count <= MAX_WORDS_FOR_TEXT_SIGNS[category]:
            return sign
    return None


def _check_blocked(page: Response, facts: PageFacts, evidence: SiteEvidence) -> SiteVerdict | None:
    host = get_host(page.final_url)
    if sign := _find_sign("challenge", facts, evidence):
        return SiteVerdict(
            SiteState.BLOCKED,
            f"{host} answered {page.status} with a browser check: {sign.name} ({sign.evidence}).",
            blocked_by=sign.name,
        )
    if page.status in _BLOCKING_STATUSES:
        return SiteVerdict(SiteState.BLOCKED, f"{host} {_BLOCKING_STATUSES[page.status]}.")
    return None


def _check_dead(page: Response) -> SiteVerdict | None:
    if 200 <= page.status < 300:
        return None
    what = {404: "has no home page (404)", 410: "has removed its home page for good (410)"}
    if page.status >= 500:
        problem = f"had a server error ({page.status})"
    else:
        problem = what.get(page.status, f"answered {page.status} instead of a page")
    return SiteVerdict(SiteState.DEAD, f"{get_host(page.final_url)} {problem}.")


def _check_parked(
    page: Response, facts: PageFacts, evidence: SiteEvidence, *, requested_url: str
) -> SiteVerdict | None:
    sign = _find_sign("parking", facts, evidence)
    is_own = get_registrable_site(requested_url) == get_registrable_site(page.final_url)
    # A domain marketplace that was itself requested is a site, not a parked domain.
    if sign is None or (sign.evidence.startswith("host ") and is_own):
        return None
    reason = f"The domain is parked or for sale: {sign.name} ({sign.evidence})."
    return SiteVerdict(SiteState.PARKED, reason, None if is_own else page.final_url)


def _check_redirected(
    page: Response, document: Document, facts: PageFacts, *, requested_url: str
) -> SiteVerdict | None:
    if get_registrable_site(requested_url) != get_registrable_site(page.final_url):
        reason = f"{get_host(requested_url)} redirects to another site, {get_host(page.final_url)}."
        return SiteVerdict(SiteState.REDIRECTED, reason, page.final_url)
    forwarding = find_client_redirect(document, facts)
    if forwarding and get_registrable_site(forwarding.url) != get_registrable_site(requested_url):
        where = get_host(forwarding.url)
        reason = f"{get_host(requested_url)} shows another site, {where}, {forwarding.means}."
        return SiteVerdict(SiteState.REDIRECTED, reason, forwarding.url)
    return None


def _check_empty(page: Response, document: Document) -> SiteVerdict | None:
    host = get_host(page.final_url)
    if not page.body.strip():
        return SiteVerdict(SiteState.EMPTY, f"{host} answered {page.status} with no content.")
    kind = (page.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    if "html" not in kind and "<" not in document.html[:2_000]:
        named = kind or "content of unknown type"
        return SiteVerdict(
            SiteState.EMPTY, f"{host} answered with {named} instead of an HTML page."
        )
    return None


def _check_placeholder(
    page: Response, facts: PageFacts, evidence: SiteEvidence
) -> SiteVerdict | None:
    host = get_host(page.final_url)
    if sign := _find_sign("default page", facts, evidence):
        reason = (
            f"{host} shows a default page of its server or host: {sign.name} ({sign.evidence})."
        )
        return SiteVerdict(SiteState.EMPTY, reason)
    if sign := _find_sign("under construction", facts, evidence):
        reason = f"{host} is under construction or temporarily offline ({sign.evidence})."
        return SiteVerdict(SiteState.UNDER_CONSTRUCTION, reason)
    return None


def _check_unreadable(page: Response, document: Document, facts: PageFacts) -> SiteVerdict | None:
    host = get_host(page.final_url)
    if facts.word_count > MAX_SHELL_WORDS:
        return None
    if _requires_scripts(document) or (_has_scripts(document) and _is_app_shell(document, facts)):
        words = "1 word" if facts.word_count == 1 else f"{facts.word_count} words"
        reason = f"{host} shows only {words} without running its scripts."
        return SiteVerdict(SiteState.JAVASCRIPT_ONLY, reason)
    if not facts.word_count and document.tree.css_first(_VISIBLE_ELEMENTS) is None:
        return SiteVerdict(SiteState.EMPTY, f"{host} shows a blank page.")
    return None


def _requires_scripts(document: Document) -> bool:
    text = f"{document.noscript} {document.text}".lower()
    return "javascript" in document.noscript.lower() or any(
        words in text for words in _SCRIPT_NOTICES
    )


def _has_scripts(document: Document) -> bool:
    running = (each for each in document.scripts if "json" not in each.type)
    return any(each.src or each.text.strip() for each in running)


def _is_app_shell(document: Document, facts: PageFacts) -> bool:
    """Return whether the page is only a mount point for scripts."""
    if document.tree.css_first(_APP_ROOTS) is not None:
        return True
    return not facts.word_count and document.tree.css_first(_VISIBLE_ELEMENTS) is None
