"""Sitemaps: asking for scans, finding and reading sitemaps, looking again when due."""
