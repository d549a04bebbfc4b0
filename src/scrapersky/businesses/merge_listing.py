"""The list of pairs that may be one business."""

from __future__ import annotations

from scrapersky.businesses.listing_filters import EitherSide
from scrapersky.http.lists import AtLeast, Listing, OneOf, When
from scrapersky.models import MergeCandidate, MergeState

MERGE_CANDIDATES = Listing(
    name="MergeCandidate",
    model=MergeCandidate,
    filters=(
        OneOf(
            "state",
            MergeCandidate.state,
            words=tuple(each.value for each in MergeState),
            default=(MergeState.OPEN.value,),
            says="Those that wait for somebody, unless told otherwise.",
        ),
        EitherSide(),
        AtLeast("min_score", MergeCandidate.score, 1, "As sure as this at least: 0 to 1."),
        When("created", MergeCandidate.created_at),
    ),
    sorts={"created_at": MergeCandidate.created_at, "score": MergeCandidate.score},
)
