"""One business, many sightings: stored once, whoever told us."""
