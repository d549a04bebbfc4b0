"""Parse places from CSV rows, with columns recognised by their names in several languages."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapersky.errors import InvalidInput
from scrapersky.scraper.contacts.phone_regions import guess_regions
from scrapersky.scraper.providers.model import OperationalStatus, PlaceAddress, PlaceFacts
from scrapersky.scraper.providers.values import (
    MAX_PROVIDER_URL_CHARACTERS,
    parse_count,
    parse_location,
    parse_name,
    parse_number,
    parse_provider_phone,
    parse_text,
)

_REMARK = re.compile(r"[(\[].{0,80}")

COLUMN_NAMES: dict[str, str] = {
    "id": (
        "id, place id, external id, customer id, record id, kundennummer, kunden nr, id client, "
        "id cliente"
    ),
    "name": (
        "name, company, company name, business, business name, organisation, organization, "
        "account name, firm, title, firma, firmenname, unternehmen, betrieb, geschäft, "
        "bezeichnung, kunde, kundenname, praxis, praxisname, name der firma, organisation name, "
        "organization name, nom, entreprise, société, raison sociale, empresa, nombre, razón "
        "social, azienda, ditta, ragione sociale, nome, bedrijf, bedrijfsnaam, naam, nazwa, "
        "firmanavn, företag, název"
    ),
    "website": (
        "website, web site, web, url, homepage, home page, site, domain, link, www, webseite, "
        "internet, internetseite, internetadresse, web adresse, site web, site internet, sitio "
        "web, página web, sito, sito web, strona, strona www, hjemmeside, hemsida, website url, "
        "web address, web url, company url, company website, account website, internetpräsenz"
    ),
    "phone": (
        "phone, phone number, telephone, telephone number, tel, tel nr, mobile, cell, telefon, "
        "telefonnummer, rufnummer, festnetz, handy, mobil, mobilnummer, téléphone, teléfono, "
        "móvil, telefono, cellulare, telefoon, telefone, puhelin, mobile phone, business phone, "
        "phone no, telefon nr, telefon geschäftlich, zentrale"
    ),
    "email": (
        "email, e mail, mail, email address, e mail adresse, mailadresse, courriel, adresse "
        "email, correo, correo electrónico, posta elettronica, e post"
    ),
    "address": (
        "address, full address, formatted address, location, adresse, anschrift, vollständige "
        "adresse, dirección, indirizzo, adres, endereço"
    ),
    "street": (
        "street, street address, address line 1, address 1, road, straße, strasse, str, straße "
        "und hausnummer, straße hausnummer, straße nr, straße und nr, straße u hausnummer, "
        "billing street, mailing street, rue, voie, calle, via, straat, ulica, rua"
    ),
    "house_number": (
        "house number, street number, house no, hausnummer, haus nr, hnr, numéro de rue, número "
        "de calle, numero civico, huisnummer"
    ),
    "postal_code": (
        "zip, zip code, zipcode, postal code, postcode, post code, plz, postleitzahl, code "
        "postal, billing zip postal code, billing postal code, código postal, cp, cap, kod "
        "pocztowy, cep, psč, postnummer"
    ),
    "city": (
        "city, town, locality, place, ort, stadt, ortschaft, wohnort, gemeinde, ville, commune, "
        "plz ort, zip city, billing city, mailing city, localité, ciudad, localidad, población, "
        "città, comune, località, stad, plaats, miasto, cidade, město, by, ort stadt"
    ),
    "region": (
        "region, state, province, county, bundesland, land bundesland, kanton, département, "
        "région, provincia, comunidad, regione, provincie, województwo, estado"
    ),
    "country": (
        "country, country code, nation, land, staat, ländercode, landeskürzel, pays, país, "
        "paese, nazione, kraj, stát"
    ),
    "latitude": "latitude, lat, breitengrad, breite, geo lat, latitud, latitudine, y",
    "longitude": (
        "longitude, lng, lon, long, längengrad, länge, geo lng, geo lon, longitud, longitudine, x"
    ),
    "category": (
        "category, categories, category name, type, business type, industry, sector, branche, "
        "kategorie, gewerk, art, catégorie, secteur, activité, categoría, sector actividad, "
        "categoria, settore, branża"
    ),
    "rating": (
        "rating, stars, score, total score, average rating, bewertung, sterne, note, valoración, "
        "valutazione, voto"
    ),
    "reviews_count": (
        "reviews, review count, reviews count, number of reviews, ratings total, user ratings "
        "total, anzahl bewertungen, bewertungen, nombre d avis, avis, reseñas, recensioni"
    ),
    "status": "status, business status, state of business, betriebsstatus",
}
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
    for meaning, spellings in reversed(list(COLUMN_NAMES.items()))
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
    names = tuple(parse_text(each, at_most=100) or "" for each in cells)
    found = find_columns(names)
    if not found.keys() & {"name", "website", "phone"}:
        raise InvalidInput(NO_USABLE_COLUMN)
    return CsvColumns(found, names)


def parse_row(columns: CsvColumns, cells: Sequence[str], *, region: str | None = None) -> CsvRow:
    """Parse a row. `region` is the default country of phone numbers without a country code."""
    row = _RowCells(columns, cells)
    oddities: list[str] = []
    name = parse_name(row.raw("name") or None, oddities)
    website = row.text("website", at_most=MAX_PROVIDER_URL_CHARACTERS)
    address = _parse_address(row)
    written = [each for each in (row.text("phone"),) if each]
    phone, phone_raw = parse_provider_phone(written, address.country or region, oddities)
    if name is None and website is None and phone is None:
        return CsvRow(None, EMPTY_ROW)
    latitude, longitude = _parse_location(row, oddities)
    category = row.text("category")
    facts = PlaceFacts(
        provider=PROVIDER,
        place_id=_build_place_id(row),
        name=name,
        address_text=row.text("address") or _build_address_text(address),
        address=address,
        latitude=latitude,
        longitude=longitude,
        phone=phone,
        phone_raw=phone_raw,
        website=website,
        emails=_parse_emails(row.text("email", at_most=1_000)),
        types=(category.casefold(),) if category else (),
        category=category,
        rating=parse_number(row.number("rating"), 0, 5),
        reviews_count=parse_count(row.number("reviews_count")),
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
        return parse_text(self.raw(meaning), at_most=at_most)

    def number(self, meaning: str) -> float | None:
        """Parse a number with a decimal point or comma."""
        text = self.text(meaning) or ""
        return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None

    def build_raw(self) -> dict[str, str]:
        named = zip(self._columns.names, self._cells, strict=False)
        cells = {name: parse_text(cell) for name, cell in list(named)[:MAX_RAW_CELLS] if name}
        return {name: cell for name, cell in cells.items() if cell}


def _build_place_id(row: _RowCells) -> str:
    """Return the row's id, or else a digest of its name, contact and address.

    The same row therefore is the same place in the next import.
    """
    if given := row.text("id", at_most=MAX_ID_CHARACTERS):
        return given
    telling = ("name", "website", "phone", "address", "street", "house_number", "postal_code")
    said = "\x1f".join((row.text(each) or "").casefold() for each in (*telling, "city"))
    return "row-" + hashlib.blake2b(said.encode(), digest_size=12).hexdigest()


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


def _build_address_text(address: PlaceAddress) -> str | None:
    line = " ".join(filter(None, (address.street, address.house_number)))
    town = " ".join(filter(None, (address.postal_code, address.city)))
    return ", ".join(filter(None, (line, town))) or None


def _parse_location(row: _RowCells, oddities: list[str]) -> tuple[float, float] | tuple[None, None]:
    latitude, longitude = (
        row.text(each) if row.number(each) is None else row.number(each)
        for each in ("latitude", "longitude")
    )
    return parse_location(latitude, longitude, oddities)


def _parse_emails(text: str | None) -> tuple[str, ...]:
    parts = re.split(r"[;,\s]+", text or "")
    return tuple(dict.fromkeys(each for each in parts if "@" in each.strip("@")))[:10]


def _parse_status(text: str | None) -> OperationalStatus | None:
    word = (text or "").strip().lower().replace(" ", "_")
    return next((each for each in OperationalStatus if each.value == word), None)
