"""Plurals of the nouns in messages."""

from __future__ import annotations

import pytest

from scrapersky.plurals import pluralise


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("lead", "leads"),
        ("business", "businesses"),
        ("batch", "batches"),
        ("ledger entry", "ledger entries"),
        ("API key", "API keys"),
    ],
)
def test_a_noun_gets_the_plural_that_people_write(one: str, many: str) -> None:
    assert pluralise(one) == many
