"""The audit tells everything that went wrong, and not only the first of it."""

from __future__ import annotations

import random
from typing import Any, cast

import pytest

from tests.chaos.audit import Audit
from tests.chaos.sites import HOST_LIMIT, Site
from tests.fake_web import FakeWeb


class Request:
    """Under way, from a client that is still there."""

    path = "/"

    class transport:  # noqa: N801
        @staticmethod
        def get_extra_info(name: str) -> tuple[str, int]:
            return ("127.0.0.1", 4711)


async def test_all_failures_are_told_together() -> None:
    audit = Audit(cast(Any, None), "seed 7")
    audit.check("sitemaps", 3, 4)
    audit.check("URLs", 5, 5)
    audit.check_that(False, "nobody was killed")
    with pytest.raises(AssertionError) as told:
        audit.conclude()

    assert str(told.value) == "seed 7\nsitemaps: 3, and not 4\nnobody was killed"


async def test_a_site_that_was_asked_too_much_is_named_each_time() -> None:
    site = Site(FakeWeb().host("site0.example"), random.Random(0), lambda: False)
    audit = Audit(cast(Any, None), "seed 7")
    site._open = cast(Any, [Request()] * HOST_LIMIT)
    site.count()
    audit.politeness([site])
    audit.conclude()
    site._open = cast(Any, [Request()] * (HOST_LIMIT + 1))
    site.count()
    audit.politeness([site])

    assert len(audit.failures) == 1
    assert "site0.example was asked too much at once" in audit.failures[0]
    assert "from port 4711" in audit.failures[0]
