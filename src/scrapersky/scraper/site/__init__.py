"""Site metadata: technology, organisation, state, website fields."""
