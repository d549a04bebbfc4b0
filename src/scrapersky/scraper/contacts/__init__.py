"""Extraction of e-mail addresses, phone numbers and profiles from pages."""
