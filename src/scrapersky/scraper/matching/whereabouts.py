"""How well two addresses and two points on the map go together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from scrapersky.scraper.matching.folding import edits, words_of
from scrapersky.scraper.matching.model import Described
from scrapersky.scraper.providers.geography import distance_m

_BY_DISTANCE = (
    (30, 2.6), (75, 2.3), (150, 1.6), (300, 0.6), (600, -0.5), (1_500, -2.0), (5_000, -3.5),
)  # fmt: skip
FAR = -5.0
APART = -2.0
"""From here on they are two addresses, not two ways to note one."""
_NUMBER = re.compile(r"\d+")
_IN_ONE = re.compile(
    r"(?P<before>.*\D)\s(?P<last>\d+\s?[a-zA-Z]?(?:\s?[-–/]\s?\d+\s?[a-zA-Z]?)?)"
    r"|(?P<first>\d+[a-zA-Z]?(?:-\d+)?),?\s(?P<after>\D.*)"
)
_STREET = re.compile(r"(str|strasse|straße)$")
_WAYS = {
    "st": "street", "rd": "road", "ave": "avenue", "av": "avenue", "blvd": "boulevard",
    "ln": "lane", "dr": "drive", "sq": "square", "pl": "platz", "hwy": "highway", "ct": "court",
    "c": "calle", "v": "via", "n": "north", "s": "south", "e": "east", "w": "west",
    "bd": "boulevard", "bld": "boulevard", "r": "rue", "ch": "chemin", "imp": "impasse",
    "fbg": "faubourg", "fg": "faubourg", "pza": "platz", "plaza": "platz", "piazza": "platz",
    "place": "platz", "plac": "platz", "sankt": "saint", "sainte": "saint", "ste": "saint",
}  # fmt: skip
_UNSAID = frozenset(
    ("de", "du", "des", "la", "le", "les", "el", "los", "l", "d", "der", "die", "das", "den", "dem",
     "ul", "ulica")
)  # fmt: skip
"""Written or left out: `Rue de la Gare`, `ul. Długa`."""
_TOWNS = (
    "munich munchen", "cologne koln", "vienna wien", "nuremberg nurnberg", "geneva geneve genf",
    "prague praha prag", "warsaw warszawa warschau", "brussels bruxelles brussel brussel",
    "milan milano mailand", "rome roma rom", "florence firenze florenz", "venice venezia venedig",
    "naples napoli neapel", "turin torino", "lisbon lisboa lissabon", "seville sevilla",
    "copenhagen kobenhavn kopenhagen", "gothenburg goteborg", "hague haag", "antwerp antwerpen",
    "ghent gent", "moscow moskva moskau", "kyiv kiev kiew", "athens athina athen",
    "basle basel", "lucerne luzern", "hanover hannover", "brunswick braunschweig",
    "cracow krakow krakau", "bucharest bucuresti bukarest", "strassburg strasbourg",
)  # fmt: skip
_TOWN = {word: line.split()[0] for line in _TOWNS for word in line.split()}


@dataclass(frozen=True)
class Whereabouts:
    points: float = 0.0
    """For (above nothing) or against."""
    metres: float | None = None
    other_door: bool = False
    """In one street, at different numbers."""
    reason: str | None = None


def whereabouts(left: Described, right: Described) -> Whereabouts:
    metres = _metres(left, right)
    if _differ(left.country, right.country):
        return Whereabouts(FAR - 1, metres, reason="They are in different countries.")
    if left.street and right.street:
        return _by_street(left, right, metres)
    if metres is not None:
        return Whereabouts(_by_distance(metres), metres, reason=_so_far(metres))
    return _by_town(left, right)


def _metres(left: Described, right: Described) -> float | None:
    if left.latitude is None or left.longitude is None:
        return None
    if right.latitude is None or right.longitude is None:
        return None
    return distance_m((left.latitude, left.longitude), (right.latitude, right.longitude))


def _by_distance(metres: float) -> float:
    return next((points for most, points in _BY_DISTANCE if metres <= most), FAR)


def _so_far(metres: float) -> str:
    if metres < 1_000:
        return f"They are {metres:.0f} m apart."
    return f"They are {metres / 1_000:.1f} km apart."


def _by_street(left: Described, right: Described, metres: float | None) -> Whereabouts:
    mine, theirs = _street_and_number(left), _street_and_number(right)
    if not _is_same_street(mine[0], theirs[0]) or _other_town(left, right):
        return _other_street(left, right, metres)
    numbers = _numbers(mine[1]), _numbers(theirs[1])
    if not all(numbers):
        return _some_number(metres)
    if numbers[0] & numbers[1]:
        return _same_door(metres)
    return _other_number(metres)


def _street_and_number(described: Described) -> tuple[str, str | None]:
    """Sites write both in one line: `Karl-Heine-Str. 46`, `46 High Street`."""
    street, number = described.street or "", described.house_number
    found = None if number else _IN_ONE.fullmatch(street)
    if found is None:
        return street, number
    return found["before"] or found["after"], found["last"] or found["first"]


def _same_door(metres: float | None) -> Whereabouts:
    if metres is None or metres <= 300:
        return Whereabouts(3.2, metres, reason="They have the same address.")
    points = 2.2 if metres <= 1_000 else 0.0
    said = f"They have the same address, but lie {metres:.0f} m apart on the map."
    return Whereabouts(points, metres, reason=said)


def _some_number(metres: float | None) -> Whereabouts:
    said = "They are in the same street."
    points = 1.6 if metres is None else min(2.6, _by_distance(metres) + 0.3)
    return Whereabouts(points, metres, reason=said)


def _other_number(metres: float | None) -> Whereabouts:
    said = "They are in the same street, at different numbers."
    if metres is None:
        return Whereabouts(-1.5, other_door=True, reason=said)
    if metres <= 20:
        return Whereabouts(1.2, metres, reason=said)
    points = min(_by_distance(metres), 0.3) - 1.0
    return Whereabouts(points, metres, other_door=True, reason=said)


def _other_street(left: Described, right: Described, metres: float | None) -> Whereabouts:
    if metres is None:
        points = -4.0 if _other_town(left, right) else APART
        return Whereabouts(points, reason="They are in different streets.")
    points = 1.2 if metres <= 40 else 0.2 if metres <= 150 else _by_distance(metres) - 1
    return Whereabouts(points, metres, reason=f"Different streets. {_so_far(metres)}")


def _by_town(left: Described, right: Described) -> Whereabouts:
    if left.postal_code and right.postal_code:
        if _plain(left.postal_code) == _plain(right.postal_code):
            return Whereabouts(1.2, reason="They have the same postal code.")
        points = -1.0 if is_same_town(left.city, right.city) else -4.0
        return Whereabouts(points, reason="Their postal codes differ.")
    if not left.city or not right.city:
        return Whereabouts()
    if is_same_town(left.city, right.city):
        return Whereabouts(1.0, reason="They are in the same town.")
    return Whereabouts(-3.5, reason="They are in different towns.")


def _other_town(left: Described, right: Described) -> bool:
    """There is a Hauptstraße in every town."""
    if _differ(left.postal_code, right.postal_code):
        return not is_same_town(left.city, right.city)
    same_code = bool(left.postal_code and right.postal_code)
    return (
        not same_code and bool(left.city and right.city) and not is_same_town(left.city, right.city)
    )


def is_same_town(left: str | None, right: str | None) -> bool:
    """`Frankfurt` and `Frankfurt am Main`, `München` and `Munich`."""
    mine, theirs = _town(left), _town(right)
    if not mine or not theirs:
        return False
    short, long = sorted((mine, theirs), key=len)
    return short == long[: len(short)] or edits("".join(mine), "".join(theirs), 1) <= 1


def _town(town: str | None) -> list[str]:
    return [_TOWN.get(each, each) for each in words_of(town or "")]


def _is_same_street(left: str, right: str) -> bool:
    mine, theirs = _street(left), _street(right)
    slips = 2 if min(len(mine), len(theirs)) > 9 else 1
    return edits(mine, theirs, slips) <= slips


@lru_cache(maxsize=16_384)
def _street(text: str) -> str:
    """`Karl-Marx-Straße` and `Karl Marx Str.` are `karlmarx`, `5th Ave` is `5thavenue`."""
    words = [_way(each, is_last=not rest) for each, *rest in _with_rest(words_of(text))]
    told = [each for each in words if each not in _UNSAID] or words
    return _STREET.sub("", "".join(told)) or "".join(told)


def _with_rest(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [words[place:] for place in range(len(words))]


def _way(word: str, *, is_last: bool) -> str:
    """`High St` is a street, `St Antoine` a saint."""
    if word == "st" and not is_last:
        return "saint"
    return _WAYS.get(word, word)


def _numbers(text: str | None) -> set[int]:
    """`7a` is 7, `7-11` is 7, 8, … 11."""
    found = [int(each) for each in _NUMBER.findall(text or "")][:2]
    if len(found) == 2 and 0 < found[1] - found[0] <= 40:
        return set(range(found[0], found[1] + 1))
    return set(found[:1])


def _plain(code: str) -> str:
    return "".join(each for each in code.casefold() if each.isalnum())


def _differ(left: str | None, right: str | None) -> bool:
    return bool(left and right) and _plain(left or "") != _plain(right or "")
