"""Contacts: extraction, listing and editing, suppressions, and erasure of personal data."""
