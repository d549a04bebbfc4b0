"""Matching of business descriptions from different sources."""
