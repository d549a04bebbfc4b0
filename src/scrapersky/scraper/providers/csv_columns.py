"""What the columns of people's own lists are called, in their languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_REMARK = re.compile(r"[(\[].{0,80}")

NAMES: dict[str, str] = {
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
"""Each what a column means to us, and what people call it; the likeliest first."""


def plain(name: str) -> str:
    """As names are compared: `E-Mail`, `e_mail` and `EMAIL` are one."""
    folded = unicodedata.normalize("NFKD", name[:100].casefold())
    return "".join(each for each in folded if each.isalnum())


def _known(name: str) -> tuple[str, int] | None:
    """`Telefon 1` and `Telefon (Zentrale)` are `Telefon`, too."""
    bare = _REMARK.sub("", name[:100]).strip()
    return _RANKS.get(plain(name)) or _RANKS.get(plain(bare).rstrip("1"))


_RANKS = {
    plain(spelling): (meaning, rank)
    for meaning, spellings in reversed(list(NAMES.items()))
    for rank, spelling in enumerate(spellings.split(","))
}


def is_column_name(cell: str) -> bool:
    return _known(cell) is not None


def columns_in(header: Sequence[str]) -> dict[str, int]:
    """{what it means: which column}; of several that mean the same, the one with the likeliest
    name, and of these the first."""
    best: dict[str, tuple[int, int]] = {}
    for index, cell in enumerate(header):
        if known := _known(cell):
            meaning, rank = known
            best[meaning] = min(best.get(meaning, (rank, index)), (rank, index))
    return {meaning: index for meaning, (_, index) in best.items()}
