"""A site may refer to a few sitemaps of other sites, and cannot aim our requests at them."""

from __future__ import annotations

import pytest

from scrapersky.scraper import ScanOutcome
from scrapersky.scraper.sitemaps.scan import MAX_FOREIGN_SITES, MAX_REQUESTS_PER_FOREIGN_SITE
from tests.fake_web import FakeHost, FakeWeb, index, urlset
from tests.scraper.sites import SITE, analyze

VICTIM = "http://victim.example"
MANY = 40


def victim_of(web: FakeWeb) -> FakeHost:
    """A host that serves sitemaps of the bakery's pages, so that nothing else ends the scan."""
    victim = web.host("victim.example")
    for n in range(MANY):
        victim.xml(f"/{n}.xml", urlset(f"{SITE}/of-{n}"))
    return victim


async def test_a_robots_txt_cannot_aim_many_requests_at_another_site(
    web: FakeWeb, bakery: FakeHost
) -> None:
    victim = victim_of(web)
    bakery.robots("\n".join(f"Sitemap: {VICTIM}/{n}.xml" for n in range(MANY)))

    told = await analyze(web)

    assert len(victim.seen) == MAX_REQUESTS_PER_FOREIGN_SITE
    assert len(told.urls) == MAX_REQUESTS_PER_FOREIGN_SITE, "what is within the limit is read"
    assert len(told.refused) == MANY - MAX_REQUESTS_PER_FOREIGN_SITE
    assert set(told.refused.values()) == {
        "bakery.example points to another site, victim.example, more than 5 times."
    }
    assert told.analysis.outcome is ScanOutcome.FOUND
    assert told.analysis.truncated, "what was not read is not gone"
    assert told.analysis.truncated_why in set(told.refused.values())
    assert told.analysis.refused[0].reason in set(told.refused.values())


async def test_an_index_cannot_aim_many_requests_at_another_site(
    web: FakeWeb, bakery: FakeHost
) -> None:
    victim = victim_of(web)
    bakery.xml("/sitemap.xml", index(*(f"{VICTIM}/{n}.xml" for n in range(MANY))))

    told = await analyze(web)

    assert len(victim.seen) == MAX_REQUESTS_PER_FOREIGN_SITE
    assert len(told.urls) == MAX_REQUESTS_PER_FOREIGN_SITE


async def test_sub_domains_of_another_site_count_together(web: FakeWeb, bakery: FakeHost) -> None:
    hosts = [web.host(f"n{n}.victim.example") for n in range(MANY)]
    bakery.robots("\n".join(f"Sitemap: http://n{n}.victim.example/" for n in range(MANY)))

    await analyze(web)

    assert sum(len(host.seen) for host in hosts) == MAX_REQUESTS_PER_FOREIGN_SITE


async def test_redirects_of_own_sitemaps_count_too(web: FakeWeb, bakery: FakeHost) -> None:
    victim = victim_of(web)
    for n in range(MANY):
        bakery.redirect(f"/{n}.xml", f"{VICTIM}/{n}.xml")
    bakery.robots("\n".join(f"Sitemap: {SITE}/{n}.xml" for n in range(MANY)))

    told = await analyze(web)

    assert len(victim.seen) == MAX_REQUESTS_PER_FOREIGN_SITE
    assert len(told.urls) == MAX_REQUESTS_PER_FOREIGN_SITE
    reasons = [each.reason for each in told.done.values() if each.reason]
    assert len(reasons) == MANY - MAX_REQUESTS_PER_FOREIGN_SITE
    assert "points to another site, victim.example" in reasons[0]


async def test_only_a_few_other_sites_are_asked(web: FakeWeb, bakery: FakeHost) -> None:
    hosts = [web.host(f"victim{n}.example") for n in range(MANY)]
    for n, host in enumerate(hosts):
        host.xml("/map.xml", urlset(f"{SITE}/of-{n}"))
    bakery.robots("\n".join(f"Sitemap: http://victim{n}.example/map.xml" for n in range(MANY)))

    told = await analyze(web)

    assert sum(bool(host.seen) for host in hosts) == MAX_FOREIGN_SITES
    assert set(told.refused.values()) == {"bakery.example points to more than 5 other sites."}


@pytest.mark.parametrize("host", ["sitemaps.bakery.example", "www.bakery.example"])
async def test_sub_domains_of_the_site_itself_are_not_limited(
    web: FakeWeb, bakery: FakeHost, host: str
) -> None:
    own = web.host(host)
    for n in range(MANY):
        own.xml(f"/{n}.xml", urlset(f"{SITE}/of-{n}"))
    bakery.robots("\n".join(f"Sitemap: http://{host}/{n}.xml" for n in range(MANY)))

    told = await analyze(web)

    assert len(told.urls) == MANY
    assert not told.analysis.truncated


async def test_a_site_given_by_a_sub_domain_may_use_its_siblings(web: FakeWeb) -> None:
    shop, maps = web.host("shop.bakery.example"), web.host("maps.bakery.example")
    for n in range(MANY):
        maps.xml(f"/{n}.xml", urlset(f"http://shop.bakery.example/of-{n}"))
    shop.robots("\n".join(f"Sitemap: http://maps.bakery.example/{n}.xml" for n in range(MANY)))

    told = await analyze(web, "shop.bakery.example")

    assert len(told.urls) == MANY


async def test_sitemaps_that_a_person_names_are_not_limited(web: FakeWeb, bakery: FakeHost) -> None:
    victim = victim_of(web)
    seeds = [f"{VICTIM}/{n}.xml" for n in range(10)]

    told = await analyze(web, seeds=seeds, only_seeds=True)

    assert len(victim.seen) == len(told.urls) == 10


async def test_a_site_without_sitemaps_is_not_asked_again_because_of_others(
    web: FakeWeb, bakery: FakeHost
) -> None:
    web.host("victim.example")
    bakery.robots("\n".join(f"Sitemap: {VICTIM}/{n}.xml" for n in range(MANY)))

    told = await analyze(web)

    assert told.analysis.outcome is ScanOutcome.NONE
