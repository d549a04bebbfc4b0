"""Guess the countries in which a page's national phone numbers are valid."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urlsplit

from phonenumbers import SUPPORTED_REGIONS

# fmt: off
REGION_BY_LANGUAGE = {
    "bg": "BG", "bs": "BA", "ca": "ES", "cs": "CZ", "da": "DK", "de": "DE", "el": "GR", "en": "US",
    "es": "ES", "et": "EE", "eu": "ES", "fa": "IR", "fi": "FI", "fr": "FR", "ga": "IE", "gl": "ES",
    "he": "IL", "hi": "IN", "hr": "HR", "hu": "HU", "id": "ID", "is": "IS", "it": "IT", "ja": "JP",
    "ko": "KR", "lb": "LU", "lt": "LT", "lv": "LV", "mk": "MK", "ms": "MY", "mt": "MT", "nb": "NO",
    "nl": "NL", "nn": "NO", "no": "NO", "pl": "PL", "pt": "PT", "ro": "RO", "ru": "RU", "sk": "SK",
    "sl": "SI", "sq": "AL", "sr": "RS", "sv": "SE", "th": "TH", "tr": "TR", "uk": "UA", "vi": "VN",
    "zh": "CN",
}
# fmt: on
"""The country in which most writers of the language live."""

SECOND_REGION_BY_LANGUAGE = {"en": "GB", "pt": "BR"}
"""A second country for a language, whose numbers cannot be confused with those of the first."""

WORLDWIDE_TLDS = (
    "ac ag ai am as bz cc cd co cx dj fm ga gd gg gl gs im io la lc ly me ml ms nu "
    "pw sc sh sr st tk tm to tv vc vg vu ws"
)
"""Country-code TLDs that are marketed worldwide, so they say nothing about the location."""

_NATIONAL_SECOND_LEVELS = (["com"], ["org"], ["net"], ["edu"], ["gov"])
"""Second-level domains under a worldwide TLD that residents register: `com.co`."""

PLACE_TLDS = {
    "AT": "wien tirol",
    "AU": "sydney melbourne",
    "BE": "brussels vlaanderen gent",
    "BR": "rio",
    "CA": "quebec",
    "CH": "swiss zuerich",
    "DE": "berlin hamburg bayern koeln cologne nrw ruhr saarland",
    "ES": "cat barcelona madrid eus gal",
    "FR": "paris bzh alsace corsica",
    "GB": "uk scot wales cymru london",
    "JP": "tokyo",
    "NL": "amsterdam frl",
    "NZ": "kiwi",
    "RU": "moscow su xn--p1ai",
    "TR": "istanbul ist",
    "UA": "xn--j1amh",
    "US": "gov mil edu nyc miami vegas boston",
    "ZA": "capetown joburg",
}
"""TLDs that name a place without being its country code."""

COUNTRY_NAMES = {
    "AE": "united arab emirates|uae|vereinigte arabische emirate|are",
    "AR": "argentina|argentinien|argentine|arg",
    "AT": "austria|österreich|autriche|oostenrijk|rakousko|avusturya|østrig|österrike|aut",
    "AU": "australia|australien|australie|aus",
    "BE": "belgium|belgien|belgique|belgië|belgica|bélgica|belgio|belgia|bel",
    "BG": "bulgaria|bulgarien|bulgarie|българия|bgr",
    "BR": "brazil|brasil|brasilien|brésil|brasile|bra",
    "CA": "canada|kanada|canadá|can",
    "CH": "switzerland|schweiz|suisse|svizzera|suiza|suíça|zwitserland|szwajcaria|isviçre|che",
    "CN": "china|chine|cina|中国|中國|chn",
    "CZ": "czechia|czech republic|tschechien|tschechische republik|česko|česká republika|cze"
    "|tchéquie|república checa|czechy",
    "DE": "germany|deutschland|allemagne|alemania|alemanha|germania|duitsland|niemcy|tyskland"
    "|německo|almanya|deu|brd",
    "DK": "denmark|danmark|dänemark|danemark|dinamarca|danimarca|denemarken|dania|dánsko|dnk",
    "EE": "estonia|eesti|estland|est",
    "ES": "spain|españa|spanien|espagne|spagna|espanha|spanje|hiszpania|španělsko|ispanya|esp",
    "FI": "finland|suomi|finnland|finlande|finlandia|fin",
    "FR": "france|frankreich|francia|frança|frankrijk|francja|francie|frankrike|frankrig|fransa"
    "|fra",
    "GB": "united kingdom|uk|great britain|england|scotland|wales|northern ireland|britain"
    "|großbritannien|vereinigtes königreich|royaume-uni|reino unido|regno unito|gbr",
    "GR": "greece|griechenland|grèce|grecia|ελλάδα|hellas|grc",
    "HR": "croatia|hrvatska|kroatien|croatie|croazia|hrv",
    "HU": "hungary|magyarország|ungarn|hongrie|ungheria|hun",
    "IE": "ireland|éire|irland|irlande|irlanda|irl",
    "IL": "israel|isr",
    "IN": "india|indien|inde|ind|bharat",
    "IT": "italy|italia|italien|italie|itália|itálie|włochy|italya|ita",
    "JP": "japan|japon|giappone|japón|日本|jpn",
    "LI": "liechtenstein|lie",
    "LT": "lithuania|lietuva|litauen|ltu",
    "LU": "luxembourg|luxemburg|lëtzebuerg|lussemburgo|lux",
    "LV": "latvia|latvija|lettland|lva",
    "MX": "mexico|méxico|mexiko|mexique|messico|mex",
    "NL": "netherlands|the netherlands|nederland|niederlande|pays-bas|países bajos|paesi bassi"
    "|holland|holandia|nizozemsko|hollanda|nld",
    "NO": "norway|norge|norwegen|norvège|noruega|norvegia|nor",
    "NZ": "new zealand|neuseeland|nzl",
    "PL": "poland|polska|polen|pologne|polonia|polônia|polsko|polonya|pol",
    "PT": "portugal|portogallo|portugalia|prt",
    "RO": "romania|românia|rumänien|roumanie|rou",
    "RS": "serbia|srbija|serbien|srb",
    "RU": "russia|russian federation|россия|russland|russie|rus",
    "SE": "sweden|sverige|schweden|suède|suecia|svezia|szwecja|zweden|swe",
    "SI": "slovenia|slovenija|slowenien|svn",
    "SK": "slovakia|slovensko|slowakei|slovaquie|svk",
    "TR": "turkey|türkiye|turkiye|türkei|turquie|turchia|turquía|tur",
    "UA": "ukraine|україна|ucraina|ukr",
    "US": "united states|united states of america|usa|u.s.a.|u.s.|vereinigte staaten|états-unis"
    "|estados unidos|stati uniti|verenigde staten|america",
    "ZA": "south africa|südafrika|zaf",
}
"""In English, the local and the neighbours' languages; includes three-letter ISO codes."""


def _fold_name(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.strip().lower())
    return "".join(c for c in letters if not unicodedata.combining(c))


_REGION_BY_TLD = {tld: region for region, tlds in PLACE_TLDS.items() for tld in tlds.split()}
_REGION_BY_NAME = {
    _fold_name(name): region for region, names in COUNTRY_NAMES.items() for name in names.split("|")
}
_REGION_BY_SPELLING = {
    spelling: region
    for region, names in COUNTRY_NAMES.items()
    for name in names.split("|")
    for spelling in (name, _fold_name(name))
}


def guess_regions(
    language: str | None,
    url: str,
    address_country: str | None = None,
    default_region: str | None = None,
    *,
    named_region: str | None = None,
) -> tuple[str, ...]:
    """Return the regions in which to parse national numbers, most likely first.

    The order is: an address's country, the TLD, the territory in the language tag, the country
    named in the text, the language, the default. English is spoken everywhere, so for English pages
    the default comes before the country named in the text.
    """
    spoken = _get_language_regions(language)
    guess = [
        _get_country_region(address_country),
        _get_tld_region(url),
        _get_language_territory(language),
    ]
    default = [_to_supported_region(default_region)]
    rest = [named_region, *spoken]
    rest = [*default, *rest] if _get_primary_language(language) == "en" else [*rest, *default]
    return tuple(dict.fromkeys(region for region in (*guess, *rest) if region))


def _to_supported_region(region: str | None) -> str | None:
    code = (region or "").strip().upper()
    code = "GB" if code == "UK" else code
    return code if code in SUPPORTED_REGIONS else None


def find_region(name: str) -> str | None:
    """Return the region of a country name; a cheap lookup, because a text has many lines."""
    return _REGION_BY_SPELLING.get(name.lower())


def has_country_hint(language: str | None, url: str) -> bool:
    """Return whether the page's URL or language tag names a country."""
    return (_get_tld_region(url) or _get_language_territory(language)) is not None


def _get_country_region(country: str | None) -> str | None:
    if not country or len(country) > 80:
        return None
    return _to_supported_region(country) or _REGION_BY_NAME.get(_fold_name(country))


def _get_primary_language(language: str | None) -> str:
    return re.split(r"[-_]", (language or "").strip().lower()[:40], maxsplit=1)[0]


def _get_language_regions(language: str | None) -> tuple[str | None, ...]:
    spoken = _get_primary_language(language)
    return REGION_BY_LANGUAGE.get(spoken), SECOND_REGION_BY_LANGUAGE.get(spoken)


def _get_language_territory(language: str | None) -> str | None:
    subtags = re.split(r"[-_]", (language or "").strip()[:40])[1:]
    return next(
        (region for tag in subtags if len(tag) == 2 and (region := _to_supported_region(tag))), None
    )


def _get_tld_region(url: str) -> str | None:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return None
    labels = host.rstrip(".").split(".")
    tld = labels[-1]
    is_sold_worldwide = (
        tld in WORLDWIDE_TLDS.split() and labels[-2:-1] not in _NATIONAL_SECOND_LEVELS
    )
    country = None if is_sold_worldwide else _to_supported_region(tld)
    return _REGION_BY_TLD.get(tld, country)


MAX_ADDRESS_LINES = 3_000
_MAX_NAME_CHARACTERS = 40
_MAX_LINE_CHARACTERS = 200
_REGION_BY_POSTCODE_PREFIX = {
    "A": "AT", "B": "BE", "CH": "CH", "CZ": "CZ", "D": "DE", "DK": "DK", "F": "FR", "FIN": "FI",
    "FL": "LI", "I": "IT", "L": "LU", "N": "NO", "NL": "NL", "PL": "PL", "S": "SE", "SK": "SK",
}  # fmt: skip
_POSTCODE = re.compile(r"(?<=[A-Z])[-–] ?\d{4,5} (?=[A-ZÀ-Ž][a-zà-ž])")
_POSTCODE_PREFIX = re.compile(r"(?<![\w-])[A-Z]{1,3}\Z")
_AUSTRALIAN_ADDRESS = re.compile(r"\b(?:NSW|VIC|QLD|TAS)[ ,]{1,2}\d{4}\b")


def find_address_country(text: str) -> str | None:
    """Return the country that line endings or postcodes in the text name; None unless it is unique.

    A country selector names many countries and therefore reveals nothing.
    """
    regions = {*_find_country_names(text), *_find_postcode_countries(text)}
    if _AUSTRALIAN_ADDRESS.search(text):
        regions.add("AU")
    return regions.pop() if len(regions) == 1 else None


def _find_postcode_countries(text: str) -> Iterator[str]:
    for match in islice(_POSTCODE.finditer(text), MAX_ADDRESS_LINES):
        sign = _POSTCODE_PREFIX.search(text, max(0, match.start() - 4), match.start())
        if sign and sign[0] in _REGION_BY_POSTCODE_PREFIX:
            yield _REGION_BY_POSTCODE_PREFIX[sign[0]]


def _find_country_names(text: str) -> Iterator[str]:
    lines = text.split("\n", MAX_ADDRESS_LINES)[:MAX_ADDRESS_LINES]
    ends = {
        line.rpartition(",")[2].strip(" .;") for line in lines if len(line) <= _MAX_LINE_CHARACTERS
    }
    for name in ends:
        region = find_region(name) if 3 < len(name) <= _MAX_NAME_CHARACTERS else None
        if region:
            yield region
