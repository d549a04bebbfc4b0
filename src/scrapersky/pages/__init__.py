"""Pages: what the sitemaps of a site list, one by one."""
