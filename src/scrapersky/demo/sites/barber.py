"""A barber with one page and honest answers."""

from scrapersky.demo.answers import page
from scrapersky.demo.documents import home
from scrapersky.demo.site import Ending, Expected, TownSite

SITE = TownSite(
    name="golden-scissors.example",
    shows="It has no sitemap and says so: 404 everywhere but at home.",
    expected=Expected(Ending.NONE),
    answers={"/": page(home("Golden Scissors", "No appointments."))},
)
