"""Words that the sitemap stages share."""

ONLY_SITEMAP = "sitemap_url"
"""Among a scan's params: the one sitemap to read, where a person handed one in."""
