"""A hotel that welcomes everybody, whatever they ask for."""

from scrapersky.demo.answers import page
from scrapersky.demo.documents import home
from scrapersky.demo.site import Ending, Expected, TownSite

SITE = TownSite(
    name="grand-hotel-astoria.example",
    shows="It answers every address with a page and 200, so all that looks found is not.",
    expected=Expected(Ending.NONE),
    otherwise=page(home("Grand Hotel Astoria", "We could not find that page. Book a room?")),
)
