"""What every stage promises is tried on every stage."""

from __future__ import annotations

from scrapersky.stages import STAGES
from tests.stage_cases import CASES


def test_every_stage_has_a_case() -> None:
    assert {stage.name for stage in STAGES} <= set(CASES)
