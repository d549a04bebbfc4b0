"""Searches for businesses and what they cost, as people see them."""
