"""Numbers that decide a judgement. A change to one changes results for every user.

The labelled data of `benchmarks/` says whether a change is an improvement; then change it here too.
"""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest

from scrapersky.scraper.contacts.model import ExtractionMethod

Table = dict[str, tuple[object, str]]

CONTACTS: Table = {
    "model.OWN_DOMAIN_BONUS": (0.04, "ranks the site's own address above an equal one elsewhere"),
    "model.PLACEHOLDER_DOMAIN_CONFIDENCE": (0.1, "info@example.com is below every useful filter"),
    "phones.MIN_DIGITS": (7, "shorter numbers are prices, years and house numbers"),
    "phones.MAX_DIGITS": (16, "E.164 allows 15, and a trunk zero in parentheses adds one"),
    "phones.MAX_GROUPS": (6, "more widely spaced groups are a row of a table"),
    "phones.LABEL_WINDOW": (48, "a label further ahead belongs to something else"),
    "phones.MIN_COMPLETE_LENGTH": (11, "after one this long, a wide gap starts another number"),
    "phone_numbers.MAX_NATIONAL_DIGITS": (
        12,
        "longer ones are two numbers, or one with a postcode",
    ),
    "phone_numbers.MIN_DIGITS_WITHOUT_TRUNK": (
        8,
        "shorter ones are local numbers without an area code",
    ),
    "phone_numbers.MIN_DIGITS_WITHOUT_PLUS": (10, "shorter ones only begin like a country code"),
    "emails.MAX_LOCAL_CHARACTERS": (64, "RFC 5321"),
    "emails.MAX_DOMAIN_CHARACTERS": (253, "RFC 1035"),
    "finder.MAX_CONTACTS": (500, "a page with more is a directory"),
    "page.MAX_PAGE_CHARACTERS": (1_500_000, "bounds the time that one page takes"),
}
CONFIDENCE_BY_METHOD = {
    "mailto": 0.95, "tel": 0.95, "json_ld": 0.95, "same_as": 0.95, "microdata": 0.93, "rdfa": 0.92,
    "hcard": 0.92, "vcard": 0.92, "cloudflare": 0.95, "typo3": 0.95, "joomla": 0.94,
    "spamspan": 0.93, "wordpress_encoder": 0.92, "cryptx": 0.92, "enkoder": 0.9, "link": 0.9,
    "split_attributes": 0.88, "text": 0.85, "noscript": 0.82, "onclick": 0.8, "meta": 0.8,
    "base64": 0.8, "rot13": 0.8, "javascript": 0.78, "at_dot": 0.75, "reversed": 0.75,
    "entities": 0.75, "form": 0.65, "attribute": 0.6, "json": 0.55, "script": 0.45,
}  # fmt: skip
"""What a person is meant to click scores highest, what only stands in a script lowest."""
MATCHING: Table = {
    "comparison.MIN_SAME_POINTS": (5.0, "from here two businesses are merged without asking"),
    "comparison.MIN_DOUBTFUL_POINTS": (3.0, "from here a person is asked"),
    "comparison.PHONE_POINTS": (3.0, "a shared number alone is doubtful, never the same"),
    "comparison.SITE_POINTS": (2.5, "a shared site alone is not even doubtful"),
    "comparison.PHONE_APART_POINTS": (1.5, "branches of a chain share a number"),
    "comparison.SITE_APART_POINTS": (1.0, "branches of a chain share a site"),
    "comparison.SHARED_POINTS": (0.5, "a number or site of many businesses says little"),
    "comparison.MIN_SAME_ADDRESS_POINTS": (1.5, "the same street, or within about 150 m"),
    "comparison.OTHER_PHONE_POINTS": (-1.0, "a business may have two numbers"),
    "comparison.OTHER_SITE_POINTS": (-1.2, "two sites are rarer than two numbers"),
    "locations.FAR_POINTS": (-5.0, "beyond 5 km no name makes it the same business"),
    "locations.APART_POINTS": (-2.0, "another address, not another spelling of it"),
    "locations._POINTS_BY_DISTANCE": (
        ((30, 2.6), (75, 2.3), (150, 1.6), (300, 0.6), (600, -0.5), (1_500, -2.0), (5_000, -3.5)),
        "providers place one shop up to 150 m apart",
    ),
    "name_similarity._POINTS_BY_SCORE": (
        ((0.95, 4.0), (0.85, 3.2), (0.75, 2.2), (0.6, 1.2), (0.45, -0.5), (0.3, -2.0)),
        "even an equal name needs an address, number or site besides",
    ),
    "name_similarity.DIFFERENT_NAME_POINTS": (-4.0, "outweighs a shared number"),
    "name_similarity.OTHER_TRADE_POINTS": (-2.5, "a baker and a butcher of one family"),
    "name_similarity.OTHER_BRANCH_POINTS": (-2.0, "two branches that name their district"),
    "name_similarity.ONE_SIDED_WEIGHT": (0.35, "a longer name is mostly the same name"),
    "name_similarity.KINDRED_WEIGHT": (0.25, "Bäckerei and Konditorei hardly tell apart"),
    "name_similarity.OWNER_FACTOR": (0.25, "a chain's shop names its operator or does not"),
    "name_similarity.MIN_WORD_SIMILARITY": (0.7, "one typing error in a word of four letters"),
    "name_similarity.MIN_FIT_SCORE": (0.6, "below, the names do not fit"),
    "name_similarity.MAX_OTHER_PERSON_SCORE": (0.3, "two doctors of one practice"),
}
PAGES: Table = {
    "classification.MIN_CONFIDENCE": (0.5, "below, the class is a guess and is not acted on"),
    "classification.SUB_PAGE_PRIORITY": (17, "pages below a contact page yielded no contacts"),
    "classification.MAX_PAGES_PER_SITE": (6, "more pages yield no further contacts"),
    "classification.MAX_PAGES_PER_KIND": (2, "a third page of a kind repeats the first two"),
    "classification._DEPTH_PENALTY": ((0.0, 0.0, 0.0, 0.1, 0.25), "deep pages are articles"),
    "classification._QUERY_PENALTY": (0.05, "the same page is probably listed without a query"),
    "classification._WEAK_WORD_CONFIDENCE": ((0.35, 0.6, 0.9), "other, unknown, own language"),
    "classification._TITLE_CONFIDENCE": (0.8, "a title is written for the page"),
    "classification._LINK_CONFIDENCE": (0.75, "a link's text is shorter than a title"),
    "classification._AGREEING_CONFIDENCE": (0.9, "title and link say the same"),
    "classification._AGREEMENT_BONUS": (0.04, "the text confirms the URL"),
    "classification._DISAGREEMENT_PENALTY": (0.2, "the text contradicts the URL"),
    "slugs.MAX_TOKENS": (8, "longer slugs are headlines"),
    "slugs.MAX_UNKNOWN_TOKENS": (2, "more unknown words are a headline"),
}
PIPELINE: Table = {
    "outcome.MAX_INTERRUPTIONS": (20, "then the row is considered the cause, and fails"),
    "outcome.JITTER": (0.1, "retries of one outage do not come back together"),
    "outcome.INTERRUPTION_BACKOFF": (
        (timedelta(seconds=1), timedelta(minutes=1)),
        "an interrupted row waits a moment, never long",
    ),
    "queue.ISOLATE_AFTER_RESCUES": (2, "a row lost twice is worked in a process of its own"),
    "hosts.FAILURES_TO_OPEN": (5, "the circuit of a host opens after so many failures in a row"),
    "hosts.TIMEOUTS_TO_OPEN": (2, "timeouts hold a slot much longer than failures"),
    "hosts.CIRCUIT_MIN_PAUSE": (timedelta(minutes=1), "the first pause of a failing host"),
    "hosts.CIRCUIT_MAX_PAUSE": (timedelta(hours=1), "a recovered host waits no longer"),
    "hosts.PUSHBACK_DEFAULT": (timedelta(seconds=5), "429 without Retry-After"),
    "hosts.MAX_TURN_WAIT": (timedelta(seconds=60), "if the turn is later, the row is requeued"),
    "flow.RESUME_RATIO": (0.7, "a held-back stage does not start and stop at the same mark"),
    "slots.SLOW_ROWS_PER_SLOT": (4, "more slow rows would wait for the database"),
    "settler.BATCH_ROWS": (100, "one transaction settles at most so many rows"),
    "bulk.MAX_BULK_ROWS": (100_000, "a bulk action locks no more rows"),
    "chores.CLOCK_STEP_TOLERANCE": (
        timedelta(seconds=10),
        "slots further ahead are of a stepped clock",
    ),
    "health.TICK_GRACE_SECONDS": (60.0, "a late tick is not yet unhealthy"),
    "queue_stats.MAX_COUNTED": (10_000, "a longer queue is shown as 10,000+"),
}
TABLES: dict[str, Table] = {
    "scraper.contacts": CONTACTS,
    "scraper.matching": MATCHING,
    "scraper.pages": PAGES,
    "pipeline": PIPELINE,
    "db": {
        "outages.MAX_ROW_INTERRUPTIONS": (3, "then the row may be the cause, and is not retried")
    },
    "sitemaps": {
        "storage.LASTMOD_TRUST_THRESHOLD": (2, "so often a lastmod was right before it is trusted"),
        "storage.LASTMOD_MISMATCH_PENALTY": (
            -3,
            "a wrong lastmod costs more than a right one earns",
        ),
    },
}


@pytest.mark.parametrize("package", TABLES)
def test_the_numbers_that_decide_are_the_ones_that_were_measured(package: str) -> None:
    expected = {name: value for name, (value, _) in TABLES[package].items()}

    assert {name: read_constant(package, name) for name in expected} == expected


def read_constant(package: str, name: str) -> object:
    module, _, constant = name.partition(".")
    return getattr(import_module(f"scrapersky.{package}.{module}"), constant)


def test_every_way_to_find_a_contact_has_its_confidence() -> None:
    assert {each.value: each.confidence for each in ExtractionMethod} == CONFIDENCE_BY_METHOD
