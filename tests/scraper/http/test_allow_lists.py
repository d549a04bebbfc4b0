"""Private networks for sites, providers and webhooks are allowed by three separate lists."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import Any

import pytest

from scrapersky.errors import InvalidInput, SettingsError
from scrapersky.scraper import AddressRules, Blocked, Fetcher
from scrapersky.scraper.http.guard import check_url
from scrapersky.scraper.http.urls import normalise_site
from scrapersky.scraper.http.webhook_client import post_payload
from scrapersky.settings import Settings, SettingsSource, load_settings
from tests.fake_web import FakeWeb


def settings_with(**values: Any) -> Settings:
    return load_settings(SettingsSource(environ={}, env_file=None), **values)


LISTS: dict[str, Callable[[Settings], AddressRules]] = {
    "fetch_allow_networks": AddressRules.from_settings,
    "provider_allow_networks": AddressRules.from_provider_settings,
    "webhook_allow_networks": AddressRules.from_webhook_settings,
}


@pytest.mark.parametrize(
    ("entry", "open_to", "closed_to"),
    [
        ("127.0.0.0/8", ["127.0.0.1:1", "127.9.9.9:65535"], ["10.0.0.1:80", "[::1]:80"]),
        ("10.1.2.3", ["10.1.2.3:80", "10.1.2.3:9"], ["10.1.2.4:80"]),
        ("10.1.2.3:8080", ["10.1.2.3:8080", "[::ffff:10.1.2.3]:8080"], ["10.1.2.3:8081"]),
        ("10.0.0.0/8:5678", ["10.9.9.9:5678"], ["10.9.9.9:80", "11.0.0.1:5678"]),
        ("::1", ["[::1]:1"], ["[::2]:1"]),
        ("[::1]:9000", ["[::1]:9000"], ["[::1]:9001", "127.0.0.1:9000"]),
        ("[fd00::/8]:9000", ["[fd12::7]:9000"], ["[fd12::7]:80"]),
        ("10.1.2.3:80, 10.1.2.3:81", ["10.1.2.3:80", "10.1.2.3:81"], ["10.1.2.3:82"]),
        ("8.8.8.8:5678", ["8.8.8.8:5678", "8.8.8.8:443"], ["8.8.8.8:5679"]),
    ],
)
@pytest.mark.parametrize("setting", LISTS)
def test_an_entry_opens_a_network_or_one_port_of_it(
    setting: str, entry: str, open_to: list[str], closed_to: list[str]
) -> None:
    rules = LISTS[setting](settings_with(**{setting: entry}))

    for target in open_to:
        check_url(f"http://{target}/", rules)
    for target in closed_to:
        with pytest.raises(Blocked):
            check_url(f"http://{target}/", rules)


@pytest.mark.parametrize("setting", LISTS)
def test_each_list_opens_nothing_for_the_others(setting: str) -> None:
    settings = settings_with(**{setting: "127.0.0.0/8"})

    for name, rules_of in LISTS.items():
        rules = rules_of(settings)
        assert rules.is_allowed(ip_address("127.0.0.1"), 80) == (name == setting)
        assert rules.setting == name.upper()


@pytest.mark.parametrize("setting", [*LISTS])
@pytest.mark.parametrize(
    "entry",
    [
        *("10.0.0.0/99", "10.1.2.3/8", "localhost:80", ":80"),
        *("10.1.2.3:", "10.1.2.3:0", "10.1.2.3:65536", "10.1.2.3:http"),
        *("[::1", "[::1]9", "[::1]:"),
    ],
)
def test_an_entry_that_is_none_is_refused_with_the_settings_name(setting: str, entry: str) -> None:
    with pytest.raises(SettingsError, match=setting.upper()):
        settings_with(**{setting: entry})


def test_a_refusal_names_the_list_and_the_port() -> None:
    rules = AddressRules.from_webhook_settings(
        settings_with(webhook_allow_networks="10.1.2.3:5678")
    )

    with pytest.raises(Blocked, match=r"Add it to WEBHOOK_ALLOW_NETWORKS to allow it on port 80\."):
        check_url("http://10.1.2.3/", rules)


def test_a_port_that_an_entry_names_may_be_used_by_names() -> None:
    """Where the name leads is checked when the socket is made."""
    rules = AddressRules.from_webhook_settings(
        settings_with(webhook_allow_networks="10.1.2.3:5678")
    )

    check_url("http://n8n.example:5678/", rules)
    with pytest.raises(Blocked, match="Port 5679"):
        check_url("http://n8n.example:5679/", rules)


async def test_a_name_with_an_opened_port_still_reaches_opened_addresses_only() -> None:
    async def lookup(name: str) -> list[str]:
        return ["127.0.0.1"]

    async with FakeWeb() as web:
        host = web.host("*")
        open_here = settings_with(webhook_allow_networks=f"127.0.0.1:{web.port}")
        open_there = settings_with(webhook_allow_networks=f"127.0.0.2:{web.port}")
        url = f"http://hooks.example:{web.port}/"
        send = partial(post_payload, url, b"", headers={}, timeout_seconds=30, lookup=lookup)
        with pytest.raises(Blocked):
            await send(rules=AddressRules.from_webhook_settings(open_there))
        assert host.seen == []

        host.page("/", "taken")
        answer = await send(rules=AddressRules.from_webhook_settings(open_here))
        assert answer.status == 200


def test_a_site_is_taken_in_on_the_opened_port_only() -> None:
    rules = AddressRules.from_settings(settings_with(fetch_allow_networks="127.0.0.1:8081"))

    assert normalise_site("127.0.0.1:8081", rules).port == 8081
    with pytest.raises(InvalidInput, match="private address"):
        normalise_site("127.0.0.1:8082", rules)


@pytest.mark.parametrize("open_for", ["fetch_allow_networks", "provider_allow_networks"])
async def test_sites_and_providers_are_asked_by_rules_of_their_own(open_for: str) -> None:
    async with FakeWeb() as web:
        web.host("*")
        url = f"http://127.0.0.1:{web.port}/"
        settings = settings_with(**{open_for: f"127.0.0.1:{web.port}"})

        async with Fetcher.from_settings(settings) as fetch:
            ways: dict[str, Callable[[], Any]] = {
                "get": lambda: fetch.get(url),
                "ask": lambda: fetch.ask(url, headers={}),
                "provider": lambda: fetch.ask(url, headers={}, to_provider=True),
            }
            let_through = []
            for name, ask in ways.items():
                with suppress(Blocked):
                    await ask()
                    let_through.append(name)

    sites = open_for == "fetch_allow_networks"
    assert let_through == (["get", "ask"] if sites else ["provider"])


def test_a_pin_opens_nothing_where_its_address_is_closed() -> None:
    settings = settings_with(
        fetch_allow_networks="127.0.0.1:99", fetch_resolve="a.example=127.0.0.1:99"
    )

    assert AddressRules.from_settings(settings).get_pinned_address("a.example") is not None
    for rules in (
        AddressRules.from_webhook_settings(settings),
        AddressRules.from_provider_settings(settings),
    ):
        with pytest.raises(Blocked, match=rules.setting):
            rules.get_pinned_address("a.example")
