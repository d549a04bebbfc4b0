"""What the stages are called: rows of one feature are handed to the stages of another by name."""

METADATA_STAGE = "process_pending_domains"
SUBMISSION_STAGE = "process_pending_domain_sitemap_submissions"
SITEMAP_STAGE = "process_pending_sitemaps"
IMPORT_STAGE = "process_sitemap_imports"
PAGE_STAGE = "process_page_curation_queue"
