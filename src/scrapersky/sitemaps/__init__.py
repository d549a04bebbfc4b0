"""Sitemaps: scan requests, discovery and reading of sitemaps, import of their URLs, and rescans."""
