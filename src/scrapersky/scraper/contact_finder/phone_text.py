"""What stands around digits in prose: whether they are called a phone number, or something else."""

import re
from enum import StrEnum

from scrapersky.scraper.contact_finder.phone_numbers import DASHES, SPACES


class Said(StrEnum):
    """What the words before a number call it."""

    PHONE = "phone"
    FAX = "fax"
    OTHER = "other"
    NOTHING = "nothing"


WINDOW = 48
"""Characters before a number in which its label may begin."""

_FILLER = r"[\s.:;|()\[\]/*»>→=°º\-–—：（｜]*+"
_LABEL = re.compile(
    rf"(?P<word>(?<![^\W\d_])[^\W\d_]++|[#№§©☎☏✆📞📱📲🕿📠]\ufe0f?)"
    rf"(?P<gap>(?:{_FILLER}(?:nr|no|n|num(?:ber|mer|ero|éro)?|číslo|numer)\b)?(?:\s\(\w{{1,16}}\))?"
    r"(?:\s(?:us|uns|me|an|at|on|is|now|today|our|toll[\s-]?free|unter|au|al|en)\b)*"
    rf"{_FILLER})\Z",
    re.IGNORECASE,
)
"""The last word, apart from those that lead on to the number: `Tel.-Nr. (mobil):`, `call us at`."""

_PHONE = re.compile(
    r"""
    .*(?:telefon|phone|téléphone|telephon|hotline|rufnummer|handy|mobil|móvil|celular|電話|电话|手机|手機
        |热线|전화|연락처|هاتف|تلفن|تليفون|جوال|موبايل|טלפון|โทร|फ़ोन|फोन|मोबाइल|ｔｅｌ|微信).*
    |t[eé]l(?:[eé](?!gram|x)\w*)?|telnr|tlm|fone?|ph|mob|cell\w{0,6}|gsm|tlfn?o?|tfno?|tf|puh\w*|ruf
    |anruf\w*|call|dial|ring|contact|tollfree|freephone|festnetz|zentrale|notruf|portable|komórk\w*|kom
    |appelez|ll[aá]m\w*|chiama\w*|ligue|zadzwo\w*|voice|whatsapp|sms|viber|office|direct|centralino
    |נייד|טל|κιν\w*|tālr\w*|sími|telp|thoại|đt|sđt|centrala|infolinia|linka|lijn|тел\w*|τηλ\w*|моб\w*|т|[☎☏✆📞📱📲🕿].?
    """,
    re.VERBOSE,
)
_FAX = re.compile(r".*fax|faks\w*|факс|.*(?:传真|傳真|팩스).*|📠")
_OTHER = re.compile(
    r"""
    vat|ust|uid|ustid\w*|id|idnr|ident\w*|mwst|tva|iva|btw|nif|cif|nie|nip|regon|krs|ičo?|dič|siren|siret
    |rcs|hr[ab]|handelsregister|registergericht|amtsgericht|finanzamt|steuer\w*|tax|gst|hst|abn|acn|kvk
    |cvr|org|organisationsnummer|tunnus|cnpj|cpf|rfc|cuit|rut|ein|duns|npi|ssn|iban|bic|blz|konto\w*|kto
    |account|bank|bsb|isbn|issn|ean|gtin|upc|asin|sku|art|artikel\w*|item|part|modell?|order|bestell\w*
    |auftrag\w*|invoice|rechnung\w*|kundennummer|customer|client|case|ticket|ref\w{0,8}|lic|licen[cs]e|lizenz\w*
    |reg|regist\w*|plz|zip|postcode|lat|latitude|lng|lon|longitude|gps|version|build|release|serial|serien\w*
    |tracking|sendung\w*|isin|wkn|patent|doi|pmid|arxiv|nr|no|n|code|pin|timestamp|date|datum|fecha|charge
    |lot|batch|copyright|ip|agr[ée]ment|matricule|autorisation|immatricul\w*|[#№§©]
    """,
    re.VERBOSE,
)
_PHONE_AND_FAX = re.compile(
    r"(?:tel|t[eé]l|phone|fon)\w{0,8}[\s.:]*(?:[/&+|,-]|und|and|et|y|e)\s*(?:tele)?fax", re.I
)
_JOINED = re.compile(
    r"[^\S\n]*[,;/&|•·+)]*[^\S\n]*"
    r"(?:\b(?:oder|or|und|and|et|ou|y|e|o|en|of|i|lub|nebo|og|och|ve|и)\b)?[^\S\n]*\(?"
)

_LETTER = "A-Za-zÀ-ɏ"
_CURRENCY = (
    r"[$€£¥₹₽₺]|\b(?:EUR|USD|GBP|CHF|CZK|PLN|SEK|NOK|DKK|HUF|RON|TRY|BRL|JPY|CAD|AUD|Euro|Kč|zł|kr"
    r"|Ft|lei|TL|Rs|руб)"
)
_WRONG_BEFORE = re.compile(
    rf"(?:[{_LETTER}_#@=&%\\°]|[{_LETTER}][-_/.]|(?<!\d)\d{{1,3}}[,.:]|\d[+x*]"
    rf"|(?:{_CURRENCY})[\s.]?|\b(?:AT|ATU|BE|BG|CHE?|CY|CZ|DE|DK|EE|EL|ES|EU|FI|FR|GB|HR|HU|IE|IT|LT|LU"
    rf"|LV|MT|NL|NO|PL|PT|RO|SE|SI|SK|XI)[{SPACES}-]?(?:\d\d[{SPACES}])?)\Z"
)
_WRONG_AFTER = re.compile(
    rf"[%‰°@_=:\\][{SPACES}]?|[,.]\d{{1,2}}(?!\d)|[{SPACES}]?%|[{SPACES}]?(?:{_CURRENCY})(?![{_LETTER}])"
    rf"|,-|[{DASHES}][{_LETTER}\d]|/(?!\d{{1,2}}(?![\d/.]))[{_LETTER}\d]|(?![A-Z][a-z]{{2}})[{_LETTER}]"
)
_NEXT_LABEL = re.compile(r"[A-Z][a-z]{2}|[FTME]:|E-?[Mm]ail")
_COLON_IN_PROSE = re.compile(r":(?!\d)")
EXTENSION = re.compile(
    rf"[{SPACES},;]{{0,2}}(?:\(?(?:ext(?:ension)?|x|dw|durchwahl|poste|int|interno|wewn|anexo|ramal|app)"
    rf"[{SPACES}.:=#]{{0,3}}|#)\d{{1,6}}\b\)?",
    re.I,
)


def said_before(before: str) -> Said:
    """What the last words of `before` call the number that follows them."""
    label = _LABEL.search(before)
    if label is None:
        return Said.NOTHING
    word = label["word"].lower()
    if word in ("#", "№") and (above := _LABEL.search(before[: label.start()])):
        return Said.PHONE if _PHONE.fullmatch(above["word"].lower()) else Said.OTHER
    if _FAX.fullmatch(word) or _is_letter("F", label):
        return Said.PHONE if _PHONE_AND_FAX.search(before) else Said.FAX
    if _PHONE.fullmatch(word) or _is_letter("TMPH", label):
        return Said.PHONE
    return Said.OTHER if _OTHER.fullmatch(word) else Said.NOTHING


def _is_letter(letters: str, label: re.Match[str]) -> bool:
    """Whether one capital letter stands for the word: `T: 0341 …`, `F 0341 …`."""
    word, gap = label["word"], label["gap"]
    return len(word) == 1 and word in letters and (gap.isspace() or gap.strip()[:1] in ":.|")


def joins_numbers(between: str) -> bool:
    """Whether a number after `between` is called what the number before it is called."""
    return len(between) <= 12 and _JOINED.fullmatch(between) is not None


def runs_into_a_word(after: str) -> bool:
    """Whether letters follow that belong to the digits; the next label may follow as closely."""
    if EXTENSION.match(after) or _NEXT_LABEL.match(after):
        return False
    return after[:1].isalpha() and after[:1].isascii()


def is_cut_out_of_more(before: str, after: str) -> bool:
    """Whether the digits are part of something longer: an amount, an identifier, a time."""
    if _WRONG_BEFORE.search(before):
        return True
    if EXTENSION.match(after) or _COLON_IN_PROSE.match(after):
        return False
    return _WRONG_AFTER.match(after) is not None
