"""A hotel that welcomes everybody, whatever they ask for."""

from scrapersky.demo.answers import page
from scrapersky.demo.pages import HOME, House, Pages, organisation, says
from scrapersky.demo.site import Ending, Expected, TownSite

NAME = "grand-hotel-astoria.example"
PAGES = Pages(
    House(name="Grand Hotel Astoria"),
    {
        HOME: [
            says("We could not find that page. Book a room?"),
            organisation(
                "Hotel",
                "Grand Hotel Astoria",
                email=f"reservations@{NAME}",
                telephone="+12025550177",
                same_as=["https://www.facebook.com/grandhotelastoria"],
                address={"streetAddress": "1 Station Square", "addressCountry": "US"},
            ),
        ]
    },
)

SITE = TownSite(
    name=NAME,
    shows="It answers every address with a page and 200, so all that looks found is not.",
    expected=Expected(Ending.NONE, contacts=PAGES.contacts),
    otherwise=page(PAGES.html(HOME)),
)
