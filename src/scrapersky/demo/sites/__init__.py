"""The sites of the town, one file each."""

from scrapersky.demo.site import TownSite
from scrapersky.demo.sites import (
    bakery,
    barber,
    bicycles,
    bookshop,
    brewery,
    choir,
    cinema,
    florist,
    hotel,
    library,
    museum,
    newspaper,
    pharmacy,
)

SITES: tuple[TownSite, ...] = (
    bakery.SITE,
    newspaper.SITE,
    museum.SITE,
    florist.SITE,
    bookshop.SITE,
    choir.SITE,
    pharmacy.SITE,
    library.SITE,
    brewery.SITE,
    bicycles.SITE,
    hotel.SITE,
    barber.SITE,
    cinema.SITE,
)
