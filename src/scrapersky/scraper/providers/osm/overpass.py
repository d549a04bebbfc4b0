"""Translate a business type to an Overpass QL query, and parse the elements it returns.

User input only ever becomes a quoted string of the language. Missing or invalid values of an
element are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from scrapersky.errors import InvalidInput
from scrapersky.scraper.contacts.profiles import parse_profile
from scrapersky.scraper.providers import values
from scrapersky.scraper.providers.geography import check_area
from scrapersky.scraper.providers.model import Area, PlaceAddress, PlaceFacts
from scrapersky.scraper.site.website import WebsiteType, classify_website

CATEGORY_KEYS = ("shop", "amenity", "office", "craft", "tourism", "leisure", "healthcare", "club")
_ENDINGS = (
    ("ies", "y"),
    ("es", ""),
    ("s", ""),
    ("en", ""),
    ("er", ""),
    ("nen", ""),
    ("n", ""),
    ("e", ""),
)
"""Plural endings with their singular replacement."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})


class OsmTag(NamedTuple):
    key: str
    value: str


def find_tags(business_type: str) -> tuple[OsmTag, ...]:
    """Return the tags for a business type, or an empty result if it is unknown."""
    for spelling in _iter_spellings(normalise_words(business_type)):
        if tags := _load_tags().get(spelling):
            return tags
    return ()


def list_words() -> frozenset[str]:
    return frozenset(_load_tags())


def normalise_words(words: str) -> str:
    """Normalise words for comparison: no case, accents or hyphens."""
    folded = unicodedata.normalize("NFKD", words.casefold().replace("-", " ").replace("_", " "))
    return " ".join("".join(c for c in folded if not unicodedata.combining(c)).split())


def _iter_spellings(words: str) -> Iterator[str]:
    yield words
    yield words.replace(" ", "")
    # `agences immobilières`, `experts-comptables`
    yield " ".join(each.removesuffix("s") for each in words.split())
    for ending, singular in _ENDINGS:
        if words.endswith(ending) and len(words) - len(ending) >= 3:
            yield words.removesuffix(ending) + singular


@cache
def _load_tags() -> dict[str, tuple[OsmTag, ...]]:
    """Load lines such as `shop=bakery craft=bakery: bakery, Bäckerei`. The first use of a word
    wins.
    """
    table: dict[str, tuple[OsmTag, ...]] = {}
    text = (files(__package__) / "kinds.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        tags, colon, words = line.partition(": ")
        if line.startswith("#") or not colon:
            continue
        meant = tuple(OsmTag(*each.split("=", 1)) for each in tags.split())
        for word in words.split(","):
            for spelling in (
                normalise_words(word),
                normalise_words(word.casefold().translate(_UMLAUTS)),
            ):
                table.setdefault(spelling, meant)
    return table


DIETS = frozenset({"vegan", "vegetarian"})
_CUISINE_PREFIXES = {
    "african": "afrikanisch africain african",
    "american": "amerikanisch americain american",
    "arab": "arabisch arabe",
    "asian": "asiatisch asiatique asiatico",
    "chinese": "chinesisch chinois chino cinese",
    "french": "franzosisch francais frances",
    "german": "deutsch allemand aleman tedesc",
    "greek": "griechisch grec grieg",
    "indian": "indisch indien indian",
    "italian": "italienisch italien italian",
    "japanese": "japanisch japonais japones giappones",
    "korean": "koreanisch coreen corean",
    "lebanese": "libanesisch libanais libanes",
    "mexican": "mexikanisch mexicain mexican messican",
    "spanish": "spanisch espagnol espanol spagnol",
    "thai": "thailandisch thailandais tailandes",
    "turkish": "turkisch turc turco turca",
    "vegan": "vegan",
    "vegetarian": "vegetarisch vegetarien vegetarian",
    "vietnamese": "vietnamesisch vietnamien vietnamita",
}
"""OpenStreetMap's cuisine, and prefixes of its names in other languages (endings vary by gender).
"""


def find_cuisine(words: str) -> str | None:
    """Return the cuisine, or None if it is unknown."""
    looked_for = normalise_words(words)
    for cuisine, beginnings in _CUISINE_PREFIXES.items():
        if looked_for == cuisine or looked_for.startswith(tuple(beginnings.split())):
            return cuisine
    return None


MAX_QUERY_SECONDS = 60
MAX_WORDS_CHARACTERS = 100
_SPECIAL_CHARACTERS = re.compile(r"[.\\^$|?*+()\[\]{}]")
_ANY_CATEGORY = f'[~"^({"|".join(CATEGORY_KEYS)})$"~"."]'


def build_query(business_type: str, area: Area, *, seconds: int = MAX_QUERY_SECONDS) -> str:
    boxes = [_format_box(each) for each in _split_at_date_line(check_area(area))]
    clauses = [f"nwr{filters}{box};" for filters in build_filters(business_type) for box in boxes]
    return f"[out:json][timeout:{seconds}];({''.join(clauses)});out tags center;"


def build_filters(business_type: str) -> list[str]:
    """Return alternative filters: the tags of the business type, or else its words in a name."""
    words = values.parse_text(business_type, at_most=MAX_WORDS_CHARACTERS)
    if words is None:
        raise InvalidInput("Enter a type of business to search for.")
    if tags := find_tags(words):
        return [_format_tag(each) for each in tags]
    for kind, rest in _split_kind(words.split()):
        if tags := find_tags(kind):
            return [
                _format_tag(tag) + narrowed for tag in tags for narrowed in _iter_refinements(rest)
            ]
    value = f'[~"^({"|".join(CATEGORY_KEYS)})$"~{quote_text("^" + _format_value(words) + "$")},i]'
    return [value, f'["name"~{quote_text(escape_pattern(words))},i]{_ANY_CATEGORY}']


def _split_kind(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the possible splits into type and rest: `vegan restaurants`, `restaurants italiens`."""
    if len(words) > 1:
        yield words[-1], " ".join(words[:-1])
        yield words[0], " ".join(words[1:])


def _iter_refinements(words: str) -> Iterator[str]:
    """Yield filters for the rest of a type (`vegan`): by cuisine, diet or name."""
    cuisine = find_cuisine(words)
    yield f'["cuisine"~{quote_text(escape_pattern(cuisine or words))},i]'
    if cuisine in DIETS:
        yield f'["diet:{cuisine}"~"yes|only"]'
    yield f'["name"~{quote_text(escape_pattern(words))},i]'


def _format_tag(tag: OsmTag) -> str:
    return f"[{quote_text(tag.key)}={quote_text(tag.value)}]"


def quote_text(text: str) -> str:
    """Quote text as a string literal that user input cannot terminate."""
    plain = values.parse_text(text, at_most=4 * MAX_WORDS_CHARACTERS) or ""
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def escape_pattern(text: str) -> str:
    """Escape text as a regular expression that matches it literally."""
    return _SPECIAL_CHARACTERS.sub(r"\\\g<0>", text)


def _format_value(words: str) -> str:
    return escape_pattern(words).replace(" ", "_")


def _split_at_date_line(area: Area) -> list[Area]:
    """Split an area that crosses the date line into two."""
    if area.west <= area.east:
        return [area]
    return [
        Area(area.south, area.west, area.north, 180.0),
        Area(area.south, -180.0, area.north, area.east),
    ]


def _format_box(area: Area) -> str:
    """Format in the order south, west, north, east."""
    return f"({area.south:.7f},{area.west:.7f},{area.north:.7f},{area.east:.7f})"


MAX_PROFILES = 20
_PROFILE_BASES = {
    "facebook": "https://www.facebook.com/",
    "instagram": "https://www.instagram.com/",
    "twitter": "https://x.com/",
    "x": "https://x.com/",
    "linkedin": "https://www.linkedin.com/company/",
    "youtube": "https://www.youtube.com/@",
    "tiktok": "https://www.tiktok.com/@",
    "pinterest": "https://www.pinterest.com/",
    "telegram": "https://t.me/",
    "xing": "https://www.xing.com/companies/",
    "vimeo": "https://vimeo.com/",
    "threads": "https://www.threads.net/@",
}
_HANDLE = re.compile(r"@?([\w.&'-]{2,100})")
_PROFILE_URL = re.compile(r"(?:https?:)?//|(?:[\w-]+\.)+[a-z]{2,}/", re.I)


def _iter_profiles(tags: Mapping[str, Any]) -> Iterator[str]:
    for platform, base in _PROFILE_BASES.items():
        for name in (f"contact:{platform}", platform):
            for value in (values.parse_text(tags.get(name)) or "").split(";"):
                if url := _build_profile_url(value.strip(), base):
                    yield url


def _build_profile_url(value: str, base: str) -> str | None:
    """Return the canonical URL of a profile, or None if it is not one."""
    if _PROFILE_URL.match(value):
        profile = parse_profile(value)
    else:
        handle = _HANDLE.fullmatch(value)
        profile = parse_profile(base + handle[1]) if handle else None
    return profile.url if profile else None


PROVIDER = "osm"
MAX_VALUES = 10
_ELEMENT_TYPES = ("node", "way", "relation")
_NAME_TAGS = ("name", "brand", "operator")
_WEBSITE_TAGS = ("website", "contact:website", "url")
_PHONE_TAGS = ("phone", "contact:phone", "contact:mobile", "mobile")
_EMAIL_TAGS = ("email", "contact:email")
_IGNORED_VALUES = frozenset({"yes", "no", "fixme"})

OsmTags = Mapping[str, Any]


def parse_element(document: object, *, region: str | None = None) -> PlaceFacts | None:
    """Parse an element, or return None if it has no id or no data."""
    element = values.as_mapping(document)
    kind, number, tags = (
        element.get("type"),
        element.get("id"),
        values.as_mapping(element.get("tags")),
    )
    if (
        kind not in _ELEMENT_TYPES
        or isinstance(number, bool)
        or not isinstance(number, int)
        or not tags
    ):
        return None
    oddities: list[str] = []
    address = _parse_address(tags)
    latitude, longitude = _parse_location(element, oddities)
    phone, phone_raw = values.parse_provider_phone(
        _split_values(tags, _PHONE_TAGS), address.country or region, oddities
    )
    types = tuple(dict.fromkeys(_iter_types(tags)))
    return PlaceFacts(
        provider=PROVIDER,
        place_id=f"{kind}/{number}",
        name=_parse_name(tags, oddities),
        address_text=_get_first(tags, ("addr:full",)) or address.format_line(),
        address=address,
        latitude=latitude,
        longitude=longitude,
        phone=phone,
        phone_raw=phone_raw,
        website=_find_website(tags),
        emails=tuple(each for each in _split_values(tags, _EMAIL_TAGS) if "@" in each)[:MAX_VALUES],
        profiles=tuple(dict.fromkeys(_iter_profiles(tags)))[:MAX_PROFILES],
        types=types,
        category=types[0].replace("_", " ") if types else None,
        hours=_parse_hours(tags),
        maps_url=f"https://www.openstreetmap.org/{kind}/{number}",
        has_details=True,
        raw=values.to_storable(element),
        oddities=tuple(oddities),
    )


def _get_first(tags: OsmTags, names: tuple[str, ...], *, at_most: int = 300) -> str | None:
    texts = (values.parse_text(tags.get(name), at_most=at_most) for name in names)
    return next((each for each in texts if each), None)


def _find_website(tags: OsmTags) -> str | None:
    """Find the website in any of the tags. An own site wins over a profile or directory page."""
    texts = (
        values.parse_text(tags.get(name), at_most=values.MAX_PROVIDER_URL_CHARACTERS)
        for name in _WEBSITE_TAGS
    )
    named = [each for each in texts if each]
    own = (each for each in named if classify_website(each).kind is WebsiteType.OWN)
    return next(own, named[0] if named else None)


def _split_values(tags: OsmTags, names: tuple[str, ...]) -> list[str]:
    """Split a tag value at semicolons, without duplicates."""
    texts = (values.parse_text(tags.get(name), at_most=600) or "" for name in names)
    parts = (part.strip() for text in texts for part in text.split(";"))
    return list(dict.fromkeys(part for part in parts if part))


def _parse_name(tags: OsmTags, oddities: list[str]) -> str | None:
    read = (values.parse_name(tags.get(name), oddities) for name in _NAME_TAGS)
    return next((each for each in read if each), None)


def _parse_location(
    element: Mapping[str, Any], oddities: list[str]
) -> tuple[float, float] | tuple[None, None]:
    """Return the coordinates of a node, or the centre of a larger element."""
    where = element if "lat" in element else values.as_mapping(element.get("center"))
    return values.parse_location(where.get("lat"), where.get("lon"), oddities)


def _iter_types(tags: OsmTags) -> Iterator[str]:
    for key in CATEGORY_KEYS:
        for value in _split_values(tags, (key,)):
            if value not in _IGNORED_VALUES:
                yield value[:100]


def _parse_address(tags: OsmTags) -> PlaceAddress:
    country = values.parse_text(tags.get("addr:country"), at_most=3)
    is_code = country is not None and len(country) == 2 and country.isascii() and country.isalpha()
    return PlaceAddress(
        street=_get_first(tags, ("addr:street", "addr:place")),
        house_number=_get_first(tags, ("addr:housenumber",)),
        postal_code=_get_first(tags, ("addr:postcode",)),
        city=_get_first(tags, ("addr:city", "addr:town", "addr:village", "addr:suburb")),
        region=_get_first(tags, ("addr:state", "addr:province")),
        country=country.upper() if country and is_code else None,
    )


def _parse_hours(tags: OsmTags) -> Mapping[str, Any] | None:
    """Return the hours in OpenStreetMap's notation, with the keys all providers share."""
    written = values.parse_text(tags.get("opening_hours"), at_most=500)
    if written is None:
        return None
    return {"always_open": written == "24/7", "days": [], "periods": [], "osm": written}
