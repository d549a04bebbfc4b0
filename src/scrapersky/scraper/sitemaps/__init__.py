"""Sitemap discovery, crawling and parsing."""
