"""Parse the forms of a page and classify their purpose."""

from __future__ import annotations

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from scrapersky.scraper.html.document import Document, get_attribute
from scrapersky.scraper.html.model import FormKind, PageForm

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
            kind == "email" or (kind in ("text", "input") and _MAIL.search(naming))
            for kind, _, naming in self.fields
        )


def parse_forms(document: Document) -> tuple[PageForm, ...]:
    return tuple(
        PageForm(_classify(_parse_form(node)), document.absolute(get_attribute(node, "action")))
        for node in document.tree.css("form")[:MAX_FORMS]
    )


def _parse_form(node: LexborNode) -> _Form:
    naming = [get_attribute(node, name) for name in ("id", "class", "name", "action", "aria-label")]
    fields = (_parse_field(each) for each in node.css("input, textarea, select")[:MAX_FIELDS])
    return _Form(
        " ".join([*naming, get_attribute(node, "role")])[:2_000],
        tuple(field for field in fields if field[0] not in _INVISIBLE_TYPES),
    )


def _parse_field(node: LexborNode) -> tuple[str, str, str]:
    attributes = node.attributes
    kind = node.tag if node.tag != "input" else (attributes.get("type") or "text").strip().lower()
    naming = " ".join(attributes.get(name) or "" for name in _NAMING_ATTRIBUTES)
    return kind or "", (attributes.get("name") or "").strip().lower(), naming[:500]


def _classify(form: _Form) -> FormKind:
    """Classify a form; tests that rule out a contact form come first."""
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
