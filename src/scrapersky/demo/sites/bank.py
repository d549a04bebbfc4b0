"""A bank that lets no program in."""

from scrapersky.demo.answers import not_found, page
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.models import WhyEmpty

SITE = TownSite(
    name="citizens-savings.example",
    shows="It answers 403 to everything.",
    expected=Expected(Ending.FAILED, why=WhyEmpty.BLOCKED),
    answers={"/robots.txt": not_found},
    otherwise=page("<!doctype html><title>403</title><h1>Forbidden</h1>", status=403),
)
