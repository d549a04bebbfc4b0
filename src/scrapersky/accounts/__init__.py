"""Tenants, users and API keys."""
