"""`scrapersky budget`."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from scrapersky.models import AuditEntry, Budget
from tests.cli.conftest import Invoke, from_database


def test_the_budget_is_shown(invoke: Invoke) -> None:
    said = invoke("budget", PLACES_MONTHLY_CAP_USD="12.5")
    assert said.code == 0, said.err
    assert "0.00 USD of 12.50 USD are spent" in said.out
    assert "place_details.enterprise" in said.out
    assert "Prices as of 2026-09-24" in said.out


def test_the_budget_is_changed_and_noted(invoke: Invoke, url: str) -> None:
    said = invoke("budget", "set", "50", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["monthly_cap_usd"] == 50
    assert [float(each) for each in from_database(url, select(Budget.monthly_cap_usd))] == [50]
    assert "budget.change" in from_database(url, select(AuditEntry.action))


@pytest.mark.parametrize("amount", ["much", "-5", "1e12", "nan"])
def test_an_amount_that_cannot_be_is_refused(amount: str, invoke: Invoke, url: str) -> None:
    said = invoke("budget", "set", "--", amount)
    assert said.code != 0
    assert said.err
    assert from_database(url, select(Budget.monthly_cap_usd)) == []
