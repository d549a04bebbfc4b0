"""Merge review: pairs of businesses that may be one, for a person to decide."""
