"""The ids of the sitemap stages; operators know them."""

SITEMAP_STAGE = "process_pending_sitemaps"
IMPORT_STAGE = "process_sitemap_imports"
SUBMISSION_STAGE = "process_pending_domain_sitemap_submissions"

ONLY_SITEMAP = "sitemap_url"
"""Among a scan's params: the one sitemap to read, where a person handed one in."""
