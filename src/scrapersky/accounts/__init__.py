"""Tenants, users, API keys and the audit log."""
