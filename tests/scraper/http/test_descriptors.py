"""Requests take no more descriptors than the process has."""

from __future__ import annotations

import resource

import pytest

from scrapersky.scraper.http.descriptors import (
    MAX_CONCURRENT_REQUESTS,
    MIN_CONCURRENT_REQUESTS,
    RESERVED_DESCRIPTORS,
    get_request_budget,
    raise_descriptor_limit,
)

ENOUGH = RESERVED_DESCRIPTORS + 2 * MAX_CONCURRENT_REQUESTS


@pytest.mark.parametrize(
    ("soft", "requests"),
    [
        (RESERVED_DESCRIPTORS, MIN_CONCURRENT_REQUESTS),
        (1_024, 448),
        (ENOUGH, MAX_CONCURRENT_REQUESTS),
        (resource.RLIM_INFINITY, MAX_CONCURRENT_REQUESTS),
    ],
)
def test_requests_get_half_of_the_free_descriptors(
    monkeypatch: pytest.MonkeyPatch, soft: int, requests: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))

    assert get_request_budget() == requests


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (1_024, resource.RLIM_INFINITY, [(ENOUGH, resource.RLIM_INFINITY)]),
        (1_024, 2_000, [(2_000, 2_000)]),
        (ENOUGH, resource.RLIM_INFINITY, []),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, []),
    ],
)
def test_the_limit_is_raised_as_far_as_useful_and_allowed(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: list[tuple[int, int]]
) -> None:
    found: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: found.append(both))
    raise_descriptor_limit()

    assert found == raised
