"""Compare what was stored with what the town knows to be true; each difference is a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from scrapersky.demo.display import counted
from scrapersky.demo.results import Result


def differences(result: Result) -> Iterator[str]:
    yield from _in_sitemaps(result)
    yield from _in_contacts(result)
    yield from _in_emptiness(result)


def _in_sitemaps(result: Result) -> Iterator[str]:
    expected = result.site.expected
    if (result.ending, result.urls) != (expected.ending, expected.urls):
        came = _described(result.ending or result.status, result.urls)
        wanted = _described(expected.ending, expected.urls)
        yield f"{result.site.name} is {came}; expected was {wanted}."


def _described(ending: str, urls: int) -> str:
    return f"{ending} with {counted(urls, 'URL')}"


def _in_contacts(result: Result) -> Iterator[str]:
    name, truth, found = result.site.name, result.site.expected.contacts, result.found
    for key, published in truth.items():
        contact = found.get(key)
        if contact is None:
            yield f"{name} publishes {published.value} ({published.method}), which was not found."
        elif contact.method != published.method:
            how = f"by {contact.method}, not {published.method}"
            yield f"{name}: {published.value} was found {how}."
    for key in found.keys() - truth.keys():
        yield f"{name} does not publish {key[1]}, which was stored ({found[key].method})."


def _in_emptiness(result: Result) -> Iterator[str]:
    wanted = result.site.expected.why
    came = result.lead.why_empty if result.lead else "without a lead"
    if came != wanted:
        yield f"{result.site.name} is {came or 'not empty'}; expected was {wanted or 'not empty'}."
