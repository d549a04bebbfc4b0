"""Businesses found at place providers: searching an area, details, what it costs."""
