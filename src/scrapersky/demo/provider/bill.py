"""What was asked of the fake, and what the real one would ask for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from scrapersky.scraper.providers.prices import price_of_many


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    service: str
    method: str
    """`SearchText` or `GetPlace`; the path at the others."""
    sku: str | None
    """Nothing where the request was refused before it had one."""
    page: int
    """From 1 on; 1 for whatever has no pages."""
    status: int
    """0 where the connection was cut."""
    billed: bool
    text: str
    """The text that was searched for, or the id."""
    mask: str = ""
    area: str = ""


@dataclass
class Bill:
    """Successful requests only, each at its SKU; free ones and bands as in the price list."""

    free_tier: bool = True
    asked: list[Asked] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)
    """Requests by SKU that the account had made earlier in the month."""

    def count(
        self,
        *,
        sku: str | None = None,
        method: str | None = None,
        page: int | None = None,
        billed: bool | None = None,
        service: str | None = None,
    ) -> int:
        """Requests of that kind; of all kinds where nothing is said."""
        wanted = {"sku": sku, "method": method, "page": page, "billed": billed, "service": service}
        said = {name: value for name, value in wanted.items() if value is not None}
        return sum(all(getattr(each, name) == said[name] for name in said) for each in self.asked)

    @property
    def billed(self) -> Counter[str]:
        """By SKU, those that cost nothing among them."""
        return Counter(each.sku for each in self.asked if each.billed and each.sku)

    @property
    def paid(self) -> int:
        """Requests of a kind that costs money, free ones of the month included."""
        return sum(count for sku, count in self.billed.items() if not sku.endswith(".ids"))

    @property
    def usd(self) -> Decimal:
        return sum(
            (
                price_of_many(sku, count, already=self.before[sku], free_tier=self.free_tier)
                for sku, count in self.billed.items()
            ),
            Decimal(0),
        )
