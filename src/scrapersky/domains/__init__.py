"""Domains: the sites we know."""
