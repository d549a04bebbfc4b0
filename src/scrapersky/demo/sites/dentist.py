"""A dentist who can be reached by a form only."""

from scrapersky.demo.decoys import placeholder_in_the_text, retina_logo
from scrapersky.demo.pages import House, Pages, contact_form, says
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.models import WhyEmpty

PAGES = Pages(
    House(name="Bright Molar Dental", links={"/contact": "Contact us"}),
    {
        "/": [says("We are gentle."), retina_logo()],
        "/contact": [says("Tell us where it hurts."), contact_form(), placeholder_in_the_text()],
    },
)

SITE = TownSite(
    name="bright-molar.example",
    shows="It publishes a contact form, and no address or number.",
    expected=Expected(Ending.NONE, why=WhyEmpty.ONLY_A_FORM),
    answers=PAGES.answers,
)
