"""One box for everything: domains, sitemaps and pages, told apart by how they are written."""
