"""Extract the facts of a page: title, language, robots, links, forms, schema types.

    facts = read_page(response)
    facts = read_page("<title>Bread</title>", url="https://bakery.example/")

Use `open_document` to get the parsed page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from selectolax.lexbor import LexborNode

from scrapersky.scraper.html.document import (
    Document,
    clean_text,
    collect_node_ids,
    get_attribute,
    get_header_values,
    open_document,
)
from scrapersky.scraper.html.model import (
    FormKind,
    OpenGraph,
    PageFacts,
    PageForm,
    PageLink,
    RobotsMeta,
)
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.http.urls import MAX_URL_CHARACTERS, clean_url, get_origin, is_same_site

# Head

MAX_METAS = 500
MAX_DIRECTIVES = 30
MAX_REFRESH_SECONDS = 10
"""Pages with a longer delay are meant to be read first, or reload themselves as news pages do."""

_LANGUAGE = re.compile(
    r"([A-Za-z]{2,3})(?:[-_][A-Za-z]{4})?(?:[-_]([A-Za-z]{2}|\d{3})\b)?(?![A-Za-z])"
)
_REFRESH = re.compile(r"\s*(\d{1,4})(?:\.\d{0,9})?\s*[;,\s]\s*(?:url\s*=)?\s*[\"']?([^\"']+)", re.I)
_DIRECTIVES_WITH_VALUE = (
    "unavailable_after",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
)
_GENERAL_AGENTS = ("", "robots", "googlebot")


def parse_metas(document: Document) -> dict[str, str]:
    """Return the `meta` tags by name, property or `http-equiv`; the first of each wins."""
    metas: dict[str, str] = {}
    for node in document.tree.css("meta[content]")[:MAX_METAS]:
        attributes = node.attributes
        for key in ("name", "property", "http-equiv", "itemprop"):
            if (name := attributes.get(key)) and (content := attributes.get("content")):
                metas.setdefault(name.strip().lower()[:100], content)
    return metas


def get_title(document: Document) -> str | None:
    """Return the first title outside of SVG images, which can have titles, too."""
    for node in document.tree.css("head title, title"):
        parent = node.parent
        if (parent is None or parent.tag != "svg") and (title := clean_text(node.text())):
            return title
    return None


def get_h1(document: Document) -> str | None:
    """Return the first heading that has text or an image with alternative text."""
    for node in document.tree.css("h1")[:20]:
        heading = clean_text(node.text(separator=" "))
        if heading := heading or clean_text(get_attribute(node.css_first("img[alt]"), "alt")):
            return heading
    return None


def get_canonical_url(document: Document) -> str | None:
    for node in document.tree.css("link[rel][href]"):
        if "canonical" in get_attribute(node, "rel").lower().split():
            url = document.absolute(get_attribute(node, "href"))
            return url.partition("#")[0] if url else None
    return None


def get_language(document: Document, metas: dict[str, str]) -> str | None:
    """Return the language of the root element, `meta`, header or Open Graph, in that order."""
    root = document.tree.css_first("html")
    candidates = (
        get_attribute(root, "lang"),
        get_attribute(root, "xml:lang"),
        metas.get("content-language", ""),
        *get_header_values(document.headers, "Content-Language"),
        metas.get("og:locale", ""),
    )
    return next(filter(None, map(_parse_language, candidates)), None)


def _parse_language(text: str) -> str | None:
    match = _LANGUAGE.match(text.strip())
    if match is None:
        return None
    region = f"-{match[2].upper()}" if match[2] else ""
    return f"{match[1].lower()}{region}"


def parse_robots_meta(document: Document, metas: dict[str, str]) -> RobotsMeta:
    written = [metas.get("robots", ""), metas.get("googlebot", "")]
    written += get_header_values(document.headers, "X-Robots-Tag")
    directives = dict.fromkeys(each for text in written for each in _parse_directives(text))
    return RobotsMeta(tuple(directives)[:MAX_DIRECTIVES])


def _parse_directives(text: str) -> Iterator[str]:
    """Yield the directives that apply to all robots or to Googlebot.

    An X-Robots-Tag header can address several user agents; directives for others are skipped.
    """
    agent = ""
    for part in text[:1_000].lower().split(","):
        name, colon, rest = part.strip().partition(":")
        if colon and name.strip() not in _DIRECTIVES_WITH_VALUE:
            agent, part = name.strip(), rest
        if agent in _GENERAL_AGENTS and (directive := clean_text(part, limit=60)):
            yield directive


def parse_open_graph(document: Document, metas: dict[str, str]) -> OpenGraph:
    def get_property(name: str) -> str | None:
        return clean_text(metas.get(f"og:{name}"))

    return OpenGraph(
        title=get_property("title"),
        description=get_property("description"),
        site_name=get_property("site_name"),
        type=get_property("type"),
        url=document.absolute(metas.get("og:url")),
        image=document.absolute(metas.get("og:image") or metas.get("og:image:url")),
        locale=get_property("locale"),
    )


def get_refresh_url(document: Document, metas: dict[str, str]) -> str | None:
    """Return the target of a `meta` refresh, unless it is the page itself."""
    match = _REFRESH.match(metas.get("refresh", "")[:3_000])
    if match is None or int(match[1]) > MAX_REFRESH_SECONDS:
        return None
    url = document.absolute(match[2])
    return url if url and unquote(url) != unquote(document.url) else None


# Forms

MAX_FORMS = 100
MAX_FIELDS = 200

_INVISIBLE_TYPES = frozenset({"hidden", "submit", "button", "image", "reset"})
_NAMING_ATTRIBUTES = ("name", "id", "class", "placeholder", "aria-label", "title", "autocomplete")

_CONTACT = re.compile(
    r"contac?t|kontak[ts]?|contatt|contato|anfrage|enquir|inquir|feedback-?form|get-?in-?touch|"
    r"nous-?ecrire|escribenos|escr[ií]benos|scrivici|fale-?conosco|iletisim|iletişim|"
    r"bize-?(?:ulas|ulaş|yaz)|napiste|napište|napisz|skriv-?till|skriv-?til|neem-?contact|"
    r"wpcf7|wpforms|gform_|ninja-forms|nf-form|forminator|fluentform|frm_form",
    re.IGNORECASE,
)
"""Names of contact forms in the supported languages and in form plugins."""
_MAIL = re.compile(r"e-?mail|correo|courriel|e-?posta|\bmail|_mail|epost", re.IGNORECASE)
_SEARCH = re.compile(
    r"search|such(?:e|form)|recherche|buscar?|busqueda|ricerca|cerca\b|pesquis|zoeken|szuka|"
    r"\bs[oö]k\b|\bs[oø]g\b|hleda|\barama?\b",
    re.IGNORECASE,
)
_SEARCH_FIELDS = frozenset({"q", "s", "query", "search", "keyword", "keywords", "suche"})
_NEWSLETTER = re.compile(
    r"newsletter|subscri|mailchimp|mc-embedded|mc4wp|mailpoet|klaviyo|sendinblue|brevo|"
    r"boletin|bulten|abonn(?:e|ier)|iscri(?:viti|zione)|nieuwsbrief|nyhedsbrev|nyhetsbrev",
    re.IGNORECASE,
)
_CHECKOUT = re.compile(
    r"checkout|add-?to-?cart|/cart\b|cart[-_/]form|variations_form|warenkorb|basket|panier|"
    r"carrito|carrello|carrinho|winkelwagen|koszyk|kosik|sepet|varukorg",
    re.IGNORECASE,
)
_COMMENT = re.compile(
    r"comment-?form|wp-comments-post|commentaire|kommentar|review|bewertung|respond\b|opinion|"
    r"recensi|testimonial",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Form:
    """The naming attributes of a form and of its visible fields."""

    naming: str
    fields: tuple[tuple[str, str, str], ...]
    """Type, name and all naming attributes of each field."""

    def has(self, *kinds: str) -> bool:
        return any(kind in kinds for kind, _, _ in self.fields)

    @property
    def has_message(self) -> bool:
        return self.has("textarea")

    @property
    def has_mail(self) -> bool:
        return any(
            kind == "email" or (kind in ("text", "input") and _MAIL.search(names))
            for kind, _, names in self.fields
        )


def parse_forms(document: Document) -> tuple[PageForm, ...]:
    return tuple(
        PageForm(_classify_form(node), document.absolute(get_attribute(node, "action")))
        for node in document.tree.css("form")[:MAX_FORMS]
    )


def _parse_field(node: LexborNode) -> tuple[str, str, str]:
    attributes = node.attributes
    kind = node.tag if node.tag != "input" else (attributes.get("type") or "text").strip().lower()
    names = " ".join(attributes.get(name) or "" for name in _NAMING_ATTRIBUTES)
    return kind or "", (attributes.get("name") or "").strip().lower(), names[:500]


def _classify_form(node: LexborNode) -> FormKind:
    """Classify a form; tests that rule out a contact form come first."""
    names = ("id", "class", "name", "action", "aria-label", "role")
    fields = (_parse_field(each) for each in node.css("input, textarea, select")[:MAX_FIELDS])
    form = _Form(
        " ".join(get_attribute(node, name) for name in names)[:2_000],
        tuple(field for field in fields if field[0] not in _INVISIBLE_TYPES),
    )
    tests = (
        (FormKind.LOGIN, form.has("password")),
        (FormKind.CHECKOUT, _CHECKOUT.search(form.naming)),
        (FormKind.COMMENT, _is_comment(form)),
        (FormKind.CONTACT, form.has_message and (form.has_mail or _CONTACT.search(form.naming))),
        (FormKind.SEARCH, _is_search(form)),
        (FormKind.NEWSLETTER, _is_newsletter(form)),
    )
    return next((kind for kind, holds in tests if holds), FormKind.OTHER)


def _is_comment(form: _Form) -> bool:
    if not form.has_message or _CONTACT.search(form.naming):
        return False
    is_named = any(kind == "textarea" and name == "comment" for kind, name, _ in form.fields)
    return is_named or _COMMENT.search(form.naming) is not None


def _is_search(form: _Form) -> bool:
    if form.has_message or form.has_mail:
        return False
    named = any(name in _SEARCH_FIELDS for _, name, _ in form.fields)
    return form.has("search") or named or _SEARCH.search(form.naming) is not None


def _is_newsletter(form: _Form) -> bool:
    """Return whether the form takes an e-mail address and little else."""
    if form.has_message or not form.has_mail:
        return False
    return len(form.fields) <= 3 or _NEWSLETTER.search(form.naming) is not None


# Links

MAX_LINKS = 2_000
MAX_LINK_TEXT_CHARACTERS = 200

_NAV = "nav, header, [role=navigation], [role=banner]"
_FOOTER = "footer, [role=contentinfo]"
_PLAIN_PATH = re.compile(r"(?:/(?!\.)[\w\-.~%+,;=&?]*)+", re.ASCII)
_PLAIN_URL = re.compile(
    rf"https?://[a-z0-9\-]+(?:\.[a-z0-9\-]+)+(?:{_PLAIN_PATH.pattern})?", re.ASCII
)


def parse_links(document: Document) -> tuple[tuple[PageLink, ...], bool]:
    """Return the distinct targets with their first link text, and whether links were left out."""
    tree = document.tree
    in_nav, in_footer = collect_node_ids(tree, _NAV), collect_node_ids(tree, _FOOTER)
    origin = get_origin(document.base_url) if clean_url(document.base_url) else ""
    links: dict[str, PageLink] = {}
    for node in tree.css("a[href], area[href]"):
        attributes = node.attributes
        url = _resolve_target(document, attributes.get("href") or "", origin)
        if url is None or (url in links and links[url].text):
            continue
        if len(links) >= MAX_LINKS and url not in links:
            return tuple(links.values()), True
        links[url] = PageLink(
            url=url,
            text=_get_link_text(node, attributes),
            rel=tuple((attributes.get("rel") or "").lower().split()[:10]),
            in_nav=node.mem_id in in_nav,
            in_footer=node.mem_id in in_footer,
            same_site=_is_same_site_origin("/".join(url.split("/", 3)[:3]), document.url),
        )
    return tuple(links.values()), False


@lru_cache(maxsize=1_024)
def _is_same_site_origin(origin: str, page_url: str) -> bool:
    return is_same_site(page_url, origin)


def _resolve_target(document: Document, href: str, origin: str) -> str | None:
    href = href.strip()
    if not href or href.startswith("#") or len(href) > MAX_URL_CHARACTERS:
        return None
    # Fast path: most links are plain, and full URL resolution takes longer than parsing the page.
    if _PLAIN_URL.fullmatch(href):
        return href
    if origin and not href.startswith("//") and _PLAIN_PATH.fullmatch(href):
        return f"{origin}{href}"
    url = document.absolute(href)
    return url.partition("#")[0] if url else None


def _get_link_text(node: LexborNode, attributes: Mapping[str, str | None]) -> str:
    if text := clean_text(node.text(separator=" "), limit=MAX_LINK_TEXT_CHARACTERS):
        return text
    picture = get_attribute(node.css_first("img[alt]"), "alt")
    for text in (attributes.get("aria-label"), picture, attributes.get("title")):
        if cleaned := clean_text(text, limit=MAX_LINK_TEXT_CHARACTERS):
            return cleaned
    return ""


# JSON-LD

MAX_SCRIPTS = 50
MAX_SCRIPT_CHARACTERS = 512 * 1024
MAX_NODES = 5_000
MAX_TYPES = 50

_WRAPPING_START = re.compile(r"\A(?:\s|<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)+")
_WRAPPING_END = re.compile(r"(?:;|-->|//\s*\]\]>|\]\]>|/\*\s*\]\]>\s*\*/)\s*\Z")

JsonObject = dict[str, Any]


def parse_json_ld(document: Document) -> list[JsonObject]:
    """Return all objects in the page's JSON-LD, outer objects before nested ones."""
    objects: list[JsonObject] = []
    scripts = [each for each in document.scripts if "ld+json" in each.type]
    for script in scripts[:MAX_SCRIPTS]:
        for node in _walk_objects(_parse_json(script.text)):
            objects.append(node)
            if len(objects) >= MAX_NODES:
                return objects
    return objects


def _parse_json(text: str) -> Any:
    if len(text) > MAX_SCRIPT_CHARACTERS:
        return None
    text = _WRAPPING_END.sub("", _WRAPPING_START.sub("", text).rstrip()[-MAX_SCRIPT_CHARACTERS:])
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _walk_objects(value: Any) -> Iterator[JsonObject]:
    """Yield objects breadth first, without recursion."""
    row = [value]
    for each in row:
        if isinstance(each, dict):
            yield each
            row.extend(each.values())
        elif isinstance(each, list):
            row.extend(each[:MAX_NODES])


def get_types(node: JsonObject) -> tuple[str, ...]:
    """Return the type names: `http://schema.org/Bakery` and `schema:Bakery` become `Bakery`."""
    types = node.get("@type")
    names = types if isinstance(types, list) else [types]
    return tuple(filter(None, (_get_type_name(name) for name in names[:20])))


def _get_type_name(name: object) -> str | None:
    if not isinstance(name, str):
        return None
    return clean_text(re.split(r"[/#:]", name.strip().rstrip("/"))[-1], limit=80)


def list_schema_types(document: Document, nodes: list[JsonObject]) -> tuple[str, ...]:
    types = dict.fromkeys(each for node in nodes for each in get_types(node))
    for node in document.tree.css("[itemtype], [typeof]")[:MAX_NODES]:
        itemtype = get_attribute(node, "itemtype") or get_attribute(node, "typeof")
        types.update(dict.fromkeys(filter(None, map(_get_type_name, itemtype.split()[:5]))))
    return tuple(types)[:MAX_TYPES]


# The page


def read_page(
    page: Response | str | bytes,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> PageFacts:
    """Parse a page and extract its facts; never raises, whatever the input.

    URL and headers default to those of a `Response`; pass them for text or bytes.
    """
    return extract_facts(open_document(page, url=url, headers=headers))


def extract_facts(document: Document) -> PageFacts:
    metas = parse_metas(document)
    links, links_cut = parse_links(document)
    open_graph = parse_open_graph(document, metas)
    return PageFacts(
        url=document.url,
        title=get_title(document),
        h1=get_h1(document),
        description=clean_text(metas.get("description")) or open_graph.description,
        canonical=get_canonical_url(document),
        robots=parse_robots_meta(document, metas),
        language=get_language(document, metas),
        schema_types=list_schema_types(document, parse_json_ld(document)),
        forms=parse_forms(document),
        word_count=len(document.text.split()),
        links=links,
        links_cut=links_cut,
        open_graph=open_graph,
        refresh_url=get_refresh_url(document, metas),
        charset=document.charset,
        lossy=document.lossy,
        cut=document.cut,
    )
