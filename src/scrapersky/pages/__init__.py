"""Pages: single URLs of a site, from its sitemaps, its home page or an import."""
