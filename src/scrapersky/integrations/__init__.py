"""Telling other programs: signed webhooks."""
