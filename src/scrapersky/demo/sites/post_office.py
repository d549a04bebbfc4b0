"""A post office whose server was just being restarted."""

from scrapersky.demo.answers import trouble_first
from scrapersky.demo.cloaks import mailto
from scrapersky.demo.pages import HOME, House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.demo.telephones import british, call_link

NAME = "market-post-office.example"
PAGES = Pages(
    House(name="Market Post Office"),
    {HOME: [says("Closed for lunch."), mailto(f"counter@{NAME}"), call_link(british(12))]},
)

SITE = TownSite(
    name=NAME,
    shows="Its home page answers 503 the first time; the retry gets through.",
    expected=Expected(Ending.NONE, contacts=PAGES.contacts),
    answers={**PAGES.answers, HOME: trouble_first(PAGES.answers[HOME])},
)
