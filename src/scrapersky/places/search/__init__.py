"""Place search: split an area into tiles and query a provider for each."""
