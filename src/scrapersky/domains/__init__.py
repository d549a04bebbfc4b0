"""Domains: the websites a tenant works with."""
