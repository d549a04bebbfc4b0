"""robots.txt rules: RFC 9309 and common deviations."""

from __future__ import annotations

import pytest

from scrapersky.scraper import parse_robots

SITE = "https://example.com"


def may(text: str, path: str, agent: str = "ScraperSky/0.1 (+https://x.example)") -> bool:
    robots = parse_robots(text.encode(), url=f"{SITE}/robots.txt")
    return robots.can_fetch(f"{SITE}{path}", agent)


def split(text: str, *, allowed: str, forbidden: str) -> None:
    assert {path: may(text, path) for path in allowed.split()} == dict.fromkeys(
        allowed.split(), True
    )
    assert {path: may(text, path) for path in forbidden.split()} == dict.fromkeys(
        forbidden.split(), False
    )


@pytest.mark.parametrize(
    ("rules", "allowed", "forbidden"),
    [
        ("Disallow: /", "/robots.txt", "/ /a /a?b"),
        ("Disallow:", "/ /a", ""),
        ("Disallow: /a", "/ /b /A", "/a /a/ /ab /a?x /a.html"),
        ("Disallow: /a/", "/a /ab", "/a/ /a/b"),
        # The longest rule decides; of two as long, the one that allows.
        ("Disallow: /\nAllow: /a", "/a /ab", "/ /b"),
        ("Allow: /a\nDisallow: /", "/a /ab", "/ /b"),
        ("Disallow: /a/b\nAllow: /a", "/a /a/c", "/a/b /a/b/c"),
        ("Disallow: /a\nAllow: /a", "/a", ""),
        ("Disallow: /x\nAllow: /x/", "/x/ /x/y", "/x /xy"),
        ("Allow: /page\nDisallow: /*.html", "/page", "/page.html /a.html"),
        ("Allow: /x/page.\nDisallow: /*.html", "/x/page.html", "/x/y.html"),
        ("Disallow: /\nAllow: /$", "/", "/a"),
        # Wildcards and ends.
        ("Disallow: /*.php", "/a /a.PHP", "/a.php /a.php?x /b/a.php5"),
        ("Disallow: /*.php$", "/a.php?x /a.php5", "/a.php /b/a.php"),
        ("Disallow: /fish*.php", "/Fish.php /fish", "/fish.php /fishheads/a.php?x"),
        ("Disallow: /a/*/c", "/a/c /a/b", "/a/b/c /a/b/b/c"),
        ("Disallow: *", "", "/ /a"),
        ("Disallow: /*?*sort=", "/a?b=1", "/a?sort=1 /a?b=1&sort=2"),
        ("Disallow: /a**b", "/b", "/ab /a/b"),
        ("Disallow: /a$b", "/a", "/a$b"),
        # Percent-encoding: two spellings of one path are one path, except of the slash.
        ("Disallow: /ä", "/a", "/ä /%C3%A4 /%c3%a4"),
        ("Disallow: /%C3%A4", "/a", "/ä /%C3%A4"),
        ("Disallow: /~joe", "/joe", "/~joe /%7Ejoe"),
        ("Disallow: /a%2Fb", "/a/b", "/a%2Fb /a%2fb"),
        ("Disallow: /a b", "/a", "/a%20b"),
        # Comments and blanks.
        ("Disallow: /a # not /b", "/b", "/a"),
        ("Disallow: /a#b\n# Disallow: /c", "/c", "/a"),
        ("\n\n  Disallow :  /a  \n\nDisallow:/b\t\n", "/c", "/a /b"),
        ("dIsAlLoW: /a", "/b", "/a"),
        # As people misspell it.
        ("Dissalow: /a\nDisalow: /b\ndisallow /c", "/d", "/a /b /c"),
        ("Disallowed: /a\nForbid: /b\n/c", "/a /b /c", ""),
    ],
)
def test_rules_decide_by_path(rules: str, allowed: str, forbidden: str) -> None:
    for agent_line in ("User-agent: *", "user-agent:scrapersky", "Useragent: *"):
        split(f"{agent_line}\n{rules}", allowed=allowed, forbidden=forbidden)


@pytest.mark.parametrize(
    ("name", "is_meant"),
    [
        ("*", True),
        ("* # all", True),
        ("ScraperSky", True),
        ("SCRAPERSKY", True),
        ("ScraperSky/0.1", True),
        ("ScraperSky/9", True),
        ("ScraperSky crawler", True),
        ("'ScraperSky'", True),
        ("Scraper*", True),
        ("OtherBot, ScraperSky", True),
        ("Scraper", False),
        ("Sky", False),
        ("ScraperSkyline", False),
        ("OtherBot", False),
        ("", False),
    ],
)
def test_a_group_is_meant_for_whom_it_names(name: str, is_meant: bool) -> None:
    assert may(f"User-agent: {name}\nDisallow: /", "/a") is not is_meant


GROUPS = """
Disallow: /before

User-agent: FooBot
Disallow: /
Allow: /x/
User-agent: BarBot
Disallow: /
Allow: /y/


Allow: /w/
User-agent: BazBot

User-agent: FooBot
Allow: /z/
Disallow: /
"""


@pytest.mark.parametrize(
    ("agent", "allowed", "forbidden"),
    [
        ("FooBot", "/x/a /z/a", "/y/a /w/a"),
        ("BarBot", "/y/a /w/a", "/x/a /z/a"),
        ("BazBot", "/z/a", "/x/a"),
        ("QuxBot", "/before /x/a", ""),
    ],
)
def test_groups_end_at_the_next_agent_after_a_rule_and_groups_of_one_name_are_one(
    agent: str, allowed: str, forbidden: str
) -> None:
    assert all(may(GROUPS, path, agent) for path in allowed.split())
    assert not any(may(GROUPS, path, agent) for path in forbidden.split())


def test_the_group_that_names_us_replaces_the_one_for_all() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: ScraperSky\nDisallow: /private"

    split(text, allowed="/ /a", forbidden="/private /private/a")
    assert not may(text, "/", "OtherBot")


def test_an_empty_group_of_ours_allows_everything() -> None:
    assert may("User-agent: *\nDisallow: /\nUser-agent: ScraperSky\nDisallow:", "/a")


@pytest.mark.parametrize("line", ["Sitemap: /a.xml", "Host: example.com", "Noindex: /b", "what?"])
def test_a_line_of_another_kind_does_not_end_a_group(line: str) -> None:
    text = f"User-agent: ScraperSky\n{line}\nUser-agent: *\nDisallow: /"

    assert not may(text, "/a")
    assert not may(text, "/a", "OtherBot")


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("Crawl-delay: 5", 5),
        ("crawl delay: 5", 5),
        ("Crawl-delay:0.25", 0.25),
        ("Crawl-delay: .5", 0.5),
        ("Crawl-delay: 1,5", 1.5),
        ("Crawl-delay: 10s # please", 10),
        ("Crawl-delay: 0", 0),
        ("Crawl-delay: 99999999999999999999", 1e20),
        ("Request-rate: 1/10s", 10),
        ("Request-rate: 2/1m", 30),
        ("Crawl-delay: 2\nRequest-rate: 1/5", 5),
        ("Request-rate: 1/10s 0900-1700", None),
        ("Request-rate: 1/0", None),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: soon", None),
        ("Crawl-delay: inf", None),
        ("Crawl-delay: nan", None),
        ("Crawl-delay: １０", None),
        ("Crawl-delay:", None),
    ],
)
def test_delays_are_seconds_or_nothing(line: str, seconds: float | None) -> None:
    robots = parse_robots(f"User-agent: *\n{line}".encode(), url=f"{SITE}/robots.txt")

    assert robots.crawl_delay("ScraperSky") == seconds


def test_every_group_has_a_delay_of_its_own() -> None:
    text = "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 2\nUser-agent: *\nAllow: /"
    robots = parse_robots(text.encode(), url=f"{SITE}/robots.txt")

    assert [robots.crawl_delay(agent) for agent in ("a", "b/2.0", "c")] == [1, 2, None]


def test_what_is_no_url_was_not_forbidden() -> None:
    robots = parse_robots(b"User-agent: *\nDisallow: /", url=f"{SITE}/robots.txt")

    assert robots.can_fetch("http://[::1", "ScraperSky")
