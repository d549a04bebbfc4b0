"""Parse places from CSV rows, with columns recognised by their names in several languages."""

from __future__ import annotations

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from scrapersky.errors import InvalidInput
from scrapersky.scraper.contacts.phone_regions import guess_regions
from scrapersky.scraper.providers import values
from scrapersky.scraper.providers.model import OperationalStatus, PlaceAddress, PlaceFacts

_REMARK = re.compile(r"[(\[].{0,80}")

_COLUMN_NAMES = tomllib.loads(files(__package__).joinpath("csv_columns.toml").read_text("utf-8"))
"""Column names by meaning, most likely first."""


def normalise_name(name: str) -> str:
    """Normalise a column name for comparison: `E-Mail`, `e_mail` and `EMAIL` are equal."""
    folded = unicodedata.normalize("NFKD", name[:100].casefold())
    return "".join(each for each in folded if each.isalnum())


def _match_column(name: str) -> tuple[str, int] | None:
    """Return the meaning of a column. `Telefon 1` and `Telefon (Zentrale)` match `Telefon` too."""
    bare = _REMARK.sub("", name[:100]).strip()
    return _RANKS.get(normalise_name(name)) or _RANKS.get(normalise_name(bare).rstrip("1"))


_RANKS = {
    normalise_name(spelling): (meaning, rank)
    for meaning, spellings in reversed(list(_COLUMN_NAMES.items()))
    for rank, spelling in enumerate(spellings.split(","))
}


def is_column_name(cell: str) -> bool:
    return _match_column(cell) is not None


def find_columns(header: Sequence[str]) -> dict[str, int]:
    """Return the column index of each meaning.

    If several columns have the same meaning, the most likely name wins, then the first column.
    """
    best: dict[str, tuple[int, int]] = {}
    for index, cell in enumerate(header):
        if known := _match_column(cell):
            meaning, rank = known
            best[meaning] = min(best.get(meaning, (rank, index)), (rank, index))
    return {meaning: index for meaning, (_, index) in best.items()}


PROVIDER = "csv"
MAX_ID_CHARACTERS = 200
MAX_RAW_CELLS = 200
NO_USABLE_COLUMN = (
    "No column contains a name or a contact. Name one of the columns `name`, `website` or `phone` "
    "in the first line."
)
EMPTY_ROW = "This row has no name, website or phone number."
_CODE_AND_CITY = re.compile(r"(?:[A-Z]{1,2}[- ])?(?P<code>\d{4,5})[ ,]+(?P<city>[^\W\d_].*)")
_NUMBER = re.compile(r"[-+]?\d{1,12}(?:[.,]\d{1,18})?")


@dataclass(frozen=True)
class CsvColumns:
    """Column index of each meaning. `names` are all column names as written."""

    places: Mapping[str, int]
    names: tuple[str, ...]

    @property
    def unused(self) -> tuple[str, ...]:
        used = set(self.places.values())
        return tuple(name for index, name in enumerate(self.names) if index not in used and name)


@dataclass(frozen=True)
class CsvRow:
    """Parsed row, or the reason why it was rejected."""

    facts: PlaceFacts | None
    wrong: str | None


def parse_header(cells: Sequence[str]) -> CsvColumns:
    """Recognise the columns. Raises `InvalidInput` if none of them is usable."""
    names = tuple(values.parse_text(each, at_most=100) or "" for each in cells)
    columns = find_columns(names)
    if not columns.keys() & {"name", "website", "phone"}:
        raise InvalidInput(NO_USABLE_COLUMN)
    return CsvColumns(columns, names)


def parse_row(columns: CsvColumns, cells: Sequence[str], *, region: str | None = None) -> CsvRow:
    """Parse a row. `region` is the default country of phone numbers without a country code."""
    row = _RowCells(columns, cells)
    oddities: list[str] = []
    name = values.parse_name(row.raw("name") or None, oddities)
    website = row.text("website", at_most=values.MAX_PROVIDER_URL_CHARACTERS)
    address = _parse_address(row)
    written = [each for each in (row.text("phone"),) if each]
    phone, phone_raw = values.parse_provider_phone(written, address.country or region, oddities)
    if name is None and website is None and phone is None:
        return CsvRow(None, EMPTY_ROW)
    latitude, longitude = _parse_location(row, oddities)
    category = row.text("category")
    facts = PlaceFacts(
        provider=PROVIDER,
        place_id=_build_place_id(row),
        name=name,
        address_text=row.text("address") or address.format_line(),
        address=address,
        latitude=latitude,
        longitude=longitude,
        phone=phone,
        phone_raw=phone_raw,
        website=website,
        emails=_parse_emails(row.text("email", at_most=1_000)),
        types=(category.casefold(),) if category else (),
        category=category,
        rating=values.parse_number(row.number("rating"), 0, 5),
        reviews_count=values.parse_count(row.number("reviews_count")),
        status=_parse_status(row.text("status")),
        has_details=True,
        raw=row.build_raw(),
        oddities=tuple(oddities),
    )
    return CsvRow(facts, None)


class _RowCells:
    def __init__(self, columns: CsvColumns, cells: Sequence[str]) -> None:
        self._columns = columns
        self._cells = cells

    def raw(self, meaning: str) -> str:
        """Return the cell, or an empty string if the row is shorter than the header."""
        index = self._columns.places.get(meaning)
        return "" if index is None or index >= len(self._cells) else self._cells[index]

    def text(self, meaning: str, *, at_most: int = 300) -> str | None:
        return values.parse_text(self.raw(meaning), at_most=at_most)

    def number(self, meaning: str) -> float | None:
        """Parse a number with a decimal point or comma."""
        text = self.text(meaning) or ""
        return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None

    def build_raw(self) -> dict[str, str]:
        named = zip(self._columns.names, self._cells, strict=False)
        cells = {
            name: values.parse_text(cell) for name, cell in list(named)[:MAX_RAW_CELLS] if name
        }
        return {name: cell for name, cell in cells.items() if cell}


def _build_place_id(row: _RowCells) -> str:
    """Return the row's id, or else a digest of its name, contact and address.

    The same row therefore is the same place in the next import.
    """
    if explicit := row.text("id", at_most=MAX_ID_CHARACTERS):
        return explicit
    columns = ("name", "website", "phone", "address", "street", "house_number", "postal_code")
    key = "\x1f".join((row.text(each) or "").casefold() for each in (*columns, "city"))
    return "row-" + hashlib.blake2b(key.encode(), digest_size=12).hexdigest()


def _parse_address(row: _RowCells) -> PlaceAddress:
    country = row.text("country", at_most=80)
    regions = guess_regions(None, "", country) if country else ()
    postal_code, city = _parse_postal_code_and_city(row)
    return PlaceAddress(
        street=row.text("street"),
        house_number=row.text("house_number", at_most=40),
        postal_code=postal_code,
        city=city,
        region=row.text("region"),
        country=regions[0] if regions else None,
    )


def _parse_postal_code_and_city(row: _RowCells) -> tuple[str | None, str | None]:
    """Split a city column that contains the postal code too, as many lists do."""
    postal_code, city = row.text("postal_code", at_most=40), row.text("city")
    together = _CODE_AND_CITY.fullmatch(city or "")
    if together is None:
        return postal_code, city
    return postal_code or together["code"], together["city"]


def _parse_location(row: _RowCells, oddities: list[str]) -> tuple[float, float] | tuple[None, None]:
    latitude, longitude = (
        row.text(each) if row.number(each) is None else row.number(each)
        for each in ("latitude", "longitude")
    )
    return values.parse_location(latitude, longitude, oddities)


def _parse_emails(text: str | None) -> tuple[str, ...]:
    parts = re.split(r"[;,\s]+", text or "")
    return tuple(dict.fromkeys(each for each in parts if "@" in each.strip("@")))[:10]


def _parse_status(text: str | None) -> OperationalStatus | None:
    word = (text or "").strip().lower().replace(" ", "_")
    return next((each for each in OperationalStatus if each.value == word), None)
