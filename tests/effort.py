"""How much a run tries: `make test` tries everything, `make test-long` tries it many more times.

What is repeated is decided at random, so the short runs of many days add up to a long one.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
IS_LONG = os.environ.get("TEST_LONG") == "1"
CHAOS_SECONDS = float(os.environ.get("CHAOS_SECONDS", "0"))
"""How long `make chaos` goes on. Without it a few faults of `tests/chaos` happen once each."""


def choose(short: T, long: T) -> T:
    """The first in `make test`, the second in `make test-long`."""
    return long if IS_LONG else short
