"""What somebody may do here; the API decides, and what it would refuse is not offered."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.models import Actor, Role


@dataclass(frozen=True)
class Powers:
    run: bool
    """Have queues looked at now."""
    steer: bool
    """Pause, resume, change the pace, ask a host again."""


def powers_of(actor: Actor) -> Powers:
    operator = actor.is_operator
    return Powers(
        run=operator and actor.role.includes(Role.CURATOR),
        steer=operator and actor.role.includes(Role.ADMIN),
    )
