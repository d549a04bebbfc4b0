"""The ids of the sitemap stages; operators know them."""

SITEMAP_STAGE = "process_pending_sitemaps"
SUBMISSION_STAGE = "process_pending_domain_sitemap_submissions"
