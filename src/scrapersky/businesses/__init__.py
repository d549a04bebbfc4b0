"""Businesses: listed, decided about, merged; from the website to the domain."""
