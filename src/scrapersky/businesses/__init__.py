"""Businesses: one row per business, resolved from sightings, merged, and linked to its domain."""
