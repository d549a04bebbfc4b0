"""An arcade whose site is a program and nothing else."""

from scrapersky.demo.answers import page
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.models import WhyEmpty

HTML = (
    '<!doctype html><html lang="en"><head><title>Pixel Arcade</title></head><body>'
    '<div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript>'
    '<script src="/static/main.js"></script></body></html>'
)

SITE = TownSite(
    name="pixel-arcade.example",
    shows="There is nothing to read without running its scripts.",
    expected=Expected(Ending.NONE, why=WhyEmpty.NEEDS_JAVASCRIPT),
    answers={"/": page(HTML)},
)
