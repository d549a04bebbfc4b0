"""Offline demo: a small town of sites on loopback, processed from a place search to contacts."""
