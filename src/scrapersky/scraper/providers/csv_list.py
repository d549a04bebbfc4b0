"""Places out of a person's own list: columns by their names, a place or a refusal for each row."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapersky.errors import InvalidInput
from scrapersky.scraper.contact_finder.phones import regions_of
from scrapersky.scraper.providers.csv_columns import columns_in, is_column_name
from scrapersky.scraper.providers.model import Address, PlaceFacts, Status
from scrapersky.scraper.providers.oddities import read_location, read_name
from scrapersky.scraper.providers.telephones import read_phone
from scrapersky.scraper.providers.values import LONGEST_URL, count_of, number_of, text_of

PROVIDER = "csv"
LONGEST_ID = 200
MOST_RAW_CELLS = 200
NO_COLUMN = (
    "No column says what a business is called or how to reach it: name one of them `name`, "
    "`website` or `phone` in the first line."
)
NOTHING_TO_GO_BY = "This row has neither a name nor a website nor a phone number."
_CODE_AND_CITY = re.compile(r"(?:[A-Z]{1,2}[- ])?(?P<code>\d{4,5})[ ,]+(?P<city>[^\W\d_].*)")
_NUMBER = re.compile(r"[-+]?\d{1,12}(?:[.,]\d{1,18})?")

__all__ = ["Columns", "RowRead", "is_column_name", "read_header", "read_row"]


@dataclass(frozen=True)
class Columns:
    """Which column means what; `names` are all of them as they are written."""

    places: Mapping[str, int]
    names: tuple[str, ...]

    @property
    def unused(self) -> tuple[str, ...]:
        used = set(self.places.values())
        return tuple(name for index, name in enumerate(self.names) if index not in used and name)


@dataclass(frozen=True)
class RowRead:
    """What a row says, or why it says nothing."""

    facts: PlaceFacts | None
    wrong: str | None


def read_header(cells: Sequence[str]) -> Columns:
    """`InvalidInput` when no column could be used."""
    names = tuple(text_of(each, at_most=100) or "" for each in cells)
    found = columns_in(names)
    if not found.keys() & {"name", "website", "phone"}:
        raise InvalidInput(NO_COLUMN)
    return Columns(found, names)


def read_row(columns: Columns, cells: Sequence[str], *, region: str | None = None) -> RowRead:
    """`region` is where phone numbers without a country code are from, unless the row says."""
    row = _Row(columns, cells)
    oddities: list[str] = []
    name = read_name(row.raw("name") or None, oddities)
    website = row.text("website", at_most=LONGEST_URL)
    address = _address(row)
    written = [each for each in (row.text("phone"),) if each]
    phone, phone_raw = read_phone(written, address.country or region, oddities)
    if name is None and website is None and phone is None:
        return RowRead(None, NOTHING_TO_GO_BY)
    latitude, longitude = _location(row, oddities)
    category = row.text("category")
    facts = PlaceFacts(
        provider=PROVIDER,
        place_id=_place_id(row),
        name=name,
        address_text=row.text("address") or _address_text(address),
        address=address,
        latitude=latitude,
        longitude=longitude,
        phone=phone,
        phone_raw=phone_raw,
        website=website,
        emails=_emails(row.text("email", at_most=1_000)),
        types=(category.casefold(),) if category else (),
        category=category,
        rating=number_of(row.number("rating"), 0, 5),
        reviews_count=count_of(row.number("reviews_count")),
        status=_status(row.text("status")),
        has_details=True,
        raw=row.as_written(),
        oddities=tuple(oddities),
    )
    return RowRead(facts, None)


class _Row:
    def __init__(self, columns: Columns, cells: Sequence[str]) -> None:
        self._columns = columns
        self._cells = cells

    def raw(self, meaning: str) -> str:
        """Nothing where the row is shorter than the header."""
        index = self._columns.places.get(meaning)
        return "" if index is None or index >= len(self._cells) else self._cells[index]

    def text(self, meaning: str, *, at_most: int = 300) -> str | None:
        return text_of(self.raw(meaning), at_most=at_most)

    def number(self, meaning: str) -> float | None:
        """With a point or a comma."""
        text = self.text(meaning) or ""
        return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None

    def as_written(self) -> dict[str, str]:
        named = zip(self._columns.names, self._cells, strict=False)
        cells = {name: text_of(cell) for name, cell in list(named)[:MOST_RAW_CELLS] if name}
        return {name: cell for name, cell in cells.items() if cell}


def _place_id(row: _Row) -> str:
    """The list's own id; where it has none, one that is made of what the row says of whom and
    where, so that the same row is the same place next time."""
    if given := row.text("id", at_most=LONGEST_ID):
        return given
    telling = ("name", "website", "phone", "address", "street", "house_number", "postal_code")
    said = "\x1f".join((row.text(each) or "").casefold() for each in (*telling, "city"))
    return "row-" + hashlib.blake2b(said.encode(), digest_size=12).hexdigest()


def _address(row: _Row) -> Address:
    country = row.text("country", at_most=80)
    regions = regions_of(None, "", country) if country else ()
    postal_code, city = _postal_code_and_city(row)
    return Address(
        street=row.text("street"),
        house_number=row.text("house_number", at_most=40),
        postal_code=postal_code,
        city=city,
        region=row.text("region"),
        country=regions[0] if regions else None,
    )


def _postal_code_and_city(row: _Row) -> tuple[str | None, str | None]:
    """Many lists have both in one column."""
    postal_code, city = row.text("postal_code", at_most=40), row.text("city")
    together = _CODE_AND_CITY.fullmatch(city or "")
    if together is None:
        return postal_code, city
    return postal_code or together["code"], together["city"]


def _address_text(address: Address) -> str | None:
    line = " ".join(filter(None, (address.street, address.house_number)))
    town = " ".join(filter(None, (address.postal_code, address.city)))
    return ", ".join(filter(None, (line, town))) or None


def _location(row: _Row, oddities: list[str]) -> tuple[float, float] | tuple[None, None]:
    latitude, longitude = (
        row.text(each) if row.number(each) is None else row.number(each)
        for each in ("latitude", "longitude")
    )
    return read_location(latitude, longitude, oddities)


def _emails(text: str | None) -> tuple[str, ...]:
    parts = re.split(r"[;,\s]+", text or "")
    return tuple(dict.fromkeys(each for each in parts if "@" in each.strip("@")))[:10]


def _status(text: str | None) -> Status | None:
    word = (text or "").strip().lower().replace(" ", "_")
    return next((each for each in Status if each.value == word), None)
