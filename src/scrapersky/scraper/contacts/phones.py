"""Find phone numbers in visible text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from scrapersky.scraper.contacts.model import ContactMatch
from scrapersky.scraper.contacts.phone_numbers import (
    DASHES,
    DIGITS,
    INVISIBLE,
    SPACES,
    extract_digits,
    is_international,
    parse_number,
    to_ascii_digits,
)

MIN_DIGITS = 7
MAX_DIGITS = 16
MAX_GROUPS = 6
"""Maximum number of widely spaced groups that can form one number: `0341 / 12 34 - 56`."""

_DIGIT_SEPARATORS = rf"{SPACES}{DASHES}{INVISIBLE}./／()（）"
DIGIT_RUN = re.compile(
    rf"[{DIGITS}](?:[{_DIGIT_SEPARATORS}]{{0,6}}+[{DIGITS}]){{{MIN_DIGITS - 1},}}+"
)
"""Digits and the separators allowed inside a number. Possessive, so it never backtracks."""

NUMBER_PREFIX = re.compile(rf"(?:[+＋]|[(（])[{SPACES}{INVISIBLE}(+＋]{{0,3}}\Z")

_DATE = (
    rf"(?<![{DIGITS}./{DASHES}])(?:\d{{1,2}}([./-])\d{{1,2}}\1(?:\d{{4}}|\d\d)"
    rf"|(?:19|20)\d\d([./-])\d{{1,2}}\2\d{{1,2}})(?![./{DASHES}]?\d)"
)
_HOUR = r"(?:[01]?\d|2[0-4])\.[0-5]\d"
_HOURS = (
    rf"(?<![{DIGITS}./{DASHES}]){_HOUR}[{SPACES}]?[{DASHES}][{SPACES}]?{_HOUR}(?![./{DASHES}]?\d)"
)
_ALTERNATIVE_EXTENSION = r"(?:(?<=\d{3})|(?<=\d\d[ .]\d\d[ .]\d\d))/(?=\d{1,2}\Z)"
DATE = re.compile(_DATE)
_GAP = re.compile(
    rf"{_DATE}|{_HOURS}|{_ALTERNATIVE_EXTENSION}|[{SPACES}]{{2,}}|[{SPACES}][{DASHES}/.]+[{SPACES}]|\.[{SPACES}]|[{DASHES}]{{2,}}"
    rf"|[{SPACES}](?=[(（])"
)
_DASHED = re.compile(rf"[{SPACES}{DASHES}]+")
_TRUNK_PREFIX = re.compile(r"[(（]?[0０]")
_UNSPACED_TOKEN = re.compile(rf"[^{SPACES}/]+")
_YEARS = re.compile(r"(?:19|20)\d\d[^\d]{1,3}(?:19|20)\d\d")
_THOUSANDS = re.compile(r"[1-9]\d?(?:([ .])\d{3})(?:\1\d{3})+")
_ROUND_NUMBER = re.compile(r"000[ .]?000\Z")
_COORDINATE = re.compile(r"(?:0|[1-9]\d{0,2})\.\d{3,}")
_IP_ADDRESS = re.compile(r"(?:(?:0|1?\d?\d|2\d\d)\.){3}(?:0|1?\d?\d|2\d\d)")
_ISBN = re.compile(r"97[89][ -]?\d[ -]?[\d -]{8,11}|\d[ -]\d{2,7}[ -]\d{1,7}[ -]\d")
_NON_PHONE_PATTERNS = (_YEARS, _THOUSANDS, _COORDINATE, _IP_ADDRESS)
_LOCAL_GROUPS = re.compile(
    r"(?:1[ .-]?)?\(?\d{3}\)?[ .-]{0,2}\d{3}(?:[ .-]| - )\d{4}"
    r"|(?:[18][ .-]?)?\(?\d{2,4}\)?(?:[ ./-]{1,2}\d{2,4})+(?:-\d)?"
    r"|\(?\d{3}(?:\)|[ ./-]|\) )\d{6,7}|8[ -]?\(\d{3}\)[ -]?\d{7}|\d\d \d{7}"
    r"|\(?\d\d\)? ?(?:\d{5}|9 ?\d{4})[ -]\d{4}|\(\d\) ?\d{3,4}[ .-]\d{4}"
)
"""North America; most of Europe; Italy and Greece; Russia; Spain; Brazil; Chile and Hungary."""

_GROUPS_WITH_TRUNK = re.compile(r"[(]?0[\d ./()-]+")


@dataclass(frozen=True, slots=True)
class DigitGroup:
    """Digits without a wide gap; `dashed` if only a dash separates it from the previous group."""

    start: int
    end: int
    digits: int
    opens: bool
    dashed: bool


def split_run(run: str) -> Iterator[DigitGroup]:
    """Split a run of digits into groups at wide gaps and at dates."""
    if run.isdecimal():
        yield _build_group(run, 0, len(run), dashed=False)
        return
    start, dashed = 0, False
    for gap in _GAP.finditer(run):
        if gap.start() > start:
            yield _build_group(run, start, gap.start(), dashed=dashed)
        start, dashed = gap.end(), _DASHED.fullmatch(gap.group()) is not None
    if start < len(run):
        yield _build_group(run, start, len(run), dashed=dashed)


def _build_group(run: str, start: int, end: int, *, dashed: bool) -> DigitGroup:
    text = run[start:end].lstrip()
    start = end - len(text)
    digits = sum(map(str.isdecimal, text[:64]))
    opens = digits >= 6 and _TRUNK_PREFIX.match(text) is not None
    return DigitGroup(start, end, digits, opens=opens, dashed=dashed)


def list_spans(parts: Sequence[DigitGroup], first: int) -> Iterator[int]:
    """Yield the (exclusive) ends of the groups that, starting at `first`, may form one number."""
    digits = 0
    for last in range(first, min(first + MAX_GROUPS, len(parts))):
        part = parts[last]
        if last > first and part.opens and digits > 3:
            return
        digits += part.digits
        if digits > MAX_DIGITS:
            return
        if digits >= MIN_DIGITS:
            yield last + 1


def looks_like_number(written: str) -> bool:
    """Return whether a national number in ASCII digits is grouped like a phone number."""
    written = written[1:] if written.startswith("((") else written
    groups = re.findall(r"\d+", written)
    digits = len(extract_digits(written))
    if len(groups) < 2 or digits < 1.75 * len(groups) or _ROUND_NUMBER.search(written):
        return False
    if any(other.fullmatch(written) for other in _NON_PHONE_PATTERNS):
        return False
    if digits in (10, 13) and _ISBN.fullmatch(written):
        return False
    if _GROUPS_WITH_TRUNK.fullmatch(written):
        return True
    return digits >= 8 and _LOCAL_GROUPS.fullmatch(written) is not None


def find_unspaced_numbers(run: str, part: DigitGroup) -> Iterator[tuple[int, int]]:
    """Yield spans of unspaced numbers in a group that is not a number as a whole."""
    for word in _UNSPACED_TOKEN.finditer(run, part.start, part.end):
        is_part = word.span() == (part.start, part.end)
        if not is_part and sum(map(str.isdecimal, word.group())) >= MIN_DIGITS:
            yield word.span()


class PhoneLabel(StrEnum):
    """What the words in front of a number call it."""

    PHONE = "phone"
    FAX = "fax"
    OTHER = "other"
    NOTHING = "nothing"


LABEL_WINDOW = 48
"""Number of characters in front of a number that are searched for its label."""

_LABEL_FILLER = r"[\s.:;|()\[\]/*»>→=°º\-–—：（｜]*+"
_LABEL = re.compile(
    rf"(?P<word>(?<![^\W\d_])[^\W\d_]++|[#№§©☎☏✆📞📱📲🕿📠]\ufe0f?)"
    rf"(?P<gap>(?:{_LABEL_FILLER}(?:nr|no|n|num(?:ber|mer|ero|éro)?|číslo|numer)\b)?(?:\s\(\w{{1,16}}\))?"
    r"(?:\s(?:us|uns|me|an|at|on|is|now|today|our|toll[\s-]?free|unter|au|al|en)\b)*"
    rf"{_LABEL_FILLER})\Z",
    re.IGNORECASE,
)
"""The last word in front of a number, apart from filler: `Tel.-Nr. (mobil):`, `call us at`."""

_PHONE_WORD = re.compile(
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
_FAX_WORD = re.compile(r".*fax|faks\w*|факс|.*(?:传真|傳真|팩스).*|📠")
_OTHER_WORD = re.compile(
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
_CONJUNCTION = re.compile(
    r"[^\S\n]*[,;/&|•·+)]*[^\S\n]*"
    r"(?:\b(?:oder|or|und|and|et|ou|y|e|o|en|of|i|lub|nebo|og|och|ve|и)\b)?[^\S\n]*\(?"
)

_LETTER = "A-Za-zÀ-ɏ"
_CURRENCY = (
    r"[$€£¥₹₽₺]|\b(?:EUR|USD|GBP|CHF|CZK|PLN|SEK|NOK|DKK|HUF|RON|TRY|BRL|JPY|CAD|AUD|Euro|Kč|zł|kr"
    r"|Ft|lei|TL|Rs|руб)"
)
_NON_PHONE_PREFIX = re.compile(
    rf"(?:[{_LETTER}_#@=&%\\°]|[{_LETTER}][-_/.]|(?<!\d)\d{{1,3}}[,.:]|\d[+x*]"
    rf"|(?:{_CURRENCY})[\s.]?|\b(?:AT|ATU|BE|BG|CHE?|CY|CZ|DE|DK|EE|EL|ES|EU|FI|FR|GB|HR|HU|IE|IT|LT|LU"
    rf"|LV|MT|NL|NO|PL|PT|RO|SE|SI|SK|XI)[{SPACES}-]?(?:\d\d[{SPACES}])?)\Z"
)
_NON_PHONE_SUFFIX = re.compile(
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


def parse_label(before: str) -> PhoneLabel:
    """Return the label at the end of `before`, which precedes a number."""
    label = _LABEL.search(before)
    if label is None:
        return PhoneLabel.NOTHING
    word = label["word"].lower()
    if word in ("#", "№") and (above := _LABEL.search(before[: label.start()])):
        return (
            PhoneLabel.PHONE if _PHONE_WORD.fullmatch(above["word"].lower()) else PhoneLabel.OTHER
        )
    if _FAX_WORD.fullmatch(word) or _is_letter_label("F", label):
        return PhoneLabel.PHONE if _PHONE_AND_FAX.search(before) else PhoneLabel.FAX
    if _PHONE_WORD.fullmatch(word) or _is_letter_label("TMPH", label):
        return PhoneLabel.PHONE
    return PhoneLabel.OTHER if _OTHER_WORD.fullmatch(word) else PhoneLabel.NOTHING


def _is_letter_label(letters: str, label: re.Match[str]) -> bool:
    """Return whether the label is a single capital letter: `T: 0341 …`, `F 0341 …`."""
    word, gap = label["word"], label["gap"]
    return len(word) == 1 and word in letters and (gap.isspace() or gap.strip()[:1] in ":.|")


def continues_as_word(after: str) -> bool:
    """Return whether the digits continue as a word.

    The next label may follow just as closely and does not count.
    """
    if EXTENSION.match(after) or _NEXT_LABEL.match(after):
        return False
    return after[:1].isalpha() and after[:1].isascii()


def is_fragment(before: str, after: str) -> bool:
    """Return whether the digits belong to something longer: an amount, an identifier or a time."""
    if _NON_PHONE_PREFIX.search(before):
        return True
    if EXTENSION.match(after) or _COLON_IN_PROSE.match(after):
        return False
    return _NON_PHONE_SUFFIX.match(after) is not None


MAX_RUN_CHARACTERS = 1_000
"""Longer runs of digits and gaps are tables; only their beginning is read."""

MAX_RUNS_PER_NUMBER = 5
"""Maximum number of digit runs checked per number of the limit."""

MIN_COMPLETE_LENGTH = 11
"""After an E.164 value this long, a wide gap starts another number or an extension."""


@dataclass(frozen=True, slots=True)
class PhoneSearchResult:
    """Distinct numbers in text order; `capped` if a limit cut the search short."""

    found: tuple[ContactMatch, ...]
    capped: bool


def find_phones(text: str, *, regions: Sequence[str], limit: int) -> PhoneSearchResult:
    """Find the phone numbers in visible text; a number never spans a line break.

    At most `limit` distinct spellings are parsed. Numbers labelled as fax are skipped.
    """
    search = _PhoneSearch(text, regions, limit)
    for count, run in enumerate(DIGIT_RUN.finditer(text)):
        if search.left <= 0 or count >= limit * MAX_RUNS_PER_NUMBER:
            search.capped = True
            break
        if not DATE.fullmatch(run.group()):
            search.scan_run(*run.span())
    return PhoneSearchResult(tuple(search.found.values()), search.capped)


@dataclass(slots=True)
class _PhoneSearch:
    text: str
    regions: Sequence[str]
    left: int
    found: dict[str, ContactMatch] = field(default_factory=dict)
    capped: bool = False
    _read: dict[tuple[str, bool], str | None] = field(default_factory=dict)
    _said: PhoneLabel = PhoneLabel.NOTHING
    _end: int = -1

    def scan_run(self, start: int, end: int) -> None:
        prefix = NUMBER_PREFIX.search(self.text, max(0, start - 5), start)
        start = prefix.start() if prefix else start
        self.capped |= end > start + MAX_RUN_CHARACTERS
        run = self.text[start : min(end, start + MAX_RUN_CHARACTERS)]
        parts = list(split_run(run))
        first = 0
        while first < len(parts):
            first = self._scan_group(start, run, parts, first)

    def _scan_group(self, offset: int, run: str, parts: list[DigitGroup], first: int) -> int:
        """Take the number that starts at group `first`; return the index of the next group."""
        start = offset + parts[first].start
        label = self._get_label(start)
        spans = list(list_spans(parts, first))
        if label is PhoneLabel.FAX:
            self._said, self._end = label, offset + parts[first].end
            return spans[-1] if spans else first + 1
        best: tuple[int, str] | None = None
        for last in spans:
            part = parts[last - 1]
            if (
                best
                and len(best[1]) >= MIN_COMPLETE_LENGTH
                and not (part.dashed and part.digits <= 3)
            ):
                break
            value = self._value(start, offset + parts[last - 1].end, label)
            best = (last, value) if value else best
        if best is None:
            self._scan_words(offset, run, parts[first])
            return first + 1
        self._take(best[1], start, offset + parts[best[0] - 1].end, label)
        return best[0]

    def _scan_words(self, offset: int, run: str, part: DigitGroup) -> None:
        for start, end in find_unspaced_numbers(run, part):
            label = self._get_label(offset + start)
            if value := self._value(offset + start, offset + end, label):
                self._take(value, offset + start, offset + end, label)

    def _get_label(self, start: int) -> PhoneLabel:
        between = self.text[self._end : start][:13]
        if 0 <= self._end <= start and len(between) <= 12 and _CONJUNCTION.fullmatch(between):
            return self._said  # the label of the previous number applies to this one too
        return parse_label(self.text[max(0, start - LABEL_WINDOW) : start])

    def _value(self, start: int, end: int, label: PhoneLabel) -> str | None:
        raw, after = self.text[start:end], self.text[end : end + 16]
        written = to_ascii_digits(raw).strip()
        certain = (
            label is PhoneLabel.PHONE
            or is_international(written)
            # Machines write neither extensions nor full-width digits.
            or EXTENSION.match(after) is not None
            or (raw.isdecimal() and not raw.isascii())
        )
        if not (certain or looks_like_number(written)):
            return None
        before = self.text[max(0, start - LABEL_WINDOW) : start]
        if not _is_standalone(written, before, after, label):
            return None
        key = (written, label is PhoneLabel.PHONE)
        if key not in self._read:
            self.capped |= self.left <= 0
            value = None
            if self.left > 0:
                value = parse_number(written, self.regions, trunk_required=not key[1])
            self._read[key] = value
            self.left -= 1
        return self._read[key]

    def _take(self, value: str, start: int, end: int, label: PhoneLabel) -> None:
        if extension := EXTENSION.match(self.text, end, end + 24):
            end = extension.end()
        self._said, self._end = label, end
        self.found.setdefault(value, ContactMatch(value, self.text[start:end], start, end))


def _is_standalone(written: str, before: str, after: str, label: PhoneLabel) -> bool:
    if written.lstrip("( ").startswith("+"):
        return not (before[-1:].isdecimal() or after[:1] == "%")
    if label is PhoneLabel.PHONE:
        return not continues_as_word(after)
    return label is PhoneLabel.NOTHING and not is_fragment(before, after)
