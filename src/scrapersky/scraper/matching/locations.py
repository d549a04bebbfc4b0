"""Score how well two addresses and coordinates match."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from scrapersky.scraper.matching.model import BusinessDescription
from scrapersky.scraper.matching.text import edit_distance, split_words
from scrapersky.scraper.providers.geography import distance_m

_POINTS_BY_DISTANCE = (
    (30, 2.6), (75, 2.3), (150, 1.6), (300, 0.6), (600, -0.5), (1_500, -2.0), (5_000, -3.5),
)  # fmt: skip
FAR_POINTS = -5.0
APART_POINTS = -2.0
"""At or below this score the addresses differ, rather than two spellings of the same one."""
_NUMBER = re.compile(r"\d+")
_STREET_WITH_NUMBER = re.compile(
    r"(?P<before>.*\D)\s(?P<last>\d+\s?[a-zA-Z]?(?:\s?[-–/]\s?\d+\s?[a-zA-Z]?)?)"
    r"|(?P<first>\d+[a-zA-Z]?(?:-\d+)?),?\s(?P<after>\D.*)"
)
_STREET_SUFFIX = re.compile(r"(str|strasse|straße)$")
_STREET_ABBREVIATIONS = {
    "st": "street", "rd": "road", "ave": "avenue", "av": "avenue", "blvd": "boulevard",
    "ln": "lane", "dr": "drive", "sq": "square", "pl": "platz", "hwy": "highway", "ct": "court",
    "c": "calle", "v": "via", "n": "north", "s": "south", "e": "east", "w": "west",
    "bd": "boulevard", "bld": "boulevard", "r": "rue", "ch": "chemin", "imp": "impasse",
    "fbg": "faubourg", "fg": "faubourg", "pza": "platz", "plaza": "platz", "piazza": "platz",
    "place": "platz", "plac": "platz", "sankt": "saint", "sainte": "saint", "ste": "saint",
}  # fmt: skip
_OPTIONAL_STREET_WORDS = frozenset(
    ("de", "du", "des", "la", "le", "les", "el", "los", "l", "d", "der", "die", "das", "den", "dem",
     "ul", "ulica")
)  # fmt: skip
"""Words that are often omitted: `Rue de la Gare`, `ul. Długa`."""
_TOWN_SPELLINGS = (
    "munich munchen", "cologne koln", "vienna wien", "nuremberg nurnberg", "geneva geneve genf",
    "prague praha prag", "warsaw warszawa warschau", "brussels bruxelles brussel brussel",
    "milan milano mailand", "rome roma rom", "florence firenze florenz", "venice venezia venedig",
    "naples napoli neapel", "turin torino", "lisbon lisboa lissabon", "seville sevilla",
    "copenhagen kobenhavn kopenhagen", "gothenburg goteborg", "hague haag", "antwerp antwerpen",
    "ghent gent", "moscow moskva moskau", "kyiv kiev kiew", "athens athina athen",
    "basle basel", "lucerne luzern", "hanover hannover", "brunswick braunschweig",
    "cracow krakow krakau", "bucharest bucuresti bukarest", "strassburg strasbourg",
)  # fmt: skip
_CANONICAL_TOWNS = {word: line.split()[0] for line in _TOWN_SPELLINGS for word in line.split()}


@dataclass(frozen=True)
class LocationMatch:
    points: float = 0.0
    """Positive for a match, negative against."""
    metres: float | None = None
    other_door: bool = False
    """Same street, different house numbers."""
    reason: str | None = None


def match_locations(left: BusinessDescription, right: BusinessDescription) -> LocationMatch:
    metres = _get_distance(left, right)
    if _differ(left.country, right.country):
        return LocationMatch(FAR_POINTS - 1, metres, reason="They are in different countries.")
    if left.street and right.street:
        return _match_street(left, right, metres)
    if metres is not None:
        return LocationMatch(_score_distance(metres), metres, reason=_describe_distance(metres))
    return _match_town(left, right)


def _get_distance(left: BusinessDescription, right: BusinessDescription) -> float | None:
    if left.latitude is None or left.longitude is None:
        return None
    if right.latitude is None or right.longitude is None:
        return None
    return distance_m((left.latitude, left.longitude), (right.latitude, right.longitude))


def _score_distance(metres: float) -> float:
    return next((points for most, points in _POINTS_BY_DISTANCE if metres <= most), FAR_POINTS)


def _describe_distance(metres: float) -> str:
    if metres < 1_000:
        return f"They are {metres:.0f} m apart."
    return f"They are {metres / 1_000:.1f} km apart."


def _match_street(
    left: BusinessDescription, right: BusinessDescription, metres: float | None
) -> LocationMatch:
    mine, theirs = _split_street(left), _split_street(right)
    if not _is_same_street(mine[0], theirs[0]) or _is_other_town(left, right):
        return _build_other_street(left, right, metres)
    numbers = _parse_house_numbers(mine[1]), _parse_house_numbers(theirs[1])
    if not all(numbers):
        return _build_same_street(metres)
    if numbers[0] & numbers[1]:
        return _build_same_address(metres)
    return _build_other_number(metres)


def _split_street(described: BusinessDescription) -> tuple[str, str | None]:
    """Split street and house number given in one line: `Karl-Heine-Str. 46`, `46 High Street`."""
    street, number = described.street or "", described.house_number
    match = None if number else _STREET_WITH_NUMBER.fullmatch(street)
    if match is None:
        return street, number
    return match["before"] or match["after"], match["last"] or match["first"]


def _build_same_address(metres: float | None) -> LocationMatch:
    if metres is None or metres <= 300:
        return LocationMatch(3.2, metres, reason="They have the same address.")
    points = 2.2 if metres <= 1_000 else 0.0
    reason = f"They have the same address, but are {metres:.0f} m apart on the map."
    return LocationMatch(points, metres, reason=reason)


def _build_same_street(metres: float | None) -> LocationMatch:
    reason = "They are in the same street."
    points = 1.6 if metres is None else min(2.6, _score_distance(metres) + 0.3)
    return LocationMatch(points, metres, reason=reason)


def _build_other_number(metres: float | None) -> LocationMatch:
    reason = "They are in the same street, at different numbers."
    if metres is None:
        return LocationMatch(-1.5, other_door=True, reason=reason)
    if metres <= 20:
        return LocationMatch(1.2, metres, reason=reason)
    points = min(_score_distance(metres), 0.3) - 1.0
    return LocationMatch(points, metres, other_door=True, reason=reason)


def _build_other_street(
    left: BusinessDescription, right: BusinessDescription, metres: float | None
) -> LocationMatch:
    if metres is None:
        points = -4.0 if _is_other_town(left, right) else APART_POINTS
        return LocationMatch(points, reason="They are in different streets.")
    points = 1.2 if metres <= 40 else 0.2 if metres <= 150 else _score_distance(metres) - 1
    return LocationMatch(points, metres, reason=f"Different streets. {_describe_distance(metres)}")


def _match_town(left: BusinessDescription, right: BusinessDescription) -> LocationMatch:
    if left.postal_code and right.postal_code:
        if _fold_code(left.postal_code) == _fold_code(right.postal_code):
            return LocationMatch(1.2, reason="They have the same postal code.")
        points = -1.0 if is_same_town(left.city, right.city) else -4.0
        return LocationMatch(points, reason="Their postal codes differ.")
    if not left.city or not right.city:
        return LocationMatch()
    if is_same_town(left.city, right.city):
        return LocationMatch(1.0, reason="They are in the same town.")
    return LocationMatch(-3.5, reason="They are in different towns.")


def _is_other_town(left: BusinessDescription, right: BusinessDescription) -> bool:
    """Return whether the towns differ; every town has a Hauptstraße."""
    if _differ(left.postal_code, right.postal_code):
        return not is_same_town(left.city, right.city)
    same_code = bool(left.postal_code and right.postal_code)
    return (
        not same_code and bool(left.city and right.city) and not is_same_town(left.city, right.city)
    )


def is_same_town(left: str | None, right: str | None) -> bool:
    """Compare town names: `Frankfurt` and `Frankfurt am Main`, `München` and `Munich` are equal."""
    mine, theirs = _split_town(left), _split_town(right)
    if not mine or not theirs:
        return False
    short, long = sorted((mine, theirs), key=len)
    return short == long[: len(short)] or edit_distance("".join(mine), "".join(theirs), 1) <= 1


def _split_town(town: str | None) -> list[str]:
    return [_CANONICAL_TOWNS.get(each, each) for each in split_words(town or "")]


def _is_same_street(left: str, right: str) -> bool:
    mine, theirs = _fold_street(left), _fold_street(right)
    slips = 2 if min(len(mine), len(theirs)) > 9 else 1
    return edit_distance(mine, theirs, slips) <= slips


@lru_cache(maxsize=16_384)
def _fold_street(text: str) -> str:
    """Normalize a street name.

    `Karl-Marx-Straße` and `Karl Marx Str.` become `karlmarx`, `5th Ave` becomes `5thavenue`.
    """
    words = [_expand_way(each, is_last=not rest) for each, *rest in _list_tails(split_words(text))]
    significant = [each for each in words if each not in _OPTIONAL_STREET_WORDS] or words
    return _STREET_SUFFIX.sub("", "".join(significant)) or "".join(significant)


def _list_tails(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [words[place:] for place in range(len(words))]


def _expand_way(word: str, *, is_last: bool) -> str:
    """Expand an abbreviation: `St` is a street in `High St`, and a saint in `St Antoine`."""
    if word == "st" and not is_last:
        return "saint"
    return _STREET_ABBREVIATIONS.get(word, word)


def _parse_house_numbers(text: str | None) -> set[int]:
    """Parse house numbers: `7a` is 7, `7-11` is 7 to 11."""
    numbers = [int(each) for each in _NUMBER.findall(text or "")][:2]
    if len(numbers) == 2 and 0 < numbers[1] - numbers[0] <= 40:
        return set(range(numbers[0], numbers[1] + 1))
    return set(numbers[:1])


def _fold_code(code: str) -> str:
    return "".join(each for each in code.casefold() if each.isalnum())


def _differ(left: str | None, right: str | None) -> bool:
    return bool(left and right) and _fold_code(left or "") != _fold_code(right or "")
