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
    assert "0.00 USD of 12.50 USD spent" in said.out
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


def test_the_cap_over_all_tenants_is_set_and_shown(invoke: Invoke, url: str) -> None:
    assert invoke("tenant", "create", "acme").code == 0
    said = invoke("budget", "set", "500", "--installation")
    assert said.code == 0, said.err
    assert "of 500.00 USD" in said.out
    assert "acme" in said.out
    shown = invoke("budget", "--installation", "--json", PLACES_INSTALLATION_CAP_USD="70")
    assert json.loads(shown.out)["monthly_cap_usd"] == 500
    assert invoke("budget", "set", "default", "--installation").code == 0
    shown = invoke("budget", "--installation", "--json", PLACES_INSTALLATION_CAP_USD="70")
    assert json.loads(shown.out)["monthly_cap_usd"] == 70
    assert "budget.change_installation" in from_database(url, select(AuditEntry.action))


def test_an_operator_raises_a_tenants_cap(invoke: Invoke) -> None:
    assert invoke("tenant", "create", "acme").code == 0
    said = invoke("budget", "set", "50", "--tenant", "acme", "--json")
    assert json.loads(said.out)["allowed_usd"] == 50
    assert json.loads(invoke("budget", "--json").out)["allowed_usd"] == 0


def test_a_tenant_and_the_installation_cannot_both_be_meant(invoke: Invoke) -> None:
    said = invoke("budget", "set", "5", "--tenant", "acme", "--installation")
    assert said.code != 0
    assert "either --tenant or --installation" in said.err
