"""The retry policy that maps a failure to a retry or a dead letter."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from scrapersky.pipeline.outcome import (
    MAX_ERROR_CHARACTERS,
    RetryPolicy,
    build_error_outcome,
    format_error,
)
from scrapersky.pipeline.queue import Claim
from scrapersky.pipeline.tables import EventKind

RULE = RetryPolicy(max_attempts=5, base=timedelta(seconds=30), cap=timedelta(hours=6))


@given(st.integers(min_value=1, max_value=10_000))
def test_back_off_doubles_up_to_the_cap_give_or_take_a_tenth(attempts: int) -> None:
    exact = min(RULE.cap, RULE.base * 2.0 ** min(attempts - 1, 20))
    assert exact * 0.9 <= RULE.get_backoff(attempts) <= exact * 1.1


@given(st.integers(min_value=1, max_value=100), st.text())
def test_an_error_is_retried_until_the_attempts_are_used_up(attempts: int, message: str) -> None:
    claim = Claim(uuid4(), uuid4(), attempts)
    outcome = build_error_outcome(claim, ValueError(message), RULE)
    assert outcome.kind is (EventKind.RETRIED if attempts < 5 else EventKind.FAILED)
    assert (outcome.delay is None) == (outcome.kind is EventKind.FAILED)


@given(st.text(max_size=5000))
def test_an_error_kept_in_a_row_is_short_and_can_be_stored(message: str) -> None:
    kept = format_error(RuntimeError(message))
    assert 0 < len(kept) <= MAX_ERROR_CHARACTERS
    assert "\x00" not in kept
