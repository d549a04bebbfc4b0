"""What state a site is in, judged by the answer to the question for its home page."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.scraper.page_facts.document import Document
from scrapersky.scraper.page_facts.model import PageFacts
from scrapersky.scraper.responses import Response
from scrapersky.scraper.site_metadata.evidence import Evidence
from scrapersky.scraper.site_metadata.fingerprints import fingerprints_of
from scrapersky.scraper.site_metadata.forwarding import FEW_WORDS, forwarding_of
from scrapersky.scraper.site_metadata.matching import recognised
from scrapersky.scraper.site_metadata.model import SiteState, Technology
from scrapersky.scraper.site_metadata.sites import registrable_site
from scrapersky.scraper.urls import host_of

MAX_WORDS = {
    "challenge": 200,
    "parking": 400,
    "default page": 300,
    "under construction": 60,
}
"""What has more to read is a page that happens to use such a script."""
MAX_WORDS_AROUND = {
    "challenge": 80,
    "parking": 300,
    "default page": 150,
    "under construction": 60,
}
"""The same where only words give it away."""

_CLOSED_DOORS = {
    401: "asks for a password (401)",
    403: "does not let us in (403)",
    405: "does not answer programs (405)",
    406: "does not answer programs (406)",
    407: "asks for a password (407)",
    418: "does not answer programs (418)",
    451: "may not be shown here for legal reasons (451)",
}
_APP_ROOTS = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #q-app, app-root, [ng-app], [ng-version], "
    "[data-reactroot], flt-glass-pane, #application, #main-app"
)
_SOMETHING_TO_SEE = "img, svg, video, object, embed, iframe, frame, form, canvas, picture"
_WANTS_SCRIPTS = ("enable javascript", "requires javascript", "javascript to run")


@dataclass(frozen=True)
class Verdict:
    """A state, with a sentence why."""

    state: SiteState
    reason: str
    redirected_to: str | None = None
    blocked_by: str | None = None


def judge(
    page: Response, document: Document, facts: PageFacts, evidence: Evidence, *, asked: str
) -> Verdict:
    """The first of these that applies."""
    return (
        _refused(page, facts, evidence)
        or _gone(page)
        or _parked(page, facts, evidence, asked=asked)
        or _elsewhere(page, document, facts, asked=asked)
        or _no_page(page, document)
        or _placeholder(page, facts, evidence)
        or _unreadable(page, document, facts)
        or Verdict(SiteState.OK, f"{host_of(page.final_url)} answered with its home page.")
    )


def _sign(category: str, facts: PageFacts, evidence: Evidence) -> Technology | None:
    if facts.word_count > MAX_WORDS[category]:
        return None
    for sign in recognised(evidence, fingerprints_of(category)):
        if facts.word_count <= MAX_WORDS_AROUND[category] or not sign.evidence.startswith("text"):
            return sign
    return None


def _refused(page: Response, facts: PageFacts, evidence: Evidence) -> Verdict | None:
    host = host_of(page.final_url)
    if sign := _sign("challenge", facts, evidence):
        return Verdict(
            SiteState.BLOCKED,
            f"{host} answered {page.status} with a check that only a browser passes: "
            f"{sign.name} ({sign.evidence}).",
            blocked_by=sign.name,
        )
    if page.status in _CLOSED_DOORS:
        return Verdict(SiteState.BLOCKED, f"{host} {_CLOSED_DOORS[page.status]}.")
    if page.status == 429:
        return Verdict(SiteState.BLOCKED, f"{host} wants fewer questions (429).")
    return None


def _gone(page: Response) -> Verdict | None:
    if 200 <= page.status < 300:
        return None
    what = {404: "has no home page (404)", 410: "says that its home page is gone for good (410)"}
    if page.status >= 500:
        said = f"has trouble of its own ({page.status})"
    else:
        said = what.get(page.status, f"answered {page.status} instead of a page")
    return Verdict(SiteState.DEAD, f"{host_of(page.final_url)} {said}.")


def _parked(page: Response, facts: PageFacts, evidence: Evidence, *, asked: str) -> Verdict | None:
    sign = _sign("parking", facts, evidence)
    is_own = registrable_site(asked) == registrable_site(page.final_url)
    # Who asks for a marketplace itself gets a site, not a parked name.
    if sign is None or (sign.evidence.startswith("host ") and is_own):
        return None
    reason = f"The name is parked or for sale: {sign.name} ({sign.evidence})."
    return Verdict(SiteState.PARKED, reason, None if is_own else page.final_url)


def _elsewhere(
    page: Response, document: Document, facts: PageFacts, *, asked: str
) -> Verdict | None:
    if registrable_site(asked) != registrable_site(page.final_url):
        reason = f"{host_of(asked)} leads to another site, {host_of(page.final_url)}."
        return Verdict(SiteState.REDIRECTED, reason, page.final_url)
    forwarding = forwarding_of(document, facts)
    if forwarding and registrable_site(forwarding.url) != registrable_site(asked):
        where = host_of(forwarding.url)
        reason = f"{host_of(asked)} shows another site {forwarding.means}, {where}."
        return Verdict(SiteState.REDIRECTED, reason, forwarding.url)
    return None


def _no_page(page: Response, document: Document) -> Verdict | None:
    host = host_of(page.final_url)
    if not page.body.strip():
        return Verdict(SiteState.EMPTY, f"{host} answered {page.status} without any content.")
    kind = (page.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    if "html" not in kind and "<" not in document.html[:2_000]:
        named = kind or "something without a type"
        return Verdict(SiteState.EMPTY, f"{host} answered with {named}, which is no page.")
    return None


def _placeholder(page: Response, facts: PageFacts, evidence: Evidence) -> Verdict | None:
    host = host_of(page.final_url)
    if sign := _sign("default page", facts, evidence):
        reason = f"{host} shows a page of its server or host: {sign.name} ({sign.evidence})."
        return Verdict(SiteState.EMPTY, reason)
    if sign := _sign("under construction", facts, evidence):
        reason = f"{host} says that it is not there yet or just now ({sign.evidence})."
        return Verdict(SiteState.UNDER_CONSTRUCTION, reason)
    return None


def _unreadable(page: Response, document: Document, facts: PageFacts) -> Verdict | None:
    host = host_of(page.final_url)
    if facts.word_count > FEW_WORDS:
        return None
    if _wants_scripts(document) or (_has_scripts(document) and _is_shell(document, facts)):
        reason = f"{host} shows only {facts.word_count} words without running its scripts."
        return Verdict(SiteState.JAVASCRIPT_ONLY, reason)
    if not facts.word_count and document.tree.css_first(_SOMETHING_TO_SEE) is None:
        return Verdict(SiteState.EMPTY, f"{host} shows a blank page.")
    return None


def _wants_scripts(document: Document) -> bool:
    asked = f"{document.noscript} {document.text}".lower()
    return "javascript" in document.noscript.lower() or any(
        words in asked for words in _WANTS_SCRIPTS
    )


def _has_scripts(document: Document) -> bool:
    running = (each for each in document.scripts if "json" not in each.type)
    return any(each.src or each.text.strip() for each in running)


def _is_shell(document: Document, facts: PageFacts) -> bool:
    """A place for scripts to put a page into."""
    if document.tree.css_first(_APP_ROOTS) is not None:
        return True
    return not facts.word_count and document.tree.css_first(_SOMETHING_TO_SEE) is None
