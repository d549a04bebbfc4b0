"""Parse one phone number as written into E.164, using libphonenumber."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

import phonenumbers

DIGITS = "0-9０-９٠-٩۰-۹०-९"
SPACES = " \u00a0\u2000-\u200a\u202f\u3000"
INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
DASHES = "\\-\u2010-\u2015\u2212\uff0d"

MAX_NATIONAL_DIGITS = 12
"""Some numbering plans allow 15, but then it is usually two numbers, or a number and a postcode."""

MAX_VALUE_CHARACTERS = 400
"""Longer values of `tel:` or `telephone` are prose or garbage."""

MIN_DIGITS_WITHOUT_TRUNK = 8
"""Shorter numbers without a required trunk prefix are local ones that lack the area code."""

MIN_DIGITS_WITHOUT_PLUS = 10
"""Shorter numbers are local ones that happen to start with the digits of their country code."""

OBSOLETE_PREFIXES = {"MX": ("045", "044", "01")}
"""Dialling prefixes abolished by a reform; many sites still print them."""

_OBSOLETE_MOBILE = re.compile(r"521(?=\d{10}\Z)")
"""The same reform removed the "1" after Mexico's country code."""

_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_DASH = re.compile(f"[{DASHES}]")
_NON_DIGITS = re.compile(r"\D+")
_BRACKETED_TRUNK = re.compile(r"\(\s*[08]\s*\)")
_EXTENSION = re.compile(r"\s*(?:;|,|\b(?:ext|extension|x|dw|durchwahl|poste|int)\b|[x#])", re.I)
_TEL_SCHEME = re.compile(r"\s*(?:tel|telephone|phone|callto|sms)\s*:[\s/:]*", re.I)
_NUMBER_SEPARATORS = re.compile(
    r"[|\n]|\s(?:&|oder|or|und|and|et|ou|y|e|o|en|of|i|lub|nebo|og|och)\s|(?<=\d)[\s,;/]*(?=\+)"
)
_SLASH_OR_COMMA = re.compile(r"[/,;]|\s-\s")
_VANITY = re.compile(r"\+?1?[\s.(-]*8(?:00|33|44|55|66|77|88)[\s.)-]*(?:[A-Za-z][\s.-]?){7,11}")


def to_ascii_digits(written: str) -> str:
    """Convert digits and dashes to ASCII and remove invisible characters."""
    if not written.isascii():
        written = unicodedata.normalize("NFKC", _INVISIBLE.sub("", _DASH.sub("-", written)))
        written = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in written)
    return written


def extract_digits(written: str) -> str:
    return _NON_DIGITS.sub("", written)


def parse_number(written: str, regions: Sequence[str], *, trunk_required: bool) -> str | None:
    """Return a number as E.164, using the first region in which it is valid; None if there is none.

    `written` must be in ASCII digits (`to_ascii_digits`). Regions in which the number includes its
    trunk prefix (0, 8, …) take precedence. With `trunk_required` only these count, because a number
    without the prefix often lacks its area code.
    """
    digits = extract_digits(written)
    if not 6 <= len(digits) <= 20:
        return None
    if is_international(written):
        return _parse_international(written)
    without_trunk = None
    for region in regions:
        number = _parse_national(digits, region)
        if number is not None and not _lacks_trunk_prefix(number, digits):
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
        if number is not None and len(digits) >= MIN_DIGITS_WITHOUT_TRUNK:
            code = str(number.country_code)
            if len(digits) >= MIN_DIGITS_WITHOUT_PLUS and digits.startswith(code):
                number = _parse_valid("+" + digits, None) or number  # it lacks only the plus sign
            without_trunk = without_trunk or phonenumbers.format_number(
                number, phonenumbers.PhoneNumberFormat.E164
            )
    return None if trunk_required else without_trunk


def is_international(written: str) -> bool:
    start = written.lstrip(" (")
    return start.startswith("+") or extract_digits(start[:6]).startswith("00")


def _parse_international(written: str) -> str | None:
    for spelling in dict.fromkeys((written, _BRACKETED_TRUNK.sub("", written))):
        digits = _OBSOLETE_MOBILE.sub("52", extract_digits(spelling).lstrip("0"))
        number = _parse_valid("+" + digits, None)
        if number is not None:
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return None


def _parse_national(digits: str, region: str) -> phonenumbers.PhoneNumber | None:
    number = _parse_valid(digits, region)
    for prefix in OBSOLETE_PREFIXES.get(region, ()):
        if number is None and digits.startswith(prefix):
            number = _parse_valid(digits.removeprefix(prefix), region)
    return number


def _lacks_trunk_prefix(number: phonenumbers.PhoneNumber, digits: str) -> bool:
    """Return whether the number omits the trunk prefix that libphonenumber would write."""
    if digits != phonenumbers.national_significant_number(number):
        return False
    return (
        extract_digits(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL))
        != digits
    )


def _parse_valid(spelling: str, region: str | None) -> phonenumbers.PhoneNumber | None:
    try:
        number = phonenumbers.parse(spelling, region)
    except phonenumbers.NumberParseException:
        return None
    if len(phonenumbers.national_significant_number(number)) > MAX_NATIONAL_DIGITS:
        return None
    return number if phonenumbers.is_valid_number(number) else None


def parse_phones(text: str, regions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (E.164, as written) for each number in a phone field: usually one, sometimes two."""
    value = to_ascii_digits(text[:MAX_VALUE_CHARACTERS]).strip()
    if _VANITY.fullmatch(value):
        # A North American `1-800-FLOWERS`, with excess letters dropped.
        digits = extract_digits(
            phonenumbers.convert_alpha_characters_in_number(value)
        ).removeprefix("1")
        value = "+1" + digits[:10]
    for part in _NUMBER_SEPARATORS.split(value):
        if number := _parse_part(part, regions):
            yield number
        else:
            pieces = _SLASH_OR_COMMA.split(part)
            yield from filter(None, (_parse_part(piece, regions) for piece in pieces))


def _parse_part(part: str, regions: Sequence[str]) -> tuple[str, str] | None:
    start = re.search(r"[+(\d]", part)
    number = _EXTENSION.split(part[start.start() :], maxsplit=1)[0].strip() if start else ""
    digits = re.match(r"[\d\s().+/-]*", number)
    written = digits.group().strip() if digits else ""
    value = parse_number(written, regions, trunk_required=False)
    return (value, written) if value else None


def parse_phone(text: str, *, regions: Sequence[str]) -> str | None:
    """Return the first number in a phone field such as JSON-LD's `telephone`, as E.164."""
    return next((value for value, _ in parse_phones(text, regions)), None)


def parse_tel_link(href: str, regions: Sequence[str]) -> list[tuple[str, str]]:
    """Parse a `tel:` link into (E.164, as written) pairs, tolerating common mistakes.

    Returns an empty list if the link has another scheme or no valid number.
    """
    href = _INVISIBLE.sub("", href[: 3 * MAX_VALUE_CHARACTERS])
    scheme = _TEL_SCHEME.match(href)
    if scheme is None:
        return []
    value = unquote(unquote(href[scheme.end() :])).split("?")[0]
    return list(dict(parse_phones(value, regions)).items())
