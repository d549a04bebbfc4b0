"""Where the rows of a table are shown."""

ROWS = {
    "domains": "/domains",
    "jobs": "/jobs",
    "local_businesses": "/local-businesses",
    "pages": "/pages",
    "places": "/places",
    "sitemap_files": "/sitemap-files",
    "webhook_deliveries": "/webhook-deliveries",
}
"""Each has its page below."""
LISTS = {**ROWS, "webhook_deliveries": "/webhooks"}
